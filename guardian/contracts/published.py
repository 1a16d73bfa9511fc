"""All that the guard publishes, a model a topic."""

from __future__ import annotations

from guardian.contracts.letter import DeadLetter
from guardian.contracts.outcome import (
    REQUEST_MODELS,
    AlertNotice,
    DriftReport,
    EnrichedRecord,
    Outcome,
    ReviewItem,
    SupersessionNotice,
)

OUTCOME_MODELS: tuple[type[Outcome], ...] = (
    EnrichedRecord,
    SupersessionNotice,
    ReviewItem,
    DeadLetter,
    DriftReport,
    AlertNotice,
    *REQUEST_MODELS,
)
