"""Read what mem0's APIs answer and send, as files and as single records: Python, TypeScript, and the Platform.

```
memory      {id, memory, …}                       get_all, search, get; pages of the Platform      state.py
history     {id, memory_id, old_memory, …}        history(); the Platform's events and history     as the table, mem0_history.py
result      {id, memory, event}                   what add() returned                              notice.py
webhook     {event_details: …}                    the Platform                                     notice.py
feedback    {memory_id, feedback}                 the Platform                                     notice.py
```

They stand as a bare list, in `results` of a page, in a mapping from memory to its history, or one a line. No answer
proves an absence: `get_all` cuts silently (at 20 or 100) and hides what has expired, and a search is a selection.
So nothing is deleted because it is lacking; deletions stand in the history.

The history comes back in an order that puts deletions before the writes they end, and deletions of old versions have no
time. Such a deletion waits to the end of its file and takes the latest time of its memory there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from guardian.errors import RecordError
from guardian.sources.formats.mem0.notice import read_feedback, read_result, read_webhook
from guardian.sources.formats.mem0.platform import enrich, is_platform_history
from guardian.sources.formats.mem0.shape import Shape, classify, find_rows, is_document, is_known
from guardian.sources.formats.mem0.state import Place, build_deletion, iter_state_events, read_state
from guardian.sources.formats.mem0_history import HistoryRow, translate_history
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import order_versions
from guardian.sources.reading.document import Value, iter_values, sniff_value
from guardian.sources.reading.fields import render
from guardian.sources.reading.framing import Fault
from guardian.sources.reason import SourceReason

_HISTORY_FIELDS = tuple(column.name for column in fields(HistoryRow))
_COLUMNS = {"old_text": "old_memory", "new_text": "new_memory"}


@dataclass(slots=True)
class _Reader:
    """Owns what one file has said so far: the latest time of every memory, and the deletions that wait for it."""

    options: SourceOptions
    times: dict[str, datetime] = field(default_factory=dict)
    waiting: list[tuple[Mapping[str, Any], Place]] = field(default_factory=list)

    def iter_row(self, row: Any, place: Place) -> Iterator[Item]:
        """Yield the items of one row; a deletion without any time waits."""
        if classify(row) is Shape.HISTORY and _is_timeless(row):
            self.waiting.append((row, place))
            return
        yield from self._iter_known(row, place)

    def finish(self) -> Iterator[Item]:
        """Yield the deletions that waited."""
        for row, place in self.waiting:
            yield from self._iter_known(row, place)
        self.waiting.clear()

    def _iter_known(self, row: Any, place: Place) -> Iterator[Item]:
        try:
            yield from _translate(row, place, self.times, self.options)
        except RecordError as error:
            yield Broken(position=place.position, reason=error.reason, message=str(error), raw=render(row))


@dataclass(frozen=True, slots=True)
class Mem0ApiSource:
    """Answers, pages and webhooks of mem0's APIs."""

    name: ClassVar[str] = "mem0-api"
    title: ClassVar[str] = "mem0 API answers (memories, history, add), Platform pages, webhooks and feedback (JSON)"

    def detect(self, path: Path) -> bool:
        """Tell by the first row that the head of the file shows."""
        rows = find_rows(sniff_value(path))
        return bool(rows) and is_known(rows[0][1])

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield every row of every file, files by their time."""
        for version in order_versions(paths, options):
            reader = _Reader(options)
            name = version.path.name
            for found in iter_values(version.path, is_document=is_document):
                position = name if isinstance(found, Value) and found.is_document else f"{name} line {found.number}"
                if isinstance(found, Fault):
                    yield Broken(position=position, reason=found.reason, message=found.message, raw=found.raw)
                    continue
                for label, row in find_rows(found.value):
                    where = f"{position} {label}".strip()
                    yield from reader.iter_row(row, Place(where, version.time, version.time_from, version.time.isoformat()))
            yield from reader.finish()

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the fields of one of the shapes."""
        return is_known(change.after) or (change.after is None and classify(change.before) is Shape.MEMORY)

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one record; a deletion in a history that has no time takes that of the envelope."""
        place = Place(change.position, change.time, "envelope", change.identity)
        if change.after is None or change.operation is RowOperation.DELETE:
            yield from _iter_row_deletion(change, place, options)
            return
        row: Mapping[str, Any] = change.after
        times = {}
        if classify(row) is Shape.HISTORY and _is_timeless(row):
            times = {str(row.get("memory_id")): change.time}
        try:
            yield from _translate(row, place, times, options)
        except RecordError as error:
            yield Broken(position=change.position, reason=error.reason, message=str(error), raw=render(row))


def _is_timeless(row: Mapping[str, Any]) -> bool:
    return row.get("created_at") is None and row.get("updated_at") is None


def _translate(row: Any, place: Place, times: dict[str, datetime], options: SourceOptions) -> Iterator[Item]:
    """Yield the items of a row by its shape.

    Raises:
        RecordError: The row is of no shape, or lacks what its event needs.
    """
    match classify(row):
        case Shape.MEMORY:
            yield from _iter_state(row, place, options)
        case Shape.HISTORY:
            yield _read_history(row, place, times, options)
        case Shape.RESULT:
            yield read_result(row, place, options)
        case Shape.WEBHOOK:
            yield read_webhook(row, place, options)
        case Shape.FEEDBACK:
            yield read_feedback(row, place, options)
        case Shape.RELATION:
            detail = "a relation of mem0's graph, which has no id, no time and no memory that it was drawn from"
            yield Skipped(position=place.position, reason=SourceReason.NOT_A_MEMORY, detail=detail)
        case Shape.PENDING:
            detail = "the state of a job at mem0, not what it made"
            yield Skipped(position=place.position, reason=SourceReason.NOT_A_MEMORY, detail=detail)
        case None:
            raise RecordError(SourceReason.SHAPE_UNKNOWN, "neither a memory nor a history row, result, webhook or feedback")


def _iter_state(row: Mapping[str, Any], place: Place, options: SourceOptions) -> Iterator[Item]:
    state = read_state(row)
    time, time_from = (state.stamp.time, state.time_from or "") if state.stamp else (place.time, place.time_from)
    for number, event in enumerate(iter_state_events(state, options, time=time, time_from=time_from)):
        yield SourceEvent(position=place.position, event=event, rows=int(number == 0))


def _read_history(row: Mapping[str, Any], place: Place, times: dict[str, datetime], options: SourceOptions) -> Item:
    columns = (_read_column(row.get(_COLUMNS.get(name, name)), name) for name in _HISTORY_FIELDS)
    if not is_platform_history(row):
        return translate_history(HistoryRow(*columns), place.position, times, options)
    item = translate_history(HistoryRow(*columns), place.position, times, options, event_source="mem0:platform")
    return enrich(item, row)


def _read_column(value: Any, name: str) -> Any:
    """Give a column as the table could hold it: JSON may put anything there."""
    if value is None or isinstance(value, str):
        return value
    return str(value) if name in {"created_at", "updated_at"} else None


def _iter_row_deletion(change: RowChange, place: Place, options: SourceOptions) -> Iterator[Item]:
    memory_id = (change.before or change.after or {}).get("id")
    if not isinstance(memory_id, str):
        message = "a deletion whose memory is unknown"
        yield Broken(position=place.position, reason=SourceReason.ID_MISSING, message=message, raw=render(change.before))
        return
    event = build_deletion(memory_id, options, time=place.time, identity=place.identity, time_from=place.time_from)
    yield SourceEvent(position=place.position, event=event)
