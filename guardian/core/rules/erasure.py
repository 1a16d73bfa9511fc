"""Erasure: which revisions the data subject's right covers, and what is left of them.

A cascade with time T covers a memory, up to T, when a write of it observed at or before T names a covered memory as a parent.
Coverage follows the names in the events and only ever grows, since a destroyed text cannot come back; so what a text inside a
correction names does not count, which a retraction may take away.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from guardian.core.claim import digest_subject, dump_ref
from guardian.core.fact import build_event_key
from guardian.core.node import Node, build_tombstone
from guardian.core.world import World


def settle_erasures(world: World, named: Iterable[str]) -> set[str]:
    """Turn covered records of the touched memories, and of those a cascade reaches, into tombstones.

    Args:
        world: Where the nodes are.
        named: Memories that an erasure of this batch names. A cascade from there, and from a text that is covered now, is
            followed to its end even where it is noted already: a crash may have come in between.

    Returns:
        Memory ids whose set of nodes changed.
    """
    changed: set[str] = set()
    followed, walked = set(named), set[str]()
    queue = sorted(world.touched)
    while queue:
        memory_id = queue.pop()
        world.touched.add(memory_id)
        cascade = find_cascade(world, memory_id)
        if _cover(world, memory_id, cascade):
            changed.add(memory_id)
            followed.add(memory_id)
        if cascade is None:
            continue
        if _spread(world, memory_id, cascade) or memory_id in followed - walked:
            walked.add(memory_id)
            children = {child.memory_id for child in world.named_children(memory_id)} - {memory_id}
            followed |= children
            queue.extend(sorted(children))
    return changed


def find_cascade(world: World, memory_id: str) -> datetime | None:
    """Give the latest time up to which a cascading erasure covers a memory, or None."""
    times = [erasure.observed_at for erasure in world.erasures(memory_id) if erasure.cascade]
    for node in world.memory_nodes(memory_id):
        if node.cascade_until is not None:
            times.append(node.cascade_until)
        for name in (node.names or ()) if node.is_written else ():
            inherited = _known_cascade(world, name)
            if inherited is not None and node.observed_at is not None and node.observed_at <= inherited:
                times.append(inherited)
    return max(times, default=None)


def _known_cascade(world: World, memory_id: str) -> datetime | None:
    times = [erasure.observed_at for erasure in world.erasures(memory_id) if erasure.cascade]
    times += [node.cascade_until for node in world.memory_nodes(memory_id) if node.cascade_until is not None]
    return max(times, default=None)


def _cover(world: World, memory_id: str, cascade: datetime | None) -> bool:
    own = max((erasure.observed_at for erasure in world.erasures(memory_id)), default=None)
    until = max((time for time in (own, cascade) if time is not None), default=None)
    if until is None:
        return False
    covered = [node for node in world.revisions(memory_id) if node.is_record and node.order[0] <= until]
    for node in covered:
        _bury(world, node)
    return bool(covered)


def _bury(world: World, node: Node) -> None:
    """Leave a tombstone for each way the revision was declared: which claim came first must not matter."""
    for claim in node.claims:
        event = claim.event
        made = build_tombstone(node.space, node.memory_id, observed_at=event.observed_at, kind=event.kind, parents=event.parents)
        tombstone = world.nodes.get(made.id, made)
        if claim.believed and not claim.is_withdrawn:
            tombstone.believed_by |= {tuple(dump_ref(event.ref)[:3])}
        tombstone.named_subjects |= {digest_subject(event.subject) if event.subject is not None else ""}
        if claim.is_inline:
            tombstone.inline_events |= {build_event_key(event.ref.source, event.ref.id)}
        else:
            tombstone.is_plain = True
        if tombstone is made:
            world.add_node(made)
            world.dirty.add(made.id)
    world.remove_node(node)


def _spread(world: World, memory_id: str, cascade: datetime) -> bool:
    """Note the cascade on the memory's nodes; tell whether it grew, so that who names the memory has to be looked at."""
    grew = False
    nodes = world.memory_nodes(memory_id)
    for node in nodes:
        # An unseen memory names nothing, so its own erasures tell as much.
        if not node.is_unseen and (node.cascade_until is None or node.cascade_until < cascade):
            node.cascade_until = cascade
            grew = True
    return grew or all(node.is_unseen for node in nodes)
