"""The shell: a Faust app without agents of its own. It owns the life cycle of services, timers and the web server.

Faust starts no Kafka client here: the data planes are services with clients of their own. Its environment names are closed (`env={}`),
and so are its fixups. `/livez`, `/readyz` and `/metrics` stand on one port, served through Faust's hook for web servers, which is not
overridden from a command line and takes port 0.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import faust
import mode
from aiohttp import web
from faust.app.base import BootStrategy

from guardian.errors import ConfigError
from guardian.stream.health import Health
from guardian.telemetry.metrics import Metrics

Page = Callable[[web.Request], Awaitable[web.Response]]


class NoKafka(BootStrategy):  # type: ignore[misc,unused-ignore] # Faust is typed in parts
    """Faust's own producer and consumer stay off."""

    enable_kafka = False


class Shell(faust.App):  # type: ignore[misc,unused-ignore] # Faust is typed in parts
    """A Faust app that joins no group and writes no folder."""

    mundane_level = "debug"
    producer_only = True
    BootStrategy = NoKafka

    async def on_start(self) -> None:
        """Start without Faust's consumer: its own method builds one, with a thread's event loop that nobody closes."""
        self.finalize()

    def _init_fixups(self) -> list[Any]:
        return []  # another program's Django settings are none of ours

    def _create_directories(self) -> None:
        """Nothing is kept on disk: there are no tables."""


class PageServer(mode.Service):
    """The worker's web server.

    Attributes:
        port: The port it listens on, once started.
    """

    mundane_level = "debug"

    def __init__(self, *, bind: str, port: int, pages: Mapping[str, Page]) -> None:
        super().__init__()
        self.port = port
        self._bind = bind
        self._pages = pages
        self._runner: web.AppRunner | None = None

    async def on_start(self) -> None:
        """Listen.

        Raises:
            ConfigError: The address is taken or is not of this machine.
        """
        application = web.Application()
        application.add_routes([web.get(path, page) for path, page in self._pages.items()])
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._bind, self.port).start()
        except OSError as exc:
            raise ConfigError(
                f"cannot listen on {self._bind}:{self.port}: {exc.strerror or exc}.",
                setting="GUARDIAN_WEB__PORT",
                mend="choose another web.port (0 takes a free one) or web.bind.",
            ) from exc
        self.port = self._runner.addresses[0][1]

    async def on_stop(self) -> None:
        """Close the port."""
        if self._runner is not None:
            await self._runner.cleanup()


def build_pages(health: Health, metrics: Metrics) -> dict[str, Page]:
    """Build the pages for the machinery that watches a worker."""

    async def live(_: web.Request) -> web.Response:
        """Answer: an event loop that answers is alive. What is wedged behind it is the watchdog's to end."""
        return web.json_response({"live": True})

    async def ready(_: web.Request) -> web.Response:
        """Tell whether the worker takes part, and what it waits for."""
        return web.json_response(health.describe(), status=200 if health.is_ready else 503)

    async def show_metrics(_: web.Request) -> web.Response:
        """Give the metrics."""
        health.note_ages()
        return web.Response(body=metrics.render(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return {"/livez": live, "/readyz": ready, "/metrics": show_metrics}


def build_app(name: str, *, bootstrap: str, server: PageServer) -> Shell:
    """Build the Faust app; services and timers are added to it by the worker.

    Args:
        name: The app's id, shown in its logs.
        bootstrap: Brokers; Faust wants to know them and never asks them.
        server: Serves the pages.
    """
    app = Shell(
        name,
        env={},
        broker=[f"kafka://{address.strip()}" for address in bootstrap.split(",")],
        store="memory://",
        autodiscover=False,
        topic_disable_leader=True,
        topic_allow_declare=False,
        worker_redirect_stdouts=False,
        web_enabled=True,
    )
    app.web_server(server)
    app.finalize()
    return app
