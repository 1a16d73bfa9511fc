"""Explanation: all that a store knows about one memory, for a person or a program."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from guardian.core.calibration import load_calibration
from guardian.core.claim import dump_source
from guardian.core.export import build_row
from guardian.core.moment import format_time
from guardian.core.narrowing import Mark
from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import NODES, Point, PointKind
from guardian.ports import Store

# Nodes of a lineage tree; a family of 100,000 is counted, not drawn.
MAX_TREE = 200
# Nodes that are made of their payloads before others have a turn: 0.1 ms each, and a service answers all of its callers in one loop.
_AT_ONCE = 50


@dataclass(slots=True)
class Branch:
    """One node of a lineage tree, with what lies beyond it.

    Attributes:
        how: How the step to it was told: declared, linked or inferred; empty for the memory itself.
        similarity: Of an inferred step.
        left_out: Branches beyond it that are not drawn.
    """

    node_id: str
    memory_id: str
    status: str
    text: str | None
    how: str = ""
    similarity: float | None = None
    branches: list[Branch] = field(default_factory=list)
    left_out: int = 0


@dataclass(slots=True, kw_only=True)
class Explanation:
    """What is known about a memory.

    Attributes:
        revisions: Rows as in an export, the current one first, each with card, permission, source and verdicts.
        ancestors: Tree of what it derives from.
        descendants: Tree of what derives from it.
        family_size: Nodes that share a root with it.
        reads: Number of reads that retrieved it.
        events: Corrections, verdicts, deletions, links and erasures that name it.
        calibrations: What was activated for its space by events and stands, the one in force last.
    """

    space: str
    memory_id: str
    revisions: list[dict[str, Any]]
    ancestors: Branch
    descendants: Branch
    family_size: int
    reads: int
    events: list[dict[str, Any]]
    calibrations: list[str]


async def explain(store: Store, space: str, memory_id: str) -> Explanation | None:
    """Explain a memory, or give None when the store has never heard of it."""
    key = (space, memory_id)
    needs = Needs(memories={key}, verdicts={key}, mentions={key}, children={key}, retrieved={key})
    needs.calibrations.add((space, PointKind.CALIBRATION.value))
    points = await store.fetch(needs)
    calibrations = [load_calibration(point.id, point.payload) for point in points if _is_calibration(point)]
    points = [point for point in points if not _is_calibration(point)]
    own = [point for point in points if point.payload["point"] in NODES and point.payload["memory_id"] == memory_id]
    if not own:
        return None
    nodes = sorted((load_node(point) for point in own if point.whole), key=lambda node: (not node.is_current, node.is_unseen))
    roots = {root for node in nodes for root in node.roots}
    family = await _fetch_family(store, space, roots)
    tree = {node.id: node for node in [*family, *nodes]}
    outside = [point for point in points if point.payload["point"] in NODES and point.id not in tree]
    await _fetch_descendants(store, space, await _load_nodes(outside), tree)
    current = nodes[0]
    above, below = await _grow_up(store, current, tree), _grow_down(current, tree)
    await _fill_texts(store, (above, below))
    return Explanation(
        space=space,
        memory_id=memory_id,
        revisions=[_describe(point) for point in own if not load_node(point).is_unseen and point.whole],
        ancestors=above,
        descendants=below,
        family_size=len(tree),
        reads=sum(point.payload["point"] == PointKind.READ for point in points),
        events=[_describe_fact(point) for point in points if point.payload["point"] not in {*NODES, PointKind.READ}],
        calibrations=[one.name for one in sorted(calibrations, key=lambda one: one.order)],
    )


def _is_calibration(point: Point) -> bool:
    return bool(point.payload["point"] == PointKind.CALIBRATION)


async def _fetch_family(store: Store, space: str, roots: set[str]) -> list[Node]:
    return await _load_nodes(await store.fetch(Needs(families={(space, root) for root in roots})))


async def _load_nodes(points: Sequence[Point]) -> list[Node]:
    """Make nodes of their points, and let others have their turn: a family of 10,000 takes seconds."""
    nodes: list[Node] = []
    for start in range(0, len(points), _AT_ONCE):
        nodes += [load_node(point) for point in points[start : start + _AT_ONCE]]
        await asyncio.sleep(0)
    return nodes


def _describe(point: Point) -> dict[str, Any]:
    row = build_row(point)
    node = load_node(point)
    payload = point.payload
    row["record_id"] = point.id
    row["source"] = dump_source(node.claimed_source)
    row["card"] = orjson.loads(payload["card"]) if "card" in payload else None
    row["permission"] = orjson.loads(payload["permission"]) if "permission" in payload else None
    row["verdicts"] = node.verdicts
    row["edges"] = [{"memory_id": edge.memory_id, "how": edge.how, "similarity": edge.similarity} for edge in node.edges]
    row["written_by"] = [
        {
            "source": claim.event.ref.source,
            "id": claim.event.ref.id,
            "time": format_time(claim.event.ref.time),
            "claims_verified": claim.event.verified,
            "believed": claim.believed,
        }
        for claim in node.claims
    ]
    return row


def _describe_fact(point: Point) -> dict[str, Any]:
    facts = orjson.loads(point.payload["facts"])
    time, source, event_id = facts["o"][:3]
    fact = {"what": point.payload["point"], "source": source, "id": event_id, "time": time}
    if point.payload["point"] == PointKind.CORRECTION:
        fact |= {
            "targets": facts["t"],
            "replacement": facts["r"],
            "effective_at": facts["e"],
            "by": facts["a"],
            "reason": facts["y"],
        }
    elif point.payload["point"] == PointKind.INDUCTION:
        mark = Mark.from_json(facts["m"])
        fact |= {
            "inducer": mark.inducer,
            "version": mark.version,
            "confidence": mark.confidence,
            "takes": mark.narrowing.to_json(),
        }
    elif point.payload["point"] == PointKind.VERDICT:
        fact |= {"channel": facts["c"], "value": facts["v"]}
    return fact


def _leaf(node: Node, how: str = "", similarity: float | None = None) -> Branch:
    status = "unseen" if node.is_unseen else node.status.value
    return Branch(node.id, node.memory_id, status, node.text, how, similarity)


async def _grow_up(store: Store, start: Node, tree: dict[str, Node]) -> Branch:
    await _fetch_ancestors(store, start, tree)
    top = _leaf(start)
    seen = {start.id}
    queue = [(start, top)]
    while queue:
        node, branch = queue.pop(0)
        for edge in node.edges:
            parent = tree.get(edge.node_id)
            if parent is None or parent.id in seen or len(seen) >= MAX_TREE:
                branch.left_out += 1
                continue
            seen.add(parent.id)
            branch.branches.append(grown := _leaf(parent, edge.how, edge.similarity))
            queue.append((parent, grown))
    return top


async def _fetch_ancestors(store: Store, start: Node, tree: dict[str, Node]) -> None:
    """Bring in the ancestors that are not of its family: parents whose roots were cut."""
    missing = {edge.node_id for edge in start.edges} - tree.keys()
    while missing and len(tree) < MAX_TREE:
        found = [load_node(point) for point in await store.fetch(Needs(ids=missing))]
        tree |= {node.id: node for node in found}
        missing = {edge.node_id for node in found for edge in node.edges} - tree.keys()
        if not found:
            return


async def _fetch_descendants(store: Store, space: str, found: list[Node], tree: dict[str, Node]) -> None:
    """Bring in the descendants that are not of its family, since their roots were cut: children of it, and what derives from them."""
    while (outside := [node for node in found if node.id not in tree]) and len(tree) < MAX_TREE:
        tree |= {node.id: node for node in outside}
        children = await store.fetch(Needs(children={(space, node.memory_id) for node in outside}))
        found = await _load_nodes([point for point in children if point.payload["point"] in NODES and point.id not in tree])


async def _fill_texts(store: Store, tops: Sequence[Branch]) -> None:
    """Read the texts of the drawn branches: a family is read for its lineage only."""
    branches: list[Branch] = []
    queue = list(tops)
    while queue:
        branch = queue.pop()
        branches.append(branch)
        queue.extend(branch.branches)
    lacking = {branch.node_id for branch in branches if branch.text is None}
    texts = {point.id: point.payload.get("text") for point in await store.fetch(Needs(ids=lacking))}
    for branch in branches:
        branch.text = branch.text or texts.get(branch.node_id)


def _grow_down(start: Node, tree: dict[str, Node]) -> Branch:
    children: dict[str, list[tuple[Node, str, float | None]]] = defaultdict(list)
    for node in tree.values():
        for edge in node.edges:
            children[edge.node_id].append((node, edge.how, edge.similarity))
    top = _leaf(start)
    seen = {start.id}
    queue = [(start, top)]
    while queue:
        node, branch = queue.pop(0)
        for child, how, similarity in sorted(children[node.id], key=lambda item: (item[0].memory_id, item[0].id)):
            if child.id in seen:
                continue
            if len(seen) >= MAX_TREE:
                branch.left_out += 1
                continue
            seen.add(child.id)
            branch.branches.append(grown := _leaf(child, how, similarity))
            queue.append((child, grown))
    return top
