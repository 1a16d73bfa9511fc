"""Read a LangGraph store from files, alone or as a series of versions, and its changes as they happen.

The store keeps no history: an update overwrites, a deletion (and the sweep of what has expired) leaves nothing. So files
are states; several are versions of one store, and their difference is what happened. A database or a dump of one is
whole, and what it lacks was deleted. Exported rows (CSV, JSON with `prefix`) may be a selection: they prove a deletion only
if they share an item with what is known. Answers of the API (`namespace`) are cut at a limit and prove none.

Changes on the table (Debezium) are the only log that there is. An update that leaves the value alone moved its expiry,
as every read does, and is no write. With Postgres' default replica identity nothing is known of the row before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.errors import RecordError
from guardian.sources.formats.langgraph.item import (
    StoreItem,
    build_deletion,
    build_write,
    is_same_value,
    read_item,
    read_place,
)
from guardian.sources.formats.langgraph.rows import Form, Found, Left, find_form, is_item, iter_found
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Change, ChangeOp, SnapshotDiffer, TimeBasis, Version, order_versions
from guardian.sources.reading.fields import render
from guardian.sources.reading.framing import Fault
from guardian.sources.reading.sqlite import is_sqlite, refuse_unfinished
from guardian.sources.reading.stamp import format_time
from guardian.sources.reason import SourceReason

_TABLE = "store"


@dataclass(slots=True)
class _Version:
    """Owns what one file has proved so far."""

    version: Version
    form: Form
    is_complete: bool
    is_shared: bool
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class LanggraphSource:
    """LangGraph's store, with LangMem's memories in it."""

    name: ClassVar[str] = "langgraph"
    title: ClassVar[str] = "LangGraph store or LangMem (SQLite, pg_dump, CSV or JSON), one state or its versions"

    def detect(self, path: Path) -> bool:
        """Tell by the table's columns, the header, or the keys of the first item."""
        try:
            return find_form(path) is not None
        except OSError:
            return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the changes of each version in order; the first version is all writes.

        Raises:
            RecordError: `file_in_use` when a writer has left changes that are not in the database file yet.
        """
        for path in paths:
            refuse_unfinished(path)
        differ = SnapshotDiffer()
        for number, version in enumerate(order_versions(paths, options)):
            form = find_form(version.path) or (Form.SQLITE if is_sqlite(version.path) else Form.JSON)
            is_whole = number == 0 or form in {Form.SQLITE, Form.PG_DUMP}
            yield from _iter_version(_Version(version, form, True, is_whole), differ, options)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the fields of an item, or of a deleted row of the table, of which only the key may be known."""
        if change.table not in (None, _TABLE):
            return False
        if change.after is not None:
            return is_item(change.after) or (change.table == _TABLE and change.after.keys() >= {"prefix", "key"})
        return change.before is not None and change.before.keys() >= {"prefix", "key"}

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the write or the deletion that a change is, or say why it is none."""
        try:
            yield _read_change(change, options)
        except RecordError as error:
            raw = render(change.before if change.after is None else change.after)
            yield Broken(position=change.position, reason=error.reason, message=str(error), raw=raw)


def _iter_version(state: _Version, differ: SnapshotDiffer, options: SourceOptions) -> Iterator[Item]:
    differ.start_version(state.version.time)
    for found in iter_found(state.version.path, state.form):
        item = _read_found(found, state, differ, options)
        state.is_complete = state.is_complete and not isinstance(item, Broken)
        yield item
    if state.is_partial:
        return
    for change in differ.finish_version(is_complete=state.is_complete and state.is_shared):
        yield _read_absence(change, state.version, options)


def _read_found(found: Found, state: _Version, differ: SnapshotDiffer, options: SourceOptions) -> Item:
    row, position = found.row, found.position
    if isinstance(row, Fault):
        return Broken(position=position, reason=row.reason, message=row.message, raw=row.raw)
    if isinstance(row, Left):
        detail = f"table {row.table} holds no items of the store"
        return Skipped(position=position, reason=SourceReason.NOT_A_MEMORY, detail=detail, rows=row.rows)
    try:
        item = read_item(row)
    except RecordError as error:
        return Broken(position=position, reason=error.reason, message=str(error), raw=render(row))
    state.is_partial = state.is_partial or "namespace" in row
    identity = orjson.dumps([item.prefix, item.key]).decode()
    state.is_shared = state.is_shared or differ.is_living(identity)
    change = differ.observe(identity, (item.canonical,), time=item.stamp.time if item.stamp else None)
    if change is None:
        detail = "the item stood so in an earlier version, or stands twice in this one"
        return Skipped(position=position, reason=SourceReason.UNCHANGED, detail=detail)
    time_from = item.time_from if change.basis is TimeBasis.OWN else _name_basis(change, state.version)
    if item.is_blank:
        return _skip_blank(position)
    return SourceEvent(position=position, event=build_write(item, options, time=change.time, time_from=time_from or ""))


def _read_absence(change: Change, version: Version, options: SourceOptions) -> Item:
    prefix, key = orjson.loads(change.memory_id)
    position = f"{version.path.name} lacks {key} of {prefix}"
    if change.op is ChangeOp.DELETE_WITHHELD:
        detail = "this version is damaged, or has no item in common with those before: it proves no deletion"
        return Skipped(position=position, reason=SourceReason.ABSENCE_IN_DAMAGED_VERSION, detail=detail, rows=0)
    event = build_deletion(
        (prefix, key),
        options,
        time=change.time,
        time_from=_name_basis(change, version),
        identity=format_time(change.time),
    )
    return SourceEvent(position=position, event=event, rows=0)


def _name_basis(change: Change, version: Version) -> str:
    return version.time_from if change.basis is TimeBasis.VERSION else change.basis.value


def _read_change(change: RowChange, options: SourceOptions) -> Item:
    """Give the item of one change.

    Raises:
        RecordError: The row names no item, or its value cannot be read.
    """
    if change.operation is RowOperation.DELETE or change.after is None:
        place = read_place(change.before or change.after or {})
        event = build_deletion(place, options, time=change.time, time_from="envelope", identity=change.identity)
        return SourceEvent(position=change.position, event=event)
    if change.operation is RowOperation.UPDATE and is_same_value(change.before, change.after):
        detail = "the value is as it was; a read moved the expiry"
        return Skipped(position=change.position, reason=SourceReason.METADATA_ONLY, detail=detail)
    return _read_state(change, change.after, options)


def _read_state(change: RowChange, row: Mapping[str, Any], options: SourceOptions) -> Item:
    item: StoreItem = read_item(row)
    if item.is_blank:
        return _skip_blank(change.position)
    time, time_from = (item.stamp.time, item.time_from or "") if item.stamp else (change.time, "envelope")
    return SourceEvent(position=change.position, event=build_write(item, options, time=time, time_from=time_from))


def _skip_blank(position: str) -> Skipped:
    detail = "the value states nothing"
    return Skipped(position=position, reason=SourceReason.NOT_A_MEMORY, detail=detail)
