"""Bring utilities to the calibration in force: find the records that have theirs by another, and ask for them to be rated again.

An activation rewrites nothing by itself. What it leaves behind shows in the records, which keep the calibration their utility was made by; so
the work can stop anywhere and go on later, and asking twice changes nothing. The guard remains the only writer: what is found becomes
`memory.rated` events.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

import orjson

from guardian.core.calibration import Calibration, load_calibration, overlay
from guardian.core.model import EventRef, Rated
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.core.policy import Policy
from guardian.core.rules.utility import rests_on_calibration
from guardian.ports import Store

SOURCE = "/guardian/audit"
# Memories that one event names: with their verdicts a few thousand points, decided within a second.
RATED_MEMORIES = 200

PolicyOf = Callable[[str], Policy]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrations:
    """What is in force in each space of a store.

    Attributes:
        activated: Activations that stand, by space.
        policy_of: The settings' policy of a space.
    """

    activated: dict[str, list[Calibration]]
    policy_of: PolicyOf

    def policy(self, space: str) -> Policy:
        """Give the policy of a space under its calibration."""
        return overlay(self.policy_of(space), self.activated.get(space, ()))


async def load_calibrations(store: Store, policy_of: PolicyOf) -> Calibrations:
    """Read the activations of all spaces."""
    activated: dict[str, list[Calibration]] = {}
    async for point in store.iter_points(kinds={PointKind.CALIBRATION}):
        activated.setdefault(point.payload["space"], []).append(load_calibration(point.id, point.payload))
    return Calibrations(activated=activated, policy_of=policy_of)


def is_stale(node: Node, mark: str | None) -> bool:
    """Tell whether a record has its utility by another calibration than the one with this mark."""
    return node.is_record and rests_on_calibration(node.verdicts or ()) and node.calibration != mark


async def iter_stale(
    store: Store, calibrations: Calibrations, *, space: str | None = None, pattern: str = "*"
) -> AsyncIterator[Node]:
    """Give the records whose utility was made by another calibration than the one in force; one pass over the records."""
    marks: dict[str, str | None] = {}
    async for point in store.iter_points(space=space, kinds={PointKind.RECORD}):
        name = point.payload["space"]
        if not fnmatchcase(name, pattern):
            continue
        if name not in marks:
            marks[name] = calibrations.policy(name).mark
        node = load_node(point)
        if is_stale(node, marks[name]):
            yield node


async def count_stale(store: Store, policy_of: PolicyOf, *, space: str | None = None) -> dict[str, int]:
    """Count by space the records whose utility was made by another calibration than the one in force; one pass over the records."""
    calibrations = await load_calibrations(store, policy_of)
    counts: Counter[str] = Counter()
    async for node in iter_stale(store, calibrations, space=space):
        counts[node.space] += 1
    return dict(sorted(counts.items()))


async def has_calibration(store: Store, policy_of: PolicyOf) -> bool:
    """Tell whether any calibration is or was in force here: without one nothing can be stale, and nothing need be read."""
    was_ever = {PointKind.CALIBRATION, PointKind.RETRACTION}  # one that was taken back left a retraction, and perhaps utilities
    return policy_of("").is_calibrated or bool(await store.count(kinds=was_ever))


async def iter_rated(
    store: Store, calibrations: Calibrations, now: datetime, *, pattern: str = "*", size: int = RATED_MEMORIES
) -> AsyncIterator[Rated]:
    """Give events that ask for what is stale to be rated again; a memory with several revisions may be named twice."""
    waiting: dict[str, set[str]] = {}
    async for node in iter_stale(store, calibrations, pattern=pattern):
        named = waiting.setdefault(node.space, set())
        named.add(node.memory_id)
        if len(named) >= size:
            yield build_rated(node.space, waiting.pop(node.space), calibrations.policy(node.space).mark, now)
    for space, named in sorted(waiting.items()):
        yield build_rated(space, named, calibrations.policy(space).mark, now)


def build_rated(space: str, memory_ids: Collection[str], mark: str | None, now: datetime) -> Rated:
    """Build the event that asks for memories to be rated again; the same memories and calibration give the same id."""
    named = tuple(sorted(memory_ids))
    digest = hashlib.sha256(orjson.dumps([space, mark, named])).hexdigest()[:32]
    return Rated(ref=EventRef(time=now, source=SOURCE, id=f"rated-{digest}", digest=""), space=space, memory_ids=named)
