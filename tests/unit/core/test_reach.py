"""Reach: which corrections fell a record, over what, and what stays."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from guardian.core.model import Event
from guardian.core.payload import build_reasons
from guardian.core.world import World
from tests.builders import corrected, linked, retracted, written
from tests.unit.core.worlds import build_world, revision


def felled(world: World) -> set[str]:
    """Give the memories of which some revision is felled."""
    return {node.memory_id for node in world.nodes.values() if node.felled and not node.is_unseen}


def reasons(world: World, memory_id: str) -> list[dict[str, Any]]:
    """Give the reasons of a memory's latest revision."""
    return build_reasons(revision(world, memory_id))


def tree() -> list[Event]:
    """Give a root with two children and a grandchild, and a merge with another root."""
    return [
        written("root", "Root", src="tool", kind="fact"),
        written("a", "Text a", parents=["root"], t=1),
        written("b", "Text b", parents=["root"], t=1),
        written("kid", "Kid", parents=["a"], t=2),
        written("z", "Other root", src="tool", kind="fact"),
        written("mix", "Both", parents=["a", "z"], t=3),
    ]


@pytest.mark.parametrize(
    ("extent", "expected"),
    [("record", {"a"}), ("descendants", {"a", "kid", "mix"}), ("family", {"root", "a", "b", "kid", "mix"})],
)
def test_an_extent_reaches_so_far(extent: str, expected: set[str]) -> None:
    """The record alone, what derives from it, or all that shares its root."""
    assert felled(build_world(*tree(), corrected("a", "n", extent=extent, t=9))) == expected


def test_what_has_another_standing_root_is_mixed() -> None:
    """It is withheld with the mark, as long as that root stands."""
    correction = corrected("a", "n", extent="family", t=9)
    assert [reason["mixed"] for reason in reasons(build_world(*tree(), correction), "mix")] == [True]
    both = build_world(*tree(), correction, corrected("z", "n2", t=10))
    assert {reason["mixed"] for reason in reasons(both, "mix")} == {False}


def test_a_reason_names_the_least_target_on_the_way() -> None:
    """Itself for a target; else the least it is reached over; by a shared root alone the least of all."""
    world = build_world(*tree(), corrected(["kid", "a"], "n", extent="family", t=9))
    assert {name: reasons(world, name)[0]["via"] for name in ("kid", "a", "mix", "b")} == {
        "kid": "kid",
        "a": "a",
        "mix": "a",
        "b": "a",
    }
    unknown = build_world(*tree(), corrected(["kid", "Nobody"], "n", extent="family", t=9))
    assert reasons(unknown, "b")[0]["via"] == "Nobody"


def test_a_target_that_hands_nothing_on_counts_on_the_way_of_another() -> None:
    """Alike in a line and in a circle: corrected in place above, a record alone below."""
    for ring in ((), ("leaf",)):
        world = build_world(
            written("d", "Old", t=0),
            written("b", "Text b", parents=["d", *ring], t=1),
            written("leaf", "Leaf", parents=["b"], t=1),
            written("d", "New", t=5),
            corrected(["b", "d"], "d", extent="record", t=9),
        )
        assert [reason["via"] for reason in reasons(world, "leaf")] == ["b"]


def test_what_derives_from_the_replacement_knew_of_the_correction() -> None:
    """It is spared, unless a target lies on the way; the replacement itself is spared although it derives from the target."""
    world = build_world(
        *tree(),
        written("n", "Better", parents=["a"], t=4),
        written("knew", "Both texts", parents=["a", "n"], t=5),
        corrected("a", "n", extent="descendants", t=9),
    )
    assert felled(world) == {"a", "kid", "mix"}
    on_the_way = build_world(
        written("n", "Better"),
        written("t", "Target", parents=["n"], t=1),
        written("x", "Below", parents=["t"], t=2),
        corrected(["t", "s"], "n", t=9),
    )
    assert felled(on_the_way) == {"t", "x"}


def test_what_was_verified_later_stands() -> None:
    """A recap that trusted authority confirmed after the correction took effect is spared, what derives from it is not."""
    world = build_world(
        *tree(),
        written("sure", "Checked", src="tool", verified=True, parents=["a"], t=20),
        corrected("a", "n", extent="descendants", t=9),
    )
    assert "sure" not in felled(world)


def test_a_new_root_takes_the_family_with_it() -> None:
    """When the target's lineage changes, the old family comes back and the new one falls."""
    correction = corrected("kid", "n", extent="family", t=9)
    moved = linked("a", remove=["root"], add=["z"], t=10)
    for events in itertools.permutations([correction, moved]):
        assert felled(build_world(*tree(), *events)) == {"z", "a", "kid", "mix"}


def test_a_late_revision_of_the_root_falls_with_its_family() -> None:
    """A family extent starts on every revision that carries the root, whenever it comes and whoever derives from it."""
    late = written("root", "Another word", src="tool", kind="fact", t=30)
    correction = corrected("a", "n", extent="family", t=40)
    for events in itertools.permutations([late, correction]):
        world = build_world(*tree(), *events)
        assert [bool(node.felled) for node in world.revisions("root")] == [True, True]


def test_two_families_of_one_root_do_not_mix_up_their_marks() -> None:
    """Working out one correction again leaves the marks of another, which only shares the root, alone."""
    events = [
        written("a", "Text", kind="fact", subject="kiln"),
        corrected(subject="kiln", t=5),
        written("b", "Recap", parents=["a"], t=6),
        corrected("b", "d", extent="family", t=7),
        corrected("a", "a", t=8),
        written("b", "Recap again", parents=["a"], t=9),
    ]
    world = build_world(*events)
    assert {reason["id"].split("#")[1] for reason in reasons(world, "a")} == {events[3].ref.id}


def test_a_retracted_head_is_forgotten_by_its_chain() -> None:
    """The label of a chain is one of a correction that stands."""
    one, other = corrected(subject="kiln", t=1, id="x1"), corrected(subject="kiln", t=2, id="x2")
    for gone in (one, other):
        world = build_world(one, other, retracted(gone, t=5))
        (left,) = world.corrections.values()
        assert left.chain == left.key
