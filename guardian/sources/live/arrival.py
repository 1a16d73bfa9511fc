"""A record as it came from a topic, and the pieces that it turns out to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from guardian.sources.port import RowChange, Skipped

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A record of a topic.

    Attributes:
        topic: Where it was read.
        position: `topic/partition/offset`, for people.
        time: Its Kafka timestamp, aware, UTC.
    """

    topic: str
    position: str
    time: datetime
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Native:
    """One of Guardian's own events; bytes and headers go on as they came, unless it was taken out of something larger."""

    value: bytes | None
    headers: Headers


Piece = Native | RowChange | Skipped
