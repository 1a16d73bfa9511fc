"""Read the `memory_history` table that mem0's TypeScript SDK keeps (SQLite): another table than the Python SDK's.

Its rows say the same under other names (`previous_value`, `new_value`, `action`), so they are judged as those of
`mem0_history` are. `id` counts within one database, so an event's id is made of memory and row. The order is that of
`id`; the SDK itself reads newest first. A DELETE carries no times: it takes the latest of its memory, and says so.
There is no user, agent or run id, no author, and no role in the table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.formats.mem0_history import HistoryRow, translate_history
from guardian.sources.port import Broken, Item, SourceOptions
from guardian.sources.reading.fields import render
from guardian.sources.reading.sqlite import SQLITE_ERRORS, is_sqlite, open_readonly, refuse_unfinished
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "mem0:ts-history"

_COLUMNS = ("id", "memory_id", "previous_value", "new_value", "action", "created_at", "updated_at")


@dataclass(frozen=True, slots=True)
class Mem0TypeScriptSource:
    """The history database of mem0's TypeScript SDK."""

    name: ClassVar[str] = "mem0-ts"
    title: ClassVar[str] = "mem0 TypeScript SDK, its table memory_history (SQLite)"

    def detect(self, path: Path) -> bool:
        """Tell by the SQLite header and the table's columns."""
        try:
            if not is_sqlite(path):
                return False
            with closing(open_readonly(path)) as database:
                columns = {row[1].decode("utf-8", "replace") for row in database.execute("PRAGMA table_info(memory_history)")}
                return columns >= set(_COLUMNS)
        except (OSError, *SQLITE_ERRORS, RecordError):
            return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the history of every database in the order of its row ids.

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
    times: dict[str, datetime] = {}
    try:
        # Names come from the constants above, never from the input.
        for values in database.execute(f"SELECT {', '.join(_COLUMNS)} FROM memory_history ORDER BY id"):  # noqa: S608
            yield _read_row(values, f"{name} memory_history row {values[0]}", times, options)
            done += 1
    except SQLITE_ERRORS as error:
        message = f"the database cannot be read after {done} rows: {error}"
        yield Broken(position=name, reason=SourceReason.FILE_DAMAGED, message=message, raw=b"", rows=0)


def _read_row(values: Sequence[Any], position: str, times: dict[str, datetime], options: SourceOptions) -> Item:
    try:
        number, memory_id, old, new, action, created, updated = (_decode(value) for value in values)
        row_id = f"{memory_id}:{number}" if isinstance(memory_id, str) else None
        row = HistoryRow(row_id, memory_id, old, new, action, created, updated, None, None)
        return translate_history(row, position, times, options, event_source=EVENT_SOURCE)
    except RecordError as error:
        raw = render(dict(zip(_COLUMNS, values, strict=True)))
        return Broken(position=position, reason=error.reason, message=str(error), raw=raw)


def _decode(value: Any) -> Any:
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError as error:
        raise RecordError(Reason.NOT_UTF8, f"a column is not UTF-8: {error}") from error
