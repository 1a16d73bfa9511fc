"""Tell the shapes of what mem0's APIs answer, and find their rows in a page, a list or a mapping.

Shapes are told by the fields of a row alone. They are narrow where other programs have similar rows: a memory needs one
of mem0's own fields beside `id` and `memory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Shape(StrEnum):
    """What a row is."""

    MEMORY = "memory"
    HISTORY = "history"
    RESULT = "result"
    WEBHOOK = "webhook"
    FEEDBACK = "feedback"
    RELATION = "relation"
    PENDING = "pending"


# First match counts: all of the first set are there, one of the second (if any), and none of the third.
_SHAPES: tuple[tuple[Shape, frozenset[str], frozenset[str], frozenset[str]], ...] = (
    (Shape.WEBHOOK, frozenset({"event_details"}), frozenset(), frozenset({"specversion"})),
    (Shape.HISTORY, frozenset({"id", "memory_id", "old_memory", "new_memory", "event"}), frozenset(), frozenset()),
    (Shape.RESULT, frozenset({"id", "memory", "event"}), frozenset(), frozenset({"created_at", "createdAt"})),
    (
        Shape.MEMORY,
        frozenset({"id", "memory"}),
        frozenset({"hash", "created_at", "createdAt", "categories"}),
        # Of LightMem and MemOS, which call their text `memory` as well.
        frozenset({"time_stamp", "float_time_stamp", "payload"}),
    ),
    (Shape.FEEDBACK, frozenset({"memory_id", "feedback"}), frozenset(), frozenset()),
    (Shape.RELATION, frozenset({"source", "relationship"}), frozenset({"target", "destination"}), frozenset()),
    (Shape.PENDING, frozenset({"event_id", "status"}), frozenset(), frozenset({"specversion"})),
    (Shape.PENDING, frozenset({"event_type", "status", "payload"}), frozenset(), frozenset({"specversion"})),
)
# Shapes that other programs have as well: read inside a file of mem0's, but no sign of one.
_VAGUE = frozenset({Shape.RELATION, Shape.PENDING})


def classify(row: Any) -> Shape | None:
    """Give the shape of a row; None for what is no row of mem0's."""
    if not isinstance(row, Mapping):
        return None
    for shape, needed, some, barred in _SHAPES:
        if row.keys() >= needed and (not some or row.keys() & some) and not row.keys() & barred:
            return shape
    return None


def is_known(row: Any) -> bool:
    """Tell whether a row is surely mem0's."""
    shape = classify(row)
    return shape is not None and shape not in _VAGUE


def find_rows(value: Any) -> list[tuple[str, Any]]:
    """Give the rows that a JSON value holds, each with its place in it: those of a page, a list, a mapping, or itself."""
    if isinstance(value, list):
        return [(f"item {number}", row) for number, row in enumerate(value, start=1)]
    if not isinstance(value, dict):
        return [("", value)]
    if isinstance(value.get("results"), list) and classify(value) is None:
        rows = [(f"result {number}", row) for number, row in enumerate(value["results"], start=1)]
        return rows + [("relation", row) for row in _flatten(value.get("relations"))]
    if _is_history_mapping(value):
        return [
            (f"{memory_id} row {number}", row) for memory_id, rows in value.items() for number, row in enumerate(rows, start=1)
        ]
    return [("", value)]


def _flatten(relations: Any) -> list[Any]:
    """Give the relations of an answer, which stand in a list, or as lists of lists under what happened to them."""
    if isinstance(relations, dict):
        return [relation for group in relations.values() for relation in _flatten(group)]
    if isinstance(relations, list):
        return [relation for item in relations for relation in (_flatten(item) if isinstance(item, list) else [item])]
    return []


def is_document(head: Any) -> bool:
    """Tell by the head of a file that it is one document: a page, a mapping, or one row over several lines."""
    return isinstance(head, dict)


def _is_history_mapping(value: dict[str, Any]) -> bool:
    """Tell `{memory: its history rows}`, by every value being a list and the first row being one of a history."""
    rows = [row for rows in value.values() if isinstance(rows, list) for row in rows[:1]]
    return all(isinstance(rows, list) for rows in value.values()) and bool(rows) and classify(rows[0]) is Shape.HISTORY
