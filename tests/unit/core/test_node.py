"""Nodes come back from their payload as they were."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import given, settings

from guardian.core.model import Event, Status
from guardian.core.node import Node, drop_self
from guardian.core.payload import dump_node, load_node
from guardian.core.point import HEAVY_FIELDS, NODES, Point
from tests.builders import corrected, erased, written
from tests.strategies import event_sets
from tests.unit.core.worlds import build_world, revision, store

# What a decision only works with, and what says how a node was read.
UNSTORED = {"stored", "whole", "declared_edges", "removed_parents", "has_anchor", "card"}
LIGHT = UNSTORED | {"text", "claims"}


def compare(node: Node, left_out: set[str]) -> dict[str, Any]:
    """Give a node's fields by name."""
    return {item.name: getattr(node, item.name) for item in fields(Node) if item.name not in left_out}


@settings(max_examples=100)
@given(event_sets(max_events=14, spaces=("s",)))
def test_a_node_comes_back_from_its_payload(events: list[Event]) -> None:
    """Dumping a loaded node gives its payload but for the card, which is made at the write; loading that gives the node."""
    for point_id, payload in store(*events).items():
        if payload["point"] not in {kind.value for kind in NODES}:
            continue
        node = load_node(Point(point_id, payload))
        dumped = dump_node(node)
        assert dumped == {name: value for name, value in payload.items() if name != "card"}
        assert compare(load_node(Point(point_id, dumped)), UNSTORED) == compare(node, UNSTORED)


@settings(max_examples=50)
@given(event_sets(max_events=10, spaces=("s",)))
def test_a_lineage_read_changes_nothing(events: list[Event]) -> None:
    """A node read without its heavy fields has the same lineage, and dumps the same light fields."""
    for point_id, payload in store(*events).items():
        if payload["point"] not in {kind.value for kind in NODES}:
            continue
        light = {name: value for name, value in payload.items() if name not in HEAVY_FIELDS}
        node = load_node(Point(point_id, light, whole=False))
        assert dump_node(node) == light
        assert compare(node, LIGHT) == compare(load_node(Point(point_id, payload)), LIGHT)


def test_a_self_parent_is_dropped_and_absence_kept() -> None:
    """Parents are a sorted set without the memory itself; none named stays none named."""
    assert drop_self(("b", "a", "m", "b"), "m") == ("a", "b")
    assert drop_self(("m",), "m") == ()
    assert drop_self(None, "m") is None


def test_the_stronger_status_wins() -> None:
    """Erased beats superseded beats verified beats active."""
    verified = written("a", src="tool", verified=True)
    assert revision(build_world(verified), "a").status is Status.VERIFIED
    felled = [verified, corrected("a", "b", t=5)]
    assert revision(build_world(*felled), "a").status is Status.SUPERSEDED
    assert revision(build_world(*felled, erased("a", t=6)), "a").status is Status.ERASED
    assert revision(build_world(written("a")), "a").status is Status.ACTIVE
