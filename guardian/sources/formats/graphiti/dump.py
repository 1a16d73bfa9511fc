"""Read dumps of a Graphiti or Zep graph, alone or as a series of versions, and its records as they arrive.

A graph changes in place: an edge gains an episode or an end, a summary is written anew, a deletion leaves nothing. Several
files are versions, and their difference is what happened. An absence is judged for each kind of record of each group by
itself, so a file of edges says nothing of nodes, and a dump of one group nothing of another; it proves a deletion only if
the version is undamaged, is no answer to a search, and shares a record of that kind and group with what is known.

What is read, and what becomes of it, is in `shape.py` and `record.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from guardian.errors import RecordError
from guardian.sources.formats.graphiti.record import (
    Statement,
    build_deletion,
    build_first,
    build_write,
    find_space,
    iter_corrections,
    read_statement,
)
from guardian.sources.formats.graphiti.shape import (
    Shape,
    classify,
    is_dump,
    is_known,
    is_selection,
    list_records,
    unwrap,
)
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Change, ChangeOp, SnapshotDiffer, TimeBasis, Version, order_versions
from guardian.sources.reading.document import Value, iter_values, sniff_value
from guardian.sources.reading.fields import find_text, find_time, render
from guardian.sources.reading.framing import Fault
from guardian.sources.reading.stamp import format_time
from guardian.sources.reason import SourceReason

_TRACE_TIMES = ("created_at", "invalidated_at", "timestamp", "completed_at", "processed_at")
# One kind of record of one group.
_Part = tuple[Shape, str | None]


@dataclass(slots=True)
class _Series:
    """Owns what the versions so far have said, kind by kind and group by group."""

    options: SourceOptions
    differs: dict[_Part, SnapshotDiffer] = field(default_factory=dict)
    shared: set[_Part] = field(default_factory=set)
    started: set[_Part] = field(default_factory=set)
    is_complete: bool = True

    def start(self) -> None:
        """Begin the next version."""
        self.shared, self.started, self.is_complete = set(), set(), True

    def observe(self, statement: Statement, version: Version) -> Change | None:
        """Give the change that a statement makes, or None when it says nothing new."""
        part = (statement.shape, statement.space)
        is_first = part not in self.differs
        differ = self.differs.setdefault(part, SnapshotDiffer())
        if part not in self.started:
            differ.start_version(version.time)
            self.started.add(part)
        if is_first or differ.is_living(statement.memory_id):
            self.shared.add(part)
        stamp = statement.stamp[0]
        return differ.observe(statement.memory_id, statement.content, time=stamp.time if stamp else None)

    def finish(self, version: Version) -> Iterator[Item]:
        """Yield a deletion for what each part of the version lacks, or say why it proves none."""
        for part in sorted(self.started, key=lambda part: (part[0], part[1] or "")):
            is_proof = self.is_complete and part in self.shared
            for change in self.differs[part].finish_version(is_complete=is_proof):
                yield _read_absence(change, part, version, self.options)


@dataclass(frozen=True, slots=True)
class GraphitiSource:
    """Graphs of Graphiti and Zep."""

    name: ClassVar[str] = "graphiti"
    title: ClassVar[str] = "Graphiti or Zep graph: episodes, facts and summaries (JSON), one dump or its versions"

    def detect(self, path: Path) -> bool:
        """Tell by the first records that the head of the file shows."""
        head = sniff_value(path)
        return any(is_known(row) for _, row in list_records(head)[:1000])

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the changes of each version in order; the first version is all writes."""
        series = _Series(options)
        for version in order_versions(paths, options):
            series.start()
            yield from _iter_version(version, series)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the fields of a record."""
        return is_known(change.before if change.after is None else change.after)

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of a record that arrives by itself."""
        row = unwrap(change.before if change.after is None else change.after)
        try:
            if change.after is None or change.operation is RowOperation.DELETE:
                yield _read_deletion(row, change, options)
            else:
                yield from _iter_change(row, change, options)
        except RecordError as error:
            yield Broken(position=change.position, reason=error.reason, message=str(error), raw=render(row))


def _iter_version(version: Version, series: _Series) -> Iterator[Item]:
    name = version.path.name
    for found in iter_values(version.path, is_document=is_dump):
        position = name if isinstance(found, Value) and found.is_document else f"{name} line {found.number}"
        if isinstance(found, Fault):
            series.is_complete = False
            yield Broken(position=position, reason=found.reason, message=found.message, raw=found.raw)
            continue
        series.is_complete = series.is_complete and not is_selection(found.value)
        for label, record in list_records(found.value):
            row = unwrap(record)
            series.is_complete = series.is_complete and not is_selection(row)
            yield from _iter_record(row, f"{position} {label}".strip(), version, series)
    yield from series.finish(version)


def _iter_record(row: Any, position: str, version: Version, series: _Series) -> Iterator[Item]:
    try:
        shape = _require_shape(row)
        if shape is Shape.LINK:
            yield _skip_link(position)
        elif shape is Shape.INVALIDATION:
            yield from _iter_trace(row, position, version.time, series.options)
        else:
            yield from _iter_statement(row, shape, position, version, series)
    except RecordError as error:
        series.is_complete = False
        yield Broken(position=position, reason=error.reason, message=str(error), raw=render(row))


def _require_shape(row: Any) -> Shape:
    shape = classify(row)
    if shape is None:
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "neither an episode, a node, an edge nor a link of a graph")
    return shape


def _iter_statement(row: Mapping[str, Any], shape: Shape, position: str, version: Version, series: _Series) -> Iterator[Item]:
    """Yield what a record says that is new: its first write where it is new itself, its state now, and its corrections."""
    statement = read_statement(row, shape)
    change = series.observe(statement, version)
    if statement.is_blank:
        yield _skip_blank(statement, position)
        return
    if change is None:
        detail = "the record stood so in an earlier version, or stands twice in this one"
        yield Skipped(position=position, reason=SourceReason.UNCHANGED, detail=detail)
        return
    first = build_first(statement, series.options) if change.op is ChangeOp.CREATE else None
    time_from = statement.stamp[1] if change.basis is TimeBasis.OWN else _name_basis(change, version)
    events = [] if first is None else [first]
    events.append(build_write(statement, series.options, time=change.time, time_from=time_from))
    events += iter_corrections(row, series.options, time=change.time)
    yield from _place(events, position)


def _iter_trace(row: Mapping[str, Any], position: str, fallback: datetime, options: SourceOptions) -> Iterator[Item]:
    stamp, _ = find_time(row, *_TRACE_TIMES)
    events = list(iter_corrections(row, options, time=stamp.time if stamp is not None else fallback))
    if not events:
        detail = "an invalidation that names no other edge as its reason"
        yield Skipped(position=position, reason=SourceReason.NOT_A_MEMORY, detail=detail)
    yield from _place(events, position)


def _iter_change(row: Any, change: RowChange, options: SourceOptions) -> Iterator[Item]:
    """Yield the items of a record that is there: the events of a file, of which an update gives only the last."""
    shape = _require_shape(row)
    if shape is Shape.LINK:
        yield _skip_link(change.position)
        return
    if shape is Shape.INVALIDATION:
        yield from _iter_trace(row, change.position, change.time, options)
        return
    statement = read_statement(row, shape)
    if statement.is_blank:
        yield _skip_blank(statement, change.position)
        return
    is_update = change.operation is RowOperation.UPDATE
    if is_update and _says_the_same(statement, unwrap(change.before)):
        detail = "text, parents and validity are as they were"
        yield Skipped(position=change.position, reason=SourceReason.METADATA_ONLY, detail=detail)
        return
    stamp, time_from = statement.stamp
    if stamp is None or (is_update and not statement.is_rewritten):
        time, time_from = change.time, "envelope"
    else:
        time = stamp.time
    first = None if is_update else build_first(statement, options)
    events = [] if first is None else [first]
    events.append(build_write(statement, options, time=time, time_from=time_from))
    events += iter_corrections(row, options, time=time)
    yield from _place(events, change.position)


def _says_the_same(statement: Statement, before: Any) -> bool:
    try:
        return classify(before) is statement.shape and read_statement(before, statement.shape).content == statement.content
    except RecordError:
        return False


def _read_deletion(row: Any, change: RowChange, options: SourceOptions) -> Item:
    shape = _require_shape(row)
    if shape in {Shape.LINK, Shape.INVALIDATION}:
        return _skip_link(change.position)
    memory_id = find_text(row, "uuid")
    if memory_id is None:
        raise RecordError(SourceReason.ID_MISSING, "the record has no uuid")
    event = build_deletion(memory_id, find_space(row), options, time=change.time, identity=change.identity, time_from="envelope")
    return SourceEvent(position=change.position, event=event)


def _read_absence(change: Change, part: _Part, version: Version, options: SourceOptions) -> Item:
    position = f"{version.path.name} lacks {part[0]} {change.memory_id}"
    if change.op is ChangeOp.DELETE_WITHHELD:
        detail = "this version is damaged, is a selection, or has nothing in common with those before: it proves no deletion"
        return Skipped(position=position, reason=SourceReason.ABSENCE_IN_DAMAGED_VERSION, detail=detail, rows=0)
    event = build_deletion(
        change.memory_id,
        part[1],
        options,
        time=change.time,
        identity=format_time(change.time),
        time_from=_name_basis(change, version),
    )
    return SourceEvent(position=position, event=event, rows=0)


def _name_basis(change: Change, version: Version) -> str:
    return version.time_from if change.basis is TimeBasis.VERSION else change.basis.value


def _skip_blank(statement: Statement, position: str) -> Skipped:
    if statement.shape is Shape.EPISODE:
        detail = "the graph was set not to keep the raw text of episodes"
        return Skipped(position=position, reason=SourceReason.TEXT_NOT_KEPT, detail=detail)
    detail = "an entity without a summary, or an edge with a blank fact"
    return Skipped(position=position, reason=SourceReason.NOT_A_MEMORY, detail=detail)


def _skip_link(position: str) -> Skipped:
    detail = "a link between records, or a record without a text"
    return Skipped(position=position, reason=SourceReason.NOT_A_MEMORY, detail=detail)


def _place(events: Sequence[Mapping[str, Any]], position: str) -> Iterator[Item]:
    """Give events their place; the first answers for the row."""
    for number, event in enumerate(events):
        yield SourceEvent(position=position, event=event, rows=int(number == 0))
