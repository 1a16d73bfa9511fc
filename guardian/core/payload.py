"""The payload of nodes: how a record, a tombstone or an unseen memory lies in the store, both ways.

What is filtered is a field of its own; what nobody filters is one JSON string each. Heavy fields (text, card, rest) are there only in
a node that was read or made whole.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

from guardian.core.bounds import group_bounds, list_bounds, read_bounds
from guardian.core.card import Permission
from guardian.core.claim import (
    dump_claims,
    dump_rest,
    dump_scope,
    dump_source,
    load_claims,
    load_scope,
    load_source,
)
from guardian.core.model import MemoryKind, Slot, SourceKind, Status
from guardian.core.moment import format_optional, format_time, parse_optional, parse_time
from guardian.core.narrowing import Mark
from guardian.core.node import TRUNCATED_ROOT, Edge, Node, Reach
from guardian.core.permission import forget_merged
from guardian.core.point import Point, PointKind


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
        calibration=payload.get("calibration"),
        verdicts=lineage.get("vd"),
        induced=Mark.from_json(lineage["in"]) if "in" in lineage else None,
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
    # Without parents they are those of its own scope, and not stored twice.
    node.bounds = list_bounds(lineage["wi"]) if "wi" in lineage else read_bounds(node.scope)
    node.lacks_bounds = node.is_record and bool(node.edges) and "wi" not in lineage
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


def forget_permissions() -> None:
    """Forget the cached permissions, which name subjects and scopes: one of them was erased."""
    load_permission.cache_clear()
    dump_permission.cache_clear()
    forget_merged()


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
        "wi": group_bounds(node.bounds) if node.is_record and node.edges and not node.lacks_bounds else None,
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
        "in": None if node.induced is None else node.induced.to_json(),
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
        "calibration": node.calibration,
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
