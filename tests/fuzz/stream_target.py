"""Targets on the stream: the codec, ingress and guard over batches of records, and dead letters on their topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from guardian.contracts.codec import decode
from guardian.contracts.letter import DeadLetter, read_dead_letter
from guardian.contracts.outcome import build_outcome_id, encode_outcome
from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.stream.dead_letter import DeadLetterSender, RedriveReport, StoredLetter, _drive, is_cut
from guardian.stream.guard import Guard
from guardian.stream.ingress import Ingress
from guardian.stream.plane.batch import Batch
from guardian.stream.plane.origin import Record
from guardian.telemetry.metrics import Metrics
from tests.fuzz.frame import unpack_record
from tests.fuzz.law import (
    POLICY,
    RECEIVED_AT,
    World,
    check_decoded,
    check_events,
    check_message,
    check_refusal,
    check_rows,
    settle,
)
from tests.fuzz.mutate import SEPARATOR
from tests.unit.stream.records import CollectingProducer, build_letter_index

EVENTS, LETTERS = "guardian.events", "guardian.dead-letters"
PARTITIONS = {EVENTS: (0, 1), "agent.notes": (0,)}
MAX_RECORDS = 20
# Small enough that a record of the largest input is cut in its letter.
MAX_LETTER_BYTES = 40_000
METRICS = Metrics()


def run_decoder(data: bytes) -> None:
    """One record, in any mode, is refused for a declared reason or gives an event that is good for all that follows."""
    record = unpack_record(data)
    try:
        decoded = decode(record.value, record.headers, policy=POLICY, received_at=RECEIVED_AT, ingress=record.topic)
    except RecordError as error:
        check_refusal(error)
        return
    check_decoded(decoded)
    check_events([decoded.event])


def run_stream(data: bytes) -> None:
    """A batch of records: each is forwarded, decided or a dead letter; what ingress takes the guard takes, too."""
    records = [replace(unpack_record(part), offset=number) for number, part in enumerate(data.split(SEPARATOR)[:MAX_RECORDS])]
    forwarded = _pass_ingress(records)
    _pass_guard(records, partitions=PARTITIONS)
    _pass_guard(forwarded, partitions={EVENTS: (0,)}, allowed=frozenset({Reason.VECTOR_SIZE}))


def _pass_ingress(records: Sequence[Record]) -> list[Record]:
    """Read and carry out a batch at ingress; gives what was forwarded, as the guard's consumer would read it."""
    producer = CollectingProducer(max_bytes=50_000)
    letters = DeadLetterSender(producer, topic=LETTERS, max_bytes=MAX_LETTER_BYTES)
    ingress = Ingress(events_topic=EVENTS, policy=POLICY, producer=producer, dead_letters=letters, metrics=METRICS)  # type: ignore[arg-type] # plays the producer
    batch = ingress.read(records, partitions={})
    assert batch.count == len(batch.verdicts) == len(records)
    assert len(batch.refused) + len(batch.forwards) == len(records), "a record is lost at ingress"
    _check_refused(batch)
    forwards = list(batch.forwards)
    # Bytes as they came; of a list with one event, that event.
    assert all(one.message.value == one.record.value or (one.record.value or b"").lstrip()[:1] == b"[" for one in forwards)
    settle(ingress.carry_out(batch, version=1))
    assert batch.forwarded + batch.dead_lettered == len(records)
    _check_letters(records, producer)
    sent = producer.list_topic(EVENTS)
    values = [one.message.value for one in forwards]
    assert [message.value for message in sent] == [value for value in values if len(value or b"") <= producer.max_bytes]
    return [
        Record(
            topic=EVENTS,
            partition=0,
            offset=number,
            timestamp_ms=round(RECEIVED_AT.timestamp() * 1000),
            key=message.key,
            value=message.value,
            headers=tuple(message.headers),
        )
        for number, message in enumerate(sent)
    ]


def _pass_guard(
    records: Sequence[Record], *, partitions: Mapping[str, Sequence[int]], allowed: frozenset[Reason] | None = None
) -> None:
    """Read and carry out a batch at the guard, twice; refusals are of the allowed reasons."""
    producer, world = CollectingProducer(), World()
    letters = DeadLetterSender(producer, topic=LETTERS, max_bytes=MAX_LETTER_BYTES)
    guard = Guard(
        pipeline=world.pipeline,
        policy=POLICY,
        producer=producer,  # type: ignore[arg-type] # as above
        dead_letters=letters,
        letters=build_letter_index(producer, LETTERS, METRICS),
        metrics=METRICS,
    )
    batch = guard.read(records, partitions=partitions)
    assert batch.count == len(records)
    assert len(batch.events) + len(batch.forwards) + len(batch.refused) == len(records), "a record is lost at the guard"
    _check_refused(batch)
    assert allowed is None or {one.error.reason for one in batch.refused} <= allowed, "the guard refuses what ingress took"
    events = len(batch.events)
    settle(guard.carry_out(batch, version=1))
    assert batch.report is not None
    assert sum(batch.report.dispositions.values()) == events
    _check_letters(records, producer)
    rows = world.export()
    check_rows(rows)
    for message in world.collector.messages:
        check_message(message)
    settle(guard.carry_out(guard.read(records, partitions=partitions), version=1))
    assert world.export() == rows, "a second delivery changes the state"


def _check_refused(batch: Batch) -> None:
    for refused in batch.refused:
        check_refusal(refused.error)


def _check_letters(records: Sequence[Record], producer: CollectingProducer) -> None:
    """Every letter that was sent reads back, and holds its record byte for byte unless it says that it is cut."""
    by_offset = {record.offset: record for record in records}
    for message in producer.list_topic(LETTERS):
        assert message.value is not None
        assert len(message.value) <= MAX_LETTER_BYTES
        letter = read_dead_letter(message.value)
        assert message.key == build_outcome_id(letter).encode()
        record = by_offset[letter.offset]
        if is_cut(letter):
            assert (record.value or b"").startswith(letter.value or b"")
        else:
            assert (letter.value, letter.record_headers) == (record.value, [*record.headers])


def run_letter(data: bytes) -> None:
    """A message on the dead-letter topic is a letter or is refused; a letter can be told and driven again, to one end."""
    try:
        letter = read_dead_letter(data)
    except RecordError as error:
        check_refusal(error)
        return
    assert letter.value is None or isinstance(letter.value, bytes)
    assert len(letter.record_headers) == len(letter.headers)
    assert read_dead_letter(encode_outcome(letter, time=letter.timestamp)) == letter, "a letter is another after a round trip"
    _check_drive(letter)


def _check_drive(letter: DeadLetter) -> None:
    producer, report = CollectingProducer(max_bytes=30_000), RedriveReport()
    stored = StoredLetter(key=build_outcome_id(letter), letter=letter, written_at=RECEIVED_AT)
    topics = {EVENTS, "agent.notes"}
    settle(_drive(producer, stored, report, topics=topics, own_topic=LETTERS, events_topic=EVENTS))  # type: ignore[arg-type] # as above
    ends = [report.driven, report.cut, report.too_large, report.without_topic]
    assert sum(map(len, ends)) == 1, "a letter ends nowhere, or twice"
    assert len(producer.sent) == 2 * len(report.driven), "a driven letter is sent and gets its tombstone"
    if report.driven:
        assert producer.sent[0].value == letter.value
