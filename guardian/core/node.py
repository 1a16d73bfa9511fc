"""Nodes: what has lineage, as the rules work on it; and how a node lies in a payload.

A node is a record, a tombstone, or an unseen memory that somebody named as a parent. Nodes are the one mutable thing of the
core: a decision loads them, the rules rewrite their derived fields in the order that `decide` shows, and what then differs
from the stored payload becomes the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from guardian.core.card import Card, Permission
from guardian.core.claim import (
    Claim,
    build_revision,
    build_tombstone_revision,
    digest_text,
    dump_claims,
    dump_rest,
    dump_scope,
    dump_source,
    load_claims,
    load_scope,
    load_source,
)
from guardian.core.model import MemoryKind, Scope, Slot, Source, SourceKind, Status
from guardian.core.moment import format_optional, format_time, parse_optional, parse_time
from guardian.core.point import Point, PointKind, build_point_id

# An id no memory can have (ids hold no NUL): marks records whose roots were cut, so that a family read finds them too.
TRUNCATED_ROOT = "\x00truncated"


@dataclass(frozen=True, slots=True)
class Edge:
    """One step of derivation, from a node to its parent.

    Attributes:
        memory_id: The parent's memory.
        node_id: The parent's node.
        how: `declared`, `linked` or `inferred`.
        at: The time at which a named parent is resolved; None for an inferred one, which is that very record.
        similarity: Of an inferred parent, in [0, 1].
    """

    memory_id: str
    node_id: str
    how: str
    at: datetime | None = None
    similarity: float | None = None

    def move_to(self, node_id: str) -> Edge:
        """Give the edge to another revision of the same parent."""
        return self if node_id == self.node_id else replace(self, node_id=node_id)


@dataclass(frozen=True, slots=True)
class Reach:
    """How a correction reaches a node, with what the exemption needs to know of the correction.

    Attributes:
        effective_at: When the correction takes effect.
        source, event_id: The correction's event.
        replacement: Memory id of what holds instead, or None.
        spreads: Whether what derives from the node is reached too.
        is_derived: Whether the node is a target or derives from one; else it only shares a root.
        via: The least target id over which it is reached, itself included.
    """

    effective_at: datetime
    source: str
    event_id: str
    replacement: str | None
    spreads: bool
    is_derived: bool
    via: str


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """A record, tombstone or unseen memory. See the module for who may change what, and when.

    Attributes:
        stored: The payload as read, or None for a node made by this decision.
        is_plain, inline_events: Of a tombstone: whether a write made it, and which corrections did.
        believed_by: Of a tombstone: the events whose claim to be verified was believed, as dumped references without digest. What
            it corrected in place stays corrected.
        named_subjects: Of a tombstone: digests of the subjects its events named; an empty one for an event that named none.
        subject_keys: The same with the inherited one: a correction by subject still finds what derives from an erased text.
        edges: To the parents, sorted by (memory id, node id).
        target_of: Corrections (by key) that name it as a target. Own marks survive a recomputation of lineage.
        family_of: Corrections whose family extent starts here.
        is_base: Whether it is a record of some correction's replacement.
        reached: Correction key -> how it reaches this node, before exemption.
        bases: Replacement node id -> corrections that have a target on every path from there.
        felled: Keys of the corrections that reach it and do not exempt it.
        has_family_roots: Whether every root of it is seen and of a kind that a family stands or falls with.
        has_standing_root: Whether some root of it is neither felled nor erased.
        cascade_until: Erasures with cascade reach the memory up to this time.
    """

    id: str
    point: PointKind
    space: str
    memory_id: str
    stored: dict[str, Any] | None = None
    whole: bool = True

    # what was written
    revision: str | None = None
    observed_at: datetime | None = None
    text: str | None = None
    text_digest: str | None = None
    claims: tuple[Claim, ...] = ()
    named_kind: MemoryKind | None = None
    named_parents: tuple[str, ...] | None = None
    is_plain: bool = False
    inline_events: frozenset[str] = frozenset()
    believed_by: frozenset[tuple[str, ...]] = frozenset()
    named_subjects: frozenset[str] = frozenset()
    subject_keys: frozenset[str] = frozenset()

    # what it has by inheritance within its memory
    kind: MemoryKind = MemoryKind.OTHER
    claimed_source: Source | None = None
    scope: Scope | None = None
    subject: str | None = None
    is_verified: bool = False

    # while provenance is worked out; not stored
    declared_edges: tuple[Edge, ...] = ()
    removed_parents: frozenset[str] = frozenset()
    has_anchor: bool = False

    # lineage
    edges: tuple[Edge, ...] = ()
    provenance: str = "none"
    source_kind: SourceKind = SourceKind.UNKNOWN
    roots: tuple[str, ...] = ()
    is_truncated: bool = False
    depth: int = 0
    evidence_at: datetime | None = None
    has_family_roots: bool = False
    permission: Permission | None = None
    slots: tuple[Slot, ...] = ()
    cascade_until: datetime | None = None

    # corrections
    target_of: frozenset[str] = frozenset()
    family_of: frozenset[str] = frozenset()
    is_base: bool = False
    reached: dict[str, Reach] = field(default_factory=dict)
    bases: dict[str, frozenset[str]] = field(default_factory=dict)
    felled: frozenset[str] = frozenset()
    has_standing_root: bool = True

    # status and utility
    is_current: bool = True
    current_revision: str | None = None
    deleted_by: str | None = None
    utility: float | None = None
    utility_basis: str | None = None
    verdicts: dict[str, Any] | None = None
    card: Card | None = None

    @property
    def order(self) -> tuple[datetime, str]:
        """Place among the revisions of its memory."""
        assert self.observed_at is not None
        assert self.revision is not None
        return (self.observed_at, self.revision)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Parents as its own event names them: None when it names none, a tuple (maybe empty) when it does."""
        return drop_self(self.claims[0].event.parents, self.memory_id) if self.claims else self.named_parents

    @property
    def is_written(self) -> bool:
        """Whether a plain write made it, not only a text inside a correction."""
        return self.is_plain or any(not claim.is_inline for claim in self.claims)

    @property
    def subjects(self) -> frozenset[str]:
        """What corrections by subject find it by."""
        return self.subject_keys if self.subject is None else frozenset({self.subject})

    @property
    def is_record(self) -> bool:
        """Whether it has a text."""
        return self.point is PointKind.RECORD

    @property
    def is_erased(self) -> bool:
        """Whether it is a tombstone."""
        return self.point is PointKind.TOMBSTONE

    @property
    def is_unseen(self) -> bool:
        """Whether nothing of its memory has come yet."""
        return self.point is PointKind.UNSEEN

    @property
    def status(self) -> Status:
        """Erased beats superseded beats verified beats active."""
        if self.is_erased:
            return Status.ERASED
        if self.felled or self.deleted_by is not None or not self.is_current:
            return Status.SUPERSEDED
        return Status.VERIFIED if self.is_verified else Status.ACTIVE


def drop_self(parents: tuple[str, ...] | None, memory_id: str) -> tuple[str, ...] | None:
    """Give declared parents as a sorted set without the memory itself: a self-parent is ignored everywhere."""
    return tuple(sorted(set(parents) - {memory_id})) if parents else parents


def build_record_id(space: str, memory_id: str, revision: str) -> str:
    """Build the id of a record or tombstone."""
    return build_point_id(space, "node", memory_id, revision)


def build_unseen(space: str, memory_id: str) -> Node:
    """Build the node of a memory that was only named so far."""
    node_id = build_point_id(space, "unseen", memory_id)
    return Node(id=node_id, point=PointKind.UNSEEN, space=space, memory_id=memory_id)


def build_record(space: str, memory_id: str, *, text: str, observed_at: datetime, parents: tuple[str, ...] | None) -> Node:
    """Build the node of a revision, without claims."""
    revision = build_revision(observed_at=observed_at, text=text, parents=drop_self(parents, memory_id))
    return Node(
        id=build_record_id(space, memory_id, revision),
        point=PointKind.RECORD,
        space=space,
        memory_id=memory_id,
        revision=revision,
        observed_at=observed_at,
        text=text,
        text_digest=digest_text(text),
    )


def build_tombstone(
    space: str, memory_id: str, *, observed_at: datetime, kind: MemoryKind | None, parents: tuple[str, ...] | None
) -> Node:
    """Build what is left of an erased revision."""
    parents = drop_self(parents, memory_id)
    revision = build_tombstone_revision(observed_at=observed_at, kind=kind, parents=parents)
    return Node(
        id=build_record_id(space, memory_id, revision),
        point=PointKind.TOMBSTONE,
        space=space,
        memory_id=memory_id,
        revision=revision,
        observed_at=observed_at,
        named_kind=kind,
        named_parents=parents,
    )


def load_node(point: Point) -> Node:
    """Read a node from its payload. From a lineage read the text, card and heavy parts of the claims stay empty."""
    payload = point.payload
    lineage = orjson.loads(payload["lineage"])
    facts = orjson.loads(payload["facts"]) if "facts" in payload else {}
    observed_at = parse_optional(payload.get("observed_at"))
    kind = PointKind(payload["point"])
    node = Node(
        id=point.id,
        point=kind,
        space=payload["space"],
        memory_id=payload["memory_id"],
        stored=dict(payload),
        whole=point.whole,
        revision=payload.get("revision"),
        observed_at=observed_at,
        text=payload.get("text"),
        text_digest=facts.get("td"),
        named_kind=MemoryKind(facts["k"]) if facts.get("k") else None,
        named_parents=tuple(facts["p"]) if facts.get("p") is not None else None,
        is_plain=bool(facts.get("pl")),
        inline_events=frozenset(facts.get("in", ())),
        believed_by=frozenset(tuple(ref) for ref in facts.get("b", ())),
        named_subjects=frozenset(facts.get("sj", ())),
        subject_keys=frozenset(payload.get("subject", ())) if kind is PointKind.TOMBSTONE else frozenset(),
        kind=MemoryKind(payload.get("kind", MemoryKind.OTHER)),
        claimed_source=load_source(lineage.get("cs")),
        scope=load_scope(lineage.get("sc")),
        subject=payload.get("subject") if kind is PointKind.RECORD else None,
        is_verified=payload.get("verified") == "yes",
        is_current=payload.get("current") == "yes",
        current_revision=lineage.get("cr"),
        deleted_by=lineage.get("db"),
        utility=payload.get("utility"),
        utility_basis=payload.get("utility_basis"),
        verdicts=lineage.get("vd"),
    )
    _load_lineage(node, payload, lineage)
    if kind is PointKind.RECORD:
        assert observed_at is not None
        rest = orjson.loads(payload["rest"])["claims"] if "rest" in payload else None
        node.claims = load_claims(
            facts["claims"],
            rest,
            space=node.space,
            memory_id=node.memory_id,
            text=node.text or "",
            observed_at=observed_at,
        )
    return node


def _load_lineage(node: Node, payload: Any, lineage: dict[str, Any]) -> None:
    node.edges = tuple(Edge(e[0], e[1], e[2], parse_optional(e[3]), e[4]) for e in lineage.get("e", ()))
    node.provenance = lineage.get("pv", "none")
    node.source_kind = SourceKind(payload.get("source_kind", SourceKind.UNKNOWN))
    node.roots = tuple(root for root in payload.get("roots", ()) if root != TRUNCATED_ROOT)
    node.is_truncated = bool(lineage.get("tr"))
    node.depth = payload.get("depth", 0)
    node.evidence_at = parse_optional(lineage.get("ev"))
    node.has_family_roots = bool(lineage.get("fr"))
    node.cascade_until = parse_optional(lineage.get("ca"))
    node.permission = load_permission(payload["permission"]) if "permission" in payload else None
    node.slots = tuple(Slot(slot) for slot in payload.get("slots", ()))
    node.target_of = frozenset(lineage.get("t", ()))
    node.family_of = frozenset(lineage.get("f", ()))
    node.is_base = bool(lineage.get("b"))
    node.reached = {key: Reach(parse_time(r[0]), *r[1:]) for key, r in lineage.get("r", {}).items()}
    node.bases = {base: frozenset(keys) for base, keys in lineage.get("bs", {}).items()}
    node.felled = frozenset(lineage.get("fl", ()))
    node.has_standing_root = bool(lineage.get("st"))


@lru_cache(maxsize=4_096)  # of records of one kind and source it is said in the same words
def load_permission(stored: str) -> Permission:
    """Read a permission from its stored form."""
    return Permission.from_json(orjson.loads(stored))


@lru_cache(maxsize=4_096)
def dump_permission(permission: Permission) -> str:
    """Give the stored form of a permission."""
    return orjson.dumps(permission.to_json(), option=orjson.OPT_SORT_KEYS).decode()


def _dump_lineage(node: Node) -> dict[str, Any]:
    lineage: dict[str, Any] = {
        "e": [[e.memory_id, e.node_id, e.how, format_optional(e.at), e.similarity] for e in node.edges] or None,
        "pv": node.provenance if node.provenance != "none" else None,
        "tr": 1 if node.is_truncated else None,
        "ev": format_optional(node.evidence_at),
        "fr": 1 if node.has_family_roots else None,
        "ca": format_optional(node.cascade_until),
        "cs": dump_source(node.claimed_source),
        "sc": dump_scope(node.scope) or None,
        "t": sorted(node.target_of) or None,
        "f": sorted(node.family_of) or None,
        "b": 1 if node.is_base else None,
        "r": {key: _dump_reach(node.reached[key]) for key in sorted(node.reached)} or None,
        "bs": {base: sorted(node.bases[base]) for base in sorted(node.bases)} or None,
        "fl": sorted(node.felled) or None,
        "st": 1 if node.has_standing_root else None,
        "cr": node.current_revision if not node.is_current else None,
        "db": node.deleted_by,
        "vd": node.verdicts or None,
    }
    return {name: value for name, value in lineage.items() if value is not None}


def _dump_reach(reach: Reach) -> list[Any]:
    return [
        format_time(reach.effective_at),
        reach.source,
        reach.event_id,
        reach.replacement,
        reach.spreads,
        reach.is_derived,
        reach.via,
    ]


def is_mixed(node: Node, key: str) -> bool:
    """Tell whether a correction fells a record although another of its roots stands; one that it names needs no second look."""
    return key not in node.target_of and bool(node.edges) and node.has_standing_root


def name_via(node: Node, key: str) -> str:
    """Name what felled a record: itself when the correction names it, else the target it derives from."""
    return node.memory_id if key in node.target_of else node.reached[key].via


def build_reasons(node: Node) -> list[dict[str, Any]]:
    """Give why a record is superseded, as a sorted list of mappings; empty when it is not."""
    reasons: list[dict[str, Any]] = []
    for key in node.felled:
        reach = node.reached[key]
        reasons.append(
            {
                "reason": "corrected",
                "id": f"{reach.source}#{reach.event_id}",
                "via": name_via(node, key),
                "replacement": reach.replacement,
                "mixed": is_mixed(node, key),
            }
        )
    if not node.is_current and not node.is_erased:
        reasons.append({"reason": "revised", "id": node.current_revision})
    if node.deleted_by is not None:
        reasons.append({"reason": "deleted", "id": node.deleted_by})
    unique = {(r["reason"], r["id"], orjson.dumps(r, option=orjson.OPT_SORT_KEYS)): r for r in reasons}
    return [unique[key] for key in sorted(unique)]


def dump_node(node: Node) -> dict[str, Any]:
    """Give the payload of a node. Heavy fields are there only when the node was read or made whole."""
    payload: dict[str, Any] = {
        "point": node.point.value,
        "space": node.space,
        "memory_id": node.memory_id,
        "roots": [*node.roots, TRUNCATED_ROOT] if node.is_truncated else list(node.roots),
        # Named ones too: an erasure follows names, whatever became of the edge.
        "parents": sorted({edge.memory_id for edge in node.edges}.union(node.names or ())) or None,
        "depth": node.depth,
        "lineage": orjson.dumps(_dump_lineage(node)).decode(),
    }
    if node.observed_at is not None:
        payload["observed_at"] = format_time(node.observed_at)
        payload["revision"] = node.revision
    if node.is_erased:
        payload |= _dump_tombstone(node)
    elif node.is_record:
        payload |= _dump_record(node)
    return {name: value for name, value in payload.items() if value is not None}


def _dump_tombstone(node: Node) -> dict[str, Any]:
    named = None if node.named_parents is None else list(node.named_parents)
    facts = {
        "k": node.named_kind,
        "p": named,
        "pl": node.is_plain,
        "in": sorted(node.inline_events),
        "b": sorted(node.believed_by),
        "sj": sorted(node.named_subjects),
    }
    events = node.inline_events | {f"{ref[1]}#{ref[2]}" for ref in node.believed_by}
    return {
        "status": Status.ERASED.value,
        "current": "yes" if node.is_current else "no",
        "kind": node.kind.value,
        "events": sorted(events) or None,
        "subject": sorted(node.subject_keys) or None,
        "facts": orjson.dumps(facts).decode(),
    }


def _dump_record(node: Node) -> dict[str, Any]:
    permission = node.permission
    assert permission is not None
    winner = node.claims[0].event
    reasons = build_reasons(node)
    facts = {"td": node.text_digest, "claims": dump_claims(node.claims)}
    events = {f"{c.event.ref.source}#{c.event.ref.id}" for c in node.claims if c.believed or c.is_inline}
    payload = {
        "status": node.status.value,
        "current": "yes" if node.is_current else "no",
        "verified": "yes" if node.is_verified else "no",
        "kind": node.kind.value,
        "source_kind": node.source_kind.value,
        "source_ref": node.claimed_source.ref if node.claimed_source else None,
        "subject": node.subject,
        "session_id": node.scope.session_id if node.scope else None,
        "slots": [slot.value for slot in node.slots] or None,
        "valid_from": format_optional(permission.valid_from),
        "valid_until": format_optional(permission.valid_until),
        "utility": node.utility,
        "utility_basis": node.utility_basis,
        "events": sorted(events) or None,
        "permission": dump_permission(permission),
        "reasons": orjson.dumps(reasons).decode() if reasons else None,
        "facts": orjson.dumps(facts).decode(),
    }
    if node.whole:
        payload["text"] = winner.text
        heavy = dump_rest(node.claims, winner.text)
        payload["rest"] = orjson.dumps({"claims": heavy}).decode() if any(heavy) else None
        payload["card"] = orjson.dumps(node.card.to_json()).decode() if node.card else None
    return payload
