"""Utility: the self-grade of an episode, de-inflated by verdicts whose errors are not the agent's (LUCID).

Bias b = r - U of a self-grade r against the truth U; a verifier's error is nu = V - U. With beta = Cov(nu, b) / Var(b) and
eta = nu - beta b, the de-inflated utility is Q' = r - alpha (r - V), best at
alpha* = (1 - beta) Var(b) / ((1 - beta)^2 Var(b) + Var(eta)). Source: "Memory Reward Inflation in Self-Improving LLM Agents".
Being retrieved, used or repeated earns nothing; only verdicts move a utility. Under a calibration only a channel that passed it does, of
several the one with the largest payoff; the mean of several channels counts where all of them judged. Of a detector only flags are heard:
a verdict of one half or more is as if it were not there, and so is a flag that would not lower what is said without it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from guardian.core.fact import Verdict
from guardian.core.model import ChannelTrust
from guardian.core.node import Node
from guardian.core.policy import GOLD, SELF, WRONG_BELOW, Policy
from guardian.core.world import World

__all__ = ["GOLD", "SELF", "UNAUDITED", "deflate", "rate_records", "rests_on_calibration", "score_utility"]

UNAUDITED = "unaudited"

# Decimals of a utility. With more than some fifteen digits the embedded engine gives one number in nine back a step away from what it got:
# states that are equal would differ, and reading an event again would write for ever.
_DECIMALS = 9


def deflate(self_grade: float, verdict: float, alpha: float) -> float:
    """Give Q' = r - alpha (r - V), all in [0, 1]."""
    return self_grade - alpha * (self_grade - verdict)


def score_utility(
    grades: Sequence[float], verdicts: Mapping[str, Sequence[float]], policy: Policy
) -> tuple[float | None, str | None]:
    """Give (Q', basis) of one record.

    Args:
        grades: Self-grades in [0, 1]: the record's own and those given per use.
        verdicts: Channel -> standing verdicts in [0, 1], without the channel `self`.
        policy: Says which channels may demote, and how far each is believed.

    Returns:
        The utility, None without any grade or verdict that counts; and what it rests on: `gold`, a channel, or `unaudited`.
    """
    utility, basis = _score(grades, verdicts, policy)
    return (None if utility is None else round(utility, _DECIMALS)), basis


def _score(grades: Sequence[float], verdicts: Mapping[str, Sequence[float]], policy: Policy) -> tuple[float | None, str | None]:
    grade = _mean(grades) if grades else None
    if verdicts.get(GOLD):
        return _mean(verdicts[GOLD]), GOLD
    said = {channel: _mean(values) for channel, values in verdicts.items() if values}
    chosen = _choose(_list_voices(said, policy.hear(said)), grade)
    if chosen is None:
        return grade, (UNAUDITED if grade is not None else None)
    return chosen.move(grade), chosen.name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Voice:
    """A channel, or the mean of several, that judged a record and is heard."""

    name: str
    value: float
    trust: ChannelTrust

    @property
    def rank(self) -> tuple[float, float, str]:
        """Place among voices: the largest payoff, then the largest alpha, then the least name."""
        return (-self.trust.payoff, -self.trust.alpha, self.name)

    def move(self, grade: float | None) -> float:
        """Give the utility by this voice."""
        return self.value if grade is None else deflate(grade, self.value, self.trust.alpha)


def _list_voices(said: Mapping[str, float], trusts: Mapping[str, ChannelTrust]) -> list[_Voice]:
    """List by rank what is heard of these verdicts; a detector that flags nothing is not."""
    voices = []
    for name, trust in trusts.items():
        members = trust.members or (name,)
        if all(member in said for member in members):
            value = _mean([said[member] for member in members])
            if value < WRONG_BELOW or not trust.detects:
                voices.append(_Voice(name=name, value=value, trust=trust))
    return sorted(voices, key=lambda voice: voice.rank)


def _choose(voices: Sequence[_Voice], grade: float | None) -> _Voice | None:
    """Choose the first; a flag only where it lowers what is said without detectors, for no detector may raise a utility."""
    score = next((voice for voice in voices if not voice.trust.detects), None)
    without = grade if score is None else score.move(grade)
    for voice in voices:
        if not voice.trust.detects or without is None or voice.move(grade) < without:
            return voice
    return None


def rests_on_calibration(channels: Iterable[str]) -> bool:
    """Tell whether a utility hangs on which channels are believed: some judged, and the truth is not known."""
    names = set(channels)
    return GOLD not in names and bool(names - {SELF})


def rate_records(world: World, memory_id: str, policy: Policy) -> None:
    """Set the utilities of a memory's records from its standing verdicts."""
    records = [node for node in world.revisions(memory_id) if node.is_record]
    by_record: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in world.verdicts(memory_id):
        node = _find_record(world, memory_id, verdict)
        if node is not None:
            by_record[node.id].append(verdict)
    if any(rests_on_calibration({verdict.channel for verdict in found}) for found in by_record.values()):
        policy = world.calibrate(policy)
    for node in records:
        _rate(node, by_record[node.id], policy)


def _rate(node: Node, verdicts: Sequence[Verdict], policy: Policy) -> None:
    own = node.claims[0].event.self_grade
    grades = ([] if own is None else [own]) + sorted(v.value for v in verdicts if v.channel == SELF)
    channels: dict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.channel != SELF:
            channels[verdict.channel].append(verdict.value)
    node.utility, node.utility_basis = score_utility(grades, channels, policy)
    node.calibration = policy.mark if rests_on_calibration(channels) else None
    statistics = {name: [round(_mean(values), _DECIMALS), len(values)] for name, values in sorted(channels.items())}
    if grades and (len(grades) > 1 or statistics):
        statistics[SELF] = [round(_mean(grades), _DECIMALS), len(grades)]
    node.verdicts = statistics or None


def _find_record(world: World, memory_id: str, verdict: Verdict) -> Node | None:
    revisions = world.revisions(memory_id)
    if verdict.revision is not None:
        return next((node for node in revisions if node.revision == verdict.revision), None)
    upto = [node for node in revisions if node.order[0] <= verdict.ref.time]
    return (upto[-1] if upto else revisions[0]) if revisions else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
