"""Utility of a record from its grade, its verdicts and the calibration in force."""

from __future__ import annotations

import math
from collections.abc import Mapping

from guardian.core.model import Audited, Calibrated, ChannelTrust
from tests.reference.corrections import Memories
from tests.reference.edges import in_force
from tests.reference.policy import ReferencePolicy
from tests.reference.revisions import Revision

GOLD = "gold"
SELF = "self"
# The calibration of a space without one.
DEFAULT = "default"


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


def last_calibration(calibrations: list[Calibrated]) -> Calibrated | None:
    """Give the one that took effect last."""
    return max(calibrations, key=lambda each: (each.effective_at, each.ref.source, each.ref.id, each.ref.digest), default=None)


def choose_channels(calibration: Calibrated | None, policy: ReferencePolicy) -> tuple[str, Mapping[str, ChannelTrust]]:
    """Give id and channels of the calibration in force: an activated one, else that of the settings."""
    if calibration is None or calibration.calibration == DEFAULT:
        return policy.calibration, policy.channels
    return calibration.calibration, calibration.channels


def score(
    record: Revision, verdicts: list[Audited], calibration: Calibrated | None, policy: ReferencePolicy
) -> tuple[float | None, str | None, str | None]:
    """Give the utility of a record, its basis, and the calibration it hangs on; an erased record has none of these."""
    if record.erased:
        return None, None, None
    channels: dict[str, list[float]] = {}
    for verdict in verdicts:
        channels.setdefault(verdict.channel, []).append(verdict.value)
    grades = channels.pop(SELF, [])
    own = record.writes[0].written.self_grade
    if own is not None:
        grades.append(own)
    grade = _mean(grades) if grades else None
    if GOLD in channels:
        return _mean(channels[GOLD]), GOLD, None
    if not channels:
        return grade, None if grade is None else "unaudited", None
    name, trusted = choose_channels(calibration, policy)
    if name == DEFAULT:
        return *_move(grade, _mean(channels[min(channels)]), policy.alpha, min(channels)), name
    best: tuple[float, float, str] | None = None
    for channel in sorted(trusted, reverse=True):
        trust = trusted[channel]
        is_heard = all(member in channels for member in trust.members or (channel,))
        if not trust.passes or trust.alpha == 0 or not is_heard:
            continue
        if best is None or (trust.payoff, trust.alpha) >= best[:2]:
            best = (trust.payoff, trust.alpha, channel)
    if best is None:
        return grade, None if grade is None else "unaudited", name
    members = trusted[best[2]].members or (best[2],)
    return *_move(grade, _mean([_mean(channels[member]) for member in members]), best[1], best[2]), name


def _move(grade: float | None, verdict: float, alpha: float, channel: str) -> tuple[float, str]:
    return (verdict if grade is None else grade - alpha * (grade - verdict)), channel


def _mean(values: list[float]) -> float:
    """Give the mean, the same for every order of the values."""
    return math.fsum(values) / len(values)
