"""Opening a store for a command, and closing it again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from guardian.embed.port import Embedder
from guardian.ports import Store
from guardian.settings import Settings
from guardian.wiring import build_embedder, build_identity, build_store, place_store

TurnOption = Annotated[
    list[str] | None,
    typer.Option(help="What the asker said before, oldest first; for a question that points back.", show_default=False),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", help="Folder of an embedded store, or URL of a Qdrant server. Default: the settings'.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@asynccontextmanager
async def opened_store(settings: Settings, place: str | None) -> AsyncIterator[Store]:
    """Open the store that is there, whatever it was made for; to read."""
    store = build_store(place_store(settings.store, place), None)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_own_embedder(settings: Settings, store: Store) -> AsyncIterator[Embedder | None]:
    """Open the model when it is the one the store was made with; else BM25 answers alone."""
    embedder = await build_embedder(settings.embedding) if store.identity.vector_size else None
    try:
        yield embedder if embedder is not None and embedder.identity == store.identity.embedding else None
    finally:
        if embedder is not None:
            await embedder.close()


@asynccontextmanager
async def opened_for_writing(settings: Settings, place: str | None) -> AsyncIterator[tuple[Store, Embedder | None]]:
    """Open or make the store for the embedding of the settings."""
    embedder = await build_embedder(settings.embedding)
    store = build_store(place_store(settings.store, place), build_identity(embedder))
    await store.open()
    try:
        yield store, embedder
    finally:
        await store.close()
        if embedder is not None:
            await embedder.close()
