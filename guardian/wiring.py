"""Wiring: the only place where settings become objects and adapters are chosen. No logic."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from qdrant_client import AsyncQdrantClient

from guardian.contracts.admission import DecodePolicy
from guardian.core.policy import Policy
from guardian.embed.bm25 import BM25_IDENTITY
from guardian.embed.given import GivenEmbedder
from guardian.embed.openai_endpoint import open_openai_endpoint
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.errors import ConfigError
from guardian.pipeline import Pipeline
from guardian.ports import Publisher, Store, StoreIdentity
from guardian.settings import EmbeddingSettings, Settings, StoreSettings
from guardian.store.edge import EdgeStore
from guardian.store.identity import NO_EMBEDDING
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.qdrant import QdrantStore, build_client


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
    if place.startswith(("http://", "https://")):
        return settings.model_copy(update={"url": place})
    return settings.model_copy(update={"url": None, "path": Path(place)})


def build_store(settings: StoreSettings, identity: StoreIdentity | None) -> Store:
    """Build the store: a server where a url is given, else the embedded engine. It is not opened yet.

    Args:
        settings: Where it lies.
        identity: What it is to be made for; None to open the one that is there, whatever it was made for.
    """
    if settings.url is None:
        return EdgeStore(settings.path, identity, min_free_bytes=settings.min_free_bytes)
    return QdrantStore(build_qdrant_client(settings), collection=settings.collection, identity=identity)


def build_qdrant_client(settings: StoreSettings) -> AsyncQdrantClient:
    """Build the client of a Qdrant server; nothing is called yet."""
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


def build_pipeline(settings: Settings, store: Store, embedder: Embedder | None, publisher: Publisher | None) -> Pipeline:
    """Build the pipeline."""
    return Pipeline(store=store, policy_of=build_policy_of(settings), embedder=embedder, publisher=publisher)


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
    except (OSError, ssl.SSLError) as exc:
        raise ConfigError(
            f"a TLS file for Kafka cannot be read: {exc}.",
            setting="GUARDIAN_KAFKA__SSL_CAFILE",
            mend="check ssl_cafile, ssl_certfile and ssl_keyfile.",
        ) from exc
    return context
