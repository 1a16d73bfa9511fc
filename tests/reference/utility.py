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
    # Without detectors first; then the first flag that lowers this, if it removes more.
    scores = {channel: trust for channel, trust in trusted.items() if not trust.detects}
    best = _find_best(scores, channels)
    without = grade if best is None else _move(grade, _average(scores, best, channels), scores[best].alpha, best)[0]
    flags = {
        channel: trust
        for channel, trust in trusted.items()
        if trust.detects
        and _is_heard(trust, channel, channels)
        and _average(trusted, channel, channels) < 0.5
        and (without is None or _move(grade, _average(trusted, channel, channels), trust.alpha, channel)[0] < without)
    }
    candidates = {**flags, **({} if best is None else {best: scores[best]})}
    chosen = _find_best(candidates, channels)
    if chosen is None:
        return grade, None if grade is None else "unaudited", name
    return *_move(grade, _average(candidates, chosen, channels), candidates[chosen].alpha, chosen), name


def _is_heard(trust: ChannelTrust, channel: str, channels: Mapping[str, list[float]]) -> bool:
    return trust.passes and trust.alpha != 0 and all(member in channels for member in trust.members or (channel,))


def _find_best(trusted: Mapping[str, ChannelTrust], channels: Mapping[str, list[float]]) -> str | None:
    best: tuple[float, float, str] | None = None
    for channel in sorted(trusted, reverse=True):
        trust = trusted[channel]
        if _is_heard(trust, channel, channels) and (best is None or (trust.payoff, trust.alpha) >= best[:2]):
            best = (trust.payoff, trust.alpha, channel)
    return None if best is None else best[2]


def _average(trusted: Mapping[str, ChannelTrust], channel: str, channels: Mapping[str, list[float]]) -> float:
    return _mean([_mean(channels[member]) for member in trusted[channel].members or (channel,)])


def _move(grade: float | None, verdict: float, alpha: float, channel: str) -> tuple[float, str]:
    return (verdict if grade is None else grade - alpha * (grade - verdict)), channel


def _mean(values: list[float]) -> float:
    """Give the mean, the same for every order of the values."""
    return math.fsum(values) / len(values)
