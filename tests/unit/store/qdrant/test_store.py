"""What the server store makes of a server's failures and settings; the contract suite does the rest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.api.points_api import jsonable_encoder

from guardian.core.needs import Needs
from guardian.core.point import Patch, Phase, Upsert, build_point_id
from guardian.errors import ConfigError, ConflictError, DependencyError, InvariantError
from guardian.ports import Fence, StoreIdentity
from guardian.store.qdrant.query import build_patch
from guardian.store.qdrant.store import QdrantStore, build_client

IDENTITY = StoreIdentity(schema_version=1, embedding="test-4", vector_size=4, bm25="english")
RECORD = Upsert(id=build_point_id("s", "m"), payload={"point": "record", "space": "s", "memory_id": "m"})


class ScriptedServer:
    """Answers every HTTP request with one status and body, or, when it is stalled, not before its end."""

    def __init__(self) -> None:
        self.status = 200
        self.body: dict[str, Any] = {}
        self.is_stalled = False
        self.url = ""
        self.ended = asyncio.Event()
        self.requests: list[asyncio.Task[Any] | None] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and answer it as scripted."""
        self.requests.append(asyncio.current_task())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "content-length:" in head:
            await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
        if self.is_stalled:
            await self.ended.wait()
        body = json.dumps(self.body).encode()
        head = f"HTTP/1.1 {self.status} Scripted\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        with suppress(ConnectionError):
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()


class OvertakenClient(AsyncQdrantClient):
    """The client's local mode, in which something comes in after the next upsert."""

    comes_in: Callable[[], Awaitable[None]] | None = None

    async def upsert(self, *args: Any, **kwargs: Any) -> models.UpdateResult:
        """Write, then let come in what is to."""
        done = await super().upsert(*args, **kwargs)
        comes_in, self.comes_in = self.comes_in, None
        if comes_in is not None:
            await comes_in()
        return done


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Give a scripted server on a free loopback port."""
    scripted = ScriptedServer()
    listener = await asyncio.start_server(scripted.answer, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    yield scripted
    scripted.ended.set()
    await asyncio.gather(*(request for request in scripted.requests if request), return_exceptions=True)
    listener.close()
    await listener.wait_closed()


@pytest.fixture
async def store(server: ScriptedServer) -> AsyncIterator[QdrantStore]:
    """Give a store on the scripted server, never opened."""
    store = QdrantStore(build_client(server.url, timeout_s=1), collection="c", identity=IDENTITY)
    yield store
    await store.close()


@pytest.mark.parametrize(
    ("status", "family"),
    [
        (401, ConfigError), (403, ConfigError), (400, InvariantError), (422, InvariantError),
        (404, DependencyError), (429, DependencyError), (500, DependencyError), (503, DependencyError),
    ],
)  # fmt: skip
async def test_an_error_of_the_server_is_the_family_that_handles_it(
    server: ScriptedServer, store: QdrantStore, status: int, family: type[Exception]
) -> None:
    """Access is settings, a refused request our bug, all else may pass; and the message names the collection."""
    server.status, server.body = status, {"status": {"error": "scripted"}}
    for call in (
        lambda: store.fetch(Needs(memories={("s", "m")})),
        lambda: store.apply([Phase(upserts=(RECORD,))], fence=Fence()),
        store.count,
        store.open,
    ):
        with pytest.raises(family, match="'c'"):
            await call()


@pytest.mark.parametrize("prefer_grpc", [False, True])
async def test_a_server_that_is_not_there_is_a_dependency_error(prefer_grpc: bool) -> None:
    """A refused connection is never an empty answer, over HTTP or gRPC."""
    client = build_client("http://127.0.0.1:9", timeout_s=1, prefer_grpc=prefer_grpc)
    store = QdrantStore(client, collection="c", identity=IDENTITY)
    with pytest.raises(DependencyError, match="'c'"):
        await store.fetch(Needs(ids={RECORD.id}))
    with pytest.raises(DependencyError):
        [point async for point in store.iter_points()]
    await store.close()


async def test_a_server_that_does_not_answer_in_time_is_a_dependency_error(server: ScriptedServer, store: QdrantStore) -> None:
    """Every call ends."""
    server.is_stalled = True
    with pytest.raises(DependencyError):
        await store.count()


async def test_a_write_that_was_only_accepted_is_not_taken_for_written(server: ScriptedServer, store: QdrantStore) -> None:
    """A server past its own time limit answers without an error."""
    server.body = {"result": {"operation_id": 1, "status": "wait_timeout"}, "status": "ok", "time": 0.0}
    with pytest.raises(DependencyError, match="wait_timeout"):
        await store.apply([Phase(upserts=(RECORD,))], fence=Fence())


async def test_a_server_that_is_too_old_is_refused(server: ScriptedServer, store: QdrantStore) -> None:
    """It would count IDF over all spaces without a word."""
    server.body = {"title": "qdrant", "version": "1.18.3"}
    with pytest.raises(ConfigError, match=r"1\.18\.3.*1\.19 or later"):
        await store.open()


async def test_a_missing_index_is_named_with_the_mend() -> None:
    """The client's local mode has none, which a check must notice."""
    client = AsyncQdrantClient(location=":memory:")
    await QdrantStore(client, collection="c", identity=IDENTITY, has_indexes=False).open()
    with pytest.raises(ConfigError, match=r"no index on 'space'.*guardian migrate"):
        await QdrantStore(client, collection="c", identity=IDENTITY).open()
    await client.close()


async def test_a_collection_of_something_else_is_not_taken_over() -> None:
    """Points without a note of their store are left alone."""
    client = AsyncQdrantClient(location=":memory:")
    await client.create_collection("c", vectors_config={}, sparse_vectors_config={"bm25": models.SparseVectorParams()})
    await client.upsert("c", [models.PointStruct(id=1, vector={}, payload={"mine": "yes"})])
    with pytest.raises(ConfigError, match="no store of Guardian"):
        await QdrantStore(client, collection="c", identity=IDENTITY, has_indexes=False).open()
    assert (await client.count("c")).count == 1
    await client.close()


async def test_a_creation_that_was_interrupted_is_finished() -> None:
    """An empty collection without a note gets one."""
    client = AsyncQdrantClient(location=":memory:")
    await client.create_collection(
        "c",
        vectors_config={"dense": models.VectorParams(size=4, distance=models.Distance.COSINE)},
        sparse_vectors_config={"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    store = QdrantStore(client, collection="c", identity=IDENTITY, has_indexes=False)
    await store.open()
    await store.open()
    assert await store.count() == 0
    await client.close()


async def test_marks_are_looked_at_before_every_request() -> None:
    """A successor that claims the space between two requests of one plan finds the first one written, and the second never is."""
    client = OvertakenClient(location=":memory:")
    store = QdrantStore(client, collection="c", identity=IDENTITY, has_indexes=False)
    await store.open()
    former, successor = (Fence(version=version, spaces=frozenset({"s"})) for version in (5, 6))
    await store.claim(former)
    client.comes_in = lambda: store.claim(successor)
    patch = Patch(id=RECORD.id, payload={"status": "superseded"})
    with pytest.raises(ConflictError, match="'s'"):
        await store.apply([Phase(upserts=(RECORD,)), Phase(patches=(patch,))], fence=former)
    assert [point.payload async for point in store.iter_points()] == [RECORD.payload]
    await client.close()


def test_a_patch_is_one_operation_conditioned_on_its_id_and_the_fence() -> None:
    """Set and removed at once, so that no crash comes between; a lower fence changes nothing, an absent point stays absent."""
    operation = build_patch(Patch(id=RECORD.id, payload={"status": "superseded", "subject": None}), version=7)
    sent = json.loads(jsonable_encoder(operation))["set_payload"]
    assert sent["payload"] == {"status": "superseded", "subject": None, "version": 7}
    text = json.dumps(sent["filter"])
    assert RECORD.id in text
    assert '"lte": 7' in text
