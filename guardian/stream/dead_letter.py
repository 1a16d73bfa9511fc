"""Dead letters: refused records kept whole on a topic of their own, listed from there, and driven again after a mend.

A letter is acknowledged before the record it keeps. It is never deleted here: a re-driven one gets a tombstone under its key, after
the re-drive was acknowledged, so a crash in between re-drives twice, which changes nothing. Those of erased memories get theirs
from the letter index.

A letter that its topic would not take is cut: its headers then bear `guardian-cut` with the size and digest of the whole value, which
still lies in the topic that it came from. A cut letter is listed but not re-driven.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime

import orjson
import structlog
from aiokafka import TopicPartition

from guardian.contracts.letter import DeadLetter, HeaderEntry, build_dead_letter, read_dead_letter
from guardian.contracts.outcome import build_outcome_id, encode_outcome
from guardian.errors import ConfigError, DependencyError, RecordError
from guardian.stream.broker.kafka import KafkaOptions, Outgoing, Producer, broker_errors, build_consumer, fetch_topics
from guardian.stream.plane.batch import Refused
from guardian.stream.plane.origin import TIMESTAMP_HEADER, Record, to_time

log = structlog.stdlib.get_logger(__name__)

CUT_HEADER = "guardian-cut"
# A dead-letter topic that does not even take this has been set up wrongly.
_LEAST_BYTES = 32_768
# What a cut letter keeps beside the value, as JSON that may need six bytes for a character: with the envelope less than the above.
_MAX_HEADER_BYTES = 8_192
_MAX_NAME_BYTES = 2_048
_MAX_MESSAGE_CHARS = 2_000
_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
# Silence of a broker while letters are read, seconds.
_IDLE_S = 15.0


class DeadLetterSender:
    """Puts refused records on the dead-letter topic.

    Args:
        topic: Full name of the topic.
        max_bytes: Largest letter; a larger one is cut.
    """

    def __init__(self, producer: Producer, *, topic: str, max_bytes: int) -> None:
        self._producer = producer
        self._topic = topic
        self._max_bytes = max_bytes

    async def send(self, refused: Sequence[Refused]) -> None:
        """Send all letters and wait until they are acknowledged; what the topic finds too large is cut shorter.

        Raises:
            DependencyError: The broker is away.
            ConfigError: The topic does not take the smallest letter.
        """
        left, max_bytes = list(refused), self._max_bytes
        while left:
            if max_bytes < _LEAST_BYTES:
                raise ConfigError(
                    f"the topic {self._topic} does not take a message of {_LEAST_BYTES} bytes.",
                    mend="raise its max.message.bytes; `guardian topics apply` tells what is declared.",
                )
            too_large = await self._producer.send([self._build_message(one, max_bytes) for one in left])
            left = [left[index] for index in too_large]
            max_bytes //= 4

    def _build_message(self, refused: Refused, max_bytes: int) -> Outgoing:
        letter, encoded = encode_letter(refused, max_bytes=max_bytes)
        # Of an erased text only the key: an earlier delivery may have left its letter there.
        return Outgoing(topic=self._topic, key=build_outcome_id(letter).encode(), value=None if refused.is_erased else encoded)


def build_letter(refused: Refused) -> DeadLetter:
    """Give the dead letter of a record, whole."""
    record = refused.record
    return build_dead_letter(
        refused.error,
        record.value,
        record.headers,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        # A letter's id covers its time: a record without one must not get another at each delivery.
        timestamp=to_time(max(record.timestamp_ms, 0)),
    )


def encode_letter(refused: Refused, *, max_bytes: int) -> tuple[DeadLetter, bytes]:
    """Give the dead letter of a record and its bytes, at most `max_bytes` of them; at least 32 KiB."""
    record = refused.record
    letter = build_letter(refused)
    encoded = encode_outcome(letter, time=letter.timestamp)
    if len(encoded) > max_bytes:
        letter = _cut(letter, record.value or b"", max_bytes=max_bytes)
        encoded = encode_outcome(letter, time=letter.timestamp)
    return letter, encoded


def is_cut(letter: DeadLetter) -> bool:
    """Tell whether a letter does not hold the whole record."""
    return any(entry.name == CUT_HEADER for entry in letter.headers)


def _cut(letter: DeadLetter, value: bytes, *, max_bytes: int) -> DeadLetter:
    digest = hashlib.sha256(value).hexdigest()
    note = f"{len(value)} bytes, sha256 {digest}"
    headers = letter.headers if sum(len(entry.model_dump_json().encode()) for entry in letter.headers) < _MAX_HEADER_BYTES else ()
    mark = HeaderEntry(name=CUT_HEADER, value=base64.b64encode(note.encode()).decode())
    place = f"{letter.topic}, partition {letter.partition}, offset {letter.offset}"
    message = f"{letter.message[:_MAX_MESSAGE_CHARS]} Too large for a dead letter: cut from {note}; the whole lies in {place}."
    bare = letter.model_copy(
        update={
            "raw": "",
            "headers": (*headers, mark),
            "message": message,
            "path": _drop_long(letter.path) or "",
            "space": _drop_long(letter.space),
            "memory_id": _drop_long(letter.memory_id),
        }
    )
    left_bytes = max_bytes - len(encode_outcome(bare, time=bare.timestamp))
    return bare.model_copy(update={"raw": base64.b64encode(value[: left_bytes // 4 * 3]).decode()})


def _drop_long(name: str | None) -> str | None:
    """Give a name, or nothing when it is long as JSON; half a name would name something else."""
    return name if name is None or len(orjson.dumps(name)) <= _MAX_NAME_BYTES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLetter:
    """A dead letter on its topic.

    Attributes:
        key: Its id.
        written_at: When it was put there; its topic's retention counts from then.
    """

    key: str
    letter: DeadLetter
    written_at: datetime


async def iter_dead_letters(options: KafkaOptions, *, topic: str) -> AsyncGenerator[StoredLetter]:
    """Give all dead letters that stand, oldest first within a partition, each once; those with a tombstone are left out.

    Reads the topic twice, keys first, so that memory is bounded by the number of letters, not by their size.

    Raises:
        ConfigError: There is no such topic.
        DependencyError: The broker is away.
    """
    standing: dict[str, tuple[int, int]] = {}
    async with aclosing(iter_records(options, topic)) as records:
        async for record in records:
            key = (record.key or b"").decode(errors="replace")
            if record.value is None:
                standing.pop(key, None)
            else:
                standing[key] = (record.partition, record.offset)
    async with aclosing(iter_records(options, topic)) as records:
        async for record in records:
            key = (record.key or b"").decode(errors="replace")
            if record.value is None or standing.get(key) != (record.partition, record.offset):
                continue
            try:
                letter = read_dead_letter(record.value)
            except RecordError as error:
                log.warning("dead_letter.not_read", partition=record.partition, offset=record.offset, reason=error.reason)
                continue
            yield StoredLetter(key=key, letter=letter, written_at=to_time(record.timestamp_ms))


async def iter_records(options: KafkaOptions, topic: str, starts: Mapping[int, int] | None = None) -> AsyncGenerator[Record]:
    """Give all records of a topic up to the fetch high watermarks (the end offsets of some brokers are wrong).

    Args:
        options: How brokers are reached.
        topic: Full name.
        starts: Offsets to begin at, by partition; the others begin at their first record.

    Raises:
        ConfigError: There is no such topic.
        DependencyError: The broker is away.
    """
    numbers = (await fetch_topics(options)).get(topic)
    if numbers is None:
        raise ConfigError(f"the topic {topic} is missing.", mend="create it with `guardian topics apply`.")
    partitions = [TopicPartition(topic, number) for number in numbers]
    consumer = build_consumer(options, group=None)
    try:
        async with broker_errors(options):
            await consumer.start()
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            for number, offset in (starts or {}).items():
                consumer.seek(TopicPartition(topic, number), offset)
        ends: dict[TopicPartition, int] = {}
        quiet_since = asyncio.get_running_loop().time()
        while True:
            async with broker_errors(options):
                taken = await consumer.getmany(timeout_ms=200)
                for partition in partitions:
                    end = consumer.highwater(partition)
                    if end is not None:
                        ends.setdefault(partition, end)  # what is written while we read is not waited for
                positions = {partition: await consumer.position(partition) for partition in partitions}
            for records in taken.values():
                for record in records:
                    yield Record.of(record)
            if len(ends) == len(partitions) and all(positions[partition] >= end for partition, end in ends.items()):
                return
            now = asyncio.get_running_loop().time()
            quiet_since = now if taken else quiet_since
            if now - quiet_since > _IDLE_S:
                raise DependencyError(f"the broker at {options.bootstrap} gives nothing of {topic}", dependency="broker")
    finally:
        await consumer.stop()


@dataclass(slots=True)
class RedriveReport:
    """What a re-drive did; the lists hold keys."""

    driven: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    without_topic: list[str] = field(default_factory=list)


async def redrive(
    options: KafkaOptions, *, topic: str, events_topic: str, selects: Callable[[StoredLetter], bool]
) -> RedriveReport:
    """Send the selected dead letters again, byte for byte, to the topics they came from; refused rows of files to the canonical one.

    The record gets a new Kafka timestamp: one that was refused for a time in the future passes once that has come.

    Args:
        options: How brokers are reached.
        topic: Full name of the dead-letter topic.
        events_topic: Full name of the canonical topic.
        selects: Tells for each letter whether it is to be driven.

    Raises:
        DependencyError: The broker is away; letters that were driven so far have their tombstone or will be driven again.
    """
    report = RedriveReport()
    producer = Producer(options)
    await producer.start()
    try:
        topics = await fetch_topics(options)
        async with aclosing(iter_dead_letters(options, topic=topic)) as letters:
            async for stored in letters:
                if selects(stored):
                    await _drive(producer, stored, report, topics=topics, own_topic=topic, events_topic=events_topic)
    finally:
        await producer.stop()
    return report


async def _drive(
    producer: Producer, stored: StoredLetter, report: RedriveReport, *, topics: Collection[str], own_topic: str, events_topic: str
) -> None:
    letter = stored.letter
    target = letter.topic if _TOPIC_NAME.fullmatch(letter.topic) else events_topic
    if is_cut(letter):
        report.cut.append(stored.key)
    elif target not in topics:
        report.without_topic.append(stored.key)
    elif await producer.send([_build_redriven(letter, target, events_topic)]):
        report.too_large.append(stored.key)
    else:
        await producer.send([Outgoing(topic=own_topic, key=stored.key.encode(), value=None)])
        report.driven.append(stored.key)


def _build_redriven(letter: DeadLetter, target: str, events_topic: str) -> Outgoing:
    """Build the message; the original key is not kept, and only in the canonical topic does it matter: there it is the space."""
    key = letter.space.encode() if target == events_topic and letter.space is not None else None
    if key is None and letter.value is None:
        key = b""  # the client sends no record that has neither
    headers = [(name, value) for name, value in letter.record_headers if name.lower() != TIMESTAMP_HEADER]
    return Outgoing(topic=target, key=key, value=letter.value, headers=headers)
