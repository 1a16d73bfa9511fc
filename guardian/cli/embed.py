"""`guardian embed`: dense vectors for records that have none yet."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from guardian.cli.console import out, print_json
from guardian.cli.opening import JsonOption, StoreOption
from guardian.cli.progress import build_progress
from guardian.embed.fill import add_vectors, fill_pending
from guardian.errors import ConfigError
from guardian.settings import Settings, load_settings
from guardian.wiring import build_embedder, build_store, place_store


def embed(
    fill: Annotated[bool, typer.Option("--fill", help="Fill in the missing vectors.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill in dense vectors: of records stored while the model was away, or of a store that had none.

    Without --fill it counts what is missing. It can be interrupted and started again.
    """
    pending, filled = asyncio.run(_embed(load_settings(), store, fill=fill))
    if as_json:
        print_json({"pending": pending, "filled": filled})
    else:
        out.print(
            f"{filled} filled in, {pending} still without a vector" + ("" if fill or not pending else "; --fill makes them")
        )


async def _embed(settings: Settings, place: str | None, *, fill: bool) -> tuple[int, int]:
    store = build_store(place_store(settings.store, place), None)
    await store.open()
    try:
        if not fill:
            return await store.count_without_vector(), 0
        embedder = await build_embedder(settings.embedding)
        if embedder is None or not embedder.embeds:
            raise ConfigError(
                "no model is set that could make vectors.",
                setting="GUARDIAN_EMBEDDING__PROVIDER",
                mend="set it to sentence-transformers or openai.",
            )
        await add_vectors(store, embedder)
        with build_progress() as progress:
            task = progress.add_task("embedding", total=await store.count_without_vector())
            filled = await fill_pending(
                store, embedder, batch=settings.embedding.batch_size, advance=lambda count: progress.advance(task, count)
            )
        await embedder.close()
        return await store.count_without_vector(), filled
    finally:
        await store.close()
