"""Family: a few records stand for all that share a root, since restating adds nothing.

The representative is what may decide something before what is background for this question, then the verified one, then the one of least
depth, then the best found. A record of one root decides for its
family before any composite does, so that a composite of several roots never pushes out its originals: it stands only where all of its
families have room.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from guardian.read.admission.decision import Decision, Reason, Role


class Member(NamedTuple):
    """What decides who stands for a family; `rank` is the place in the search, `decides` that it is more than background."""

    roots: tuple[str, ...]
    is_verified: bool
    depth: int
    rank: int
    decides: bool = True


class Choice(NamedTuple):
    """What became of one member.

    Attributes:
        is_kept: Whether it stands for its families.
        place: The rank of the best found of its families.
        full: A root whose family had no room, where it is not kept.
    """

    is_kept: bool
    place: int
    full: str | None = None


def choose_members(members: Sequence[Member], *, per_family: int) -> list[Choice]:
    """Choose at most `per_family` members of each family; a member without roots is its own."""
    taken: dict[str, int] = {}
    best = _rank_families(members)
    choices: dict[int, Choice] = {}
    # Originals before composites: what has one root decides for its family.
    for index in sorted(range(len(members)), key=lambda index: _order(members[index])):
        member = members[index]
        full = next((root for root in member.roots if taken.get(root, 0) >= per_family), None)
        place = min((best[root] for root in member.roots), default=member.rank)
        choices[index] = Choice(is_kept=full is None, place=place, full=full)
        if full is None:
            for root in member.roots:
                taken[root] = taken.get(root, 0) + 1
    return [choices[index] for index in range(len(members))]


def _order(member: Member) -> tuple[bool, bool, bool, int, int]:
    return (len(member.roots) > 1, not member.decides, not member.is_verified, member.depth, member.rank)


def _rank_families(members: Sequence[Member]) -> dict[str, int]:
    """Give each family the rank of the best found that is of it alone, else of the best composite."""
    best: dict[str, int] = {}
    by_rank = sorted(members, key=attrgetter("rank"))
    for members_of in ([member for member in by_rank if len(member.roots) == 1], by_rank):
        for member in members_of:
            for root in member.roots:
                best.setdefault(root, member.rank)
    return best


def limit_families(decisions: Sequence[Decision], *, per_family: int) -> list[Decision]:
    """Put out what others of its family stand for; only what is admitted is counted."""
    inside = [index for index, decision in enumerate(decisions) if decision.is_admitted]
    members = [_build_member(decisions[index]) for index in inside]
    choices = choose_members(members, per_family=per_family)
    standing: dict[str, list[str]] = {}
    for index, choice in zip(inside, choices, strict=True):
        if choice.is_kept:
            for root in decisions[index].candidate.roots:
                standing.setdefault(root, []).append(decisions[index].candidate.memory_id)
    judged = list(decisions)
    for index, choice in zip(inside, choices, strict=True):
        if choice.is_kept:
            judged[index] = decisions[index].move(place=choice.place, is_rendered=False)
        else:
            assert choice.full is not None
            judged[index] = decisions[index].reject(Reason.SAME_FAMILY, instead=tuple(sorted(standing[choice.full])))
    return judged


def list_full_roots(decisions: Sequence[Decision], *, per_family: int) -> tuple[str, ...]:
    """List the roots whose families have no room left: nothing more of them need be looked for."""
    counts: dict[str, int] = {}
    for decision in decisions:
        if decision.is_admitted:
            for root in decision.candidate.roots:
                counts[root] = counts.get(root, 0) + 1
    return tuple(sorted(root for root, count in counts.items() if count >= per_family))


def _build_member(decision: Decision) -> Member:
    candidate = decision.candidate
    decides = decision.role is not Role.BACKGROUND
    return Member(candidate.roots, candidate.is_verified, candidate.depth, candidate.rank, decides)
