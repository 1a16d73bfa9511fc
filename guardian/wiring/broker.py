"""How brokers are reached, and what is sent to them. No logic."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from guardian.errors import ConfigError
from guardian.settings import Settings
from guardian.stream.broker.kafka import KafkaOptions, Outgoing, Producer
from guardian.stream.publisher import KafkaPublisher
from guardian.telemetry.metrics import Metrics

if TYPE_CHECKING:
    pass


@asynccontextmanager
async def open_producer(settings: Settings) -> AsyncIterator[Producer]:
    """Open a producer for a command."""
    producer = Producer(build_kafka_options(settings))
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


def build_publisher(settings: Settings, producer: Producer) -> KafkaPublisher:
    """Build the publisher of outcomes over a producer."""
    return KafkaPublisher(producer, Metrics(), prefix=settings.kafka.topic_prefix)


async def forward_events(settings: Settings, producer: Producer, events: Sequence[tuple[bytes, str]]) -> None:
    """Send events, as bytes with their space, to the canonical topic.

    Raises:
        ConfigError: One is larger than the topic takes.
    """
    topic = settings.kafka.topic_prefix + settings.kafka.events_topic
    too_large = await producer.send([Outgoing(topic=topic, key=space.encode(), value=event) for event, space in events])
    if too_large:
        raise ConfigError(
            f"{len(too_large)} events are larger than {topic} takes.",
            setting="GUARDIAN_KAFKA__MAX_MESSAGE_BYTES",
            mend="raise it and the topic's max.message.bytes.",
        )


def build_kafka_options(settings: Settings) -> KafkaOptions:
    """Build how brokers are reached."""
    kafka = settings.kafka
    return KafkaOptions(
        bootstrap=kafka.bootstrap,
        security=build_kafka_security(settings),
        session_timeout_s=kafka.session_timeout_s,
        # A batch in hand may take as long in a rebalance as in a stop.
        rebalance_timeout_s=max(kafka.session_timeout_s, settings.limits.stop_deadline_s + 5),
        request_timeout_s=kafka.request_timeout_s,
        max_fetch_bytes=kafka.max_fetch_bytes,
        max_message_bytes=kafka.max_message_bytes,
        metadata_max_age_s=kafka.metadata_max_age_s,
    )


def build_kafka_security(settings: Settings) -> dict[str, Any]:
    """Build the security arguments of every Kafka client; empty for plain text."""
    kafka = settings.kafka
    if kafka.security_protocol == "PLAINTEXT":
        return {}
    security: dict[str, Any] = {"security_protocol": kafka.security_protocol}
    if kafka.security_protocol.startswith("SASL"):
        assert kafka.sasl_password is not None
        security["sasl_mechanism"] = kafka.sasl_mechanism
        security["sasl_plain_username"] = kafka.sasl_username
        security["sasl_plain_password"] = kafka.sasl_password.get_secret_value()
    if kafka.security_protocol.endswith("SSL"):
        security["ssl_context"] = _build_ssl_context(settings)
    return security


def _build_ssl_context(settings: Settings) -> ssl.SSLContext:
    kafka = settings.kafka
    try:
        context = ssl.create_default_context(cafile=None if kafka.ssl_cafile is None else str(kafka.ssl_cafile))
        if kafka.ssl_certfile is not None:
            context.load_cert_chain(kafka.ssl_certfile, kafka.ssl_keyfile)
    except (OSError, ssl.SSLError, ValueError) as exc:  # the last for a NUL in a path
        raise ConfigError(
            f"a TLS file for Kafka cannot be read: {exc}.",
            setting="GUARDIAN_KAFKA__SSL_CAFILE",
            mend="check ssl_cafile, ssl_certfile and ssl_keyfile.",
        ) from exc
    return context
