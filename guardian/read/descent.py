"""Descent: what an erasure would reach, looked up before it is sent.

A cascade follows declared parents by itself. What only restates the text, so that its parent was inferred, is not covered by it, and
afterwards nobody can find it any more: inferred edges to an erased text do not exist. So it is looked for first, and gets an erasure
of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import NODES, PointKind
from guardian.core.rules.restate import Signature, build_signature, restates
from guardian.ports import Store

NAMED, DECLARED, INFERRED, LINKED, SAME_WORDS = "named", "declared", "inferred", "linked", "same words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Descendant:
    """A memory that an erasure would reach, or that derives from one.

    Attributes:
        how: `named` for the memory itself; else by what it derives: `declared`, `inferred`, or `linked` by hand; `same words` when it does
            not derive and only says the same.
        through: Memory id it derives from; empty for the memory itself.
        records: Number of its revisions that still have a text.
        latest: Observed time of the latest of these.
    """

    memory_id: str
    how: str
    through: str = ""
    records: int = 0
    latest: datetime | None = None


async def find_descendants(store: Store, space: str, memory_id: str) -> list[Descendant]:
    """Find a memory and all that declares descent from it or restates it, over any number of steps; nearest first.

    What was only linked to it by hand is listed and not followed: a cascade does not go there.

    Raises:
        DependencyError: The store is away.
    """
    found = {memory_id: (NAMED, "")}
    queue = [memory_id]
    while queue:
        points = await store.fetch(Needs(children={(space, name) for name in queue}))
        nodes = [load_node(point) for point in points if point.payload["point"] in NODES]
        above, queue = queue, []
        for node in sorted(nodes, key=lambda node: (node.memory_id, node.id)):
            for parent in above:
                how = _name_step(node, parent)
                known = found.get(node.memory_id)
                if how is None or (known is not None and _PLACES[known[0]] <= _PLACES[how]):
                    continue
                found[node.memory_id] = (how, parent)
                if how != LINKED and node.memory_id not in queue:
                    queue.append(node.memory_id)
    return [await _describe(store, space, name, how, through) for name, (how, through) in found.items()]


async def find_same_words(store: Store, space: str, found: Sequence[Descendant]) -> list[Descendant]:
    """Find memories that say what one of those found says, without being derived from it; reads all records of the space.

    Raises:
        DependencyError: The store is away.
    """
    reached = {each.memory_id for each in found if each.how != LINKED}
    texts: dict[str, list[Signature]] = {}
    others: list[Node] = []
    async for point in store.iter_points(space=space, kinds=frozenset({PointKind.RECORD})):
        node = load_node(point)
        if node.memory_id in reached:
            texts.setdefault(node.memory_id, []).append(build_signature(node.text or ""))
        else:
            others.append(node)
    known = {each.memory_id for each in found}
    same: dict[str, str] = {}
    for node in sorted(others, key=lambda node: (node.memory_id, node.id)):
        signature = build_signature(node.text or "")
        said = (name for name in sorted(texts) if any(restates(signature, text) is not None for text in texts[name]))
        if node.memory_id not in known | same.keys() and (through := next(said, None)) is not None:
            same[node.memory_id] = through
    return [await _describe(store, space, name, SAME_WORDS, through) for name, through in same.items()]


_PLACES = {NAMED: 0, DECLARED: 1, INFERRED: 2, LINKED: 3}


def _name_step(node: Node, parent: str) -> str | None:
    """Tell how a node derives from a memory; None when it does not."""
    if parent in (node.names or ()) and node.is_written:
        return DECLARED
    hows = {edge.how for edge in node.edges if edge.memory_id == parent}
    if INFERRED in hows:
        return INFERRED
    return LINKED if hows else None


async def _describe(store: Store, space: str, memory_id: str, how: str, through: str) -> Descendant:
    points = await store.fetch(Needs(memories={(space, memory_id)}))
    times = [load_node(point).order[0] for point in points if point.payload["point"] == PointKind.RECORD]
    return Descendant(memory_id=memory_id, how=how, through=through, records=len(times), latest=max(times, default=None))
