"""Filling: dense vectors for records that were stored without one. Resumable: a record that has its vector is not asked again."""

from __future__ import annotations

from collections.abc import Callable

from guardian.embed.port import Embedder
from guardian.errors import ConfigError, RecordError
from guardian.ports import Store


async def add_vectors(store: Store, embedder: Embedder) -> None:
    """Give a store that was made without vectors a place for them.

    Raises:
        ConfigError: It was made for another model.
    """
    if not store.identity.vector_size:
        await store.add_dense(embedding=embedder.identity, vector_size=embedder.size)
    elif (store.identity.embedding, store.identity.vector_size) != (embedder.identity, embedder.size):
        raise ConfigError(
            f"the store was made for {store.identity.embedding} ({store.identity.vector_size}), the model set is "
            f"{embedder.identity} ({embedder.size}).",
            setting="GUARDIAN_EMBEDDING__MODEL",
            mend="set the model the store was made for.",
        )


async def fill_pending(store: Store, embedder: Embedder, *, batch: int, advance: Callable[[int], None]) -> int:
    """Embed pending records in batches until none is left that can be embedded; gives their number.

    Raises:
        DependencyError: Model or store is away; start again later.
    """
    filled = 0
    while True:
        texts = {point.id: point.payload["text"] for point in await store.fetch_without_vector(batch)}
        if not texts:
            return filled
        vectors = await embed_texts(embedder, texts)
        if not vectors:
            return filled  # what is left are texts that the model cannot embed
        await store.set_vectors(vectors)
        filled += len(vectors)
        advance(len(vectors))


async def embed_texts(embedder: Embedder, texts: dict[str, str]) -> dict[str, tuple[float, ...]]:
    """Embed texts by key, leaving out the ones the model cannot embed.

    Raises:
        DependencyError: The model is away.
    """
    todo = dict(texts)
    while todo:
        keys = list(todo)
        try:
            vectors = await embedder.embed([todo[key] for key in keys])
        except RecordError as error:
            del todo[keys[_read_index(error)]]
        else:
            return dict(zip(keys, vectors, strict=True))
    return {}


def _read_index(error: RecordError) -> int:
    return int(error.path.removeprefix("texts[").removesuffix("]"))
