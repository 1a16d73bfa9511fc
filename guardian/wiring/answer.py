"""Answers by a model: the model with its budget, and how its stages are run. No logic."""

from __future__ import annotations

from guardian.chat.budget import BudgetedChat
from guardian.read.admission.policy import WhenUnverified
from guardian.read.stage.answer import StageOptions
from guardian.serve.answering import Answerer
from guardian.settings import Settings
from guardian.telemetry.serve import ServeMetrics
from guardian.wiring.chat import build_budget, build_chat


def build_answer_chat(settings: Settings, *, space: str) -> BudgetedChat:
    """Build the model that answers, paid from the budget of its section; closing it is the caller's.

    Raises:
        ConfigError: No model is set, the extra is missing, or the address is none.
    """
    chat = build_chat(settings.answer, section="GUARDIAN_ANSWER")
    return BudgetedChat(chat=chat, budget=build_budget(settings.answer), space=space)


def build_answerer(settings: Settings, metrics: ServeMetrics) -> Answerer | None:
    """Build what answers for callers of a service, with one budget for all of them; None where no model is set. Closing it is the caller's.

    Raises:
        ConfigError: The extra is missing, or the address is none.
    """
    if settings.answer.model is None:
        return None
    return Answerer(
        chat=build_chat(settings.answer, section="GUARDIAN_ANSWER"),
        budget=build_budget(settings.answer),
        options=build_stage_options(settings),
        metrics=metrics,
    )


def build_stage_options(settings: Settings, *, with_trace: bool = False) -> StageOptions:
    """Build how the stages are run; what is done with unverified facts is the reader's policy."""
    return StageOptions(
        reflects=settings.answer.reflects,
        revises=settings.answer.revises,
        when_unverified=WhenUnverified(settings.read.when_unverified),
        max_tokens=settings.answer.max_tokens,
        least_overlap=settings.answer.least_overlap,
        evidence_tokens=settings.answer.evidence_tokens,
        with_trace=with_trace,
    )
