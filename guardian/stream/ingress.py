"""Ingress: reads agents' own topics, judges each record where it enters, and forwards it to the canonical topic.

Nothing is changed but the key and the headers: the guard decodes the same bytes again, and judges times and trust by the original
topic and timestamp that the headers carry. The size of a given vector is judged by the guard alone, which knows the collection.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.errors import ConfigError, RecordError
from guardian.stream.broker.kafka import Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.forward import build_forward, send_dead_letters, send_forwards
from guardian.stream.plane.batch import Batch, Role
from guardian.stream.plane.origin import Record, drop_origin_headers, to_time
from guardian.telemetry.metrics import Metrics


class Ingress:
    """What is done with the records of agents' topics.

    Args:
        events_topic: Full name of the canonical topic.
    """

    role = Role.INGRESS

    def __init__(
        self,
        *,
        events_topic: str,
        policy: DecodePolicy,
        producer: Producer,
        dead_letters: DeadLetterSender,
        metrics: Metrics,
    ) -> None:
        self._events_topic = events_topic
        self._policy = replace(policy, vector_size=None)
        self._producer = producer
        self._dead_letters = dead_letters
        self._metrics = metrics

    def read(self, records: Iterable[Record], *, partitions: Mapping[str, Sequence[int]]) -> Batch:  # noqa: ARG002 # any partition will do
        """Validate records and build what is forwarded."""
        batch = Batch()
        for record in records:
            try:
                decoded = decode(
                    record.value,
                    record.headers,
                    policy=self._policy,
                    received_at=to_time(record.timestamp_ms),
                    ingress=record.topic,
                )
            except RecordError as error:
                batch.refuse(record, error)
                batch.note(is_refused=True)
                continue
            batch.note(is_refused=False)
            headers = drop_origin_headers(record.headers)
            batch.forwards.append(build_forward(record, space=decoded.event.space, topic=self._events_topic, headers=headers))
        return batch

    async def carry_out(self, batch: Batch, *, version: int) -> None:  # noqa: ARG002 # nothing here is fenced
        """Forward what is right, keep what is not."""
        sent_before = batch.forwarded
        await send_forwards(self._producer, batch)
        self._metrics.forwarded.inc(batch.forwarded - sent_before)
        await send_dead_letters(self._dead_letters, batch, self._metrics, topic_role=self.role)


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
