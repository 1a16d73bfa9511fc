"""Inductions and records: which one speaks of a record as it now is."""

from __future__ import annotations

from guardian.core.induction import Induction, build_induction_id, digest_content
from guardian.core.model import SourceKind
from guardian.core.node import Node
from guardian.core.world import World


def mark_inductions(world: World, memory_id: str) -> None:
    """Set on each record of a memory what the induction of its very content says; what changed is made anew, with all below it."""
    has_any = bool(world.inductions(memory_id))
    for node in world.revisions(memory_id):
        found = find_induction(world, node) if has_any else None
        mark = None if found is None else found.mark
        if node.is_record and node.induced != mark:
            world.whole(node)  # its card changes, too
            node.induced = mark
            world.dirty.add(node.id)


def find_induction(world: World, node: Node) -> Induction | None:
    """Give the induction of a record, if it was made from what the record says now."""
    if node.revision is None:
        return None
    found = world.inductions(node.memory_id).get(build_induction_id(world.space, node.memory_id, node.revision))
    return found if found is not None and found.digest == digest_node(node) else None


def digest_node(node: Node) -> str:
    """Digest what a card of the record is made from."""
    source_kind = node.claimed_source.kind if node.claimed_source is not None else SourceKind.UNKNOWN
    return digest_content(text_digest=node.text_digest or "", kind=node.kind, source_kind=source_kind)
