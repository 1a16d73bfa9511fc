"""Sends records on to the canonical topic, keyed by space, bytes as they came; what that topic does not take is refused."""

from __future__ import annotations

from guardian.errors import RecordError
from guardian.stream.broker.kafka import Outgoing, Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.plane.batch import Batch, Forward
from guardian.stream.plane.origin import Header, Record, build_origin_headers
from guardian.telemetry.metrics import RECORD_TOO_LARGE, Metrics


def build_forward(record: Record, *, value: bytes | None, space: str, topic: str, headers: list[Header]) -> Forward:
    """Build the message that takes an event to the canonical topic.

    Args:
        record: As read.
        value: The event's bytes: the record's own, or what it was translated to.
        space: Of the event.
        topic: Full name of the canonical topic.
        headers: Those that are kept.
    """
    message = Outgoing(topic=topic, key=space.encode(), value=value, headers=[*headers, *build_origin_headers(record)])
    return Forward(record=record, message=message)


async def send_forwards(producer: Producer, batch: Batch) -> None:
    """Send what a batch has to forward and wait until it is acknowledged.

    Raises:
        DependencyError: The broker is away.
    """
    too_large = set(await producer.send([forward.message for forward in batch.forwards]))
    for index, forward in enumerate(batch.forwards):
        if index in too_large:
            size = len(forward.message.value or b"")
            topic = forward.message.topic
            detail = (
                f"{size} bytes are more than {topic} takes. Mend: make the event smaller, or raise the topic's max.message.bytes."
            )
            batch.refuse(forward.record, RecordError(RECORD_TOO_LARGE, detail))
    batch.forwarded += len(batch.forwards) - len(too_large)
    batch.forwards = []


async def send_dead_letters(sender: DeadLetterSender, batch: Batch, metrics: Metrics, *, topic_role: str) -> None:
    """Send the dead letters of a batch, wait until they are acknowledged, then count them.

    Raises:
        DependencyError: The broker is away.
    """
    await sender.send(batch.refused)
    for refused in batch.refused:
        metrics.note_dead_letter(refused.error.reason, topic_role=topic_role)
        metrics.letters_erased.inc(refused.is_erased)
    batch.dead_lettered += len(batch.refused)
    batch.refused = []
