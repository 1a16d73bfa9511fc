"""Which records a record derives from: declared, linked by hand, or inferred."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from guardian.core.model import Linked, Read, SourceKind
from tests.reference.facts import Facts
from tests.reference.policy import ReferencePolicy, Restates, Wording
from tests.reference.recap import find_sources
from tests.reference.revisions import Node, Revision, Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """The parents of every revision, and how they came to be known."""

    parents: dict[Revision, frozenset[Node]]
    provenance: dict[Revision, str]


def in_force(revisions: list[Revision], time: datetime) -> Revision:
    """Give the latest revision observed at or before a time, else the earliest."""
    return next((each for each in reversed(revisions) if each.observed_at <= time), revisions[0])


def build_edges(facts: Facts, memories: dict[str, list[Revision]], policy: ReferencePolicy, wording: Wording) -> Edges:
    """Find the parents of every revision of a space."""
    edges = Edges(parents={}, provenance={})
    for revisions in memories.values():
        before: Revision | None = None
        for each in revisions:
            _place(each, before, edges, facts=facts, memories=memories, policy=policy, wording=wording)
            before = each
    return edges


def _place(
    each: Revision,
    before: Revision | None,
    edges: Edges,
    *,
    facts: Facts,
    memories: dict[str, list[Revision]],
    policy: ReferencePolicy,
    wording: Wording,
) -> None:
    revisions = memories[each.memory_id]
    anchor = next((r for r in reversed(revisions) if r.parents is not None and r.age <= each.age), None)
    declared = set(anchor.parents or ()) if anchor else set()
    added, removed = _linked(each.memory_id, anchor, facts.links)
    names = (declared | added) - removed
    resolved_at = (anchor or revisions[0]).observed_at
    if names:
        edges.parents[each] = frozenset(_resolve(name, resolved_at, memories) for name in names)
        edges.provenance[each] = "linked" if names != declared else "declared"
        return
    inferred: frozenset[Node] = frozenset()
    if not each.erased:
        if anchor is None and before is not None and edges.provenance[before] == "inferred":
            inferred = edges.parents[before]
        else:
            barred = removed | {each.memory_id}
            found = _same_source(each, barred, memories, wording.restates)
            inferred = (
                frozenset({found})
                if found
                else find_sources(each, _read_before(each, barred, facts.reads, memories, policy), wording)
            )
    edges.parents[each] = inferred
    if inferred:
        edges.provenance[each] = "inferred"
    else:
        edges.provenance[each] = "linked" if declared else "declared" if anchor else "none"


def _resolve(name: str, time: datetime, memories: dict[str, list[Revision]]) -> Node:
    return in_force(memories[name], time) if name in memories else Unseen(name)


def _linked(memory_id: str, anchor: Revision | None, links: list[Linked]) -> tuple[set[str], set[str]]:
    """Give the parents that links add and remove; of several links that name one parent the last decides."""
    added: set[str] = set()
    removed: set[str] = set()
    for link in sorted(links, key=lambda each: each.ref.order):
        if link.memory_id == memory_id and (anchor is None or anchor.observed_at <= link.ref.time):
            added = (added | set(link.add)) - set(link.remove)
            removed = (removed - set(link.add)) | set(link.remove)
    return added - {memory_id}, removed


def _same_source(each: Revision, barred: set[str], memories: dict[str, list[Revision]], restates: Restates) -> Revision | None:
    """Give the earliest record of another memory with the same source reference that this text restates."""
    if each.source is None or each.source.ref is None:
        return None
    candidates = [
        other
        for revisions in memories.values()
        for other in revisions
        if other.memory_id not in barred
        and not other.erased
        and other.source is not None
        and other.source.ref == each.source.ref
        and seniority(other) < seniority(each)
    ]
    restated = [other for other in candidates if _similarity(each, other, restates) is not None]
    return min(restated, key=seniority, default=None)


def _read_before(
    each: Revision, barred: set[str], reads: list[Read], memories: dict[str, list[Revision]], policy: ReferencePolicy
) -> set[Revision]:
    """Give the records that the session of an agent's text had just read."""
    session = each.scope.session_id if each.scope else None
    if each.source_kind is not SourceKind.AGENT or session is None:
        return set()
    earliest = each.observed_at - policy.session_window
    read_before = [r for r in reads if r.session_id == session and earliest <= r.ref.time <= each.observed_at]
    latest = sorted(read_before, key=lambda read: read.ref.order)[-policy.session_reads :]
    found = {
        in_force(memories[name], read.ref.time)
        for read in latest
        for name in read.retrieved
        if name in memories and name not in barred
    }
    return {other for other in found if not other.erased and other.observed_at <= each.observed_at}


def _similarity(each: Revision, other: Revision, restates: Restates) -> float | None:
    assert each.text is not None
    assert other.text is not None
    return restates(each.text, other.text)


def seniority(each: Revision) -> tuple[datetime, str, str]:
    """Order records of different memories by age: (observed time, memory id, revision)."""
    return (each.observed_at, each.memory_id, each.revision)
