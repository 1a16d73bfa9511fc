"""Export: one row a record or tombstone, the same bytes for the same state whatever store it lies in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from guardian.core.moment import format_optional, format_time
from guardian.core.node import Node
from guardian.core.payload import build_reasons, load_node
from guardian.core.point import Point, PointKind
from guardian.core.policy import name_calibration
from guardian.core.rules.utility import rests_on_calibration

# What an export is made of.
EXPORTED = frozenset({PointKind.RECORD, PointKind.TOMBSTONE})


def build_row(point: Point) -> dict[str, Any]:
    """Give the row of a record or tombstone."""
    node = load_node(point)
    return {
        "space": node.space,
        "memory_id": node.memory_id,
        "revision": node.revision,
        "observed_at": format_optional(node.observed_at),
        "current": node.is_current,
        "status": node.status.value,
        "verified": node.is_verified,
        "reasons": [] if node.is_erased else build_reasons(node),
        "roots": list(node.roots),
        "roots_truncated": node.is_truncated,
        "parents": sorted({edge.memory_id for edge in node.edges}),
        "provenance": node.provenance,
        "depth": node.depth,
        "support": 0 if node.is_erased else len(node.roots),
        "evidence_at": _evidence(node),
        "kind": node.kind.value,
        "source_kind": None if node.is_erased else node.source_kind.value,
        "subject": node.subject,
        "slots": [slot.value for slot in node.slots],
        "text": None if node.is_erased else node.text,
        "self_grade": node.claims[0].event.self_grade if node.claims else None,
        "utility": node.utility,
        "utility_basis": node.utility_basis,
        "calibration": name_calibration(node.calibration) if rests_on_calibration(node.verdicts or ()) else None,
        "metadata": dict(node.claims[0].event.metadata) if node.claims else {},
    }


def _evidence(node: Node) -> str:
    moment = node.evidence_at or node.observed_at
    assert moment is not None
    return format_time(moment)


def sort_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows by (space, memory id, observed time, revision)."""
    return sorted(rows, key=lambda row: (row["space"], row["memory_id"], row["observed_at"], row["revision"]))


def dump_row(row: dict[str, Any]) -> bytes:
    """Give one row as a line of JSON with sorted keys."""
    return orjson.dumps(row, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
