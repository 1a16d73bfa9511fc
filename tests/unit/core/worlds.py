"""Worlds for tests of single rules: what a store holds after some events, all of it at hand."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import fields
from typing import Any

from guardian.core.asking import initial_needs
from guardian.core.decide import decide
from guardian.core.model import Event
from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.plan import Plan
from guardian.core.point import Point
from guardian.core.policy import Policy
from guardian.core.snapshot import Snapshot
from guardian.core.world import World

SPACE = "s"


class Everything(set[Any]):
    """A set of keys that has every key."""

    def __contains__(self, key: object) -> bool:
        """Say yes."""
        return True


def ask_everything() -> Needs:
    """Give needs that hold every key: what is not at hand does not exist."""
    return Needs(**{item.name: Everything() for item in fields(Needs)})


def apply(points: dict[str, dict[str, Any]], plan: Plan) -> None:
    """Carry out a plan on payloads."""
    for phase in plan.phases:
        points.update({upsert.id: dict(upsert.payload) for upsert in phase.upserts})
        for patch in phase.patches:
            merged = {**points[patch.id], **patch.payload}
            points[patch.id] = {name: value for name, value in merged.items() if value is not None}
        for point_id in phase.deletes:
            points.pop(point_id, None)


def store(*events: Event, policy: Policy | None = None) -> dict[str, dict[str, Any]]:
    """Give the payloads that the events leave, decided one by one with everything at hand."""
    points: dict[str, dict[str, Any]] = {}
    settled = policy or Policy()
    for event in events:
        plan = decide([event], snapshot_of(points), lambda _: settled)
        assert isinstance(plan, Plan)
        apply(points, plan)
    return points


def snapshot_of(points: dict[str, dict[str, Any]]) -> Snapshot:
    """Give a snapshot in which all points were fetched and every key was asked."""
    snapshot = Snapshot()
    snapshot.add(initial_needs([]), [Point(point_id, payload) for point_id, payload in points.items()])
    snapshot.asked = ask_everything()
    return snapshot


def load(points: dict[str, dict[str, Any]]) -> World:
    """Give the world of payloads."""
    return World(SPACE, [Point(point_id, payload) for point_id, payload in points.items()], ask_everything())


def build_world(*events: Event, policy: Policy | None = None) -> World:
    """Give the world that the events leave."""
    return load(store(*events, policy=policy))


def revision(world: World, memory_id: str, position: int = -1) -> Node:
    """Give a revision of a memory, by default the latest."""
    return world.revisions(memory_id)[position]


def names(world: World, node_ids: Container[str]) -> set[str]:
    """Give the memory ids of some nodes."""
    return {node.memory_id for node in world.nodes.values() if node.id in node_ids}
