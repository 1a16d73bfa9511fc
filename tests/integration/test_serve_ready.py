"""A service whose store goes away and comes back: unready and ready again, in health, figures and log, and live all the time."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from guardian.serve.gate import Limits
from guardian.serve.http import build_app
from guardian.serve.server import HttpServer, bind_socket
from guardian.store.memory import MemoryStore
from guardian.wiring import build_access, build_keyring
from tests.chaos.loopback import IDENTITY, LoopbackServer, LoopbackStore
from tests.integration.serve_rig import SECRETS, build_settings, wait_until_live
from tests.integration.test_serve import code_of, logged

__all__ = ["logged"]  # a fixture

SEARCH = "/v1/spaces/shop/search"
HEADERS = {"Authorization": f"Bearer {SECRETS['agent']}"}
PATIENCE_S = 0.5


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
async def serving(folder: Path) -> AsyncIterator[tuple[httpx.AsyncClient, DistantStore]]:
    """Run a service over a store that is elsewhere."""
    distant = DistantStore(0)
    await distant.start()
    store = LoopbackStore(distant.port)
    await store.open()
    settings = build_settings(folder)
    access = build_access(settings, store, None, None)
    app = build_app(access, build_keyring(settings), limits=Limits(timeout_s=20), ready_timeout_s=PATIENCE_S)
    bound = bind_socket("127.0.0.1", 0)
    server = HttpServer(app, stop_s=5)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{bound.getsockname()[1]}", timeout=30) as client:
            await wait_until_live(client)
            yield client, distant
    finally:
        server.stop()
        await task
        await store.close()
        await distant.stop()
        bound.close()


async def look(client: httpx.AsyncClient) -> tuple[int, int, float]:
    """Give the statuses of liveness and readiness, and the figure."""
    statuses = [(await client.get(path)).status_code for path in ("/livez", "/readyz")]
    page = (await client.get("/metrics")).text
    (line,) = [line for line in page.splitlines() if line.startswith("guardian_ready ")]
    return statuses[0], statuses[1], float(line.split()[1])


@pytest.fixture
def log_lines(logged: io.StringIO) -> Iterator[list[str]]:
    """Give the events of the log about readiness, filled at the end of the test's own block."""
    found: list[str] = []
    yield found
    wanted = [json.loads(line)["event"] for line in logged.getvalue().splitlines()]
    assert [event for event in wanted if event in {"serve.store_away", "serve.ready_again"}] == found


async def test_a_store_that_is_away_makes_it_unready_until_it_is_back(fast_path: Path, log_lines: list[str]) -> None:
    """No restart is needed; while it is away a request is told so and when to come back, and the log says each change once."""
    async with serving(fast_path) as (client, distant):
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
    log_lines += ["serve.store_away", "serve.ready_again"] * 2


async def test_a_store_that_says_nothing_is_away_too(fast_path: Path) -> None:
    """Who asks for readiness has less patience than a request; live it is all the time."""
    async with serving(fast_path) as (client, distant):
        distant.far.delay_s = 6 * PATIENCE_S
        assert await look(client) == (200, 503, 0.0)
        distant.far.delay_s = 0.0
        assert await look(client) == (200, 200, 1.0)
