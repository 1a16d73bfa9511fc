"""Add what the Platform's history knows beyond the open-source table: scope, categories, metadata, and the chat it read.

`input` is the chat turn that the text was drawn from. It is evidence and no memory, so it makes no parent; it is kept in
the metadata as far as it fits. Who wrote the text is not said: a model drew it from the chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guardian.sources.formats.mem0.state import read_scope
from guardian.sources.port import Item, SourceEvent
from guardian.sources.reading.fields import keep_rest

# Fields that only the Platform's history has.
_MARKS = frozenset({"input", "user_id", "app_id", "session_id", "categories"})
_READ = frozenset({
    "id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "user_id", "agent_id", "run_id",
    "session_id", "is_deleted", "metadata", "actor_id", "role",
})  # fmt: skip


def is_platform_history(row: Mapping[str, Any]) -> bool:
    """Tell by the fields that the open-source table has not."""
    return bool(row.keys() & _MARKS)


def enrich(item: Item, row: Mapping[str, Any]) -> Item:
    """Give the item with the scope and the other fields of its row; what is no event stays as it is."""
    if not isinstance(item, SourceEvent) or item.event is None:
        return item
    event = dict(item.event)
    data = dict(event["data"])
    given = row.get("metadata")
    rest = {**{name: value for name, value in row.items() if name not in _READ}, **(given if isinstance(given, dict) else {})}
    data["metadata"] = {**data["metadata"], **keep_rest(rest)}
    if "text" in data and (scope := read_scope(row)):
        data["scope"] = scope
    return SourceEvent(position=item.position, event={**event, "data": data}, rows=item.rows)
