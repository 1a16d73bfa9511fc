"""Cards by a model: which, how it is asked, and from what agreement it is believed."""

from __future__ import annotations

from pydantic import Field

from guardian.settings.chat import ChatSettings
from guardian.settings.section import DAY_S


class InduceSettings(ChatSettings):
    """The model that writes boundary cards, off the write path; without one the rules' cards stand."""

    samples: int = Field(3, ge=2, le=16, description="Questions about each memory; their agreement is the card's confidence.")
    threshold: float = Field(0.6, ge=0, le=1, description="Agreement from which the model's card is believed.")
    temperature: float = Field(0.7, ge=0, le=2, description="Of the questions; at 0 samples agree for no reason.")
    repairs: int = Field(1, ge=0, le=5, description="Further questions after an answer that cannot be used, each sample.")
    max_tokens: int = Field(2_000, ge=200, le=100_000, description="Longest answer, tokens.")
    cache_entries: int = Field(2_000, ge=0, description="Cards kept in memory by content, prompt and model.")
    cache_s: float = Field(3_600.0, ge=0, le=DAY_S, description="How long, seconds; they are made from texts that may be erased.")
