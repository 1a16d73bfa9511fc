"""Erasure: what it covers, and what is left."""

from __future__ import annotations

import itertools
import json

import pytest

from guardian.core.model import Event, Status
from tests.builders import corrected, erased, linked, retracted, written, written_data
from tests.unit.core.worlds import build_world, revision, store

SECRET = "The code is 4711"


def statuses(*events: Event) -> dict[str, list[Status]]:
    """Give the statuses of every memory's revisions."""
    world = build_world(*events)
    return {name: [node.status for node in world.revisions(name)] for name in sorted(world.by_memory) if world.revisions(name)}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_nothing_of_a_destroyed_text_is_left(order: tuple[int, ...]) -> None:
    """No text, digest, metadata or card in any payload, whichever comes first."""
    common = {"src": "user", "subject": "secret lock", "metadata": {"note": SECRET}, "session": "private"}
    events = [
        written("a", SECRET, t=0, **common),
        written("a", f"{SECRET}!", t=1, verified=True, **common),
        erased("a", observed=5, t=6),
    ]
    points = store(*[events[index] for index in order])
    kept = json.dumps(points)
    digests = {event.ref.digest for event in events[:2]}
    assert not any(word in kept for word in ("4711", "secret lock", "private", *digests))
    assert [payload["status"] for payload in points.values() if payload["point"] == "tombstone"] == ["erased", "erased"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_a_cascade_follows_declared_descent_in_every_order(order: tuple[int, ...]) -> None:
    """What names a covered memory up to the time is covered; later texts, and what is only linked, are not."""
    events = [
        written("b", "From a", parents=["a"], t=1),
        written("c", "From b", parents=["b"], t=2),
        written("b", "Later words", parents=["a"], t=9),
        erased("a", observed=5, cascade=True, t=20),
    ]
    found = statuses(written("a"), written("l"), linked("l", add=["a"], t=1), *[events[index] for index in order])
    assert found == {
        "a": [Status.ERASED],
        "b": [Status.ERASED, Status.ACTIVE],
        "c": [Status.ERASED],
        "l": [Status.ACTIVE],
    }


def test_a_tombstone_keeps_its_place_in_the_lineage() -> None:
    """Declared parents and children stay, so a correction still fells what derives from an erased text."""
    events = [
        written("a", kind="fact"),
        written("b", parents=["a"], t=1),
        written("c", parents=["b"], t=2),
        erased("b", observed=5, t=6),
        corrected("a", "n", t=9),
    ]
    for order in itertools.permutations(events):
        world = build_world(*order)
        assert (revision(world, "b").is_erased, revision(world, "c").roots, revision(world, "c").status) == (
            True,
            ("a",),
            Status.SUPERSEDED,
        )


def test_an_erasure_brings_back_nothing() -> None:
    """What an update in place or a correction by subject felled stays felled when the text that it hung on is erased."""
    update = [
        written("a", "Old", t=0),
        written("r", "Recap", parents=["a"], t=1),
        written("a", "New", src="tool", verified=True, t=5),
        written("a", "Newest", t=9),
        erased("a", observed=6, t=10),
    ]
    by_subject = [
        written("a", "Old", subject="kiln", t=0),
        written("a", "Kept words", t=1),
        written("r", "Recap", parents=["a"], t=2),
        corrected(subject="kiln", replacement="n", t=5),
        erased("a", observed=4, t=6),
    ]
    for events in (update, by_subject):
        for order in itertools.permutations(events):
            assert statuses(*order)["r"] == [Status.SUPERSEDED]


def test_a_text_inside_a_correction_goes_with_it() -> None:
    """It leaves a tombstone only while the correction stands, and carries no cascade."""
    correction = corrected("k", written_data("x", "Right words", src=None, parents=["a"], observed=1), t=2)
    events = [written("a"), written("k"), correction]
    spared = statuses(*events, erased("a", observed=9, cascade=True, t=10))
    assert (spared["a"], spared["x"]) == ([Status.ERASED], [Status.ACTIVE])
    own = erased("x", observed=9, t=10)
    assert statuses(*events, own)["x"] == [Status.ERASED]
    assert "x" not in statuses(*events, own, retracted(correction, t=11))


def test_an_erasure_without_authority_destroys_nothing() -> None:
    """It is a dispute."""
    assert statuses(written("a"), erased("a", by="agent", t=1), erased("a", by=None, t=1)) == {"a": [Status.ACTIVE]}
