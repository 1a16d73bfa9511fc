"""Utility: the self-grade of an episode, de-inflated by verdicts whose errors are not the agent's (LUCID).

Bias b = r - U of a self-grade r against the truth U; a verifier's error is nu = V - U. With beta = Cov(nu, b) / Var(b) and
eta = nu - beta b, the de-inflated utility is Q' = r - alpha (r - V), best at
alpha* = (1 - beta) Var(b) / ((1 - beta)^2 Var(b) + Var(eta)). Source: "Memory Reward Inflation in Self-Improving LLM Agents".
Being retrieved, used or repeated earns nothing; only verdicts move a utility.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from guardian.core.fact import Verdict
from guardian.core.node import Node
from guardian.core.policy import Policy
from guardian.core.world import World

GOLD = "gold"
SELF = "self"
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
        policy: Its alphas say how far a channel is believed.

    Returns:
        The utility, None without any grade or verdict; and what it rests on: `gold`, a channel, or `unaudited`.
    """
    utility, basis = _score(grades, verdicts, policy)
    return (None if utility is None else round(utility, _DECIMALS)), basis


def _score(grades: Sequence[float], verdicts: Mapping[str, Sequence[float]], policy: Policy) -> tuple[float | None, str | None]:
    grade = _mean(grades) if grades else None
    if verdicts.get(GOLD):
        return _mean(verdicts[GOLD]), GOLD
    channels = sorted(channel for channel, values in verdicts.items() if values)
    if not channels:
        return grade, (UNAUDITED if grade is not None else None)
    # Without a calibration no payoff is known; the channel believed most decides, ties by name.
    channel = min(channels, key=lambda name: (-policy.alphas.get(name, policy.default_alpha), name))
    value = _mean(verdicts[channel])
    if grade is None:
        return value, channel
    return deflate(grade, value, policy.alphas.get(channel, policy.default_alpha)), channel


def rate_records(world: World, memory_id: str, policy: Policy) -> None:
    """Set the utilities of a memory's records from its standing verdicts."""
    records = [node for node in world.revisions(memory_id) if node.is_record]
    by_record: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in world.verdicts(memory_id):
        node = _find_record(world, memory_id, verdict)
        if node is not None:
            by_record[node.id].append(verdict)
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
