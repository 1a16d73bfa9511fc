"""Ingress: reads agents' own topics, judges each record where it enters, and forwards it to the canonical topic.

Of Guardian's own events nothing is changed but the key and the headers; records of other programs are translated first, and one of them
may hold several events, or none. The guard decodes what is forwarded again, and judges times and trust by the original topic and
timestamp that the headers carry. The size of a given vector is judged by the guard alone, which knows the collection.

A record of which a part cannot be read goes to the dead letters whole, and what was right in it goes on: to drive it again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.contracts.reason import Reason, build_record_error
from guardian.core.model import Induced
from guardian.errors import ConfigError, RecordError
from guardian.sources.live.arrival import Arrival, Headers
from guardian.sources.live.schema_frame import SchemaCache
from guardian.sources.live.translator import Translator
from guardian.stream.broker.kafka import Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.forward import build_forward, send_dead_letters, send_forwards
from guardian.stream.plane.batch import Batch, Forward, Role
from guardian.stream.plane.origin import Record, drop_origin_headers, to_time
from guardian.telemetry.metrics import Metrics


class Ingress:
    """What is done with the records of agents' topics.

    Args:
        events_topic: Full name of the canonical topic.
    """

    role = Role.INGRESS
    gives_way = False

    def __init__(
        self,
        *,
        events_topic: str,
        policy: DecodePolicy,
        producer: Producer,
        dead_letters: DeadLetterSender,
        metrics: Metrics,
        translator: Translator | None = None,
        schemas: SchemaCache | None = None,
    ) -> None:
        self._translator = translator or Translator()
        self._schemas = schemas
        self._events_topic = events_topic
        self._policy = replace(policy, vector_size=None)
        self._producer = producer
        self._dead_letters = dead_letters
        self._metrics = metrics

    def read(self, records: Iterable[Record], *, partitions: Mapping[str, Sequence[int]]) -> Batch:  # noqa: ARG002 # any partition will do
        """Validate records and build what is forwarded."""
        batch = Batch()
        for record in records:
            translation = self._translator.translate(_build_arrival(record))
            error = translation.error
            for value, headers in translation.events:
                try:
                    batch.forwards.append(self._judge(record, value, headers))
                except RecordError as refusal:
                    error = error or refusal
            if error is not None:
                batch.refuse(record, error)
            batch.skipped.update(translation.skipped)
            batch.note(is_refused=error is not None)
        return batch

    def _judge(self, record: Record, value: bytes | None, headers: Headers) -> Forward:
        decoded = decode(value, headers, policy=self._policy, received_at=to_time(record.timestamp_ms), ingress=record.topic)
        if isinstance(decoded.event, Induced):
            # What narrows a record is Guardian's own word; through here an agent could silence what others wrote.
            detail = "memory.induced comes from Guardian's own inducer, not from agents' topics."
            raise build_record_error(Reason.TYPE_UNKNOWN, detail, path="type")
        space, kept = decoded.event.space, drop_origin_headers(headers)
        return build_forward(record, value=value, space=space, topic=self._events_topic, headers=kept)

    async def prepare(self, records: Sequence[Record]) -> None:
        """Fetch the schemas that the records are coded with.

        Raises:
            DependencyError: The registry is away.
        """
        if self._schemas is not None:
            await self._schemas.fetch(map(_build_arrival, records))

    async def carry_out(self, batch: Batch, *, version: int) -> None:  # noqa: ARG002 # nothing here is fenced
        """Forward what is right, keep what is not."""
        sent_before = batch.forwarded
        await send_forwards(self._producer, batch)
        self._metrics.forwarded.inc(batch.forwarded - sent_before)
        for reason, count in batch.skipped.items():
            self._metrics.note_skipped(reason, count)
        batch.skipped.clear()
        await send_dead_letters(self._dead_letters, batch, self._metrics, topic_role=self.role)


def _build_arrival(record: Record) -> Arrival:
    return Arrival(
        topic=record.topic,
        position=f"{record.topic}/{record.partition}/{record.offset}",
        time=to_time(record.timestamp_ms),
        key=record.key,
        value=record.value,
        headers=record.headers,
    )


def check_ingress(topics: Collection[str], pattern: str | None, *, own: Collection[str]) -> None:
    """Refuse ingress settings that would make Guardian read what it writes.

    Raises:
        ConfigError: Names the topic, or the pattern's fault.
    """
    if looped := sorted(set(topics) & set(own)):
        raise ConfigError(
            f"{', '.join(looped)} is written by Guardian itself and cannot be an ingress topic.",
            setting="GUARDIAN_KAFKA__INGRESS_TOPICS",
            mend="name the topics that your agents write.",
        )
    try:
        re.compile(pattern or "")
    except re.error as exc:
        raise ConfigError(
            f"{pattern!r} is no regular expression: {exc}.", setting="GUARDIAN_KAFKA__INGRESS_PATTERN", mend="correct it."
        ) from exc


def choose_ingress_topics(
    present: Collection[str], *, names: Collection[str], pattern: str | None, own: Collection[str]
) -> set[str]:
    """Choose what to subscribe to of the topics that a broker has.

    A missing topic is left out, since a broker may create a topic by being asked for it; it is found when topics are looked up again.
    Topics of Guardian and of Kafka itself (`__…`) never match the pattern, which must match a whole name.
    """
    matching = {
        topic
        for topic in present
        if pattern is not None and not topic.startswith("__") and re.fullmatch(pattern, topic) is not None
    }
    return (set(names) & set(present) | matching) - set(own)
