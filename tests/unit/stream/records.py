"""Builds records as a consumer reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from guardian.errors import DependencyError
from guardian.stream.broker.kafka import Outgoing
from guardian.stream.plane.origin import Header, Record

# Later than any time that tests use.
TIMESTAMP_MS = 4_102_444_800_000


def record(
    value: bytes | Mapping[str, Any] | None,
    *,
    topic: str = "guardian.events",
    partition: int = 0,
    offset: int = 0,
    timestamp_ms: int = TIMESTAMP_MS,
    key: bytes | None = None,
    headers: Sequence[Header] = (),
) -> Record:
    """Build a record; a mapping becomes JSON."""
    raw = orjson.dumps(value) if isinstance(value, Mapping) else value
    return Record(
        topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms, key=key, value=raw, headers=tuple(headers)
    )


class CollectingProducer:
    """Plays the producer: keeps what is sent, finds too large what is beyond `max_bytes`, and is away while told so."""

    def __init__(self, *, max_bytes: int = 10**9) -> None:
        self.sent: list[Outgoing] = []
        self.max_bytes = max_bytes
        self.is_away = False

    async def send(self, messages: Sequence[Outgoing]) -> list[int]:
        """Keep messages as the real one sends them: all that fit, or none when it is away."""
        if self.is_away:
            raise DependencyError("away", dependency="broker")
        sizes = [len(message.value or b"") for message in messages]
        self.sent += [message for message, size in zip(messages, sizes, strict=True) if size <= self.max_bytes]
        return [index for index, size in enumerate(sizes) if size > self.max_bytes]

    def list_topic(self, topic: str) -> list[Outgoing]:
        """Give what was sent to a topic."""
        return [message for message in self.sent if message.topic == topic]
