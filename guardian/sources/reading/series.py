"""Make events of rows that state memories: as files (one state, its versions, or parts of a log) and one by one.

A format says in pure functions what a row states (`Entry`); everything else is the same for all of them and done here:
differences between versions, times and where they come from, repetitions, event ids, and the account of rows.

```
Memory    a text under an id: a write when it is new or other than before; a deletion when a version lacks it
Verdict   what a channel that is not the agent said of a memory; each (memory, channel, value) once
Retrieval which memories were retrieved for what; each once
Skipped   a note on a part of the row that becomes nothing
```

Laws:
- The time of a memory is its own, else its file's; `metadata.time_from` says which, `time_raw` keeps what was written.
- A verdict is never earlier than the write it judges.
- Absence deletes only in formats whose file is a state (`absence_deletes`); a log that lacks a row says nothing.
- An event id says which memory of which space, what happened, and when: the same row by another route has the same id.

Memory: digests of what was seen, never a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Order, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Change, ChangeOp, SnapshotDiffer, TimeBasis, Version, VersionOf, order_versions
from guardian.sources.reading.envelope import AUDITED, DELETED, READ, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.fields import render
from guardian.sources.reading.framing import iter_rows
from guardian.sources.reading.row_fields import parse_row
from guardian.sources.reading.stamp import Stamp, format_time
from guardian.sources.reason import SourceReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory as a row states it.

    Attributes:
        content: What makes another revision when it changes, besides the text.
        stamp, time_from: Its own time and the key that gave it, or None.
        kind: Kind of its source; None where nothing states it.
        fields: Further fields of `memory.written`: kind, parents, scope, episode, …; a stated scope has no defaults added.
        space: Its memory bank where the caller names none; None for the format's.
        ended: It is stated as deleted, at this time or at its own when that is None; False when it is not.
    """

    memory_id: str
    text: str
    content: tuple[str, ...] = ()
    stamp: Stamp | None = None
    time_from: str | None = None
    kind: SourceKind | None = None
    actor: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    space: str | None = None
    ended: Stamp | bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a channel that is not the agent said of a memory, in [0, 1]."""

    memory_id: str
    channel: str
    value: float
    evidence: Mapping[str, Any] = field(default_factory=dict)
    stamp: Stamp | None = None
    space: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Which memories were retrieved for what.

    Attributes:
        occasion: What tells this retrieval from another of the same memories for the same query.
        fields: Further fields of `memory.read`: used, query, task_id, session_id.
    """

    retrieved: tuple[str, ...]
    occasion: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    stamp: Stamp | None = None
    space: str | None = None


Statement = Memory | Verdict | Retrieval | Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one row (or several that belong together) states, in order."""

    position: str
    statements: Sequence[Statement]
    rows: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What is constant in a format.

    Attributes:
        event_source: CloudEvents source of its events.
        label: Value of `metadata.format`.
        space: Memory bank where neither the caller nor a row names one.
        absence_deletes: A file is a state, so that what a later version lacks was deleted.
    """

    event_source: str
    label: str
    space: str
    absence_deletes: bool = False


# Gives a file's place in its series by its content; places of one format compare with each other.
Sequencer = Callable[[Path], tuple[int, ...]]
ReadFile = Callable[[Path], Iterator[Entry | Skipped | Broken]]


def iter_series(
    dialect: Dialect,
    paths: Sequence[Path],
    options: SourceOptions,
    read_file: ReadFile,
    *,
    sequence: Sequencer | None = None,
) -> Iterator[Item]:
    """Yield the items of files: the versions of a state, or the parts of a log.

    Args:
        dialect: Constants of the format.
        paths: Files.
        options: What the caller knows.
        read_file: Gives what each row of a file states; broken rows as `Broken`.
        sequence: Gives a file's place among the versions by its content, where the format has one; time is second.
    """
    series = _Series(dialect, options)
    for version in _order(paths, options, sequence):
        yield from series.iter_version(version, read_file(version.path))


def _order(paths: Sequence[Path], options: SourceOptions, sequence: Sequencer | None) -> list[Version]:
    """Order by what the files say themselves, before any time: copies keep what they hold and lose their times."""
    versions = order_versions(paths, options)
    if sequence is None or options.order is Order.GIVEN:
        return versions
    ordered = sorted((version.path for version in versions), key=sequence)
    return order_versions(ordered, replace(options, order=Order.GIVEN))


def iter_change(
    dialect: Dialect, change: RowChange, options: SourceOptions, read: Callable[[dict[str, Any], str], Entry]
) -> Iterator[Item]:
    """Yield the items of a row that arrived by itself; ids are those that a file with the same row gives.

    Args:
        dialect: Constants of the format.
        change: The row.
        options: What the caller knows.
        read: Gives what the row states at a position; raises RecordError for what it cannot read.
    """
    row = dict(change.after or change.before or {})
    try:
        entry = read(row, change.position)
    except RecordError as error:
        yield break_row(error, change.position, row)
        return
    moment = VersionOf(path=Path(change.position), time=change.time, time_from="change")
    series = _Series(dialect, options)
    if change.operation is not RowOperation.DELETE:
        yield from series.iter_version(moment, iter([entry]))
        return
    # What a row quotes (the turns it was drawn from) is not deleted with it; its own memory stands last.
    memories = [statement for statement in entry.statements if isinstance(statement, Memory)][-1:]
    for memory in memories:
        gone = Change(op=ChangeOp.DELETE, memory_id=memory.memory_id, time=change.time, basis=TimeBasis.VERSION)
        yield SourceEvent(position=change.position, event=series.build_deletion(gone, moment, series.space_of(memory)))
    if not memories:
        yield Skipped(position=change.position, reason=SourceReason.EMPTY_ROW, detail="a deleted row that states no memory")


class _Series:
    """Owns what was seen of a series: the differ, and the verdicts and retrievals that were given."""

    def __init__(self, dialect: Dialect, options: SourceOptions) -> None:
        self._dialect = dialect
        self._options = options
        self._differ = SnapshotDiffer()
        self._spaces: dict[str, str] = {}
        self._given: set[str] = set()

    def iter_version(self, version: Version, entries: Iterator[Entry | Skipped | Broken]) -> Iterator[Item]:
        self._differ.start_version(version.time)
        is_complete = True
        for entry in entries:
            if isinstance(entry, Entry):
                yield from self._iter_entry(entry, version)
                continue
            is_complete = is_complete and not isinstance(entry, Broken)
            yield entry
        if not self._dialect.absence_deletes:
            return
        for change in self._differ.finish_version(is_complete=is_complete):
            position = f"{version.path.name} lacks {change.memory_id}"
            if change.op is ChangeOp.DELETE_WITHHELD:
                detail = "this version has broken rows, so that what it lacks is not known to be deleted"
                yield Skipped(position=position, reason=SourceReason.ABSENCE_IN_DAMAGED_VERSION, detail=detail, rows=0)
                continue
            event = self.build_deletion(change, version, self._spaces.get(change.memory_id, self.space_of(None)))
            yield SourceEvent(position=position, event=event, rows=0)

    def _iter_entry(self, entry: Entry, version: Version) -> Iterator[Item]:
        """Yield the items of an entry; the first event, else the first note, answers for its rows."""
        rows, notes = entry.rows, []
        for statement in entry.statements:
            if isinstance(statement, Skipped):
                notes.append(statement)
                continue
            for event in self._iter_events(statement, version):
                yield SourceEvent(position=entry.position, event=event, rows=rows)
                rows = 0
        for note in notes:
            yield Skipped(position=note.position, reason=note.reason, detail=note.detail, rows=rows)
            rows = 0
        if rows:
            detail = "all that it states stood in an earlier row or version"
            yield Skipped(position=entry.position, reason=SourceReason.UNCHANGED, detail=detail, rows=rows)

    def _iter_events(self, statement: Memory | Verdict | Retrieval, version: Version) -> Iterator[dict[str, Any]]:
        if isinstance(statement, Memory):
            yield from self._iter_writes(statement, version)
        elif isinstance(statement, Verdict):
            yield from self._iter_verdict(statement, version)
        else:
            yield from self._iter_retrieval(statement, version)

    def _iter_writes(self, memory: Memory, version: Version) -> Iterator[dict[str, Any]]:
        space = self.space_of(memory)
        ended = "" if memory.ended is False else "ended"
        content = (memory.text, *memory.content)
        own_time = memory.stamp.time if memory.stamp is not None else None
        change = self._differ.observe(memory.memory_id, (*content, ended), time=own_time)
        if change is None:
            return
        if memory.space is not None:
            self._spaces[memory.memory_id] = space
        yield self._build_write(memory, change, version, space, content)
        if memory.ended is not False:
            end = memory.ended.time if isinstance(memory.ended, Stamp) else change.time
            gone = Change(op=ChangeOp.DELETE, memory_id=memory.memory_id, time=max(end, change.time), basis=TimeBasis.OWN)
            yield self.build_deletion(gone, version, space)

    def _build_write(
        self, memory: Memory, change: Change, version: Version, space: str, content: Sequence[str]
    ) -> dict[str, Any]:
        ref = f"{self._dialect.event_source}:{memory.memory_id}"
        data = {
            "memory_id": memory.memory_id,
            "text": memory.text,
            "source": build_origin(self._options, kind=memory.kind, ref=ref, actor=memory.actor),
            "scope": dict(self._options.scope),
            **memory.fields,
            "metadata": {**memory.metadata, **self._mark_time(change, version, memory)},
        }
        return self._build(WRITTEN, change.memory_id, change.time, space, data, *content, *memory.fields.get("parents", ()))

    def build_deletion(self, change: Change, version: Version, space: str) -> dict[str, Any]:
        """Build the deletion of a memory."""
        data = {"memory_id": change.memory_id, "metadata": self._mark_time(change, version, None)}
        return self._build(DELETED, change.memory_id, change.time, space, data)

    def _iter_verdict(self, verdict: Verdict, version: Version) -> Iterator[dict[str, Any]]:
        space = self.space_of(verdict)
        if self._is_repeated(space, AUDITED, verdict.memory_id, verdict.channel, repr(verdict.value)):
            return
        written = self._differ.last_time(verdict.memory_id)
        own = verdict.stamp.time if verdict.stamp is not None else written or version.time
        time = own if written is None else max(own, written)
        evidence = {"format": self._dialect.label, **verdict.evidence}
        data = {
            "memory_id": verdict.memory_id,
            "channel": str(verdict.channel),
            "value": float(verdict.value),
            "evidence": evidence,
        }
        yield self._build(AUDITED, verdict.memory_id, time, space, data, verdict.channel, repr(verdict.value))

    def _iter_retrieval(self, retrieval: Retrieval, version: Version) -> Iterator[dict[str, Any]]:
        space = self.space_of(retrieval)
        identity = (retrieval.occasion, str(retrieval.fields.get("query", "")), *retrieval.retrieved)
        time = retrieval.stamp.time if retrieval.stamp is not None else version.time
        if self._is_repeated(space, READ, *identity):
            return
        data = {"retrieved": list(retrieval.retrieved), **retrieval.fields}
        yield self._build(READ, "", time, space, data, *identity)

    def space_of(self, statement: Memory | Verdict | Retrieval | None) -> str:
        """Give the memory bank of a statement: the caller's, else its own, else the format's."""
        own = statement.space if statement is not None else None
        return self._options.space or own or self._dialect.space

    def _is_repeated(self, *identity: str) -> bool:
        digest = digest_parts(*identity)
        is_known = digest in self._given
        self._given.add(digest)
        return is_known

    def _mark_time(self, change: Change, version: Version, memory: Memory | None) -> dict[str, Any]:
        """Say in metadata where the event's time comes from, and keep the memory's own as it was written."""
        kept: dict[str, Any] = {"format": self._dialect.label, "time_from": change.basis.value}
        if change.basis is TimeBasis.VERSION:
            kept["time_from"] = version.time_from
        if change.basis is TimeBasis.ORDER:
            kept["time_inferred"] = True
        if memory is not None and memory.stamp is not None:
            kept |= {"time_raw": memory.stamp.raw, "tz_assumed": memory.stamp.is_zone_assumed}
            if change.basis is TimeBasis.OWN:
                kept["time_from"] = memory.time_from or "own"
        return kept

    def _build(
        self, event_type: str, memory_id: str, time: datetime, space: str, data: Mapping[str, Any], *identity: str
    ) -> dict[str, Any]:
        return build_event(
            event_id=digest_parts(space, event_type, memory_id, format_time(time), *identity),
            source=self._dialect.event_source,
            event_type=event_type,
            time=time,
            space=space,
            data=data,
        )


def break_row(error: RecordError, position: str, raw: bytes | Mapping[str, Any], *, rows: int = 1) -> Broken:
    """Give the dead letter of a row that cannot be read; a row that came as a mapping is rendered."""
    if not isinstance(raw, bytes):
        raw = render(raw)
    return Broken(position=position, reason=error.reason, message=str(error), raw=raw, rows=rows)


def iter_entries(path: Path, read: Callable[[dict[str, Any], str], Entry]) -> Iterator[Entry | Broken]:
    """Yield what each row of a file states; a row that cannot be read costs itself.

    Args:
        path: The file, for positions.
        read: Gives what a parsed row states at a position; raises RecordError for what it cannot read.
    """
    for row in iter_rows(path):
        position = f"{path.name} row {row.number}"
        try:
            yield read(parse_row(row), position)
        except RecordError as error:
            yield break_row(error, position, row.raw)
