"""Settings: one frozen model, read from `guardian.toml`, then from `GUARDIAN_…` (nested with `__`), the later winning.

Only wiring and cli read it. Every field says its unit and meaning; secrets print as stars.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from guardian.core.model import SourceKind
from guardian.core.policy import VERIFYING_KINDS, Policy
from guardian.errors import ConfigError
from guardian.mapping import EventMap

TOML_NAME = "guardian.toml"

# Longest durations, seconds. Kafka counts milliseconds in 32 bits, which is 24 days; and a time plus a century is still in the calendar,
# for no record is taken for later than the year 9000.
_DAY_S = 86_400.0
_CENTURY_S = 3_155_760_000.0
# Kafka counts bytes in 32 bits, and four partitions' worth is fetched at once.
_MAX_FETCH_BYTES = 2**29 - 1


class Section(BaseModel):
    """A group of settings; frozen, and a wrong name in it is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class KafkaSettings(Section):
    """The brokers, and what is read from them."""

    bootstrap: str = Field("127.0.0.1:9092", description="Brokers, host:port, comma-separated.")
    group: str = Field("guardian", description="Prefix of the consumer groups: <group>.guard and <group>.ingress.")
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
        30.0, gt=0, le=_DAY_S, description="Silence after which the broker takes a worker for dead, seconds."
    )
    request_timeout_s: float = Field(60.0, gt=0, le=_DAY_S, description="Longest wait for one answer of a broker, seconds.")
    max_fetch_bytes: int = Field(
        4 * 1024 * 1024, gt=0, le=_MAX_FETCH_BYTES, description="Bytes prefetched per partition; bounds memory in flight."
    )
    max_message_bytes: int = Field(
        4 * 1024 * 1024,
        ge=64 * 1024,
        description="Largest message that is sent; a larger dead letter is cut. At most what topics take.",
    )
    metadata_max_age_s: float = Field(
        30.0, gt=0, le=_DAY_S, description="Age at which topics and partitions are looked up again, seconds."
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


class StoreSettings(Section):
    """Where state lies: a folder for the embedded engine, or a server."""

    path: Path = Field(Path(".guardian/store"), description="Folder of the embedded engine, used when no url is given.")
    url: str | None = Field(None, description="Qdrant server, such as http://127.0.0.1:6333.")
    collection: str = Field("guardian", description="Collection on the server.")
    api_key: SecretStr | None = Field(None, description="API key of the server.")
    ca_file: Path | None = Field(None, description="PEM file of the authority that signs the server's certificate.")
    timeout_s: float = Field(30.0, gt=0, description="Longest wait for one answer of the server, seconds.")
    prefer_grpc: bool = Field(False, description="Speak gRPC to the server.")
    min_free_bytes: int = Field(
        1_000_000_000,
        ge=0,
        description="The embedded engine refuses writes below this free disk: a full disk would kill the process.",
    )


class EmbeddingSettings(Section):
    """How dense vectors are made."""

    provider: Literal["none", "given", "sentence-transformers", "openai"] = Field(
        "none", description="Who makes the vectors; none stores records with BM25 alone, given takes those in the events."
    )
    model: str = Field("all-MiniLM-L6-v2", description="Name or folder of the model.")
    size: int | None = Field(None, gt=0, description="Vector size; needed for given, else told by the model.")
    device: str | None = Field(None, description="Device for sentence-transformers, such as cpu or cuda:0.")
    batch_size: int = Field(64, gt=0, description="Texts per call of the model.")
    cache_entries: int = Field(10_000, ge=0, description="Vectors kept in memory by text digest.")
    allow_download: bool = Field(False, description="Let sentence-transformers fetch a model that is not on this machine.")
    base_url: str = Field("https://api.openai.com/v1", description="Any OpenAI-compatible endpoint.")
    api_key: SecretStr | None = Field(None, description="Its key.")
    dimensions: int | None = Field(None, gt=0, description="Asks an OpenAI-compatible model for this vector size.")
    timeout_s: float = Field(30.0, gt=0, description="Longest wait for one answer, seconds.")
    max_retries: int = Field(3, ge=0, description="Tries after the first.")

    @model_validator(mode="after")
    def _needs_size(self) -> Self:
        if self.provider == "given" and self.size is None:
            raise ValueError("provider given needs size, the size of the vectors in your events")
        return self


class LimitSettings(Section):
    """What is refused, and how much is done at once."""

    max_text_bytes: int = Field(32 * 1024, gt=0, description="Longest text, bytes of UTF-8.")
    future_tolerance_s: float = Field(
        300.0, ge=0, le=_CENTURY_S, description="How far ahead of its arrival a time may be, seconds."
    )
    batch_events: int = Field(1_000, gt=0, description="Events decided at once.")
    batch_wait_ms: int = Field(200, ge=0, description="Longest wait for a batch to fill, milliseconds.")
    dead_letter_ratio: float = Field(
        0.5, gt=0, le=1, description="Share of dead letters among the latest records at which a worker stops."
    )
    dead_letter_window: int = Field(1_000, gt=0, description="Records the ratio is taken over.")
    dead_letter_run: int = Field(500, gt=0, description="Dead letters in a row at which a worker stops.")
    retry_max_s: float = Field(30.0, gt=0, description="Longest pause between tries of the same batch, seconds.")
    stop_deadline_s: float = Field(25.0, gt=0, le=_DAY_S, description="One deadline for everything a stop does, seconds.")
    watchdog_s: float = Field(
        300.0, gt=0, description="A worker with lag and a healthy store that finished no batch for so long ends itself, seconds."
    )


class WebSettings(Section):
    """Health and metrics."""

    bind: str = Field("127.0.0.1", description="Address of /livez, /readyz and /metrics.")
    port: int = Field(8088, ge=0, le=65535, description="Port of /livez, /readyz and /metrics; 0 takes a free one.")


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


class TrustSettings(Section):
    """Who is believed, unless a space says otherwise; and what ingress topics and event sources may claim."""

    verify_kinds: frozenset[SourceKind] = Field(
        VERIFYING_KINDS, description="Source kinds whose writes that say verified are believed."
    )
    verify_actors: frozenset[str] = Field(
        frozenset(), description="Actors that are believed, too, unless of kind agent or unknown."
    )
    correct_kinds: frozenset[SourceKind] = Field(
        VERIFYING_KINDS | {SourceKind.USER}, description="Kinds that may correct, retract, link and erase."
    )
    correct_actors: frozenset[str] = Field(frozenset(), description="Actors that may, too, unless of kind agent or unknown.")
    topics: dict[str, SourceKind] = Field(
        default_factory=dict, description="Ingress topic pattern -> highest kind its events may claim."
    )
    sources: dict[str, SourceKind] = Field(
        default_factory=dict, description="Event source pattern -> highest kind its events may claim."
    )


class PolicySettings(Section):
    """Thresholds of the rules; each default is the design's."""

    restate_threshold: float = Field(0.75, gt=0, le=1, description="Token-set ratio from which a text restates another.")
    session_window_s: float = Field(
        3600.0, ge=0, le=_CENTURY_S, description="How long before a write a read of its session counts, seconds."
    )
    session_reads: int = Field(20, ge=0, description="Latest reads of a session that are looked at.")
    max_roots: int = Field(64, ge=1, description="Roots kept on a record.")
    alphas: dict[str, float] = Field(default_factory=dict, description="Channel -> alpha of LUCID, each in [0, 1].")
    default_alpha: float = Field(0.5, ge=0, le=1, description="Alpha of any other channel.")
    calibration: str = Field("default", description="Id of the calibration the alphas come from.")

    @model_validator(mode="after")
    def _alphas_in_range(self) -> Self:
        wrong = sorted(channel for channel, alpha in self.alphas.items() if not 0 <= alpha <= 1)
        if wrong:
            raise ValueError(f"alphas must be in [0, 1]: {', '.join(wrong)}")
        return self


class Settings(BaseSettings):
    """All settings of Guardian."""

    model_config = SettingsConfigDict(
        env_prefix="GUARDIAN_", env_nested_delimiter="__", frozen=True, extra="forbid", toml_file=TOML_NAME
    )

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    trust: TrustSettings = Field(default_factory=TrustSettings)
    spaces: dict[str, TrustSettings] = Field(default_factory=dict, description="Space pattern -> trust of these spaces, whole.")
    policy: PolicySettings = Field(default_factory=PolicySettings)
    maps: dict[str, EventMap] = Field(default_factory=dict, description="Name -> how rows of plain JSON become events.")
    ingress: dict[str, IngressSettings] = Field(
        default_factory=dict, description="Ingress topic pattern -> what its records are; the first that matches holds."
    )
    roles: frozenset[Literal["guard", "ingress"]] = Field(
        frozenset({"guard", "ingress"}),
        description="What a worker does: guard reads the canonical topic, ingress forwards agents' topics to it.",
    )
    state_dir: Path = Field(Path(".guardian"), description="Folder for checkpoints of replays and the worker's own files.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least level that is logged.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 # part of the signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 # part of the signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, which wins over the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def policy_for(self, space: str) -> Policy:
        """Build the policy of a space: the first matching entry of `spaces`, else the general trust."""
        trust = next((trust for pattern, trust in self.spaces.items() if fnmatchcase(space, pattern)), self.trust)
        return Policy(
            verify_kinds=trust.verify_kinds,
            verify_actors=trust.verify_actors,
            correct_kinds=trust.correct_kinds,
            correct_actors=trust.correct_actors,
            restate_threshold=self.policy.restate_threshold,
            session_window=timedelta(seconds=self.policy.session_window_s),
            session_reads=self.policy.session_reads,
            max_roots=self.policy.max_roots,
            alphas=self.policy.alphas,
            default_alpha=self.policy.default_alpha,
            calibration=self.policy.calibration,
        )


def load_settings(**overrides: object) -> Settings:
    """Load the settings of this folder and environment.

    Raises:
        ConfigError: A setting is unknown or wrong; the message names it.
    """
    _refuse_misspelt(os.environ)
    try:
        return Settings(**overrides)  # type: ignore[arg-type] # pydantic validates
    except ValidationError as exc:
        faults = "; ".join(f"{_name(fault['loc'])}: {fault['msg']}" for fault in exc.errors())
        raise ConfigError(
            f"settings are wrong: {faults}.",
            mend=f"correct them in {TOML_NAME} or in the environment; `guardian settings` lists all.",
        ) from exc
    except SettingsError as exc:
        raise ConfigError(
            f"an environment variable GUARDIAN_… cannot be read: {exc}.",
            mend="write lists and tables as JSON, such as GUARDIAN_KAFKA__INGRESS_TOPICS='[\"agent-a.memory\"]'.",
        ) from exc
    except (ValueError, RecursionError, OSError) as exc:  # a TOML file that is none, or cannot be read
        raise ConfigError(f"{TOML_NAME} cannot be read: {exc}.", mend="correct the file or remove it.") from exc


def _refuse_misspelt(environment: Mapping[str, str]) -> None:
    """Refuse GUARDIAN_STORE_PATH and its like: with one underscore it would be passed over in silence."""
    for name in sorted(environment):
        section, _, rest = name.removeprefix("GUARDIAN_").lower().partition("_")
        is_section = section in Settings.model_fields and isinstance(Settings.model_fields[section].annotation, type)
        if name.startswith("GUARDIAN_") and is_section and rest and not rest.startswith("_"):
            raise ConfigError(
                f"{name} is no setting.",
                setting=name,
                mend=f"write GUARDIAN_{section.upper()}__{rest.upper()}, with two underscores.",
            )


def _name(loc: tuple[int | str, ...]) -> str:
    return "GUARDIAN_" + "__".join(str(part).upper() for part in loc)
