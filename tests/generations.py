"""What tests of migrations share: places with generations, a model that writes down what it was asked, and writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qdrant_client import AsyncQdrantClient

from guardian.core.point import Phase, PointKind, Upsert, build_point_id
from guardian.embed.bm25 import BM25_IDENTITY, bm25_document
from guardian.embed.port import Vector
from guardian.errors import DependencyError, RecordError
from guardian.migration import Aim
from guardian.ports import Fence, Store, StoreIdentity
from guardian.store.layout import SCHEMA_VERSION

NONE = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="none", vector_size=0, bm25=BM25_IDENTITY)
OLD = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="model:old", vector_size=3, bm25=BM25_IDENTITY)
NEW = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="model:new", vector_size=4, bm25=BM25_IDENTITY)


@dataclass
class Model:
    """An embedder that writes down what it was asked; its vectors follow from the text alone.

    Attributes:
        fails_after: Texts after which it is away.
    """

    identity: str = NEW.embedding
    size: int = NEW.vector_size
    embeds: bool = True
    fails_after: int | None = None
    asked: list[str] = field(default_factory=list)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give a vector of each text, but for those that say `unembeddable`."""
        for place, text in enumerate(texts):
            if text == "unembeddable":
                raise RecordError("vector_unusable", "no direction", path=f"texts[{place}]")
        if self.fails_after is not None and len(self.asked) + len(texts) > self.fails_after:
            raise DependencyError("the model is away", dependency="model")
        self.asked += texts
        return [embed(text, self.size) for text in texts]

    async def close(self) -> None:
        """Release nothing."""


def embed(text: str, size: int) -> Vector:
    """Give the vector that the models here make of a text."""
    return (float(1 + sum(map(ord, text)) % 97), float(len(text)), *[1.0] * (size - 2))


def aim_at(identity: StoreIdentity, model: Model | None = None, **more: Any) -> Aim:
    """Build an aim with a model of that identity."""
    model = model or Model(identity=identity.embedding, size=identity.vector_size)
    return Aim(identity=identity, embedder=model if identity.vector_size else None, **more)


def build_record(name: str, *, text: str | None = None, size: int = 0, space: str = "s", **fields: Any) -> Upsert:
    """Build a record as the pipeline writes it, with a vector of the old model where one has a size."""
    text = text or f"text of {name}"
    payload = {"point": PointKind.RECORD, "space": space, "memory_id": name, "text": text, "status": "active", **fields}
    dense = embed(text, size) if size else None
    return Upsert(id=build_point_id(space, name), payload=payload, dense=dense, sparse=bm25_document(text))


def build_read(name: str) -> Upsert:
    """Build a point that is no record and has no vectors."""
    return Upsert(id=build_point_id("s", "read", name), payload={"point": PointKind.READ, "space": "s", "mentions": [name]})


async def write(store: Store, *upserts: Upsert, deletes: tuple[str, ...] = (), version: int = 0) -> None:
    """Write one phase."""
    await store.apply([Phase(upserts=upserts, deletes=deletes)], fence=Fence(version=version))


async def read_all(store: Store) -> dict[str, Mapping[str, Any]]:
    """Read payloads by point id."""
    points: AsyncIterator[Any] = store.iter_points()
    return {point.id: dict(point.payload) async for point in points}


def observe(*_: object) -> None:
    """Watch a migration without a word."""


def build_local_client() -> AsyncQdrantClient:
    """Build the client's local mode."""
    return AsyncQdrantClient(location=":memory:")
