"""The places that stores of every kind are opened at, and the points that are written there, for the contract of the Store port.

A Qdrant server takes part when the environment names one in QDRANT_URL. The client's local mode takes part always; it has
no payload indexes and answers at once, so it shows the logic of the server store but not a server's timing.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qdrant_client import AsyncQdrantClient

from guardian.core.point import Patch, Phase, Point, PointKind, Upsert, build_point_id
from guardian.ports import Fence, Store, StoreIdentity
from guardian.store.edge.store import EdgeStore
from guardian.store.memory import MemoryStore, Shelf
from guardian.store.qdrant.store import QdrantStore, build_client

IDENTITY = StoreIdentity(schema_version=1, embedding="test-4", vector_size=4, bm25="english")
SPARSE_ONLY = replace(IDENTITY, embedding="none", vector_size=0)
FENCE = Fence(version=7)
QDRANT_URL = os.environ.get("QDRANT_URL")
KINDS = ["memory", "edge", "qdrant-local", *(["qdrant-server"] if QDRANT_URL else [])]
T0 = datetime(2026, 3, 14, 9, tzinfo=UTC)


@dataclass
class Place:
    """One place that stores of one kind are opened at, again and again, with their contents kept."""

    kind: str
    path: Path
    shelf: Shelf = field(default_factory=Shelf)
    collection: str = field(default_factory=lambda: f"contract-{uuid.uuid4().hex}")
    client: AsyncQdrantClient | None = None
    opened: list[Any] = field(default_factory=list)

    async def open(self, identity: StoreIdentity = IDENTITY, *, page_size: int = 1_000) -> Any:
        """Open a store here."""
        store: Store
        if self.kind == "memory":
            store = MemoryStore(identity, shelf=self.shelf, page_size=page_size)
        elif self.kind == "edge":
            store = EdgeStore(self.path / "store", identity, page_size=page_size, min_free_bytes=0)
        else:
            is_local = self.kind == "qdrant-local"
            if self.client is None:
                self.client = AsyncQdrantClient(location=":memory:") if is_local else build_client(str(QDRANT_URL))
            store = QdrantStore(
                self.client,
                collection=self.collection,
                identity=identity,
                has_indexes=not is_local,
                closes_client=False,
                page_size=page_size,
            )
        await store.open()
        self.opened.append(store)
        return store

    async def read_dense(self, point_id: str) -> Any:
        """Read the dense vector of a point past the store; None without one."""
        if self.kind == "memory":
            return self.shelf.dense.get(point_id)
        if self.kind == "edge":
            (record,) = self.opened[-1]._open_shard.retrieve([point_id], False, True)
        else:
            (record,) = await self.client.retrieve(self.collection, [point_id], with_vectors=True)
        return (record.vector or {}).get("dense")

    async def clear(self) -> None:
        """Close and remove everything."""
        for store in self.opened:
            await store.close()
        if self.client is not None:
            for store in self.opened:  # behind the alias
                if await self.client.collection_exists(store.collection):
                    await self.client.delete_collection(store.collection)
            await self.client.close()


def build_upsert(point: PointKind, space: str, name: str, **fields: Any) -> Upsert:
    """Build a point named by its kind, space and name, with the fields as payload; vectors by `dense` and `sparse`."""
    vectors = {key: fields.pop(key) for key in ("dense", "sparse") if key in fields}
    payload = {"point": point, "space": space, **fields}
    return Upsert(id=build_point_id(space, point, name), payload=payload, **vectors)


def build_record(space: str, memory_id: str, **fields: Any) -> Upsert:
    """Build a record of a memory."""
    defaults = {"memory_id": memory_id, "text": f"text of {memory_id}", "card": "{}", "status": "active", "depth": 0}
    return build_upsert(PointKind.RECORD, space, memory_id, **{**defaults, **fields})


async def write(store: Store, *upserts: Upsert, patches: tuple[Patch, ...] = (), deletes: tuple[str, ...] = ()) -> None:
    """Write one phase."""
    await store.apply([Phase(upserts=upserts, patches=patches, deletes=deletes)], fence=FENCE)


async def read_all(store: Store, **conditions: Any) -> dict[str, Mapping[str, Any]]:
    """Read payloads by point id."""
    return {point.id: dict(point.payload) async for point in store.iter_points(**conditions)}


def list_ids(points: list[Point]) -> list[str]:
    """Give the sorted ids of points."""
    return sorted(point.id for point in points)


def list_memories(hits: list[Any]) -> list[str]:
    """Give the memory ids of hits, in their order."""
    return [hit.point.payload["memory_id"] for hit in hits]
