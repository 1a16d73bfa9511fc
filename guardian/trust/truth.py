"""Truth: what is known of whether a record was right, and by whose word. Unknown stays unknown.

- Of an episode only something outside it says so: a `gold` verdict, or a channel that the caller lets stand in for it. A correction does not:
  a family falls as a whole, whatever each of its episodes did.
- Of a memory that an episode retrieved, or that stands in a bank: `gold` first; then a correction that fells it (one that leaves another of
  its roots standing says nothing of it); then the stand-in; then that it was verified by trusted authority.
"""

from __future__ import annotations

from dataclasses import dataclass

from guardian.core.model import MemoryKind
from guardian.core.node import Node
from guardian.core.payload import is_mixed
from guardian.core.policy import WRONG_BELOW
from guardian.core.rules.utility import GOLD, SELF, UNAUDITED

# A self-grade from which the agent takes its episode for good and reuses it, where the caller names none.
ACCEPT_LEVEL = 0.5
EPISODE_KINDS = frozenset({MemoryKind.EPISODE, MemoryKind.SKILL})


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """A channel that stands in for the truth, with what is known of its errors.

    Attributes:
        channel: Its name.
        sensitivity: P(it says wrong | wrong), in [0, 1].
        specificity: P(it says right | right), in [0, 1]; the two sum to more than 1, or it tells nothing apart.
    """

    channel: str
    sensitivity: float
    specificity: float

    @property
    def power(self) -> float:
        """How far it tells wrong from right: 1 for the truth itself, 0 for a coin."""
        return self.sensitivity + self.specificity - 1

    def weigh(self, *, says_wrong: bool) -> float:
        """Give the weight as wrong that is right on average (Rogan and Gladen 1978); it may lie outside [0, 1]."""
        return (float(says_wrong) + self.specificity - 1) / self.power


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of a record.

    Attributes:
        value: U in [0, 1]; 1 is right.
        is_stand_in: A channel said so that errs at known rates.
    """

    value: float
    is_stand_in: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether it says wrong."""
        return self.value < WRONG_BELOW


def read_verdict(node: Node, channel: str) -> float | None:
    """Give the mean of a channel's standing verdicts on a record, None without any."""
    found = (node.verdicts or {}).get(channel)
    return None if found is None else float(found[0])


def read_grade(node: Node) -> float | None:
    """Give r: the mean of the record's self-grade and of the verdicts of channel `self`; None where the agent never graded it."""
    mean = read_verdict(node, SELF)
    if mean is not None:
        return mean
    if node.utility_basis == UNAUDITED:
        return node.utility
    return node.claims[0].event.self_grade if node.claims else None


def is_episode(node: Node) -> bool:
    """Tell whether a record counts as an episode: by its kind, or since the agent graded it."""
    return node.is_record and (node.kind in EPISODE_KINDS or read_grade(node) is not None)


def judge_episode(node: Node, stand_in: StandIn | None) -> Truth | None:
    """Give the truth of an episode, None where nobody outside it says."""
    gold = read_verdict(node, GOLD)
    if gold is not None:
        return Truth(gold)
    value = None if stand_in is None else read_verdict(node, stand_in.channel)
    return None if value is None else Truth(value, is_stand_in=True)


def judge_memory(node: Node, stand_in: StandIn | None) -> Truth | None:
    """Give the truth of a memory's record, None where nobody says."""
    judged = judge_episode(node, stand_in)
    if judged is not None and not judged.is_stand_in:
        return judged
    if is_corrected(node):
        return Truth(0.0)
    if judged is not None:
        return judged
    return Truth(1.0) if node.is_verified else None


def is_corrected(node: Node) -> bool:
    """Tell whether a correction fells the record, and no other root of it stands."""
    return any(not is_mixed(node, key) for key in node.felled)


def is_standing(node: Node) -> bool:
    """Tell whether a default read may return the record."""
    return node.is_record and not node.felled and node.is_current and node.deleted_by is None


def list_retrieved(node: Node) -> tuple[str, ...] | None:
    """List the memories an episode retrieved: those it names, else its declared parents; None where it names neither.

    An empty list is one only where the write says `parents: []`: an episode without the field may have retrieved anything.
    """
    event = node.claims[0].event if node.claims else None
    if event is None:
        return None
    named = event.episode.retrieved if event.episode is not None else ()
    return (
        tuple(name for name in (named or event.parents or ()) if name != node.memory_id)
        if named or event.parents is not None
        else None
    )
