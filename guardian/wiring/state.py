"""Where state lies: stores, their identity, what migrates them, and the embedder that belongs to them. No logic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from guardian.embed.bm25 import BM25_IDENTITY
from guardian.embed.given import GivenEmbedder
from guardian.embed.openai_endpoint import open_openai_endpoint
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.errors import ConfigError
from guardian.migration import Aim, Generations
from guardian.ports import Store, StoreIdentity
from guardian.settings import EmbeddingSettings, Settings, StoreSettings
from guardian.store.edge.generation import EdgeGenerations
from guardian.store.edge.store import EdgeStore
from guardian.store.identity import NO_EMBEDDING
from guardian.store.layout import SCHEMA_VERSION

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient


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
