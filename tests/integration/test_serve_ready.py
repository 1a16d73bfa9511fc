"""A service whose store goes away and comes back: unready and ready again, in health, figures and log, and live all the time."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import structlog
from starlette.types import ASGIApp

from guardian.errors import ConfigError, DependencyError
from guardian.serve.gate import Limits
from guardian.serve.http import build_app
from guardian.serve.server import HttpServer, bind_socket
from guardian.serve.waiting import serve_when_there
from guardian.store.memory import MemoryStore
from guardian.stream.broker.process import choose_port
from guardian.wiring import build_access, build_keyring
from tests.chaos.loopback import IDENTITY, LoopbackServer, LoopbackStore
from tests.integration.serve_rig import SECRETS, build_settings, code_of, wait_until_live
from tests.integration.worker_rig import wait_until

SEARCH = "/v1/spaces/shop/search"
HEADERS = {"Authorization": f"Bearer {SECRETS['agent']}"}
# How long who asks for readiness waits for the store: no busy machine is taken for an absent store, except where silence is the subject.
PATIENCE_S, LITTLE_PATIENCE_S = 20.0, 0.5


class DistantStore:
    """A store behind a socket that can be taken away."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.far = LoopbackServer(MemoryStore(IDENTITY))
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self) -> None:
        """Answer."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and every connection."""
        assert self._server is not None
        self._server.close()
        serving = list(self._open)
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*serving, self._server.wait_closed())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            await self.far.serve(reader, writer)
        finally:
            del self._open[task]


@asynccontextmanager
async def opened(folder: Path, distant: DistantStore, *, patience_s: float = PATIENCE_S) -> AsyncIterator[ASGIApp]:
    """Open the application over a store that is elsewhere."""
    store = LoopbackStore(distant.port)
    await store.open()
    settings = build_settings(folder)
    access = build_access(settings, store, None, None)
    try:
        yield build_app(access, build_keyring(settings), limits=Limits(timeout_s=20), ready_timeout_s=patience_s)
    finally:
        await store.close()


@asynccontextmanager
async def serving(folder: Path, *, patience_s: float = PATIENCE_S) -> AsyncIterator[tuple[httpx.AsyncClient, DistantStore]]:
    """Run a service over a store that is elsewhere."""
    distant = DistantStore(0)
    await distant.start()
    bound = bind_socket("127.0.0.1", 0)
    async with opened(folder, distant, patience_s=patience_s) as app:
        server = HttpServer(app, stop_s=5)
        task = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            async with reaching(bound) as client:
                yield client, distant
        finally:
            server.stop()
            await task
            bound.close()
    await distant.stop()


@asynccontextmanager
async def reaching(bound: socket.socket) -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of what listens there, once it answers."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{bound.getsockname()[1]}", timeout=60) as client:
        await wait_until_live(client)
        yield client


@asynccontextmanager
async def logging_changes() -> AsyncIterator[list[str]]:
    """Give what the log says of readiness, whole at the end of the block."""
    changes: list[str] = []
    with structlog.testing.capture_logs() as lines:
        yield changes
    changes += [line["event"] for line in lines if line["event"] in {"serve.store_away", "serve.ready_again"}]


async def look(client: httpx.AsyncClient) -> tuple[int, int, float]:
    """Give the statuses of liveness and readiness, and the figure."""
    statuses = [(await client.get(path)).status_code for path in ("/livez", "/readyz")]
    page = (await client.get("/metrics")).text
    (line,) = [line for line in page.splitlines() if line.startswith("guardian_ready ")]
    return statuses[0], statuses[1], float(line.split()[1])


async def test_a_store_that_is_away_makes_it_unready_until_it_is_back(fast_path: Path) -> None:
    """No restart is needed; while it is away a request is told so and when to come back, and the log says each change once."""
    async with serving(fast_path) as (client, distant), logging_changes() as changes:
        assert await look(client) == (200, 200, 1.0)
        for _ in range(2):
            await distant.stop()
            assert await look(client) == (200, 503, 0.0)
            assert await look(client) == (200, 503, 0.0)
            response = await client.post(SEARCH, json={"text": "beans"}, headers=HEADERS)
            assert code_of(response, 503) == "away"
            assert int(response.headers["retry-after"]) > 0
            assert code_of(await client.get("/readyz"), 503) == "away"
            await distant.start()
            assert await look(client) == (200, 200, 1.0)
            assert (await client.post(SEARCH, json={"text": "beans"}, headers=HEADERS)).status_code == 200
    assert changes == ["serve.store_away", "serve.ready_again"] * 2


async def test_a_store_that_says_nothing_is_away_too(fast_path: Path) -> None:
    """Who asks for readiness has less patience than a request; live it is all the time."""
    async with serving(fast_path, patience_s=LITTLE_PATIENCE_S) as (client, distant):
        distant.far.delay_s = 6 * LITTLE_PATIENCE_S
        assert await look(client) == (200, 503, 0.0)
        distant.far.delay_s = 0.0
        await wait_until(lambda: _sees(client, (200, 200, 1.0)), what="a store that speaks in time")


async def _sees(client: httpx.AsyncClient, expected: tuple[int, int, float]) -> bool:
    return await look(client) == expected


async def test_a_store_that_is_away_at_the_start_is_waited_for(fast_path: Path) -> None:
    """Live, unready and refusing till it is there, then a service like any other; and the signal that ends it ends it."""
    distant = DistantStore(choose_port())
    bound = bind_socket("127.0.0.1", 0)
    task = asyncio.create_task(serve_when_there(lambda: opened(fast_path, distant), bound, stop_s=5, first_s=0.05))
    async with reaching(bound) as client:
        assert await look(client) == (200, 503, 0.0)
        response = await client.post(SEARCH, json={"text": "beans"}, headers=HEADERS)
        assert code_of(response, 503) == "away"
        assert int(response.headers["retry-after"]) > 0
        await distant.start()
        await wait_until(lambda: _is_ready(client), what="readiness")
        assert await look(client) == (200, 200, 1.0)
        assert (await client.post(SEARCH, json={"text": "beans"}, headers=HEADERS)).status_code == 200
        os.kill(os.getpid(), signal.SIGTERM)
        await task
    await distant.stop()


async def _is_ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200


async def test_a_service_that_waits_can_be_stopped(fast_path: Path) -> None:
    """By the same signal, at once; nothing was opened."""
    bound = bind_socket("127.0.0.1", 0)
    opening = serve_when_there(lambda: opened(fast_path, DistantStore(choose_port())), bound, stop_s=5)
    task = asyncio.create_task(opening)
    async with reaching(bound):
        os.kill(os.getpid(), signal.SIGTERM)
        await task


async def test_settings_that_cannot_work_end_a_service_that_waits(fast_path: Path) -> None:
    """What will never be right is not waited for."""
    tries = [DependencyError("away", dependency="store"), ConfigError("another model made this store")]

    @asynccontextmanager
    async def fail() -> AsyncIterator[ASGIApp]:
        raise tries.pop(0)
        yield

    with pytest.raises(ConfigError):
        await serve_when_there(fail, bind_socket("127.0.0.1", 0), stop_s=5, first_s=0.05)
    assert tries == []
