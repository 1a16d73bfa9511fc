"""Read the `history` table of mem0 (SQLite, by default `~/.mem0/history.db`), in all three generations of its schema.

The table is a log of what happened to each memory, so it becomes events one to one: ADD and UPDATE are writes (an
update is a new revision), DELETE is a deletion. What the table gets wrong is put right here:

- Order is that of `rowid`. Times are text with mixed offsets, and up to 1.0.7 a DELETE has none at all, so any
  order by time puts deletions before the writes they end.
- A row's time is `updated_at`, else `created_at` (an UPDATE repeats the creation time in `created_at`). The text is
  kept beside what was understood (`time_raw`, `tz_assumed`). A caller may back-date an ADD: it is a claimed time.
- A DELETE without times takes the latest time its memory has in the file and says so: `time_inferred`.
- An UPDATE that repeats the text changed only metadata, which the table does not hold: skipped.
- There is no user, agent or run id in the table; `SourceOptions.scope` and `space` supply what the caller knows.
- `role` and `actor_id` name the author of an ADD that stored a raw message. mem0 repeats them on later rows, whose
  text somebody else may have written: there, as where `role` is absent, the kind of source is unknown.

The database is opened read-only and immutable and is never written. Memory: one time for every living memory, as far as
the last row that has no time of its own; none where every row has one.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.contracts.reason import Reason
from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin
from guardian.sources.reading.sqlite import SQLITE_ERRORS, is_sqlite, open_readonly, refuse_unfinished
from guardian.sources.reading.stamp import Stamp, read_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "mem0:history"
DEFAULT_SPACE = "mem0"

_COLUMNS = ("id", "memory_id", "old_text", "new_text", "event", "created_at", "updated_at", "actor_id", "role")
# Generations of the table: which columns tell it, and what to select for `_COLUMNS`. First match counts.
_GENERATIONS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "actor_id", "role"}),
        "id, memory_id, old_memory, new_memory, event, created_at, updated_at, actor_id, role",
    ),
    (
        # `new_value` is filled by one migration only, which leaves the events in lower case.
        frozenset({"id", "memory_id", "old_memory", "new_memory", "new_value", "event", "created_at", "updated_at"}),
        "id, memory_id, old_memory, COALESCE(new_memory, new_value), event, created_at, updated_at, NULL, NULL",
    ),
    (
        frozenset({"id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at"}),
        "id, memory_id, old_memory, new_memory, event, created_at, updated_at, NULL, NULL",
    ),
    (
        frozenset({"id", "memory_id", "prev_value", "new_value", "event", "timestamp"}),
        "id, memory_id, prev_value, new_value, event, timestamp, timestamp, NULL, NULL",
    ),
)
# What a migration that died can leave behind. Read only where there is no `history`.
_LEFTOVERS = ("history_old", "old_history")
_ROLE_KINDS = {"user": SourceKind.USER, "assistant": SourceKind.AGENT, "tool": SourceKind.TOOL}


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One row with its columns renamed to those of the newest generation; other forms of the log fill it as well."""

    id: str | None
    memory_id: str | None
    old_text: str | None
    new_text: str | None
    event: str | None
    created_at: str | int | float | None
    updated_at: str | int | float | None
    actor_id: str | None
    role: str | None


@dataclass(frozen=True, slots=True)
class Mem0HistorySource:
    """mem0's history database."""

    name: ClassVar[str] = "mem0"
    title: ClassVar[str] = "mem0 history.db, all generations of its table"

    def detect(self, path: Path) -> bool:
        """Tell by the SQLite header and the columns of the history table."""
        try:
            if not is_sqlite(path):
                return False
            with closing(open_readonly(path)) as database:
                return _find_history(database) is not None
        except (OSError, *SQLITE_ERRORS, RecordError):
            return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the history of every database in `rowid` order, then a note on each table that is left out.

        Raises:
            RecordError: `file_in_use` when a writer has left changes that are not in the database file yet, and
                `file_unreadable`.
        """
        for path in paths:
            refuse_unfinished(path)
        for path in paths:
            with closing(open_readonly(path)) as database:
                yield from _iter_database(database, path.name, options)


def _iter_database(database: sqlite3.Connection, name: str, options: SourceOptions) -> Iterator[Item]:
    done = 0
    try:
        table, selection = _require_history(database, name)
        last_undated = _find_last_undated(database, table, selection)
        times: dict[str, datetime] = {}
        # Names come from the closed tables above, never from the input.
        for rowid, *values in database.execute(f"SELECT rowid, {selection} FROM {table} ORDER BY rowid"):  # noqa: S608
            yield _read_row(values, f"{name} {table} row {rowid}", times, options)
            done += 1
            if rowid >= last_undated:
                times.clear()
        yield from _iter_notes(database, name, table)
    except SQLITE_ERRORS as error:
        message = f"the database cannot be read after {done} rows: {error}"
        yield Broken(position=name, reason=SourceReason.FILE_DAMAGED, message=message, raw=b"", rows=0)
    except RecordError as error:
        yield Broken(position=name, reason=error.reason, message=str(error), raw=b"", rows=0)


def _find_last_undated(database: sqlite3.Connection, table: str, selection: str) -> float:
    """Give the last row without a time, whose memory's times have to be remembered until then; without end where it cannot be read."""
    stated = "timestamp" if "timestamp" in selection else "COALESCE(updated_at, created_at)"
    try:
        (last,) = database.execute(f"SELECT max(rowid) FROM {table} WHERE {stated} IS NULL").fetchone()  # noqa: S608 # closed names
    except SQLITE_ERRORS:
        return math.inf
    return -math.inf if last is None else int(last)


def _find_history(database: sqlite3.Connection) -> tuple[str, str] | None:
    """Give the table to read and what to select from it; None when no generation fits."""
    tables = _list_tables(database)
    # A leftover beside a history of an unknown shape is not what the file says now.
    for table in ("history",) if "history" in tables else _LEFTOVERS:
        columns = {row[1].decode("utf-8", "replace") for row in database.execute(f"PRAGMA table_info({table})")}
        for required, selection in _GENERATIONS:
            if table in tables and required <= columns:
                return table, selection
    return None


def _list_tables(database: sqlite3.Connection) -> set[str]:
    """Give the names of the tables, in lower case as SQLite compares them; views are none, for one can go on for ever."""
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {row[0].decode("utf-8", "replace").lower() for row in names if isinstance(row[0], bytes)}


def _require_history(database: sqlite3.Connection, name: str) -> tuple[str, str]:
    found = _find_history(database)
    if found is None:
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"{name} holds no history table of a known generation")
    return found


def _read_row(values: Sequence[Any], position: str, times: dict[str, datetime], options: SourceOptions) -> Item:
    try:
        row = HistoryRow(*(_decode(value) for value in values))
        return translate_history(row, position, times, options)
    except RecordError as error:
        return Broken(position=position, reason=error.reason, message=str(error), raw=_render(values))


def _decode(value: Any) -> Any:
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError as error:
        raise RecordError(Reason.NOT_UTF8, f"a column is not UTF-8: {error}") from error


def translate_history(
    row: HistoryRow,
    position: str,
    times: dict[str, datetime],
    options: SourceOptions,
    *,
    event_source: str = EVENT_SOURCE,
) -> Item:
    """Turn one row into its item, and remember the latest time of its memory.

    Raises:
        RecordError: The row lacks what its event needs.
    """
    if not isinstance(row.id, str) or not isinstance(row.memory_id, str):
        raise RecordError(SourceReason.ID_MISSING, "the row has no id or no memory_id")
    operation = row.event.upper() if isinstance(row.event, str) else None
    if operation not in {"ADD", "UPDATE", "DELETE"}:
        raise RecordError(SourceReason.OPERATION_UNKNOWN, f"event {row.event!r:.80} is none of ADD, UPDATE, DELETE")
    stamp, is_inferred = _date(row, operation, times.get(row.memory_id))
    times[row.memory_id] = max(stamp.time, times.get(row.memory_id, stamp.time))
    marks = {"format": event_source.replace(":", "."), **_metadata(row, operation, stamp, is_inferred=is_inferred)}
    data: dict[str, Any] = {"memory_id": row.memory_id, "metadata": marks}
    if operation == "DELETE":
        # No row follows a deletion, so its time is not needed any more.
        del times[row.memory_id]
    elif not isinstance(row.new_text, str):
        raise RecordError(
            SourceReason.TEXT_MISSING, f"{operation} without a text; a migration of mem0 from its first table loses it"
        )
    elif operation == "UPDATE" and row.new_text == row.old_text:
        detail = "the update repeats the text; the changed metadata is not in the table"
        return Skipped(position=position, reason=SourceReason.METADATA_ONLY, detail=detail)
    else:
        data |= {"text": row.new_text, "source": _origin(row, operation, options, event_source), "scope": dict(options.scope)}
    return SourceEvent(
        position=position,
        event=build_event(
            event_id=row.id,
            source=event_source,
            event_type=DELETED if operation == "DELETE" else WRITTEN,
            time=stamp.time,
            space=options.space or DEFAULT_SPACE,
            data=data,
        ),
    )


def _date(row: HistoryRow, operation: str, latest: datetime | None) -> tuple[Stamp, bool]:
    """Give the time of a row, and whether it had to be inferred."""
    stated = row.updated_at if row.updated_at is not None else row.created_at
    if stated is None and operation == "DELETE" and latest is not None:
        return Stamp("", latest), True
    if stated is None:
        raise RecordError(SourceReason.TIME_MISSING, f"{operation} of a memory without any time in the file")
    if not isinstance(stated, str):
        raise RecordError(SourceReason.TIME_UNREADABLE, f"{stated!r} is a number where mem0 writes ISO 8601")
    return read_time(stated), False


def _metadata(row: HistoryRow, operation: str, stamp: Stamp, *, is_inferred: bool) -> dict[str, Any]:
    """Keep what the canonical fields cannot hold."""
    kept: dict[str, Any] = {"mem0_event": operation}
    if is_inferred:
        kept["time_inferred"] = True
    else:
        kept |= {"time_raw": stamp.raw, "tz_assumed": stamp.is_zone_assumed}
    if row.created_at is not None and row.created_at != stamp.raw:
        kept["created_at"] = row.created_at
    return kept | {name: value for name in ("role", "actor_id") if (value := getattr(row, name)) is not None}


def _origin(row: HistoryRow, operation: str, options: SourceOptions, event_source: str) -> dict[str, str]:
    is_author_known = operation == "ADD"
    return build_origin(
        options,
        kind=_ROLE_KINDS.get(row.role or "") if is_author_known else None,
        ref=f"{event_source}:{row.memory_id}",
        actor=row.actor_id if is_author_known else None,
    )


def _render(values: Sequence[Any]) -> bytes:
    """Give a row as JSON for the dead letter; bytes that are no UTF-8 are shown escaped."""
    shown = [value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value for value in values]
    return orjson.dumps(dict(zip(_COLUMNS, shown, strict=True)))


def _iter_notes(database: sqlite3.Connection, name: str, table_read: str) -> Iterator[Skipped]:
    """Account for the tables that give no events."""
    tables = _list_tables(database)
    for table in _LEFTOVERS:
        if table not in tables or table == table_read:
            continue
        rows, alone = database.execute(
            f"SELECT count(*), count(*) FILTER (WHERE id NOT IN (SELECT id FROM {table_read})) FROM {table}"  # noqa: S608
        ).fetchone()
        detail = f"left by a migration that was cut off; {alone} of its {rows} rows are not in {table_read}"
        yield Skipped(position=f"{name} {table}", reason=SourceReason.LEFTOVER_TABLE, detail=detail, rows=rows)
    if "messages" in tables and (rows := database.execute("SELECT count(*) FROM messages").fetchone()[0]):
        detail = "raw chat messages that mem0 keeps for a while, not memories"
        yield Skipped(position=f"{name} messages", reason=SourceReason.RAW_MESSAGES, detail=detail, rows=rows)
