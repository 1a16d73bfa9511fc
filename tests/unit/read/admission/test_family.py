"""Laws of the family limit: who stands for a family, and that composites push out nobody."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from guardian.read.admission.admit import admit
from guardian.read.admission.decision import Reason, Role
from guardian.read.admission.rules.family import Member, choose_members, list_full_roots
from guardian.read.admission.task import Task
from tests.candidates import FACT, candidate, ranked, roles, setting

MEMBERS = st.lists(
    st.tuples(st.lists(st.sampled_from("abc"), max_size=3, unique=True), st.booleans(), st.integers(0, 3)), max_size=10
).map(lambda parts: [Member(tuple(sorted(roots)), seen, depth, rank) for rank, (roots, seen, depth) in enumerate(parts)])


def kept(*members: Member, per_family: int = 1) -> set[int]:
    """Give the ranks of those that are kept."""
    choices = choose_members(members, per_family=per_family)
    return {member.rank for member, choice in zip(members, choices, strict=True) if choice.is_kept}


def test_the_verified_one_stands_then_the_least_derived_then_the_best_found() -> None:
    """In that order, whatever the search says."""
    assert kept(Member(("a",), False, 0, 0), Member(("a",), True, 2, 1)) == {1}
    assert kept(Member(("a",), False, 1, 0), Member(("a",), False, 0, 1)) == {1}
    assert kept(Member(("a",), False, 1, 0), Member(("a",), False, 1, 1)) == {0}


def test_background_stands_for_no_family_that_has_more_to_say() -> None:
    """A verified recap that may only be background here does not keep its original from being evidence, or a preference."""
    assert kept(Member(("a",), True, 1, 0, decides=False), Member(("a",), False, 0, 1)) == {1}
    original = candidate("original", source="tool", rank=1)
    recap = candidate("recap", source="human_review", status="verified", parents=[original], scope={"user_id": "ann"})
    assert roles(admit([recap, original], setting(FACT)).decisions) == {
        "original": (Role.EVIDENCE_CANDIDATE, Reason.UNVERIFIED_EVIDENCE),
        "recap": (Role.REJECT, Reason.SAME_FAMILY),
    }


def test_a_composite_never_pushes_out_its_originals() -> None:
    """Not even a verified one that was found first; where an original is missing it stands alone."""
    composite = Member(("a", "b"), True, 1, 0)
    assert kept(composite, Member(("a",), False, 0, 1), Member(("b",), False, 0, 2)) == {1, 2}
    assert kept(composite, Member(("c",), False, 0, 1)) == {0, 1}


@given(members=MEMBERS, limit=st.integers(1, 3))
def test_no_family_has_more_than_its_limit_and_every_family_is_heard(members: list[Member], limit: int) -> None:
    """At most n a root; of each root somebody stands; what is put out names a family that is full."""
    choices = choose_members(members, per_family=limit)
    counts = {root: 0 for member in members for root in member.roots}
    for member, choice in zip(members, choices, strict=True):
        for root in member.roots:
            counts[root] += choice.is_kept
    assert all(count <= limit for count in counts.values())
    alone = {member.roots[0] for member in members if len(member.roots) == 1}
    assert all(counts[root] for root in alone)
    for member, choice in zip(members, choices, strict=True):
        assert choice.is_kept == (choice.full is None)
        if choice.full is not None:
            assert choice.full in member.roots
            assert counts[choice.full] == limit


@given(members=MEMBERS.filter(lambda members: len(members) <= 5))
def test_the_order_of_the_members_does_not_matter(members: list[Member]) -> None:
    """Only ranks do."""
    expected = {member.rank: choice for member, choice in zip(members, choose_members(members, per_family=1), strict=True)}
    for order in permutations(members):
        found = {member.rank: choice for member, choice in zip(order, choose_members(order, per_family=1), strict=True)}
        assert found == expected


def test_ten_restatements_have_the_place_of_one() -> None:
    """The root stands where the best recap was found, and says for whom; each of the others says who stands."""
    root = candidate("root", source="tool")
    recaps = [candidate(f"r{number}", kind="summary", source="agent", parents=[root]) for number in range(10)]
    other = candidate("other")
    ruling = admit(ranked(*recaps[:5], other, *recaps[5:], root), setting(FACT))
    assert [item.candidate.memory_id for item in ruling.decisions if item.is_rendered] == ["root", "other"]
    for item in ruling.decisions:
        if item.reason is Reason.SAME_FAMILY:
            assert item.instead == ("root",)


def test_what_is_out_stands_for_nobody() -> None:
    """A superseded original does not keep its living relative out, nor does one that this task rejects."""
    wish = candidate("wish", kind="fact", source="user")
    recap = candidate("recap", kind="episode", source="agent", roots=["wish"], utility=0.9)
    assert roles(admit(ranked(wish, recap), setting(FACT)).decisions) == {
        "wish": (Role.REJECT, Reason.NOT_EVIDENCE),
        "recap": (Role.EXAMPLE, Reason.UNAUDITED_EXAMPLE),
    }


def test_full_families_are_those_without_room() -> None:
    """They need not be looked for again."""
    ruling = admit(ranked(candidate("a"), candidate("b")), setting(Task()))
    assert list_full_roots(ruling.decisions, per_family=1) == ("a", "b")
    assert list_full_roots(ruling.decisions, per_family=2) == ()
