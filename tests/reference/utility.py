"""Utility of a record from its grade and its verdicts, with one fixed share taken back."""

from __future__ import annotations

import math

from guardian.core.model import Audited
from tests.reference.corrections import Memories
from tests.reference.edges import in_force
from tests.reference.policy import ReferencePolicy
from tests.reference.revisions import Revision

GOLD = "gold"
SELF = "self"


def assign_verdicts(verdicts: list[Audited], memories: Memories) -> dict[Revision, list[Audited]]:
    """Give each record its verdicts: of the named revision, else of the one in force at the verdict's time."""
    assigned: dict[Revision, list[Audited]] = {}
    for verdict in verdicts:
        revisions = memories.get(verdict.memory_id, [])
        if verdict.revision is not None:
            judged = next((each for each in revisions if each.revision == verdict.revision), None)
        else:
            judged = in_force(revisions, verdict.ref.time) if revisions else None
        if judged is not None:
            assigned.setdefault(judged, []).append(verdict)
    return assigned


def score(record: Revision, verdicts: list[Audited], policy: ReferencePolicy) -> tuple[float | None, str | None]:
    """Give the utility of a record and its basis; an erased record has none."""
    if record.erased:
        return None, None
    channels: dict[str, list[float]] = {}
    for verdict in verdicts:
        channels.setdefault(verdict.channel, []).append(verdict.value)
    grades = channels.pop(SELF, [])
    own = record.writes[0].written.self_grade
    if own is not None:
        grades.append(own)
    grade = _mean(grades) if grades else None
    if GOLD in channels:
        return _mean(channels[GOLD]), GOLD
    if channels:
        channel = min(channels)
        verdict_mean = _mean(channels[channel])
        return verdict_mean if grade is None else grade - policy.alpha * (grade - verdict_mean), channel
    return grade, None if grade is None else "unaudited"


def _mean(values: list[float]) -> float:
    """Give the mean, the same for every order of the values."""
    return math.fsum(values) / len(values)
