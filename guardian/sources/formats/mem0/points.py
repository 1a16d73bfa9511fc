"""Read the points of a mem0 collection: `{"id", "payload"}` as JSON lines, as an array, or as answers of Qdrant's scroll.

The rows of mem0's table in pgvector are the same, with the payload as JSON text, and their changes arrive so too.

A collection holds the state of its memories and no history. Each point is a write at its own time. Several files are
versions of one collection: what changed is a new revision, what is absent was deleted, as far as a version proves it:

- an answer with `next_page_offset` is a page, and a version with broken rows is not whole: neither proves an absence;
- a version that shares no memory with those before it may be another collection or another page: it proves none either.

Points of `<collection>_entities` (`entity_type`, `linked_memory_ids`) are an index that mem0 rebuilds, no memories: a
memory is not derived from the names that occur in it. Vectors are another model's and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.errors import RecordError
from guardian.sources.formats.mem0.state import MemoryState, build_deletion, iter_state_events, read_state
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Change, ChangeOp, SnapshotDiffer, TimeBasis, Version, order_versions
from guardian.sources.reading.document import iter_values, sniff_value
from guardian.sources.reading.fields import render
from guardian.sources.reading.framing import Fault
from guardian.sources.reading.stamp import format_time
from guardian.sources.reason import SourceReason


@dataclass(frozen=True, slots=True)
class Mem0PointsSource:
    """Points of a mem0 collection in Qdrant."""

    name: ClassVar[str] = "mem0-points"
    title: ClassVar[str] = "points of a mem0 collection in Qdrant (JSON), one dump or its versions"

    def detect(self, path: Path) -> bool:
        """Tell by the first point: an id and a payload with `data`."""
        head = sniff_value(path)
        points = _find_points(head)
        first = points[0] if points else head[0] if isinstance(head, list) and head else head
        return _is_point(first)

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the changes of each version in order; the first version is all writes."""
        differ = SnapshotDiffer()
        for number, version in enumerate(order_versions(paths, options)):
            yield from _iter_version(version, differ, options, is_first=number == 0)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the fields of a point."""
        is_untold = (
            "payload" in change.unavailable
            and change.after is not None
            and {"id", "vector"}
            <= {
                *change.after,
                *change.unavailable,
            }
        )
        return is_untold or _is_point(change.after) or _is_point(change.before)

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the write or the deletion that a point's change is."""
        if change.operation is RowOperation.DELETE or change.after is None:
            yield _read_row_deletion(change, options)
            return
        yield from _iter_point(change.after, change, options)


def _is_point(row: Any) -> bool:
    return isinstance(row, Mapping) and "id" in row and "data" in _find_payload(row)


def _find_payload(row: Any) -> dict[str, Any]:
    """Give the payload, which a table of pgvector or its change log holds as JSON text; empty where there is none."""
    payload = row.get("payload") if isinstance(row, Mapping) else None
    if isinstance(payload, str):
        try:
            payload = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return {}
    return payload if isinstance(payload, dict) else {}


def _find_points(value: Any) -> list[Any] | None:
    """Give the points of an answer of Qdrant's scroll, or of what saved its inner part."""
    inner = value.get("result", value) if isinstance(value, dict) else None
    points = inner.get("points") if isinstance(inner, dict) else None
    return points if isinstance(points, list) else None


def _is_page(value: Any) -> bool:
    """Tell an answer after which more points follow."""
    return bool(value.get("result", value).get("next_page_offset") is not None)


def _iter_version(version: Version, differ: SnapshotDiffer, options: SourceOptions, *, is_first: bool) -> Iterator[Item]:
    differ.start_version(version.time)
    is_complete, is_shared = True, is_first
    name = version.path.name
    for found in iter_values(version.path, is_document=lambda head: _find_points(head) is not None):
        position = f"{name} line {found.number}"
        if isinstance(found, Fault):
            is_complete = False
            yield Broken(position=position, reason=found.reason, message=found.message, raw=found.raw)
            continue
        points = _find_points(found.value)
        is_complete = is_complete and (points is None or not _is_page(found.value))
        for number, row in enumerate([found.value] if points is None else points, start=1):
            is_shared = is_shared or (isinstance(row, dict) and differ.is_living(str(row.get("id"))))
            for item in _iter_statement(row, position if points is None else f"{name} point {number}", version, differ, options):
                is_complete = is_complete and not isinstance(item, Broken)
                yield item
    for change in differ.finish_version(is_complete=is_complete and is_shared):
        yield _read_absence(change, version, options)


def _iter_statement(row: Any, position: str, version: Version, differ: SnapshotDiffer, options: SourceOptions) -> Iterator[Item]:
    """Yield the item of one point, which may say nothing new."""
    try:
        if _is_entity(row):
            yield _skip_entity(position)
            return
        state = _read_point(row)
    except RecordError as error:
        yield Broken(position=position, reason=error.reason, message=str(error), raw=render(row))
        return
    change = differ.observe(state.memory_id, state.content, time=state.stamp.time if state.stamp else None)
    if change is None:
        detail = "the point stood so in an earlier version, or stands twice in this one"
        yield Skipped(position=position, reason=SourceReason.UNCHANGED, detail=detail)
        return
    time_from = _name_basis(change, version) if change.basis is not TimeBasis.OWN else state.time_from or ""
    yield from _place(iter_state_events(state, options, time=change.time, time_from=time_from), position)


def _iter_point(row: Mapping[str, Any], change: RowChange, options: SourceOptions) -> Iterator[Item]:
    """Yield the items of a point that arrives by itself: the same events as from a file."""
    try:
        if _is_entity(row):
            yield _skip_entity(change.position)
            return
        state = _read_point(row)
    except RecordError as error:
        yield Broken(position=change.position, reason=error.reason, message=str(error), raw=render(row))
        return
    time, time_from = (state.stamp.time, state.time_from or "") if state.stamp else (change.time, "envelope")
    yield from _place(iter_state_events(state, options, time=time, time_from=time_from), change.position)


def _read_row_deletion(change: RowChange, options: SourceOptions) -> Item:
    before = change.before or {}
    if _is_entity(before):
        return _skip_entity(change.position)
    memory_id = before.get("id")
    if not isinstance(memory_id, str | int):
        message = "a deletion whose point is unknown"
        return Broken(position=change.position, reason=SourceReason.ID_MISSING, message=message, raw=render(before))
    event = build_deletion(str(memory_id), options, time=change.time, identity=change.identity, time_from="envelope")
    return SourceEvent(position=change.position, event=event)


def _read_point(row: Any) -> MemoryState:
    if not isinstance(row, Mapping):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "the row is no JSON object")
    payload = _find_payload(row)
    if not payload:
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "the point has no payload")
    return read_state(payload, memory_id=row.get("id"))


def _is_entity(row: Any) -> bool:
    return _find_payload(row).keys() >= {"entity_type", "linked_memory_ids"}


def _skip_entity(position: str) -> Skipped:
    detail = "a point of mem0's index of entities, which is no memory"
    return Skipped(position=position, reason=SourceReason.NOT_A_MEMORY, detail=detail)


def _place(events: Iterator[dict[str, Any]], position: str) -> Iterator[Item]:
    """Give events their place; the first answers for the row."""
    for number, event in enumerate(events):
        yield SourceEvent(position=position, event=event, rows=int(number == 0))


def _name_basis(change: Change, version: Version) -> str:
    return version.time_from if change.basis is TimeBasis.VERSION else change.basis.value


def _read_absence(change: Change, version: Version, options: SourceOptions) -> Item:
    """Turn an absence into a deletion, or into a note where the version does not prove it."""
    position = f"{version.path.name} lacks {change.memory_id}"
    if change.op is ChangeOp.DELETE_WITHHELD:
        detail = "this version is a page, is damaged, or has no memory in common with those before: it proves no deletion"
        return Skipped(position=position, reason=SourceReason.ABSENCE_IN_DAMAGED_VERSION, detail=detail, rows=0)
    event = build_deletion(
        change.memory_id,
        options,
        time=change.time,
        identity=format_time(change.time),
        time_from=_name_basis(change, version),
    )
    return SourceEvent(position=position, event=event, rows=0)
