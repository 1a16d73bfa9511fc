"""Turn one memory of OpenMemory and the changes of its state into events.

A memory there is active, paused, archived or deleted. Only what is active is served, so leaving that state is a deletion
here (kept for audit, barred from answers), and coming back to it is a write of the same text. Each change that the log
holds is an event under its own id.

`updated_at` moves with the state too. So a text is of `updated_at` only where the memory never left the active state, else
of `created_at`; otherwise a deleted memory would be written after its deletion, and live.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.fields import find_text, find_time, keep_rest, read_any_time, render
from guardian.sources.reading.stamp import Stamp, format_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "openmemory"
DEFAULT_SPACE = "openmemory"

_ACTIVE = "active"
_READ = frozenset({
    "id", "user_id", "app_id", "content", "metadata", "metadata_", "state", "created_at", "updated_at", "archived_at",
    "deleted_at", "category_ids", "categories", "app", "vector",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the ids of an export stand for.

    Attributes:
        is_zone_assumed: The times were shifted by an offset that the export does not name.
    """

    users: Mapping[str, str]
    apps: Mapping[str, str]
    categories: Mapping[str, str]
    is_zone_assumed: bool


@dataclass(frozen=True, slots=True)
class StateChange:
    """One row of the log, with its place."""

    row: Mapping[str, Any]
    position: str

    @property
    def stamp(self) -> Stamp | None:
        """Give when it happened; None where it does not say so readably."""
        return read_any_time(self.row.get("changed_at"))

    @property
    def state(self) -> str:
        """Give the state it led to."""
        return str(self.row.get("new_state")).rpartition(".")[2].lower()


@dataclass(slots=True)
class _Writer:
    """Owns what is said about one memory: whether it is active so far, and what its events share."""

    memory: Mapping[str, Any]
    memory_id: str
    names: Names
    options: SourceOptions
    is_active: bool = True

    def write(self, stamp: Stamp, time_from: str, *, event_id: str | None = None) -> dict[str, Any]:
        """Build the write of the text, as it is known now."""
        self.is_active = True
        given = self.memory.get("metadata", self.memory.get("metadata_"))
        rest = {name: value for name, value in self.memory.items() if name not in _READ}
        data = {
            "memory_id": self.memory_id,
            "text": self.memory["content"],
            "source": build_origin(self.options, kind=None, ref=f"openmemory:memory:{self.memory_id}", actor=self._find_app()),
            "scope": self._read_scope() or dict(self.options.scope),
            "metadata": {
                **self._note(stamp, time_from, _ACTIVE),
                **({"categories": found} if (found := self._list_categories()) else {}),
                **keep_rest({**rest, **(_decode(given))}),
            },
        }
        return self._build(WRITTEN, stamp.time, data, event_id)

    def delete(self, stamp: Stamp, time_from: str, state: str, *, event_id: str | None = None) -> dict[str, Any]:
        """Build the deletion that leaving the active state is."""
        self.is_active = False
        data = {"memory_id": self.memory_id, "metadata": self._note(stamp, time_from, state)}
        return self._build(DELETED, stamp.time, data, event_id)

    def _build(self, event_type: str, time: datetime, data: Mapping[str, Any], event_id: str | None) -> dict[str, Any]:
        space = self.options.space or DEFAULT_SPACE
        made = digest_parts(event_type, space, self.memory_id, format_time(time), str(data.get("text", "")))
        identity = made if event_id is None else event_id
        return build_event(event_id=identity, source=EVENT_SOURCE, event_type=event_type, time=time, space=space, data=data)

    def _note(self, stamp: Stamp, time_from: str, state: str) -> dict[str, Any]:
        return {
            "format": "openmemory",
            "openmemory_state": state,
            "time_from": time_from,
            "time_raw": stamp.raw,
            "tz_assumed": stamp.is_zone_assumed or self.names.is_zone_assumed,
        }

    def _find_app(self) -> str | None:
        return find_text(self.memory, "app") or self.names.apps.get(normalize_id(self.memory.get("app_id")) or "")

    def _read_scope(self) -> dict[str, str]:
        user = self.names.users.get(normalize_id(self.memory.get("user_id")) or "")
        return {} if user is None else {"user_id": user}

    def _list_categories(self) -> list[str]:
        named = self.memory.get("categories")
        if isinstance(named, list):
            return [name for name in named if isinstance(name, str)]
        ids = self.memory.get("category_ids")
        found = [self.names.categories.get(normalize_id(item) or "") for item in (ids if isinstance(ids, list) else [])]
        return [name for name in found if name is not None]


def iter_memory_items(
    memory: Mapping[str, Any],
    changes: Sequence[StateChange],
    names: Names,
    position: str,
    options: SourceOptions,
    *,
    default: Stamp,
) -> Iterator[Item]:
    """Yield the write of a memory, then what each change of its state means, in the order of their times."""
    memory_id = normalize_id(memory.get("id"))
    if memory_id is None or not isinstance(memory.get("content"), str):
        reason = SourceReason.ID_MISSING if memory_id is None else SourceReason.TEXT_MISSING
        yield Broken(position=position, reason=reason, message="the memory has no id or no content", raw=render(memory))
        yield from (_break_change(change) for change in changes)
        return
    writer = _Writer(memory, memory_id, names, options)
    dated = sorted((change for change in changes if change.stamp is not None), key=_order)
    stamp, time_from = _date_text(memory, dated, default)
    yield SourceEvent(position=position, event=writer.write(stamp, time_from))
    for change in dated:
        yield _read_change(change, writer)
    yield from (_break_change(change) for change in changes if change.stamp is None)
    yield from _iter_final_state(memory, writer, position, stamp)


def normalize_id(value: Any) -> str | None:
    """Give an id as text, a UUID with its hyphens, which SQLite's form lacks; None for what is no id."""
    text = find_text({"id": value}, "id")
    if text is None:
        return None
    try:
        return str(UUID(text))
    except ValueError:
        return text


def _date_text(memory: Mapping[str, Any], changes: Sequence[StateChange], default: Stamp) -> tuple[Stamp, str]:
    has_left = any(change.state != _ACTIVE for change in changes) or any(
        memory.get(name) is not None for name in ("archived_at", "deleted_at")
    )
    has_left = has_left or _read_state(memory) != _ACTIVE
    stamp, time_from = find_time(memory, *(("created_at",) if has_left else ("updated_at", "created_at")))
    return (default, "file") if stamp is None else (stamp, time_from or "")


def _read_change(change: StateChange, writer: _Writer) -> Item:
    stamp, identity = change.stamp, normalize_id(change.row.get("id"))
    assert stamp is not None, "undated changes are broken"
    event_id = None if identity is None else f"status:{identity}"
    is_active = change.state == _ACTIVE
    if is_active == writer.is_active:
        detail = "the memory is served, or is not, as it was before this change"
        return Skipped(position=change.position, reason=SourceReason.UNCHANGED, detail=detail)
    if is_active:
        return SourceEvent(position=change.position, event=writer.write(stamp, "changed_at", event_id=event_id))
    return SourceEvent(position=change.position, event=writer.delete(stamp, "changed_at", change.state, event_id=event_id))


def _iter_final_state(memory: Mapping[str, Any], writer: _Writer, position: str, written: Stamp) -> Iterator[Item]:
    """Yield the deletion of a memory that is not active now although no change of the log says so."""
    state = _read_state(memory)
    if state == _ACTIVE or not writer.is_active:
        return
    stamp, time_from = find_time(memory, "deleted_at", "archived_at", "updated_at")
    if stamp is None or stamp.time < written.time:
        stamp, time_from = written, "state"
    yield SourceEvent(position=position, event=writer.delete(stamp, time_from or "", state), rows=0)


def _read_state(memory: Mapping[str, Any]) -> str:
    state = memory.get("state")
    return str(state).rpartition(".")[2].lower() if isinstance(state, str) and state else _ACTIVE


def _break_change(change: StateChange) -> Broken:
    reason = SourceReason.TIME_UNREADABLE if change.stamp is None else SourceReason.ID_MISSING
    message = "a change of state that has no readable time, or whose memory is not there or has no content"
    return Broken(position=change.position, reason=reason, message=message, raw=render(change.row))


def iter_lost_changes(changes: Sequence[StateChange]) -> Iterator[Item]:
    """Yield changes whose memory is not in the input."""
    yield from (_break_change(change) for change in changes)


def _order(change: StateChange) -> datetime:
    assert change.stamp is not None, "undated changes are broken"
    return change.stamp.time


def _decode(given: Any) -> dict[str, Any]:
    """Give a memory's metadata, which a database holds as JSON text."""
    try:
        value = orjson.loads(given) if isinstance(given, str | bytes) else given
    except orjson.JSONDecodeError:
        value = {"metadata": given}
    return value if isinstance(value, dict) else {}
