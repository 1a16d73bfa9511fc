"""Which stored statement does a turn of a talk take back? What a user's program does before it writes `memory.corrected`.

It sees what the person said, turn by turn, and the texts of the stored items in the order in which they were written; nothing else:

1. Does the turn say that something changed (`change`)? Most do not, and take nothing back.
2. Which item says what holds since that turn? A program that extracts memories knows what it drew from which turn; a bank of texts
   does not say so, and likeness has to tell.
3. Which earlier item falls? Not one that the same turn said as well: the older one has to lie apart from it, in an earlier turn or
   before the talk.

Six signs of a pair are added up (`WEIGHTS`). Of several earlier items only the likeliest falls, once; one without a later item instead
never does. It is part of the benchmarks and not of Guardian, which supersedes nothing without a correction. Words were chosen and
weights fitted (logistic regression, rounded) on one half of MemSyco-Bench's rows, on these with other rows' items from the same talk put
beside them, and on talks of our own (`change_talks/development.jsonl`). What it cannot know is what only the world knows: that who
teaches at a school is no accountant any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmarks.change import find_changes, list_readings, split_sentences
from benchmarks.stance import list_stances

VectorOf = Callable[[str], Sequence[float]]
Floats = NDArray[np.float64]

# Likeness that an item has to what was said before the talk began, which nobody can look up.
_BEFORE = 0.6
# Cosine from which two phrases are about one thing.
_SAME_THING = 0.4
# Sum of weighted signs from which an item falls: the least that every reversal of the half that was looked at has. Higher loses
# reversals before it loses many false alarms.
ENOUGH = 7.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What speaks for a pair, an earlier and a later item, and a turn that says a change.

    Attributes:
        apart: How much better the two fit two turns, the later one this, than any single turn.
        alike: Cosine of the two: one topic.
        meant: Likeness of the earlier one to the words of change.
        dwelt: Share of the turn's sentences that speak of a change.
        opposed: One is for something that the other is against.
        drawn: How far this turn is from being the one that fits the later item best; at most 0.
    """

    apart: float
    alike: float
    meant: float
    dwelt: float
    opposed: float
    drawn: float


WEIGHTS = Signs(apart=2.5, alike=8.0, meant=3.0, dwelt=2.5, opposed=1.0, drawn=5.0)


def list_texts(turns: Sequence[str], items: Sequence[str]) -> list[str]:
    """List every text whose vector will be asked for; of a single item nothing is."""
    if len(items) < 2:
        return list(items)
    claims = [text for item in items for text in (item, *split_sentences(item), *(stance.thing for stance in list_stances(item)))]
    return [*claims, *list_readings(turns)]


def find_reversals(turns: Sequence[str], items: Sequence[str], vector_of: VectorOf) -> list[tuple[int, int]]:
    """Find the pairs (earlier, later) of items of which the later takes back the earlier, by what was said in these turns."""
    if len(items) < 2:
        return []
    talk = _Talk(turns, items, vector_of)
    scored = [
        (float(np.dot(astuple(WEIGHTS), astuple(talk.read_signs(old, new)))), old, new)
        for old, new in combinations(range(len(items)), 2)
    ]
    found: list[tuple[int, int]] = []
    for score, old, new in sorted(scored, reverse=True):
        if score >= ENOUGH and all(old != fallen and new != instead for fallen, instead in found):
            found.append((old, new))
    return sorted(found)


class _Talk:
    """One talk and one bank: every likeness that is asked for, worked out once."""

    def __init__(self, turns: Sequence[str], items: Sequence[str], vector_of: VectorOf) -> None:
        self._items = items
        self._vector_of = vector_of
        said = [(turn, *split_sentences(turn)) for turn in turns]
        changes = [find_changes(turn) for turn in turns]
        self._dwelt = [_share(sentences, found) for (_, *sentences), found in zip(said, changes, strict=True)]
        self._likeness = [[self._resemble(item, parts) for parts in said] for item in items]
        self._meant = [[self._resemble(item, found) for found in changes] for item in items]

    def _resemble(self, item: str, parts: Sequence[str]) -> float:
        """Give the mean likeness of an item's claims, each to the part that is nearest to it."""
        if not parts:
            return 0.0
        table = np.array([_unit(self._vector_of(part)) for part in parts])
        return float(np.mean([(table @ _unit(self._vector_of(claim))).max() for claim in split_sentences(item)]))

    def read_signs(self, old: int, new: int) -> Signs:
        """Give the signs of two items at the turn of change that sets them furthest apart; without such a turn there are none."""
        early, late = self._likeness[old], self._likeness[new]
        turns = [(max([_BEFORE, *early[:turn]]) + late[turn], turn) for turn, share in enumerate(self._dwelt) if share]
        if not turns:
            return Signs(apart=0.0, alike=0.0, meant=0.0, dwelt=0.0, opposed=0.0, drawn=0.0)
        together = max(one + other for one, other in zip(early, late, strict=True))
        apart, turn = max(turns)
        return Signs(
            apart=apart - together,
            alike=float(_unit(self._vector_of(self._items[old])) @ _unit(self._vector_of(self._items[new]))),
            meant=self._meant[old][turn],
            dwelt=self._dwelt[turn],
            opposed=float(self._oppose(self._items[old], self._items[new])),
            drawn=late[turn] - max(late),
        )

    def _oppose(self, old: str, new: str) -> bool:
        return any(
            one.is_for != other.is_for
            for one in list_stances(old)
            for other in list_stances(new)
            if _unit(self._vector_of(one.thing)) @ _unit(self._vector_of(other.thing)) >= _SAME_THING
        )


def _share(sentences: Sequence[str], changes: Sequence[str]) -> float:
    """Give the share of sentences that stand in some reading of a change."""
    return sum(any(sentence in found for found in changes) for sentence in sentences) / max(len(sentences), 1)


def _unit(vector: Sequence[float]) -> Floats:
    values = np.asarray(vector, dtype=np.float64)
    return values / np.linalg.norm(values)
