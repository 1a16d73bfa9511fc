"""The guard: reads the canonical topic, decides, and makes durable.

Each space lies in the partition of its key, so one worker writes it and the batch of a worker lacks nothing. A producer with
another partitioner (librdkafka's default) or without a key breaks that; such a record is not decided here but sent on to where its
space lives, and acknowledged.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from aiokafka.partitioner import murmur2

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import Decoded, decode
from guardian.contracts.letter import is_erased, read_letter_names
from guardian.errors import RecordError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence
from guardian.read.erased import fetch_erased
from guardian.stream.broker.kafka import Producer
from guardian.stream.dead_letter import DeadLetterSender, build_letter
from guardian.stream.forward import build_forward, send_dead_letters, send_forwards
from guardian.stream.letter_index import LetterIndex
from guardian.stream.plane.batch import Batch, Refused, Role
from guardian.stream.plane.origin import Record, TopicTrust, read_received_at
from guardian.telemetry.metrics import PHASES, Metrics


class Guard:
    """What is done with the records of the canonical topic.

    Args:
        dead_letters: Takes what is refused.
        letters: Knows what was refused before, so that an erasure finds it.
    """

    role = Role.CANONICAL
    gives_way = False

    def __init__(
        self,
        *,
        pipeline: Pipeline,
        policy: DecodePolicy,
        producer: Producer,
        dead_letters: DeadLetterSender,
        letters: LetterIndex,
        metrics: Metrics,
    ) -> None:
        self._pipeline = pipeline
        self._policy = policy
        self._trust = TopicTrust(policy)
        self._producer = producer
        self._dead_letters = dead_letters
        self._letters = letters
        self._metrics = metrics

    def read(self, records: Iterable[Record], *, partitions: Mapping[str, Sequence[int]]) -> Batch:
        """Decode records; those of a space that lives in another partition are forwarded there."""
        batch = Batch()
        for record in records:
            try:
                decoded = self._decode(record)
            except RecordError as error:
                batch.refuse(record, error)
                batch.note(is_refused=True)
                continue
            batch.note(is_refused=False)
            space = decoded.event.space
            numbers = tuple(partitions.get(record.topic, ()))
            if numbers and choose_partition(space, numbers) != record.partition:
                batch.forwards.append(
                    build_forward(record, value=record.value, space=space, topic=record.topic, headers=list(record.headers))
                )
            else:
                _take(batch, decoded)
        return batch

    async def prepare(self, records: Sequence[Record]) -> None:
        """Fetch nothing: the canonical topic holds plain events."""

    async def carry_out(self, batch: Batch, *, version: int) -> None:
        """Make the batch durable: what is sent on, dead letters, then the decision, its outcomes last."""
        sent_before = batch.forwarded
        await send_forwards(self._producer, batch)
        self._metrics.rerouted.inc(batch.forwarded - sent_before)
        batch.refused = await self._mark_erased(batch.refused)
        await send_dead_letters(self._dead_letters, batch, self._metrics, topic_role=self.role)
        batch.report = await self._pipeline.process(batch.events, fence=Fence(version=version))
        if batch.report.erased:
            await self._letters.erase(batch.report.erased)
        self._count(batch, batch.report)

    async def _mark_erased(self, refused: Sequence[Refused]) -> list[Refused]:
        """Mark the refused records of memories that are erased already: their texts must not come to lie in a letter."""
        names = [read_letter_names(build_letter(one)) for one in refused]
        memories = {name.memory for name in names if name.memory is not None}
        erased = await fetch_erased(self._pipeline.store, memories) if memories else {}
        return [replace(one, is_erased=is_erased(name, erased)) for one, name in zip(refused, names, strict=True)]

    def _decode(self, record: Record) -> Decoded:
        return decode(
            record.value,
            record.headers,
            policy=self._policy,
            received_at=read_received_at(record),
            ingress=self._trust.choose_topic(record),
        )

    def _count(self, batch: Batch, report: BatchReport) -> None:
        metrics = self._metrics
        for disposition, number in report.dispositions.items():
            metrics.events.labels(disposition).inc(number)
        metrics.records.inc(report.records)
        metrics.felled.inc(report.felled)
        metrics.born_superseded.inc(report.born_superseded)
        metrics.inferred.inc(report.inferred)
        metrics.refused_claims.inc(report.refused_claims)
        metrics.pending.inc(report.pending)
        metrics.naive_times.inc(batch.naive_times)
        metrics.trust_lowered.inc(batch.trust_lowered)
        metrics.misnamed_headers.inc(batch.misnamed_headers)
        metrics.note_phases({phase: getattr(report, f"{phase}_ms") for phase in PHASES})
        if report.records and self._pipeline.store.identity.vector_size:
            metrics.up.labels("model").set(0 if report.pending else 1)


@functools.lru_cache(maxsize=65_536)
def choose_partition(space: str, partitions: tuple[int, ...]) -> int:
    """Give the partition of a space: that of Kafka's own partitioner for the key, murmur2 in UTF-8."""
    place: int = (murmur2(space.encode()) & 0x7FFFFFFF) % len(partitions)
    return partitions[place]


def _take(batch: Batch, decoded: Decoded) -> None:
    batch.events.append(decoded.event)
    batch.naive_times += decoded.naive_times
    batch.trust_lowered += decoded.trust_lowered
    batch.misnamed_headers += decoded.misnamed_headers
