"""Lineage: roots, depth, evidence time, effective source, permission and bounds of records, from their parents.

Circles count as one node. Everything here follows from the edges and from what the records say; nothing from corrections.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from guardian.core.bounds import merge_bounds, read_bounds
from guardian.core.card import Permission
from guardian.core.component import sort_components
from guardian.core.model import MemoryKind, Scope, SourceKind
from guardian.core.narrowing import narrow_permission
from guardian.core.node import Node
from guardian.core.permission import merge_permissions, own_permission, select_entry_slots
from guardian.core.policy import Policy
from guardian.core.world import World

# Kinds of a root with which the whole family stands or falls; an episode's other facts do not.
FAMILY_KINDS = frozenset(
    {
        MemoryKind.FACT,
        MemoryKind.BELIEF,
        MemoryKind.PREFERENCE,
        MemoryKind.INSTRUCTION,
        MemoryKind.PROFILE,
        MemoryKind.SUMMARY,
    }
)


def close_descendants(world: World, seeds: Iterable[str]) -> dict[str, None]:
    """Give the seeds and all nodes that derive from them, as far as they are known; asks for the rest."""
    found: dict[str, None] = {node_id: None for node_id in sorted(seeds) if node_id in world.nodes}
    queue = list(found)
    while queue:
        for child in world.children(world.nodes[queue.pop()]):
            if child.id not in found:
                found[child.id] = None
                queue.append(child.id)
    return found


def sort_nodes(world: World, ids: dict[str, None]) -> list[list[Node]]:
    """Order nodes parents first; each circle is one list."""
    components = sort_components(ids, lambda node_id: [edge.node_id for edge in world.nodes[node_id].edges])
    return [[world.nodes[node_id] for node_id in component] for component in components]


def derive_lineage(world: World, members: Sequence[Node], policy: Policy) -> None:
    """Work out the lineage of one record, or of the members of one circle, whose outside parents are done."""
    inside = {node.id for node in members}
    parents: dict[str, Node] = {}
    for node in members:
        for edge in node.edges:
            parent = world.node(edge.node_id) if edge.node_id not in inside else None
            if parent is not None:
                parents[parent.id] = parent
    outside = [parents[node_id] for node_id in sorted(parents)]
    first = members[0] if len(members) == 1 else min(members, key=_place)
    roots, depth = _derive_roots(first, outside)
    is_truncated = len(roots) > policy.max_roots or any(parent.is_truncated for parent in outside)
    evidence_at = _derive_evidence(first, outside)
    has_family_roots = (
        all(parent.has_family_roots for parent in outside) if outside else not first.is_unseen and first.kind in FAMILY_KINDS
    )
    for node in members:
        node.roots = roots[: policy.max_roots]
        node.is_truncated = is_truncated
        node.depth = depth
        node.evidence_at = evidence_at
        node.has_family_roots = has_family_roots
    _derive_source_kinds(world, members)
    _derive_permissions(members, outside)


def _place(node: Node) -> tuple[datetime, str, str]:
    observed_at, revision = node.order
    return (observed_at, node.memory_id, revision)


def _derive_roots(first: Node, outside: Sequence[Node]) -> tuple[tuple[str, ...], int]:
    if not outside:
        return (first.memory_id,), 0
    if len(outside) == 1:
        return outside[0].roots, outside[0].depth + 1
    roots = {root for parent in outside for root in parent.roots}
    return tuple(sorted(roots)), 1 + max(parent.depth for parent in outside)


def _derive_evidence(first: Node, outside: Sequence[Node]) -> datetime | None:
    if not outside:
        return first.observed_at
    return min((parent.evidence_at for parent in outside if parent.evidence_at is not None), default=None)


def _derive_source_kinds(world: World, members: Sequence[Node]) -> None:
    """Lower a claimed user to the agent whose records it restates; from the claims down, until nothing changes."""
    for node in members:
        node.source_kind = node.claimed_source.kind if node.claimed_source is not None else SourceKind.UNKNOWN
    has_changed = True
    while has_changed:
        has_changed = False
        for node in members:
            if node.source_kind is SourceKind.USER and node.edges and _all_by_agent(world, node):
                node.source_kind = SourceKind.AGENT
                has_changed = True


def _all_by_agent(world: World, node: Node) -> bool:
    for edge in node.edges:
        parent = world.node(edge.node_id)
        if parent is None or not parent.is_record or parent.source_kind is not SourceKind.AGENT:
            return False
    return True


def _derive_permissions(members: Sequence[Node], outside: Sequence[Node]) -> None:
    records = [node for node in members if node.is_record]
    if not records:
        return
    has_lost_parent = any(not parent.is_record for parent in outside) or (
        len(members) > 1 and any(not node.is_record for node in members)
    )
    above = [parent.permission for parent in outside if parent.permission is not None]
    # A circle is one node: every member may what all of them may.
    first, *others = (_own_permission(node, is_fed=bool(outside)) for node in records)
    permission = merge_permissions(first, [*above, *others], has_unseen_parent=has_lost_parent)
    bounds = merge_bounds([*(read_bounds(node.scope) for node in records), *(parent.bounds for parent in outside)])
    for node in records:
        node.permission = permission
        node.bounds, node.lacks_bounds = bounds, False
        node.slots = select_entry_slots(node.kind, permission)


def _own_permission(node: Node, *, is_fed: bool) -> Permission:
    event = node.claims[0].event
    permission = own_permission(
        kind=node.kind,
        source_kind=node.source_kind,
        verified=node.is_verified,
        has_parents=bool(node.edges),
        is_fed=is_fed,
        valid_from=event.valid_from,
        valid_until=event.valid_until,
        scope=node.scope or Scope(),
        subject=node.subject,
    )
    return permission if node.induced is None else narrow_permission(permission, node.induced.narrowing)
