"""Make writes, updates and deletions out of a series of snapshots, by difference.

Some memories keep no history: their file is rewritten whole on every change, and only its successive versions tell
what happened. The differ sees the statements of one version after another and reports: a new id is a create, a known
id with other content an update, and an id that is absent from a complete version a deletion.

Laws:
- A version with faults proves no absence: what it lacks may stand in the part that could not be read. Its deletions
  are withheld (and reported as such); the next complete version decides.
- The events of one memory never step back in time, whatever the clocks say: a deletion is not before the write that
  it ends, a write is after the event that it follows. A statement's own time counts unless it breaks that (a creation
  time repeated on an update does), then the version's time, then one just behind the event before; `basis` says which.
- Versions are told apart by order; versions with equal times are stepped one microsecond apart, and marked.

Memory: one digest and one time a memory id, never a text; a file is read row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

from guardian.errors import InvariantError
from guardian.sources.port import Order, SourceOptions
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.framing import Readable
from guardian.sources.reading.stamp import fetch_file_time, read_name_time

# A series of files is also one of what can be read.
FileT_co = TypeVar("FileT_co", bound=Readable, covariant=True)
FileT = TypeVar("FileT", bound=Readable)

_STEP = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOf(Generic[FileT_co]):
    """One file of a series.

    Attributes:
        time: When the file held what it holds, aware, UTC; strictly rising along the series.
        time_from: Where that comes from: `name`, `default`, `mtime`, or `order` when it was stepped behind another.
    """

    path: FileT_co
    time: datetime
    time_from: str


Version = VersionOf[Path]
ReadableVersion = VersionOf[Readable]


class ChangeOp(StrEnum):
    """What a difference means."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    DELETE_WITHHELD = "delete_withheld"


class TimeBasis(StrEnum):
    """Where the time of a change comes from."""

    OWN = "own"
    VERSION = "version"
    ORDER = "order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two versions.

    Attributes:
        time: When it happened, as far as is known; aware, UTC.
        basis: Where that time comes from.
    """

    op: ChangeOp
    memory_id: str
    time: datetime
    basis: TimeBasis


@dataclass(slots=True)
class _Entry:
    """Last known state of a memory: digest None after its deletion."""

    digest: str | None
    time: datetime
    version: int


class SnapshotDiffer:
    """Owns what is known of a series so far. Call `start_version`, `observe` for every statement, `finish_version`."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._version = 0
        self._time: datetime | None = None

    def start_version(self, time: datetime) -> None:
        """Begin the next version; `time` is when the file held what it holds."""
        self._version += 1
        self._time = time

    def observe(self, memory_id: str, content: Sequence[str], *, time: datetime | None = None) -> Change | None:
        """Give the change that a statement makes, or None when it says nothing new.

        The first statement of an id in a version counts, later ones are repetitions.

        Args:
            memory_id: Identity of the statement across versions.
            content: All that makes another revision when it changes; compared on NFC.
            time: The statement's own time; None for the version's.
        """
        assert self._time is not None, "start_version comes first"
        digest, entry = digest_parts(*content), self._entries.get(memory_id)
        if entry is not None and (entry.version == self._version or entry.digest == digest):
            entry.version = self._version
            return None
        op = ChangeOp.UPDATE if entry is not None and entry.digest is not None else ChangeOp.CREATE
        when, basis = _choose_time(time, self._time, None if entry is None else _step(entry.time))
        self._entries[memory_id] = _Entry(digest, when, self._version)
        return Change(op=op, memory_id=memory_id, time=when, basis=basis)

    def last_time(self, memory_id: str) -> datetime | None:
        """Give the time of the last event of a memory, or None when it has none."""
        entry = self._entries.get(memory_id)
        return None if entry is None else entry.time

    def is_living(self, memory_id: str) -> bool:
        """Tell whether the series so far holds the memory."""
        entry = self._entries.get(memory_id)
        return entry is not None and entry.digest is not None

    def finish_version(self, *, is_complete: bool) -> Iterator[Change]:
        """Yield a deletion for every living memory that the version lacks, withheld when the version had faults."""
        assert self._time is not None, "start_version comes first"
        for memory_id, entry in self._entries.items():
            if entry.version == self._version or entry.digest is None:
                continue
            when, basis = _choose_time(None, self._time, entry.time)
            if is_complete:
                entry.digest, entry.time = None, when
            op = ChangeOp.DELETE if is_complete else ChangeOp.DELETE_WITHHELD
            yield Change(op=op, memory_id=memory_id, time=when, basis=basis)


def order_versions(paths: Sequence[FileT], options: SourceOptions) -> list[VersionOf[FileT]]:
    """Give the files as a series with strictly rising times.

    A file's time is the UTC stamp in its name, else `options.default_time`, else its modification time. Files are
    ordered by (time, name), or as given when `options.order` says so.
    """
    versions = [_date(path, options) for path in paths]
    if options.order is Order.TIME:
        versions.sort(key=lambda version: (version.time, version.path.name))
    series: list[VersionOf[FileT]] = []
    for version in versions:
        is_behind = not series or version.time > series[-1].time
        series.append(version if is_behind else replace(version, time=_step(series[-1].time), time_from="order"))
    return series


def _date(path: FileT, options: SourceOptions) -> VersionOf[FileT]:
    if (stamped := read_name_time(Path(path.name))) is not None:
        return VersionOf(path=path, time=stamped, time_from="name")
    if options.default_time is not None:
        return VersionOf(path=path, time=options.default_time, time_from="default")
    if not isinstance(path, Path):
        raise InvariantError(f"{path.name} is no file and has no time in its name")
    return VersionOf(path=path, time=fetch_file_time(path), time_from="mtime")


def _step(time: datetime) -> datetime:
    """Give the next instant; the last one of the calendar has none and stays, to be refused as lying in the future."""
    return time + _STEP if time < _LAST else time


def _choose_time(own: datetime | None, version: datetime, floor: datetime | None) -> tuple[datetime, TimeBasis]:
    """Give the best time that is not before `floor`."""
    if own is not None and (floor is None or own >= floor):
        return own, TimeBasis.OWN
    if floor is None or version >= floor:
        return version, TimeBasis.VERSION
    return floor, TimeBasis.ORDER
