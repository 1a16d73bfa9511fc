"""Rows as tests compare them: what is exported, and beside it what a model said of a record, what the record may be used for, and where."""

from __future__ import annotations

from typing import Any

import orjson

from guardian.core.bounds import group_bounds
from guardian.core.export import build_row
from guardian.core.payload import load_node
from guardian.core.point import Point

# Parts of a permission that the reference does not tell.
_VALIDITY = ("from", "until")


def build_full_row(point: Point) -> dict[str, Any]:
    """Give the row of a record or tombstone, with its induction, its permission and its bounds."""
    node = load_node(point)
    permission = None if node.permission is None else node.permission.to_json()
    induction = None
    if node.induced is not None:
        inducer, version, confidence, card_digest, narrowing = node.induced.to_json()
        summary = orjson.loads(point.payload["card"])["summary"] if card_digest is not None else None
        induction = [inducer, version, confidence, summary, narrowing]
    return {
        **build_row(point),
        "induction": induction,
        "bounds": None if node.is_erased else group_bounds(node.bounds),
        "permission": permission and {name: value for name, value in permission.items() if name not in _VALIDITY},
    }
