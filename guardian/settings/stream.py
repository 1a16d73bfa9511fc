"""Brokers and topics, limits, and the pages of a worker."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from guardian.core.model import SourceKind
from guardian.settings.section import CENTURY_S, DAY_S, Section

# Kafka counts bytes in 32 bits, and four partitions' worth is fetched at once.
_MAX_FETCH_BYTES = 2**29 - 1


class KafkaSettings(Section):
    """The brokers, and what is read from them."""

    bootstrap: str = Field("127.0.0.1:9092", description="Brokers, host:port, comma-separated.")
    group: str = Field(
        "guardian", description="Prefix of the consumer groups: <group>.guard, <group>.ingress, and one for each side topic."
    )
    topic_prefix: str = Field("", description="Put before the names of all topics of Guardian, for several on one cluster.")
    events_topic: str = Field("guardian.events", description="The canonical topic, keyed by space; without the prefix.")
    ingress_topics: tuple[str, ...] = Field((), description="Agents' own topics with native events, any key.")
    ingress_pattern: str | None = Field(None, description="Regular expression of further ingress topics.")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="How brokers are spoken to."
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field("SCRAM-SHA-512", description="SASL mechanism.")
    sasl_username: str | None = Field(None, description="SASL user.")
    sasl_password: SecretStr | None = Field(None, description="SASL password.")
    ssl_cafile: Path | None = Field(None, description="PEM file of the authorities that sign the brokers' certificates.")
    ssl_certfile: Path | None = Field(None, description="PEM file of this client's certificate.")
    ssl_keyfile: Path | None = Field(None, description="PEM file of this client's key.")
    session_timeout_s: float = Field(
        30.0, gt=0, le=DAY_S, description="Silence after which the broker takes a worker for dead, seconds."
    )
    request_timeout_s: float = Field(60.0, gt=0, le=DAY_S, description="Longest wait for one answer of a broker, seconds.")
    max_fetch_bytes: int = Field(
        4 * 1024 * 1024, gt=0, le=_MAX_FETCH_BYTES, description="Bytes prefetched per partition; bounds memory in flight."
    )
    max_message_bytes: int = Field(
        4 * 1024 * 1024,
        ge=64 * 1024,
        description="Largest message that is sent; a larger dead letter is cut. At most what topics take.",
    )
    metadata_max_age_s: float = Field(
        30.0, gt=0, le=DAY_S, description="Age at which topics and partitions are looked up again, seconds."
    )
    schema_registry_url: str | None = Field(
        None, description="Schema registry for Avro, JSON Schema and Protobuf on ingress topics, such as http://127.0.0.1:8081."
    )
    schema_registry_user: str | None = Field(None, description="Its user, for basic authentication.")
    schema_registry_password: SecretStr | None = Field(None, description="Its password.")
    replication_factor: int = Field(1, ge=1, description="Replicas of topics that `guardian topics apply` creates.")

    @model_validator(mode="after")
    def _needs_credentials(self) -> Self:
        if self.security_protocol.startswith("SASL") and (self.sasl_username is None or self.sasl_password is None):
            raise ValueError("SASL needs sasl_username and sasl_password")
        return self


class IngressSettings(Section):
    """What is known of an ingress topic whose records are not Guardian's own events."""

    map: str | None = Field(None, description="Name of the map ([maps.NAME]) that turns its rows into events.")
    format: str | None = Field(
        None, description="Name of the format of its rows; without map and format they are told by content."
    )
    space: str | None = Field(None, description="Space of rows that name none.")
    source_kind: SourceKind | None = Field(None, description="Kind of source of rows that name none.")
    scope: dict[str, str] = Field(default_factory=dict, description="Scope of writes that name none.")

    @model_validator(mode="after")
    def _has_one_reader(self) -> Self:
        if self.map is not None and self.format is not None:
            raise ValueError("name a map or a format, not both")
        return self


class LimitSettings(Section):
    """What is refused, and how much is done at once."""

    max_text_bytes: int = Field(32 * 1024, gt=0, description="Longest text, bytes of UTF-8.")
    future_tolerance_s: float = Field(
        300.0, ge=0, le=CENTURY_S, description="How far ahead of its arrival a time may be, seconds."
    )
    batch_events: int = Field(1_000, gt=0, description="Events decided at once.")
    batch_wait_ms: int = Field(200, ge=0, description="Longest wait for a batch to fill, milliseconds.")
    dead_letter_ratio: float = Field(
        0.5, gt=0, le=1, description="Share of dead letters among the latest records at which a worker stops."
    )
    dead_letter_window: int = Field(1_000, gt=0, description="Records the ratio is taken over.")
    dead_letter_run: int = Field(500, gt=0, description="Dead letters in a row at which a worker stops.")
    retry_max_s: float = Field(30.0, gt=0, description="Longest pause between tries of the same batch, seconds.")
    stop_deadline_s: float = Field(25.0, gt=0, le=DAY_S, description="One deadline for everything a stop does, seconds.")
    watchdog_s: float = Field(
        300.0, gt=0, description="A worker with lag and a healthy store that finished no batch for so long ends itself, seconds."
    )


class WebSettings(Section):
    """Health and metrics."""

    bind: str = Field("127.0.0.1", description="Address of /livez, /readyz and /metrics.")
    port: int = Field(8088, ge=0, le=65535, description="Port of /livez, /readyz and /metrics; 0 takes a free one.")
