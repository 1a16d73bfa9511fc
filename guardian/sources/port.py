"""The port that every outside format implements: files in, canonical events out, every input row accounted for.

A source reads files that some other program wrote and yields items, one of three kinds:

```
SourceEvent   an event: a structured CloudEvents mapping, or the raw bytes of one that nobody has parsed yet
Skipped       rows that deliberately become no event, with the reason: counted and explained, never silent
Broken        a row that cannot be read: it becomes a dead letter with its raw bytes, and costs only itself
```

How rows are counted: every item says in `rows` for how many input rows it answers, and over one import the sum of
`rows` equals the number of rows in the input. A row that gives k events counts 1 on the first of them and 0 on the
others; a deletion that follows from a row's absence counts 0; a note about a whole table counts all its rows.

What a source must never do: modify its input, look at a file's name to tell its format, use the clock or randomness,
invent what the input does not state (mark it unknown or inferred instead), or hold more than a bounded part of a file.
Event ids come from the source's own identities, so that a second import, or the same file under another path,
changes nothing. Whether an event is valid (blank text, too long, clock in the future) is judged later, in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from guardian.core.model import SourceKind
from guardian.errors import InvariantError


class Order(StrEnum):
    """How several files of one history are ordered."""

    TIME = "time"
    GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What the caller knows and the files do not say.

    Attributes:
        space: Space of the events; None for the source's own default. Never overwrites a space that the input states.
        source_kind: Kind of origin where the input names none; None leaves it `unknown`.
        scope: Scope fields (`user_id`, `agent_id`, …) put on every write whose input states no scope.
        default_time: Time of what neither a row nor a file name dates, aware; None for the file's modification time.
        order: Order of several files that are versions of one thing.
    """

    space: str | None = None
    source_kind: SourceKind | None = None
    scope: Mapping[str, str] = field(default_factory=dict)
    default_time: datetime | None = None
    order: Order = Order.TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """One event, as a mapping (`event`) or, where parsing would be done twice, as the bytes of its JSON (`raw`).

    Attributes:
        position: Where it stands in the input, for people: `history.db history row 7`.
        event: Structured CloudEvents mapping; None when `raw` is given.
        raw: JSON of one structured CloudEvent, not yet parsed; None when `event` is given.
        rows: Number of input rows this item answers for.
    """

    position: str
    event: Mapping[str, Any] | None = None
    raw: bytes | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if (self.event is None) == (self.raw is None):
            raise InvariantError(f"{self.position}: a source event carries either a mapping or raw bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Input that deliberately becomes no event.

    Attributes:
        reason: Constant, counted word such as `metadata_only`.
        detail: One sentence for people.
    """

    position: str
    reason: str
    detail: str
    rows: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Input that cannot be read; it becomes a dead letter.

    Attributes:
        reason: Constant, counted word such as `not_json`.
        message: What is wrong, for people.
        raw: The bytes as they stood in the input, or a JSON rendering of a table row; for an over-long row its head.
    """

    position: str
    reason: str
    message: str
    raw: bytes
    rows: int = 1


Item = SourceEvent | Skipped | Broken


class RowOperation(StrEnum):
    """What happened to a row that arrives by itself.

    `SNAPSHOT` is a row that stood there already: it becomes the same event, under the same id, as the change that wrote it, so it is no
    second write. `STATE` is a row of which nobody says whether it is new.
    """

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    SNAPSHOT = "snapshot"
    STATE = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """One row that arrives by itself on a topic: change data capture, a webhook, a plain JSON record.

    Attributes:
        position: Where it was read, for people: `topic/partition/offset`.
        identity: What makes it the same change when it is delivered again (log position, event id); event ids derive from it
            only where the row has no better identity of its own.
        time: When it happened, as far as the envelope says, aware, UTC.
        table: Table or collection as the envelope names it; None where it names none.
        before: The row before, as far as it is known; None for nothing.
        after: The row after; None after a deletion.
        unavailable: Columns that the envelope left out because they did not change, and that nothing tells.
    """

    position: str
    identity: str
    operation: RowOperation
    time: datetime
    table: str | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    unavailable: frozenset[str] = frozenset()


@runtime_checkable
class RowSource(Protocol):
    """A format whose rows also arrive one by one on a topic; most are files as well, and both give the same event ids."""

    @property
    def name(self) -> str:
        """Give the stable word for settings and counters."""
        ...

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the row's fields (and its table's name, where that belongs to the format) whether it is of this format."""
        ...

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one row; what cannot be read is a `Broken`, never an exception."""
        ...


class Source(Protocol):
    """One outside format.

    Attributes:
        name: Stable word for command lines and counters, such as `mem0`.
        title: What it reads, in a few words for people.
    """

    @property
    def name(self) -> str:
        """Give the stable word for command lines and counters."""
        ...

    @property
    def title(self) -> str:
        """Give what it reads, for people."""
        ...

    def detect(self, path: Path) -> bool:
        """Tell by its content, never by its name, whether `path` is of this format; False for what cannot be read."""
        ...

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the items of the files lazily, in the source's own order.

        Raises:
            RecordError: A file as a whole cannot be read now (in use by a writer), before any item of it.
        """
        ...
