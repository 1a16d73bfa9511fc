"""Where a record came from: the topic an agent wrote it to, and when; carried in headers from ingress to the guard.

Whoever may write to the canonical topic can write these headers too, so they are only ever believed downwards: of all topics named,
and the one the record lies in, the one with the least trust holds; of all times named, and the record's own, the earliest. A forged
header can lower what an event may claim, never raise it. Ingress takes out what a sender put there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from guardian.contracts.admission import DecodePolicy

Header = tuple[str, bytes | None]

PREFIX = "guardian-ingress-"
TOPIC_HEADER = f"{PREFIX}topic"
TIMESTAMP_HEADER = f"{PREFIX}timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The year 9000: a timestamp is any 64-bit number, and a tolerance is still added to it.
_LATEST_MS = 221_845_392_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record as read; `timestamp_ms` is negative where it has none."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()

    @classmethod
    def of(cls, read: Any) -> Self:
        """Take over a `ConsumerRecord` of aiokafka."""
        return cls(
            topic=read.topic,
            partition=read.partition,
            offset=read.offset,
            timestamp_ms=read.timestamp,
            key=read.key,
            value=read.value,
            headers=read.headers,
        )


def build_origin_headers(record: Record) -> list[Header]:
    """Build the headers that say where a record was read."""
    return [
        (TOPIC_HEADER, record.topic.encode()),
        (f"{PREFIX}partition", str(record.partition).encode()),
        (f"{PREFIX}offset", str(record.offset).encode()),
        (TIMESTAMP_HEADER, str(record.timestamp_ms).encode()),
    ]


def drop_origin_headers(headers: Sequence[Header]) -> list[Header]:
    """Give the headers without those that only ingress may set."""
    return [header for header in headers if not header[0].lower().startswith(PREFIX)]


def to_time(timestamp_ms: int) -> datetime:
    """Give a Kafka timestamp in UTC; the present for a record without one."""
    if timestamp_ms < 0:
        return datetime.now(UTC)
    return _EPOCH + timedelta(milliseconds=min(timestamp_ms, _LATEST_MS))


def read_received_at(record: Record) -> datetime:
    """Give when the record first came in: its own timestamp, or an earlier one that ingress noted."""
    stated = [int(value) for value in _iter_values(record.headers, TIMESTAMP_HEADER) if value.isdigit() and len(value) < 20]
    return to_time(min([record.timestamp_ms, *stated]) if record.timestamp_ms >= 0 else min(stated, default=-1))


class TopicTrust:
    """Finds the topic whose rule holds for a record: the least trusted of all it came through."""

    def __init__(self, policy: DecodePolicy) -> None:
        by_topic_alone = replace(policy, trust_sources=())
        self._cap: Callable[[str], int] = functools.lru_cache(maxsize=1024)(
            lambda topic: by_topic_alone.claim_cap(source="", ingress=topic)
        )

    def choose_topic(self, record: Record) -> str:
        """Give the name to judge the record's claims by; ties by order of passage."""
        return min([*_iter_topics(record.headers), record.topic], key=self._cap)


def _iter_topics(headers: Sequence[Header]) -> Iterator[str]:
    for value in _iter_values(headers, TOPIC_HEADER):
        yield value.decode(errors="replace")


def _iter_values(headers: Sequence[Header], name: str) -> Iterator[bytes]:
    """Give all values of a header: several may be there, and the first is not to be trusted more than the last."""
    return (value for key, value in headers if key.lower() == name and value is not None)
