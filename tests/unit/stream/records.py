"""Builds records as a consumer reads them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

import orjson

from guardian.errors import DependencyError
from guardian.stream.broker.kafka import Outgoing, Producer
from guardian.stream.letter_index import LetterIndex
from guardian.stream.plane.origin import Header, Record
from guardian.telemetry.metrics import Metrics

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
        """Keep messages as the real one sends them: all that fit, or none when it is away; nothing is sent of nothing."""
        if self.is_away and messages:
            raise DependencyError("away", dependency="broker")
        sizes = [len(message.value or b"") for message in messages]
        self.sent += [message for message, size in zip(messages, sizes, strict=True) if size <= self.max_bytes]
        return [index for index, size in enumerate(sizes) if size > self.max_bytes]

    def list_topic(self, topic: str) -> list[Outgoing]:
        """Give what was sent to a topic."""
        return [message for message in self.sent if message.topic == topic]


def build_letter_index(producer: CollectingProducer, topic: str, metrics: Metrics) -> LetterIndex:
    """Build an index of the letters that a double was sent, as if the topic had one partition."""

    async def read_on(starts: Mapping[int, int]) -> AsyncGenerator[Record]:
        sent = producer.list_topic(topic)
        for offset in range(starts.get(0, 0), len(sent)):
            yield record(sent[offset].value, topic=topic, offset=offset, key=sent[offset].key)

    return LetterIndex(read_on=read_on, producer=cast("Producer", producer), topic=topic, metrics=metrics)
