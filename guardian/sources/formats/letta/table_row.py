"""Read rows of the tables of Letta's first server: `archival_passages`, `block` and `block_history`.

Rows come as JSON lines, as a JSON array, as CSV with a header, or one by one from a topic; one function reads them all, so
that the same row gives the same events by any route. A passage or block is a memory under its own id; `block_history`
holds the earlier texts of a block, numbered, and its rows are revisions of that block.

A soft delete (`is_deleted`) is the write, dated by creation, and a deletion dated by the update. Embeddings are dropped:
they are padded with zeros to 4,096 numbers, and another model's. `_created_by_id` is the account that called the server, not
who wrote the text; only `block_history` says whether an agent did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.contracts.admission import is_blank
from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.csv_rows import iter_csv_rows, sniff_header
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.fields import render
from guardian.sources.reading.framing import Fault, Row
from guardian.sources.reading.json_record import iter_records, parse_json, sniff_records
from guardian.sources.reading.stamp import Stamp, format_time, read_time, read_unix_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "letta:tables"
DEFAULT_SPACE = "letta"

# Prefix of a row's id, and the columns without which it is no row of that table.
_TABLES: tuple[tuple[str, frozenset[str]], ...] = (
    ("passage-", frozenset({"id", "text"})),
    ("block_hist-", frozenset({"id", "block_id", "value", "sequence_number"})),
    ("block-", frozenset({"id", "label", "value"})),
)
_HEADERS = tuple(columns for _, columns in _TABLES)
_KEPT = (
    "label",
    "description",
    "version",
    "sequence_number",
    "read_only",
    "limit",
    "tags",
    "archive_id",
    "organization_id",
    "actor_type",
    "actor_id",
    "_created_by_id",
)
_TEXTS = frozenset({"text", "value"})
# Columns that are no text.
_TYPED = frozenset({"version", "sequence_number", "read_only", "limit", "tags", "metadata_"})
_TRUE = frozenset({"t", "true", "1", "yes"})


@dataclass(frozen=True, slots=True)
class LettaTableSource:
    """Rows of Letta's tables."""

    name: ClassVar[str] = "letta-tables"
    title: ClassVar[str] = "rows of Letta's tables archival_passages, block and block_history, as JSON or CSV"

    def detect(self, path: Path) -> bool:
        """Tell by ids with the prefix of a table and that table's columns."""
        if not path.is_file():
            return False
        if any(_is_row(row) for row in sniff_records(path)):
            return True
        header = sniff_header(path)
        if not any(columns <= header for columns in _HEADERS):
            return False
        try:
            return any(_is_row(row) for _, row in islice(iter_csv_rows(path), 20) if isinstance(row, dict))
        except OSError:
            return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the items of every row, in the order in which they stand."""
        for path in paths:
            if any(columns <= sniff_header(path) for columns in _HEADERS):
                for number, row in iter_csv_rows(path):
                    yield from _iter_parsed(row, f"{path.name} row {number}", options)
            else:
                for record in iter_records(path):
                    yield from _iter_parsed(_parse(record), f"{path.name} row {record.number}", options)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the id's prefix and the columns; a deleted row may have nothing but its id."""
        row = change.after if change.after is not None else change.before or {}
        if change.after is None:
            return any(str(row.get("id")).startswith(prefix) for prefix, _ in _TABLES)
        return _is_row(row)

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one row; a row that is removed deletes its passage or block."""
        if change.after is not None:
            if change.unavailable & _TEXTS:
                yield _read_untold(change, change.after, options)
                return
            is_same = change.before is not None and _text_of(change.before) == _text_of(change.after)
            if change.operation is RowOperation.UPDATE and is_same and not _is_true(change.after.get("is_deleted")):
                detail = "the update repeats the text"
                yield Skipped(position=change.position, reason=SourceReason.METADATA_ONLY, detail=detail)
                return
            yield from _iter_parsed(dict(change.after), change.position, options)
            return
        row_id = str((change.before or {}).get("id"))
        if row_id.startswith("block_hist-"):
            detail = "an entry of a block's history was removed, which deletes no memory"
            yield Skipped(position=change.position, reason=SourceReason.UNCHANGED, detail=detail)
            return
        stamp = Stamp(format_time(change.time), change.time)
        yield _build_deletion(row_id, stamp, change.position, options, rows=1)


def _read_untold(change: RowChange, row: Mapping[str, Any], options: SourceOptions) -> Item:
    """Give the item of a row whose text the change log leaves out, as it did not change: no revision, but perhaps a deletion."""
    row_id = str(row.get("id"))
    if not _is_true(row.get("is_deleted")) or row_id.startswith("block_hist-"):
        detail = "the text did not change, and the change log does not repeat it"
        return Skipped(position=change.position, reason=SourceReason.TEXT_UNAVAILABLE, detail=detail)
    try:
        stamp = _read_stamp(row, "updated_at") or Stamp(format_time(change.time), change.time)
    except RecordError as error:
        raw = render(row)
        return Broken(position=change.position, reason=error.reason, message=str(error), raw=raw)
    return _build_deletion(row_id, stamp, change.position, options, rows=1)


def _parse(row: Row | Fault) -> dict[str, Any] | Broken:
    try:
        if isinstance(row, Fault):
            raise RecordError(row.reason, row.message)  # noqa: TRY301 # one place turns faults into items
        value = parse_json(row.raw, "the row is no JSON")
    except RecordError as error:
        return Broken(position="", reason=error.reason, message=str(error), raw=row.raw)
    return value if isinstance(value, dict) else {}


def _is_row(row: Mapping[str, Any]) -> bool:
    return any(str(row.get("id")).startswith(prefix) and columns <= row.keys() for prefix, columns in _TABLES)


def _iter_parsed(row: Mapping[str, Any] | Broken, position: str, options: SourceOptions) -> Iterator[Item]:
    """Yield the items of a row: a write, and a deletion where it is marked as deleted."""
    if isinstance(row, Broken):
        yield Broken(position=position, reason=row.reason, message=row.message, raw=row.raw)
        return
    try:
        items = _translate(row, position, options)
    except RecordError as error:
        raw = render(row)
        items = [Broken(position=position, reason=error.reason, message=str(error), raw=raw)]
    yield from items


def _translate(row: Mapping[str, Any], position: str, options: SourceOptions) -> list[Item]:
    if not _is_row(row):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "no row of archival_passages, block or block_history")
    text, is_history = _text_of(row), row["id"].startswith("block_hist-")
    memory_id = str(row["block_id"]) if is_history else row["id"]
    created, updated = _read_stamp(row, "created_at"), _read_stamp(row, "updated_at")
    is_gone = _is_true(row.get("is_deleted")) and not is_history
    written = created if (is_gone or is_history) and created is not None else updated or created
    if text is None:
        raise RecordError(SourceReason.TEXT_MISSING, "the row has no text")
    if written is None:
        raise RecordError(SourceReason.TIME_MISSING, "the row has neither created_at nor updated_at")
    items: list[Item] = []
    if is_blank(text):
        items.append(Skipped(position=position, reason=SourceReason.EMPTY, detail="the block or passage holds nothing"))
    else:
        items.append(_build_write(row, memory_id, text, written, position, options))
    if is_gone:
        rows = 0
        items.append(_build_deletion(memory_id, updated or written, position, options, rows=rows))
    return items


def _build_write(
    row: Mapping[str, Any], memory_id: str, text: str, stamp: Stamp, position: str, options: SourceOptions
) -> SourceEvent:
    is_agents = row.get("actor_type") == "letta_agent"
    actor = row.get("actor_id") if is_agents and isinstance(row.get("actor_id"), str) else None
    kept: dict[str, Any] = {"format": "letta.tables", "time_raw": stamp.told, "tz_assumed": stamp.is_zone_assumed}
    kept |= {key: value for key in _KEPT if (value := _normalize(key, row.get(key))) not in (None, "", [], {})}
    custom = _normalize("metadata_", row.get("metadata_", row.get("metadata")))
    if custom not in (None, "", {}):
        kept["fields"] = custom
    origin = build_origin(options, kind=SourceKind.AGENT if is_agents else None, ref=f"{EVENT_SOURCE}:{row['id']}", actor=actor)
    event = build_event(
        event_id=digest_parts(row["id"], format_time(stamp.time), text),
        source=EVENT_SOURCE,
        event_type=WRITTEN,
        time=stamp.time,
        space=options.space or DEFAULT_SPACE,
        data={"memory_id": memory_id, "text": text, "source": origin, "scope": dict(options.scope), "metadata": kept},
    )
    return SourceEvent(position=position, event=event)


def _build_deletion(memory_id: str, stamp: Stamp, position: str, options: SourceOptions, *, rows: int) -> SourceEvent:
    kept = {"format": "letta.tables", "time_raw": stamp.told, "tz_assumed": stamp.is_zone_assumed}
    event = build_event(
        event_id=digest_parts(memory_id, "deleted", format_time(stamp.time)),
        source=EVENT_SOURCE,
        event_type=DELETED,
        time=stamp.time,
        space=options.space or DEFAULT_SPACE,
        data={"memory_id": memory_id, "metadata": kept},
    )
    return SourceEvent(position=position, event=event, rows=rows)


def _normalize(key: str, value: Any) -> Any:
    """Give a column as JSON has it: CSV and change data capture write numbers, flags and JSON as text."""
    if not isinstance(value, str) or key not in _TYPED:
        return value
    if key == "read_only":
        return _is_true(value)
    try:
        return orjson.loads(value)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return value


def _text_of(row: Mapping[str, Any]) -> str | None:
    value = row.get("text", row.get("value"))
    return value if isinstance(value, str) else None


def _is_true(value: Any) -> bool:
    return value is True or str(value).lower() in _TRUE


def _read_stamp(row: Mapping[str, Any], key: str) -> Stamp | None:
    value = row.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return read_unix_time(value) if value else None
    return read_time(value) if isinstance(value, str) and value else None
