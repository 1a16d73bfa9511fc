"""Provenance: which records a record derives from, as declared, as linked by hand, or as inferred.

Inference knows two ways only: the same source ref restated, and texts that an agent read in its session and wrote again.
Independent outside sources are never tied together for saying the same thing. See the design, 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from guardian.core.claim import digest_subject
from guardian.core.fact import LinkFact
from guardian.core.model import MemoryKind, SourceKind
from guardian.core.node import Edge, Node
from guardian.core.policy import Policy
from guardian.core.world import World

Restates = Callable[[str, str], float | None]
# Gives the places of the texts that a text writes down again, each with its similarity; the order of the texts decides ties.
FindSources = Callable[[str, Sequence[str]], Sequence[tuple[int, float]]]


def inherit_fields(world: World, memory_id: str) -> None:
    """Work out kind, source, scope and subject of each revision: what it does not name it has from the one before."""
    before: Node | None = None
    for node in world.revisions(memory_id):
        kind, source, scope, subject = node.named_kind, None, None, None
        if node.claims:
            winner = node.claims[0].event
            kind, source, scope, subject = winner.kind, winner.source, winner.scope, winner.subject
        if before is not None:
            kind = kind or before.kind
            if node.is_record:
                source = source or before.claimed_source
                scope = before.scope if scope is None else scope
                subject = subject or before.subject
        kind = kind or MemoryKind.OTHER
        is_verified = any(claim.believed for claim in node.claims)
        if (scope, source, subject) != (node.scope, node.claimed_source, node.subject):
            world.refiled.add(memory_id)
            world.note_cause(node)
        if (kind, is_verified) != (node.kind, node.is_verified):
            world.dirty.add(node.id)
        node.kind, node.claimed_source, node.scope, node.subject = kind, source, scope, subject
        node.is_verified = is_verified
        if node.is_erased:
            _inherit_subject_keys(world, node, before)
        world.index_node(node)
        before = node


def _inherit_subject_keys(world: World, node: Node, before: Node | None) -> None:
    inherited: frozenset[str] = frozenset()
    if "" in node.named_subjects and before is not None:
        inherited = before.subject_keys if before.subject is None else frozenset({digest_subject(before.subject)})
    keys = (node.named_subjects - {""}) | inherited
    if keys != node.subject_keys:
        node.subject_keys = keys
        world.refiled.add(node.memory_id)
        world.note_cause(node)


def resolve_parent(world: World, memory_id: str, at: datetime) -> Node:
    """Give the latest revision observed at or before a time, else the earliest, else the unseen node."""
    revisions = world.revisions(memory_id)
    if not revisions:
        return world.unseen(memory_id)
    upto = [node for node in revisions if node.order[0] <= at]
    return upto[-1] if upto else revisions[0]


def set_declared_edges(world: World, memory_id: str) -> None:
    """Set the edges that the events and links of a memory name, for each of its revisions."""
    revisions = world.revisions(memory_id)
    links = world.memory_links(memory_id)
    anchor: Node | None = None
    for node in revisions:
        anchor = node if node.names is not None else anchor
        at = (anchor or revisions[0]).order[0]
        in_force = [link for link in links if anchor is None or link.ref.time >= at]
        added, removed = _settle_links(in_force, memory_id)
        names = set(anchor.names or ()) if anchor is not None else set()
        node.removed_parents = frozenset(removed)
        explicit = dict.fromkeys(names - removed, "declared") | dict.fromkeys(added - names, "linked")
        node.has_anchor = anchor is not None
        node.provenance = _name_provenance(names, added, removed, node.has_anchor)
        edges = [Edge(name, resolve_parent(world, name, at).id, how, at) for name, how in sorted(explicit.items())]
        node.declared_edges = tuple(edges)


def _settle_links(links: Iterable[LinkFact], memory_id: str) -> tuple[set[str], set[str]]:
    state: dict[str, bool] = {}
    for link in links:
        state |= dict.fromkeys(link.remove, False) | dict.fromkeys(link.add, True)
    state.pop(memory_id, None)  # a self-parent is ignored
    return {name for name, on in state.items() if on}, {name for name, on in state.items() if not on}


def _name_provenance(names: set[str], added: set[str], removed: set[str], has_anchor: bool) -> str:
    if added - names or removed & names:
        return "linked"
    return "declared" if has_anchor else "none"


def infer_edges(world: World, memory_id: str, policy: Policy, restates: Restates, find_sources: FindSources) -> None:
    """Set the final edges of each revision of a memory: the declared ones, or where there are none the inferred ones."""
    inherited: tuple[Edge, ...] = ()
    for node in world.revisions(memory_id):
        if node.declared_edges or not node.is_record:
            edges, inherited = node.declared_edges, ()
        else:
            kept = () if node.has_anchor else inherited
            edges = tuple(e for e in kept if e.memory_id not in node.removed_parents)
            edges = edges or _infer_same_source(world, node, restates) or _infer_session(world, node, policy, find_sources)
            inherited = edges
            node.provenance = "inferred" if edges else node.provenance
        world.set_edges(node, edges)


def _place(node: Node) -> tuple[datetime, str, str]:
    observed_at, revision = node.order
    return (observed_at, node.memory_id, revision)


def _compare(world: World, node: Node, other: Node, restates: Restates) -> float | None:
    if not (world.whole(node) and world.whole(other)):
        return None  # asked for; this answer is not used
    assert node.text is not None
    assert other.text is not None
    return restates(node.text, other.text)


def _is_candidate(node: Node, other: Node) -> bool:
    return other.is_record and other.memory_id != node.memory_id and other.memory_id not in node.removed_parents


def _infer_same_source(world: World, node: Node, restates: Restates) -> tuple[Edge, ...]:
    ref = node.claimed_source.ref if node.claimed_source is not None else None
    if ref is None:
        return ()
    earlier = [
        other
        for other in world.records_of_ref(ref)
        if _is_candidate(node, other) and _has_ref(other, ref) and _place(other) < _place(node)
    ]
    for other in sorted(earlier, key=_place):
        similarity = _compare(world, node, other, restates)
        if similarity is not None:
            return (Edge(other.memory_id, other.id, "inferred", None, round(similarity, 4)),)
    return ()


def _has_ref(node: Node, ref: str) -> bool:
    return node.claimed_source is not None and node.claimed_source.ref == ref


def _infer_session(world: World, node: Node, policy: Policy, find_sources: FindSources) -> tuple[Edge, ...]:
    session = node.scope.session_id if node.scope is not None else None
    is_agent = node.claimed_source is not None and node.claimed_source.kind is SourceKind.AGENT
    if session is None or not is_agent:
        return ()
    candidates = _find_read_texts(world, node, session, policy)
    known = [other for other in candidates if world.whole(other)]
    if not candidates or not world.whole(node) or len(known) < len(candidates):
        return ()  # asked for; this answer is not used
    assert node.text is not None
    found = find_sources(node.text, [other.text or "" for other in known])
    edges = [Edge(known[place].memory_id, known[place].id, "inferred", None, round(share, 4)) for place, share in found]
    return tuple(sorted(edges, key=lambda edge: (edge.memory_id, edge.node_id)))


def _find_read_texts(world: World, node: Node, session: str, policy: Policy) -> list[Node]:
    """Give the records that the latest reads of a session gave before a write of it, by memory and age."""
    at = node.order[0]
    reads = sorted(
        (r for r in world.reads_of_session(session) if _is_within(r.ref.time, at, policy)), key=lambda read: read.ref.order
    )
    candidates: dict[str, Node] = {}
    for read in reads[max(0, len(reads) - policy.session_reads) :]:
        for memory_id in read.retrieved:
            found = _find_read_text(world, memory_id, read.ref.time)
            if found is not None and _is_candidate(node, found) and found.order[0] <= at:
                candidates[found.id] = found
    return sorted(candidates.values(), key=lambda other: (other.memory_id, *other.order))


def _find_read_text(world: World, memory_id: str, at: datetime) -> Node | None:
    revisions = world.revisions(memory_id)
    upto = [node for node in revisions if node.order[0] <= at]
    return (upto[-1] if upto else revisions[0]) if revisions else None


def find_reopened(world: World, memory_id: str, policy: Policy) -> set[str]:
    """Find the memories whose inference a changed memory may change: late texts reopen the question."""
    reopened: set[str] = set()
    for node in world.revisions(memory_id):
        before = node.stored.get("source_ref") if node.stored is not None else None
        now = node.claimed_source.ref if node.claimed_source is not None else None
        for ref in sorted({ref for ref in (before, now) if ref is not None}):
            reopened |= {other.memory_id for other in world.records_of_ref(ref) if _may_follow(other, node)}
    for read in world.reads_of_memory(memory_id):
        reopened |= find_readers(world, read.session_id, read.ref.time, policy)
    return reopened - {memory_id}


def _may_follow(other: Node, node: Node) -> bool:
    return other.is_record and not any(edge.how != "inferred" for edge in other.edges) and other.order[0] >= node.order[0]


def find_readers(world: World, session_id: str | None, read_at: datetime, policy: Policy) -> set[str]:
    """Find the memories written in a session soon after a read of it, whose parents may be inferred from the read."""
    if session_id is None:
        return set()
    return {
        node.memory_id
        for node in world.records_of_session(session_id)
        if _is_within(read_at, node.order[0], policy) and not any(edge.how != "inferred" for edge in node.edges)
    }


def _is_within(read_at: datetime, written_at: datetime, policy: Policy) -> bool:
    """Tell whether a read counts for a write; by their distance, since the window may reach beyond the calendar."""
    return timedelta(0) <= written_at - read_at <= policy.session_window
