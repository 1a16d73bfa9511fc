"""Standing within a memory: which revision is current, and which a deletion covers."""

from __future__ import annotations

from guardian.core.fact import build_event_key
from guardian.core.node import Node
from guardian.core.world import World


def rank_revisions(world: World, memory_id: str) -> None:
    """Set which revision of a memory is current: not deleted first, verified first, then later; erased ones last."""
    revisions = world.revisions(memory_id)
    deletions = world.deletions(memory_id)
    for node in revisions:
        covering = [deletion for deletion in deletions if node.order[0] <= deletion.observed_at]
        node.deleted_by = build_event_key(covering[0].ref.source, covering[0].ref.id) if covering and node.is_record else None
    if not revisions:
        return
    current = max(revisions, key=_rank)
    for node in revisions:
        node.is_current = node is current
        node.current_revision = None if node is current else current.revision


def _rank(node: Node) -> tuple[bool, bool, bool, object]:
    return (not node.is_erased, node.deleted_by is None, node.is_verified, node.order)
