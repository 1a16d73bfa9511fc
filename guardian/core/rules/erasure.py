"""Erasure: which revisions the data subject's right covers, and what is left of them.

A cascade with time T covers a memory, up to T, when a write of it observed at or before T names a covered memory as a parent.
Coverage follows the names in the events and only ever grows, since a destroyed text cannot come back; so what a text inside a
correction names does not count, which a retraction may take away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from guardian.core.claim import digest_subject, dump_ref
from guardian.core.fact import Correction, build_event_key, load_ending
from guardian.core.node import Node, build_tombstone
from guardian.core.payload import load_node
from guardian.core.point import NODES, Point, PointKind
from guardian.core.world import World


def settle_erasures(world: World, named: Iterable[str], corrections: Iterable[str] = ()) -> set[str]:
    """Turn covered records of the touched memories, and of those a cascade reaches, into tombstones.

    Args:
        world: Where the nodes are. Which memories the erasures cover is noted in its `erased`.
        named: Memories that an erasure of this batch names. A cascade from there, and from a text that is covered now, is
            followed to its end even where it is noted already: a crash may have come in between.
        corrections: Keys of corrections that an event of this batch names.

    Returns:
        Memory ids whose set of nodes changed.
    """
    changed: set[str] = set()
    # Where a cascade is to be followed from, and what the erasures of this batch reach: more than they, for a late text is covered too.
    followed, reached = set(named), set(named)
    walked, told = set[str](), set[str]()
    queue = sorted(world.touched)
    while queue:
        memory_id = queue.pop()
        world.touched.add(memory_id)
        cascade = find_cascade(world, memory_id)
        until = _latest(_own_until(world, memory_id), cascade)
        if until is not None and _cover(world, memory_id, until):
            changed.add(memory_id)
            followed.add(memory_id)
        if cascade is not None and _spread(world, memory_id, cascade):
            walked.discard(memory_id)
            followed.add(memory_id)
            reached.add(memory_id)
        if until is not None and memory_id in reached:
            world.erased[memory_id] = until
        if cascade is None or memory_id not in (followed - walked) | (reached - told):
            continue
        walked.add(memory_id)
        children = {child.memory_id for child in world.named_children(memory_id)} - {memory_id}
        followed |= children
        if memory_id in reached:
            told.add(memory_id)
            reached |= children
        queue.extend(sorted(children))
    for key in sorted(corrections):
        _silence_named(world, key)
    return changed


def read_erasures(points: Iterable[Point]) -> dict[tuple[str, str], datetime]:
    """Give the (space, memory id) of erased memories with the latest time up to which they are.

    Args:
        points: The nodes and endings of the memories asked about, as the store has them.
    """
    erased: dict[tuple[str, str], datetime] = {}
    for point in points:
        kind = PointKind(point.payload["point"])
        until = None
        if kind is PointKind.ERASURE:
            until = load_ending(point.id, point.payload).observed_at
        elif kind in NODES:
            until = load_node(point).cascade_until
        if until is not None:
            key = (point.payload["space"], point.payload["memory_id"])
            erased[key] = max(erased.get(key, until), until)
    return erased


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


def _own_until(world: World, memory_id: str) -> datetime | None:
    return max((erasure.observed_at for erasure in world.erasures(memory_id)), default=None)


def _latest(*times: datetime | None) -> datetime | None:
    return max((time for time in times if time is not None), default=None)


def _cover(world: World, memory_id: str, until: datetime) -> bool:
    _forget_words(world, memory_id, until)
    covered = [node for node in world.revisions(memory_id) if node.is_record and node.order[0] <= until]
    for node in covered:
        _bury(world, node)
    return bool(covered)


def _forget_words(world: World, memory_id: str, until: datetime) -> None:
    """Take what was said about a memory up to then: verdicts and cards whole, of links and corrections the reason in words.

    By the time in their events: what is destroyed cannot come back, so this set, too, must only grow.
    """
    for verdict in world.verdicts(memory_id):
        if verdict.ref.time <= until:
            del world.verdict_facts[memory_id][verdict.id]
            world.forgotten.add(verdict.id)
    for key, induction in list(world.inductions(memory_id).items()):
        if induction.observed_at <= until:
            del world.induction_facts[memory_id][key]
            world.forgotten.add(key)
    for link in world.memory_links(memory_id):
        if link.reason is not None and link.ref.time <= until:
            world.links[memory_id][link.id] = world.silenced[link.id] = replace(link, reason=None)
    for correction in world.corrections_of_memory(memory_id):
        if memory_id in _names_of(correction):
            _silence(world, correction, until)


def _silence_named(world: World, key: str) -> None:
    """Take the words from a correction that comes when a memory it names is erased already."""
    correction = world.corrections.get(key)
    if correction is None or correction.reason is None:
        return
    for memory_id in _names_of(correction):
        until = _latest(_own_until(world, memory_id), _known_cascade(world, memory_id))
        if until is not None:
            _silence(world, correction, until)


def _silence(world: World, correction: Correction, until: datetime) -> None:
    if correction.reason is not None and correction.ref.time <= until:
        world.add_correction(replace(correction, reason=None))


def _names_of(correction: Correction) -> set[str]:
    return {*correction.targets, *([correction.replacement] if correction.replacement is not None else ())}


def _bury(world: World, node: Node) -> None:
    """Leave a tombstone for each way the revision was declared: which claim came first must not matter."""
    world.buried_texts += {claim.event.text for claim in node.claims}
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
