"""Answers by a model: which model, and how far its stages go."""

from __future__ import annotations

from pydantic import Field

from guardian.settings.chat import ChatSettings


class AnswerSettings(ChatSettings):
    """The model that answers from a context, on request; without one memory is read with no model at all."""

    reflects: bool = Field(
        True, description="Whether the model is asked first how each memory may be used; else its role decides."
    )
    revises: bool = Field(
        True, description="Whether statements that fail the check are asked for once more; else they are taken out."
    )
    max_tokens: int = Field(2_000, ge=200, le=100_000, description="Longest answer, tokens.")
    evidence_tokens: int | None = Field(
        2_000, ge=1, description="Most tokens of what a caller gives beside memory, by an estimate; null for no limit."
    )
    least_overlap: float = Field(
        0.5, ge=0, le=1, description="Share of a statement's words that has to stand in the record or the question."
    )
