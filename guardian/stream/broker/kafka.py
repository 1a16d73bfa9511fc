"""Clients of the broker: built from one set of options, and a producer that waits for every acknowledgement.

The producer is not idempotent in Kafka's sense. aiokafka keeps one request a partition in flight, so order holds without; what an
uncertain retry sends twice has the same id twice; and a batch of an idempotent producer never expires, so that during an outage every
retry would pile up behind the one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import ConsumerStoppedError, KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from guardian.errors import DependencyError
from guardian.stream.plane.origin import Header

# Never leave the group because a batch takes long: liveness is the watchdog's. Fits the 32-bit milliseconds of the protocol.
_NEVER_MS = 2_000_000_000
# What a record may weigh beyond key, value and headers.
RECORD_OVERHEAD = 4_096
_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOptions:
    """How brokers are reached.

    Attributes:
        security: TLS and SASL arguments of aiokafka's clients.
        rebalance_timeout_s: How long a group waits for this member to finish its batch.
        max_fetch_bytes: Bytes prefetched of one partition; of all together four times as many.
        max_message_bytes: Largest message that is sent.
        metadata_max_age_s: Seconds after which topics and partitions are looked up again.
    """

    bootstrap: str
    security: Mapping[str, Any] = field(default_factory=dict)
    session_timeout_s: float = 30.0
    rebalance_timeout_s: float = 60.0
    request_timeout_s: float = 60.0
    max_fetch_bytes: int = 4 * 1024 * 1024
    max_message_bytes: int = 4 * 1024 * 1024
    metadata_max_age_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One message to send; `topic` is the full name."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


def build_consumer(options: KafkaOptions, *, group: str | None) -> AIOKafkaConsumer:
    """Build a consumer that commits only what it is told to; without a group it can only be assigned."""
    session_ms = round(options.session_timeout_s * 1000)
    return AIOKafkaConsumer(
        bootstrap_servers=options.bootstrap,
        client_id="guardian" if group is None else group,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        max_poll_interval_ms=_NEVER_MS,
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=max(100, session_ms // 10),
        rebalance_timeout_ms=round(options.rebalance_timeout_s * 1000),
        # aiokafka wants requests to outlast a session.
        request_timeout_ms=round(max(options.request_timeout_s, options.session_timeout_s + 5) * 1000),
        max_partition_fetch_bytes=options.max_fetch_bytes,
        fetch_max_bytes=4 * options.max_fetch_bytes,
        metadata_max_age_ms=round(options.metadata_max_age_s * 1000),
        **options.security,
    )


def build_admin(options: KafkaOptions) -> AIOKafkaAdminClient:
    """Build an admin client."""
    return AIOKafkaAdminClient(
        bootstrap_servers=options.bootstrap,
        client_id="guardian-admin",
        request_timeout_ms=round(options.request_timeout_s * 1000),
        **options.security,
    )


@asynccontextmanager
async def broker_errors(options: KafkaOptions, *, timeout_s: float | None = None) -> AsyncIterator[None]:
    """Translate what a client throws, and give up waiting after `timeout_s` (the request timeout when None).

    Raises:
        DependencyError: The broker is away, slow, or refuses.
    """
    try:
        async with asyncio.timeout(options.request_timeout_s if timeout_s is None else timeout_s):
            yield
    except (KafkaError, ConsumerStoppedError, OSError, TimeoutError) as exc:
        raise DependencyError(f"the broker at {options.bootstrap}: {exc!r}", dependency="broker") from exc


async def fetch_topics(options: KafkaOptions) -> dict[str, list[int]]:
    """Give all topics with their partitions. Asks for none by name: some brokers create what they are asked for.

    Raises:
        DependencyError: The broker is away.
    """
    admin = build_admin(options)
    try:
        async with broker_errors(options):
            await admin.start()
            found = await admin.describe_topics()
    finally:
        await admin.close()
    return {topic["topic"]: sorted(partition["partition"] for partition in topic["partitions"]) for topic in found}


class Producer:
    """Sends messages and waits until all replicas in sync have them."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._client: AIOKafkaProducer | None = None

    async def start(self) -> None:
        """Connect.

        Raises:
            DependencyError: The broker is away.
        """
        client = AIOKafkaProducer(
            bootstrap_servers=self._options.bootstrap,
            client_id="guardian",
            acks="all",
            max_request_size=self._options.max_message_bytes + RECORD_OVERHEAD,
            request_timeout_ms=round(self._options.request_timeout_s * 1000),
            metadata_max_age_ms=round(self._options.metadata_max_age_s * 1000),
            **self._options.security,
        )
        try:
            async with broker_errors(self._options):
                await client.start()
        except BaseException:
            await client.stop()
            raise
        self._client = client

    async def stop(self) -> None:
        """Send what is still queued and disconnect. Stopping twice does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.stop()

    async def send(self, messages: Sequence[Outgoing]) -> list[int]:
        """Send all messages and wait until each is acknowledged.

        Returns:
            The indexes of those that are larger than this producer or their topic takes; all others are acknowledged.

        Raises:
            DependencyError: Some were not acknowledged; which is not known.
        """
        assert self._client is not None, "the producer is not started"
        too_large: list[int] = []
        waiting: list[tuple[int, asyncio.Future[Any]]] = []
        # Once for finding the partitions, once for the acknowledgements.
        async with broker_errors(self._options, timeout_s=2 * self._options.request_timeout_s):
            for index, message in enumerate(messages):
                try:
                    sent = await self._client.send(
                        message.topic, message.value, key=message.key, headers=list(message.headers) or None
                    )
                except _TOO_LARGE:
                    too_large.append(index)
                else:
                    waiting.append((index, sent))
            answers = await asyncio.gather(*(sent for _, sent in waiting), return_exceptions=True)
            for (index, _), answer in zip(waiting, answers, strict=True):
                if isinstance(answer, _TOO_LARGE):
                    too_large.append(index)
                elif isinstance(answer, BaseException):
                    raise answer
        return sorted(too_large)
