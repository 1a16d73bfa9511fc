"""Chains of corrections: what belongs together, what each names, and where each starts."""

from __future__ import annotations

import pytest

from guardian.core.chain import Standing, find_family_starts, find_in_place, gather, settle
from guardian.core.model import Event, Extent
from guardian.core.world import World
from tests.builders import corrected, erased, retracted, written
from tests.unit.core.worlds import build_world, names


def standings_of(world: World, memory_id: str) -> list[Standing]:
    """Give the settled corrections that are linked to a memory, in their order."""
    found = gather(world, [memory_id], [])
    settle(world, found)
    return found


def test_the_last_verified_text_corrects_what_was_before_it() -> None:
    """An update in place subsumes earlier ones, and starts on the revisions before it."""
    world = build_world(
        written("a", "One", t=0),
        written("a", "Two", src="tool", verified=True, t=10),
        written("a", "Three", src="tool", verified=True, t=20),
        written("a", "Four", t=30),
    )
    correction = find_in_place(world, "a")
    assert correction is not None
    assert correction.revision_id == world.revisions("a")[2].id
    (standing,) = standings_of(world, "a")
    assert set(standing.revised) == {node.id for node in world.revisions("a")[:2]}
    assert standing.replacing == {node.id for node in world.revisions("a")[2:]}
    assert standing.extent is Extent.DESCENDANTS


@pytest.mark.parametrize(
    ("first", "update"),
    [("One", {"src": "agent", "verified": True}), ("One", {"src": "tool"}), ("Two", {"src": "tool", "verified": True})],
    ids=["not trusted", "not verified", "same text"],
)
def test_what_says_nothing_new_corrects_nothing(first: str, update: dict[str, object]) -> None:
    """A rewrite that is not believed, or that says the same, is no correction."""
    world = build_world(written("a", first, t=0), written("a", "Two", t=10, **update))  # type: ignore[arg-type]
    assert find_in_place(world, "a") is None


def test_an_erased_update_still_corrects_until_it_is_retracted() -> None:
    """Nobody knows what the destroyed text said, so it is taken to have differed."""
    update = written("a", "Two", src="tool", verified=True, t=10)
    events: list[Event] = [written("a", "One", t=0), update, written("a", "Three", t=30), erased("a", observed=20, t=40)]
    correction = find_in_place(build_world(*events), "a")
    assert correction is not None
    assert (correction.ref.id, correction.ref.digest) == (update.ref.id, "")
    assert find_in_place(build_world(*events, retracted(update, t=50)), "a") is None


def test_a_chain_goes_over_several_steps() -> None:
    """Shared targets, shared subjects and replacements that are targets tie corrections together; nothing else does."""
    world = build_world(
        *[written(name, f"Text {name}", src="tool") for name in "abcdxy"],
        written("k", "Kiln", subject="kiln"),
        corrected("a", "b", t=1),
        corrected("b", "c", t=2),
        corrected(["d"], "c", t=3),
        corrected(subject="kiln", replacement="d", t=4),
        corrected("x", "y", t=5),
    )
    linked = standings_of(world, "a")
    assert [standing.correction.replacement for standing in linked] == ["b", "c", "c", "d"]
    assert {standing.chain for standing in linked} == {min(standing.key for standing in linked)}
    assert [standing.correction.replacement for standing in standings_of(world, "y")] == ["y"]


def test_the_last_correction_of_a_target_has_the_head() -> None:
    """It also names the earlier one's replacement, and each exempts its own and all later replacements."""
    world = build_world(*[written(name, f"Text {name}", src="tool") for name in "abc"], *FORK)
    first, last = standings_of(world, "a")
    assert (names(world, first.targets), names(world, last.targets)) == ({"a"}, {"a", "b"})
    assert (names(world, first.exempting), names(world, last.exempting)) == ({"b", "c"}, {"c"})


FORK = (corrected("a", "b", t=1), corrected("a", "c", t=2))


def test_what_was_verified_later_is_not_corrected() -> None:
    """A correction is void for such a target, in place or not, and for no other."""
    later = written("a", "Sure", src="tool", verified=True, t=50)
    world = build_world(written("a", "Said", t=0), written("b", "Text b"), later, corrected(["a", "b"], "n", t=10))
    standing = next(s for s in standings_of(world, "b") if s.correction.replacement == "n")
    assert (names(world, standing.nominal), names(world, standing.targets)) == ({"a", "b"}, {"b"})
    same = [written("a", "Sure", t=0), written("a", "Sure", t=5), later, corrected("a", "a", t=10)]
    (in_place,) = standings_of(build_world(*same), "a")
    assert in_place.revised == {}


@pytest.mark.parametrize(
    ("kind", "parents", "extent"),
    [
        ("fact", None, Extent.FAMILY),
        ("episode", None, Extent.DESCENDANTS),
        ("fact", ["unseen"], Extent.DESCENDANTS),
        ("fact", ["root"], Extent.FAMILY),
        ("fact", ["root", "other"], Extent.DESCENDANTS),
    ],
)
def test_the_extent_is_the_family_of_one_statement(kind: str, parents: list[str] | None, extent: Extent) -> None:
    """A family falls where all targets have one root that is a statement; an episode's other facts stand."""
    roots = [written("root", "Root", kind=kind), written("other", "Other", kind=kind)]
    world = build_world(*roots, written("t", "Target", kind=kind, parents=parents, t=1), corrected("t", "n", t=2))
    (standing,) = standings_of(world, "t")
    assert standing.extent is extent


def test_an_unknown_target_makes_no_family() -> None:
    """With a target that nothing is known of, only what derives from the known one falls."""
    world = build_world(written("a", "Text", kind="fact"), corrected(["a", "nobody"], "n", t=2))
    (standing,) = standings_of(world, "a")
    assert (standing.unknown, standing.extent) == (("nobody",), Extent.DESCENDANTS)


def test_a_family_starts_on_every_revision_of_its_root() -> None:
    """Also on one that is no ancestor of the target."""
    world = build_world(
        written("root", "One", kind="fact", t=0),
        written("t", "Recap", parents=["root"], t=1),
        written("root", "Two", t=5),
        corrected("t", "n", extent="family", t=9),
    )
    (standing,) = standings_of(world, "t")
    assert {node.id for node in find_family_starts(world, standing)} == {node.id for node in world.revisions("root")}
