"""Publishes outcomes to their topics."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from guardian.ports import OutcomeMessage
from guardian.stream.broker.kafka import Outgoing, Producer
from guardian.telemetry.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)


class KafkaPublisher:
    """Sends outcomes and waits for their acknowledgement.

    An outcome that its topic does not take is told and left out: the state is durable and is read from the store, and a batch that
    waited for a message that can never be sent would wait for ever.

    Args:
        prefix: Put before every topic's name.
    """

    def __init__(self, producer: Producer, metrics: Metrics, *, prefix: str = "") -> None:
        self._producer = producer
        self._metrics = metrics
        self._prefix = prefix

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Send all messages and wait until they are acknowledged.

        Raises:
            DependencyError: The broker is away.
        """
        for index in await self._producer.send([self._build(message) for message in messages]):
            message = messages[index]
            self._metrics.too_large.inc()
            log.error("outcome.not_sent", topic=message.topic, id=message.id, size_bytes=len(message.value or b""))

    def _build(self, message: OutcomeMessage) -> Outgoing:
        return Outgoing(
            topic=f"{self._prefix}{message.topic}",
            key=message.key.encode(),
            value=message.value,
            headers=[(name, value.encode()) for name, value in (message.headers or {}).items()],
        )
