"""A service over a real loopback socket, in the loop of the test, with an embedded store behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from guardian.serve.gate import Limits
from guardian.serve.http import build_app
from guardian.serve.key import Keyring
from guardian.serve.problem import MEDIA_TYPE
from guardian.serve.rate import RateLimit
from guardian.serve.server import HttpServer, bind_socket
from guardian.settings import KeySettings, ReadSettings, ServeSettings, Settings, StoreSettings
from guardian.wiring import build_keyring, open_access
from tests.integration.worker_rig import PATIENCE_S, wait_until

SECRETS = {name: f"the-secret-of-{name}-is-long-enough" for name in ("agent", "tool", "reviewer", "other")}
KEYS = {
    "agent": KeySettings(secret=SECRETS["agent"], spaces=("shop", "team/*"), may={"read", "write"}, burst=1_000),
    "tool": KeySettings(secret=SECRETS["tool"], spaces=("shop",), may={"read", "write"}, highest="tool", burst=1_000),
    "reviewer": KeySettings(
        secret=SECRETS["reviewer"],
        spaces=("*",),
        may={"read", "write", "correct"},
        highest="human_review",
        actor="ann",
        burst=1_000,
    ),
    "other": KeySettings(
        secret=SECRETS["other"], spaces=("elsewhere",), may={"read", "write", "correct"}, highest="human_review", burst=1_000
    ),
}
LIMITS = Limits(timeout_s=20, max_body_bytes=64 * 1024)


def build_settings(folder: Path, *, keys: dict[str, KeySettings] | None = None) -> Settings:
    """Build the settings of a service in a folder."""
    return Settings(
        store=StoreSettings(path=folder / "store", min_free_bytes=0),
        read=ReadSettings(ledger_dir=folder / "ledger"),
        serve=ServeSettings(keys=KEYS if keys is None else keys),
    )


def problem_of(response: httpx.Response, status: int) -> dict[str, Any]:
    """Give the problem that a request was refused with; every one names the mend."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith(MEDIA_TYPE)
    problem = response.json()
    assert problem["status"] == status
    assert problem["mend"]
    assert problem["type"].startswith("urn:guardian:problem:")
    return problem


def code_of(response: httpx.Response, status: int) -> str:
    """Give the code of a problem."""
    return str(problem_of(response, status)["type"]).rpartition(":")[2]


@dataclass(frozen=True)
class Service:
    """A running service.

    Attributes:
        client: Speaks to it, without a key.
        server: Stops it.
    """

    client: httpx.AsyncClient
    server: HttpServer
    settings: Settings

    async def call(self, method: str, path: str, body: Any = None, *, by: str | None = "agent") -> httpx.Response:
        """Send one request with a key."""
        headers = {} if by is None else {"Authorization": f"Bearer {SECRETS[by]}"}
        return await self.client.request(method, path, json=body, headers=headers)

    async def write(self, memory_id: str, text: str, *, by: str = "agent", space: str = "shop", **fields: Any) -> None:
        """Write a memory."""
        response = await self.call(
            "POST", f"/v1/spaces/{space}/memories", {"memory_id": memory_id, "text": text, **fields}, by=by
        )
        assert response.status_code == 202, response.text


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    limits: Limits = LIMITS,
    rate: RateLimit | None = None,
    wrap: Callable[[Any], Any] = lambda access: access,
) -> AsyncIterator[Service]:
    """Run a service until the end of the block."""
    async with open_access(settings) as access:
        keyring: Keyring = build_keyring(settings)
        bound = bind_socket("127.0.0.1", 0)
        server = HttpServer(build_app(wrap(access), keyring, limits=limits, rate=rate), stop_s=5)
        task = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{bound.getsockname()[1]}", timeout=PATIENCE_S) as client:
                await wait_until_live(client)
                yield Service(client, server, settings)
        finally:
            server.stop()
            await task
            bound.close()


async def wait_until_live(client: httpx.AsyncClient) -> None:
    """Wait until a service answers."""

    async def is_live() -> bool:
        try:
            return (await client.get("/livez")).status_code == 200
        except httpx.TransportError:
            return False

    await wait_until(is_live, what="the service to answer")
