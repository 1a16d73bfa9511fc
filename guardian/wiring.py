"""Wiring: the only place where settings become objects and adapters are chosen. No logic."""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from guardian.contracts.admission import DecodePolicy
from guardian.core.policy import Policy
from guardian.embed.bm25 import BM25_IDENTITY
from guardian.embed.given import GivenEmbedder
from guardian.embed.openai_endpoint import open_openai_endpoint
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.errors import ConfigError
from guardian.migration import Aim, Generations
from guardian.pipeline import Pipeline
from guardian.ports import Publisher, Store, StoreIdentity
from guardian.settings import EmbeddingSettings, IngressSettings, KafkaSettings, Settings, StoreSettings
from guardian.sources.formats.rows import RowsSource
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.live.schema_frame import SchemaCache
from guardian.sources.live.translator import Binding, Translator
from guardian.sources.port import RowSource, SourceOptions
from guardian.sources.registry import by_name, load_row_sources
from guardian.store.edge.generation import EdgeGenerations
from guardian.store.edge.store import EdgeStore
from guardian.store.identity import NO_EMBEDDING
from guardian.store.layout import SCHEMA_VERSION
from guardian.stream.broker.kafka import KafkaOptions, Outgoing, Producer
from guardian.stream.publisher import KafkaPublisher
from guardian.telemetry.log import configure_logging
from guardian.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

    from guardian.stream.worker import WorkerSetup


async def build_embedder(settings: EmbeddingSettings) -> Embedder | None:
    """Build the embedder, or None for BM25 alone.

    Raises:
        ConfigError: The extra is missing, or the model is not there.
        DependencyError: The endpoint is away.
    """
    match settings.provider:
        case "none":
            return None
        case "given":
            assert settings.size is not None
            return GivenEmbedder(size=settings.size)
        case "sentence-transformers":
            return await open_sentence_transformers(
                model=settings.model,
                device=settings.device,
                batch_size=settings.batch_size,
                cache_entries=settings.cache_entries,
                allow_download=settings.allow_download,
            )
        case "openai":
            return await open_openai_endpoint(
                model=settings.model,
                base_url=settings.base_url,
                api_key=settings.api_key,
                dimensions=settings.dimensions,
                timeout_s=settings.timeout_s,
                max_retries=settings.max_retries,
                batch_size=settings.batch_size,
                cache_entries=settings.cache_entries,
            )


def build_identity(embedder: Embedder | None) -> StoreIdentity:
    """Build what the store is to be made for."""
    return StoreIdentity(
        schema_version=SCHEMA_VERSION,
        embedding=NO_EMBEDDING if embedder is None else embedder.identity,
        vector_size=0 if embedder is None else embedder.size,
        bm25=BM25_IDENTITY,
    )


def place_store(settings: StoreSettings, place: str | None) -> StoreSettings:
    """Give the store settings with a path or URL from the command line put in."""
    if place is None:
        return settings
    if not place:
        raise ConfigError("--store is empty.", setting="store", mend="name a folder or a URL.")
    if place.startswith(("http://", "https://")):
        return settings.model_copy(update={"url": place})
    return settings.model_copy(update={"url": None, "path": Path(place)})


def locate_state(settings: Settings, place: str | None) -> tuple[Path, str]:
    """Give the folder for what belongs to a store (checkpoints, dead letters of replays), and the store's name in it.

    That of the embedded engine is the store's own folder, so that it goes and comes back with the store.
    """
    store = place_store(settings.store, place)
    if store.url is None:
        return store.path, "embedded"
    return settings.state_dir, f"{store.url} {store.collection}"


def build_store(settings: StoreSettings, identity: StoreIdentity | None) -> Store:
    """Build the store: a server where a url is given, else the embedded engine. It is not opened yet.

    Args:
        settings: Where it lies.
        identity: What it is to be made for; None to open the one that is there, whatever it was made for.
    """
    if settings.url is None:
        return EdgeStore(settings.path, identity, min_free_bytes=settings.min_free_bytes)
    return _build_server_store(settings, identity)


def _build_server_store(settings: StoreSettings, identity: StoreIdentity | None) -> Store:
    from guardian.store.qdrant.store import QdrantStore  # noqa: PLC0415 # the client takes a second that few need

    return QdrantStore(_build_client(settings), collection=settings.collection, identity=identity)


def _build_client(settings: StoreSettings) -> AsyncQdrantClient:
    from guardian.store.qdrant.store import build_client  # noqa: PLC0415 # as above

    assert settings.url is not None
    if urlparse(settings.url).hostname is None:
        raise ConfigError(
            f"{settings.url} is no URL of a server.", setting="GUARDIAN_STORE__URL", mend="write it as http://host:6333."
        )
    return build_client(
        settings.url,
        api_key=settings.api_key.get_secret_value() if settings.api_key is not None else None,
        timeout_s=max(1, round(settings.timeout_s)),
        prefer_grpc=settings.prefer_grpc,
        ca_file=settings.ca_file,
    )


@asynccontextmanager
async def open_generations(settings: StoreSettings) -> AsyncIterator[Generations]:
    """Give what migrates the store that lies there; closed at the end of the block."""
    generations: Generations
    if settings.url is None:
        generations = EdgeGenerations(settings.path, min_free_bytes=settings.min_free_bytes)
    else:
        from guardian.store.qdrant.generation import QdrantGenerations  # noqa: PLC0415 # as above

        # Workers have the same limit for their requests as this client.
        generations = QdrantGenerations(_build_client(settings), alias=settings.collection, settle_s=settings.timeout_s)
    try:
        yield generations
    finally:
        await generations.close()


@asynccontextmanager
async def open_aim(settings: Settings, *, drops_vectors: bool = False) -> AsyncIterator[Aim]:
    """Open the model of the settings, and give what a store is to become by them."""
    embedder = await build_embedder(settings.embedding)
    try:
        yield Aim(identity=build_identity(embedder), embedder=embedder, drops_vectors=drops_vectors)
    finally:
        if embedder is not None:
            await embedder.close()


def build_policy_of(settings: Settings) -> Callable[[str], Policy]:
    """Build the lookup of policies by space."""
    return functools.lru_cache(maxsize=4096)(settings.policy_for)


def build_decode_policy(settings: Settings, vector_size: int) -> DecodePolicy:
    """Build what the codec is to refuse and to lower."""
    return DecodePolicy(
        max_text_bytes=settings.limits.max_text_bytes,
        future_tolerance_s=settings.limits.future_tolerance_s,
        vector_size=vector_size or None,
        trust_topics=tuple(settings.trust.topics.items()),
        trust_sources=tuple(settings.trust.sources.items()),
    )


def build_schemas(settings: KafkaSettings) -> SchemaCache | None:
    """Build the cache of a schema registry, or None where none is set.

    Raises:
        ConfigError: The extra is missing.
    """
    if settings.schema_registry_url is None:
        return None
    try:
        from guardian.sources.live.schema_registry import RegistrySchemas  # noqa: PLC0415 # an extra
    except ImportError as exc:
        raise ConfigError(
            f"a schema registry is set, but what reads its schemas is not installed: {exc}.",
            setting="GUARDIAN_KAFKA__SCHEMA_REGISTRY_URL",
            mend="pip install 'guardian-memory[schema-registry]'.",
        ) from exc
    password = settings.schema_registry_password
    return RegistrySchemas(
        settings.schema_registry_url,
        user=settings.schema_registry_user,
        password=None if password is None else password.get_secret_value(),
    )


def build_translator(settings: Settings, schemas: SchemaCache | None) -> Translator:
    """Build what records of agents' topics are translated with.

    Raises:
        ConfigError: A topic names a map or a format that there is not.
    """
    bindings = {pattern: _build_binding(settings, pattern, ingress) for pattern, ingress in settings.ingress.items()}
    return Translator(bindings, row_sources=load_row_sources(), schemas=schemas)


def build_map(settings: Settings, name: str, *, setting: str) -> CompiledMap:
    """Build the map of that name.

    Raises:
        ConfigError: There is none, or one of its paths is wrong.
    """
    if name not in settings.maps:
        known = ", ".join(sorted(settings.maps)) or "none"
        raise ConfigError(
            f"there is no map {name!r}.", setting=setting, mend=f"declare [maps.{name}] in guardian.toml; known: {known}."
        )
    return CompiledMap(name, settings.maps[name])


def build_rows_source(settings: Settings, map_name: str | None) -> RowsSource:
    """Build the source of files that hold records of a topic, by a map or as the settings bind their topics."""
    mapped = None if map_name is None else build_map(settings, map_name, setting="--map")

    def build(options: SourceOptions) -> Translator:
        bindings = (
            {} if mapped is not None else {name: _build_binding(settings, name, one) for name, one in settings.ingress.items()}
        )
        return Translator({**bindings, "*": Binding(map=mapped, options=options)}, row_sources=load_row_sources())

    return RowsSource(build)


def _build_binding(settings: Settings, pattern: str, ingress: IngressSettings) -> Binding:
    setting = f"ingress.{pattern}"
    source = None if ingress.format is None else by_name(ingress.format)
    if source is not None and not isinstance(source, RowSource):
        names = ", ".join(one.name for one in load_row_sources()) or "none"
        raise ConfigError(
            f"rows of the format {ingress.format!r} do not come one by one.",
            setting=f"{setting}.format",
            mend=f"those that do: {names}.",
        )
    return Binding(
        map=None if ingress.map is None else build_map(settings, ingress.map, setting=f"{setting}.map"),
        row_source=source,
        options=SourceOptions(space=ingress.space, source_kind=ingress.source_kind, scope=ingress.scope),
    )


def build_pipeline(settings: Settings, store: Store, embedder: Embedder | None, publisher: Publisher | None) -> Pipeline:
    """Build the pipeline."""
    return Pipeline(store=store, policy_of=build_policy_of(settings), embedder=embedder, publisher=publisher)


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


async def open_pipeline(settings: Settings, publisher: Publisher | None) -> Pipeline:
    """Open the model and the store, and build the pipeline over them; closing them is the caller's.

    Raises:
        ConfigError: One of them cannot work with these settings, or another process owns the embedded store.
        DependencyError: One of them is away; nothing stays open.
    """
    embedder = await build_embedder(settings.embedding)
    store = build_store(settings.store, build_identity(embedder))
    try:
        await store.open()
    except BaseException:
        await store.close()
        if embedder is not None:
            await embedder.close()
        raise
    return build_pipeline(settings, store, embedder, publisher)


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


def build_worker_setup(settings: Settings) -> WorkerSetup:
    """Build everything a worker is made of."""
    from guardian.stream.worker import WorkerSetup  # noqa: PLC0415 # Faust: half a second that only a worker needs

    schemas = build_schemas(settings.kafka)
    return WorkerSetup(
        kafka=settings.kafka,
        options=build_kafka_options(settings),
        limits=settings.limits,
        web=settings.web,
        roles=settings.roles,
        build_policy=functools.partial(build_decode_policy, settings),
        translator=build_translator(settings, schemas),
        schemas=schemas,
        open_pipeline=functools.partial(open_pipeline, settings),
    )


def run_worker(settings: Settings) -> int:
    """Run a worker in this process until it is told to stop; gives the exit code (0, 2 or 70)."""
    from guardian.stream.worker import Worker, run  # noqa: PLC0415 # as above

    configure_logging(settings.log_level)
    return run(lambda: Worker(build_worker_setup(settings)))


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
