"""Read managed memory stores: their memory versions (an audit log of every change), and lists of memories.

A version is one change of one memory: `created` and `modified` are writes, also when only the path changed, and `deleted`
is a deletion. A memory of a list is its newest state and names the version it is, so that it is the same revision by either
route; where both are read, the version says more and is kept.

A redacted version has lost its content, because somebody had it destroyed: its text must go from here as well, so it
becomes an erasure, by the authority of whoever redacted it. An erasure reaches the revisions up to its time: those before
the redacted one go, too, and what was written later stays. It is never sent for a version that merely lacks its content.

Rows are also read one by one from a topic. Order does not matter: each row carries its own time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin
from guardian.sources.reading.fields import render
from guardian.sources.reading.framing import Fault, Row
from guardian.sources.reading.json_record import iter_records, parse_json, sniff_records
from guardian.sources.reading.stamp import format_time, read_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "anthropic:memory-store"
# The longer name ranks behind: of two events of one record the version's is kept.
LIST_SOURCE = "anthropic:memory-store:list"
DEFAULT_SPACE = "anthropic-memory"
ERASED = "memory.erased"

_VERSION_KEYS = frozenset({"id", "memory_id", "operation", "path"})
_MEMORY_KEYS = frozenset({"id", "memory_version_id", "path"})
# An agent's session is an agent. A person is a user. What a program did with a key says nothing of who wanted it.
_AUTHOR_KINDS = {"session_actor": SourceKind.AGENT, "user_actor": SourceKind.USER}
# For a redaction the store itself is the witness that it was done, unless an agent did it.
_REDACTOR_KINDS = {**_AUTHOR_KINDS, "api_actor": SourceKind.TOOL, "service_account_actor": SourceKind.TOOL}
_OPERATIONS = frozenset({"created", "modified", "deleted"})


@dataclass(frozen=True, slots=True)
class AnthropicMemoryStoreSource:
    """Versions and memories of managed memory stores."""

    name: ClassVar[str] = "anthropic-memory-store"
    title: ClassVar[str] = "memory versions or memory lists of Anthropic's managed memory stores"

    def detect(self, path: Path) -> bool:
        """Tell by rows that are memory versions or memories."""
        if not path.is_file():
            return False
        rows = [row for record in sniff_records(path) for row in _unwrap(record)]
        return any(_is_row(row) for row in rows)

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield one item a row, in the order in which they stand."""
        for path in paths:
            for row in iter_records(path):
                yield from _iter_record(row, path.name, options)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the row's fields."""
        return _is_row(change.after if change.after is not None else change.before or {})

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the item of one row; a row that is taken out of its table says nothing about the memory."""
        if change.operation is RowOperation.DELETE or change.after is None:
            detail = "a row of the log was removed, which deletes no memory"
            yield Skipped(position=change.position, reason=SourceReason.UNCHANGED, detail=detail)
            return
        yield _translate(change.after, change.position, options)


def _unwrap(record: Mapping[str, Any]) -> list[Any]:
    """Give the rows of a record: those of a page of a listing, or the record itself."""
    page = record.get("data")
    return page if isinstance(page, list) else [record]


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    is_version = row.keys() >= _VERSION_KEYS and str(row["id"]).startswith("memver_")
    return is_version or (row.keys() >= _MEMORY_KEYS and str(row["memory_version_id"]).startswith("memver_"))


def _iter_record(row: Row | Fault, name: str, options: SourceOptions) -> Iterator[Item]:
    position = f"{name} row {row.number}"
    try:
        if isinstance(row, Fault):
            raise RecordError(row.reason, row.message)  # noqa: TRY301 # one place turns faults into items
        record = parse_json(row.raw, "the row is no JSON")
    except RecordError as error:
        yield Broken(position=position, reason=error.reason, message=str(error), raw=row.raw)
        return
    rows = _unwrap(record) if isinstance(record, dict) else [record]
    if not rows:
        yield Skipped(position=position, reason=SourceReason.EMPTY, detail="an empty page of a listing", rows=0)
    for number, item in enumerate(rows, start=1):
        yield _translate(item, position if len(rows) == 1 else f"{position} item {number}", options)


def _translate(row: Any, position: str, options: SourceOptions) -> Item:
    """Turn one version or memory into its item."""
    try:
        if not _is_row(row):
            raise RecordError(SourceReason.SHAPE_UNKNOWN, "neither a memory version nor a memory")  # noqa: TRY301 # one place turns faults into items
        return _read_version(row, position, options) if "operation" in row else _read_memory(row, position, options)
    except RecordError as error:
        raw = render(row)
        return Broken(position=position, reason=error.reason, message=str(error), raw=raw)


def _read_version(row: Mapping[str, Any], position: str, options: SourceOptions) -> Item:
    if str(row["operation"]) not in _OPERATIONS:
        raise RecordError(SourceReason.OPERATION_UNKNOWN, f"operation {row['operation']!r} is none of {sorted(_OPERATIONS)}")
    memory_id = _require_text(row, "memory_id")
    time = _require_text(row, "created_at", SourceReason.TIME_MISSING)
    kept = {"operation": row["operation"], **_keep(row, time)}
    if row["operation"] == "deleted":
        return _build(row["id"], DELETED, time, {"memory_id": memory_id, "metadata": kept}, position, options)
    if isinstance(row.get("content"), str):
        return _build_write(row, memory_id, row["id"], time, kept, position, options)
    if row.get("redacted_at") is None:
        raise RecordError(SourceReason.TEXT_MISSING, "a version without content that nobody redacted; ask for the full view")
    return _build_erasure(row, memory_id, time, position, options)


def _read_memory(row: Mapping[str, Any], position: str, options: SourceOptions) -> Item:
    if not isinstance(row.get("content"), str):
        raise RecordError(SourceReason.TEXT_MISSING, "the list shows no content; ask for the full view")
    time_key = "updated_at" if isinstance(row.get("updated_at"), str) else "created_at"
    time = _require_text(row, time_key, SourceReason.TIME_MISSING)
    memory_id, version = _require_text(row, "id"), _require_text(row, "memory_version_id")
    return _build_write(row, memory_id, version, time, _keep(row, time), position, options, source=LIST_SOURCE)


def _build_write(  # one argument a field of the event
    row: Mapping[str, Any],
    memory_id: str,
    version: str,
    time: str,
    kept: Mapping[str, Any],
    position: str,
    options: SourceOptions,
    *,
    source: str = EVENT_SOURCE,
) -> Item:
    if not row["content"].strip():
        detail = "the memory holds no text"
        return Skipped(position=position, reason=SourceReason.EMPTY, detail=detail)
    kind, actor = _read_actor(row.get("created_by"), _AUTHOR_KINDS)
    data = {
        "memory_id": memory_id,
        "text": row["content"],
        "source": build_origin(options, kind=kind, ref=f"{EVENT_SOURCE}:{version}", actor=actor),
        "scope": dict(options.scope),
        "metadata": kept,
    }
    return _build(version, WRITTEN, time, data, position, options, source=source)


def _build_erasure(row: Mapping[str, Any], memory_id: str, time: str, position: str, options: SourceOptions) -> Item:
    redacted_at = _require_text(row, "redacted_at")
    kind, actor = _read_actor(row.get("redacted_by"), _REDACTOR_KINDS)
    authority = build_origin(SourceOptions(), kind=kind, ref=f"{EVENT_SOURCE}:{row['id']}", actor=actor)
    data = {"memory_id": memory_id, "authority": authority, "observed_at": format_time(read_time(time).time)}
    # Redacting is another fact than the version's writing, which may have been imported before.
    return _build(f"{row['id']}:redacted", ERASED, redacted_at, data, position, options)


def _build(
    event_id: str,
    event_type: str,
    time: str,
    data: Mapping[str, Any],
    position: str,
    options: SourceOptions,
    *,
    source: str = EVENT_SOURCE,
) -> SourceEvent:
    event = build_event(
        event_id=event_id,
        source=source,
        event_type=event_type,
        time=read_time(time).time,
        space=options.space or DEFAULT_SPACE,
        data=data,
    )
    return SourceEvent(position=position, event=event)


def _keep(row: Mapping[str, Any], time: str) -> dict[str, Any]:
    kept: dict[str, Any] = {"format": "anthropic.memory-store", "time_raw": time, "tz_assumed": read_time(time).is_zone_assumed}
    for key in ("path", "memory_store_id", "content_sha256"):
        if isinstance(row.get(key), str):
            kept[key] = row[key]
    return kept


def _read_actor(actor: Any, kinds: Mapping[str, SourceKind]) -> tuple[SourceKind | None, str | None]:
    """Give kind and name of who did it; the name is the id under whatever key it stands."""
    if not isinstance(actor, dict):
        return None, None
    kind = kinds.get(str(actor.get("type")))
    ids = sorted(key for key, value in actor.items() if key.endswith("id") and isinstance(value, str))
    return kind, actor[ids[0]] if ids else None


def _require_text(row: Mapping[str, Any], key: str, reason: SourceReason = SourceReason.ID_MISSING) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise RecordError(reason, f"`{key}` is missing or no text", path=key)
    return value
