"""Read OpenMemory, mem0's local server: its export (a zip, or one of the two files in it) and its SQLite database.

`memories.json` holds the memories and the log of their states; `memories.jsonl.gz` in the zip repeats the memories
without the log, and is read only where it stands alone. What the rows mean is in `openmemory_state.py`.

The export turns naive UTC into the server's local time and back, so its times are shifted by the server's offset from
UTC, which it does not name: they are read as they stand, and marked `tz_assumed`. Those of the database are naive UTC.

Memory: an export is held whole; of a database only the log of states is, and never a text.
"""

from __future__ import annotations

import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.formats.mem0.openmemory_state import (
    Names,
    StateChange,
    iter_lost_changes,
    iter_memory_items,
    normalize_id,
)
from guardian.sources.port import Broken, Item, Skipped, SourceOptions
from guardian.sources.reading.differ import Version, order_versions
from guardian.sources.reading.document import MAX_DOCUMENT_BYTES, iter_values, sniff_value
from guardian.sources.reading.fields import find_text, render
from guardian.sources.reading.framing import Fault
from guardian.sources.reading.sqlite import SQLITE_ERRORS, is_sqlite, open_readonly, refuse_unfinished
from guardian.sources.reading.stamp import Stamp
from guardian.sources.reason import SourceReason

_DOCUMENT, _LINES = "memories.json", "memories.jsonl.gz"
_LINE_KEYS = frozenset({"id", "content", "state", "categories"})
_COLUMNS = {"id", "content", "state", "created_at", "user_id", "app_id"}
_NO_NAMES = Names(users={}, apps={}, categories={}, is_zone_assumed=True)


@dataclass(frozen=True, slots=True)
class OpenMemorySource:
    """OpenMemory's export and database."""

    name: ClassVar[str] = "openmemory"
    title: ClassVar[str] = "OpenMemory export (zip, memories.json) or database (SQLite)"

    def detect(self, path: Path) -> bool:
        """Tell by the zip's members, the tables, or the keys of the first JSON value."""
        try:
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    return _find_member(archive, _DOCUMENT) is not None and _find_member(archive, _LINES) is not None
            if is_sqlite(path):
                with closing(open_readonly(path)) as database:
                    return _is_openmemory(database)
        except (OSError, *SQLITE_ERRORS, RecordError, zipfile.BadZipFile):
            return False
        head = sniff_value(path)
        return _is_export(head) or (isinstance(head, dict) and head.keys() >= _LINE_KEYS)

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield every memory and the changes of its state, file after file by their time.

        Raises:
            RecordError: `file_in_use` when a writer has left changes that are not in the database file yet.
        """
        for path in paths:
            refuse_unfinished(path)
        for version in order_versions(paths, options):
            if zipfile.is_zipfile(version.path):
                yield from _iter_zip(version, options)
            elif is_sqlite(version.path):
                with closing(open_readonly(version.path)) as database:
                    yield from _iter_database(database, version, options)
            else:
                yield from _iter_file(version, options)


def _is_export(value: Any) -> bool:
    return isinstance(value, dict) and "memories" in value and bool(value.keys() & {"status_history", "export_meta", "apps"})


def _find_member(archive: zipfile.ZipFile, name: str) -> str | None:
    """Give the first member of that name, in whatever folder."""
    return next((member for member in archive.namelist() if member.rsplit("/", 1)[-1] == name), None)


def _iter_zip(version: Version, options: SourceOptions) -> Iterator[Item]:
    name = version.path.name
    try:
        export = _load_export(version.path)
    except RecordError as error:
        yield Broken(position=name, reason=error.reason, message=str(error), raw=b"")
        return
    yield from _iter_export(export, f"{name} {_DOCUMENT}", version, options)


def _load_export(path: Path) -> Mapping[str, Any]:
    """Give the document of a zip.

    Raises:
        RecordError: The zip is damaged or holds none.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            member = _find_member(archive, _DOCUMENT)
            content = b"{}" if member is None else _read_member(archive, member)
        export = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_JSON, f"{_DOCUMENT} is no JSON: {error}") from error
    # RuntimeError: the member is encrypted; NotImplementedError, one of its kind: the compression is unknown.
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise RecordError(SourceReason.FILE_DAMAGED, f"the zip cannot be read: {error}") from error
    if not _is_export(export):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"the zip holds no {_DOCUMENT} of OpenMemory")
    return dict(export)


def _read_member(archive: zipfile.ZipFile, member: str) -> bytes:
    with archive.open(member) as stream:
        content = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise RecordError(SourceReason.DOCUMENT_TOO_LARGE, f"{_DOCUMENT} has more than {MAX_DOCUMENT_BYTES} bytes")
    return content


def _iter_file(version: Version, options: SourceOptions) -> Iterator[Item]:
    """Read one of the two files of an export alone."""
    name, default = version.path.name, Stamp(version.time_from, version.time)
    for found in iter_values(version.path, is_document=_is_export):
        position = f"{name} line {found.number}"
        if isinstance(found, Fault):
            yield Broken(position=position, reason=found.reason, message=found.message, raw=found.raw)
        elif _is_export(found.value):
            yield from _iter_export(found.value, name, version, options)
        elif isinstance(found.value, dict):
            yield from iter_memory_items(found.value, (), _NO_NAMES, position, options, default=default)
        else:
            message, raw = "the row is no JSON object", render(found.value)
            yield Broken(position=position, reason=SourceReason.SHAPE_UNKNOWN, message=message, raw=raw)


def _iter_export(export: Mapping[str, Any], name: str, version: Version, options: SourceOptions) -> Iterator[Item]:
    user = export.get("user")
    names = Names(
        users=_index([user] if isinstance(user, dict) else [], "user_id"),
        apps=_index(_list(export.get("apps")), "name"),
        categories=_index(_list(export.get("categories")), "name"),
        is_zone_assumed=True,
    )
    changes = _group(
        StateChange(row if isinstance(row, dict) else {"row": row}, f"{name} status_history {number}")
        for number, row in enumerate(_list(export.get("status_history")), start=1)
    )
    default = Stamp(version.time_from, version.time)
    for number, row in enumerate(_list(export.get("memories")), start=1):
        memory = row if isinstance(row, dict) else {"row": row}
        own = changes.pop(normalize_id(memory.get("id")) or "", [])
        yield from iter_memory_items(memory, own, names, f"{name} memory {number}", options, default=default)
    for lost in changes.values():
        yield from iter_lost_changes(lost)


def _is_openmemory(database: sqlite3.Connection) -> bool:
    columns = {row[1].decode("utf-8", "replace") for row in database.execute("PRAGMA table_info(memories)")}
    log = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'memory_status_history'").fetchone()
    return columns >= _COLUMNS and bool(log[0])


def _iter_database(database: sqlite3.Connection, version: Version, options: SourceOptions) -> Iterator[Item]:
    name, default = version.path.name, Stamp(version.time_from, version.time)
    try:
        names = Names(
            users=_index(_iter_table(database, "users"), "user_id"),
            apps=_index(_iter_table(database, "apps"), "name"),
            categories={},
            is_zone_assumed=False,
        )
        changes = _group(
            StateChange(row, f"{name} memory_status_history {number}")
            for number, row in enumerate(_iter_table(database, "memory_status_history"), start=1)
        )
        for number, memory in enumerate(_iter_table(database, "memories"), start=1):
            own = changes.pop(normalize_id(memory.get("id")) or "", [])
            yield from iter_memory_items(memory, own, names, f"{name} memories row {number}", options, default=default)
        for lost in changes.values():
            yield from iter_lost_changes(lost)
        if rows := sum(1 for _ in _iter_table(database, "memory_access_logs")):
            detail = "when memories were read, and by which application, but not for what"
            position = f"{name} memory_access_logs"
            yield Skipped(position=position, reason=SourceReason.NOT_A_MEMORY, detail=detail, rows=rows)
    except SQLITE_ERRORS as error:
        message = f"the database cannot be read on: {error}"
        yield Broken(position=name, reason=SourceReason.FILE_DAMAGED, message=message, raw=b"", rows=0)


def _iter_table(database: sqlite3.Connection, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table with their columns' names, none of a table that is not there; what is not UTF-8 is escaped."""
    if not database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()[0]:
        return
    # Names of tables come from this module, never from the input.
    cursor = database.execute(f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608
    columns = [column[0] for column in cursor.description]
    for values in cursor:
        decoded = (value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value for value in values)
        yield dict(zip(columns, decoded, strict=True))


def _group(changes: Iterator[StateChange]) -> dict[str, list[StateChange]]:
    """Give the changes by memory, each memory's as they stand."""
    found: dict[str, list[StateChange]] = {}
    for change in changes:
        found.setdefault(normalize_id(change.row.get("memory_id")) or "", []).append(change)
    return found


def _index(rows: Iterable[Any], label: str) -> dict[str, str]:
    """Give what ids stand for, from rows of a table."""
    pairs = ((normalize_id(row.get("id")), find_text(row, label)) for row in rows if isinstance(row, dict))
    return {key: name for key, name in pairs if key is not None and name is not None}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
