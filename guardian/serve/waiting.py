"""Waiting: what answers for a service whose store or broker was away at its start. It lives, it is not ready, and refuses the rest for later."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import structlog
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from guardian.errors import DependencyError
from guardian.serve.problem import MEDIA_TYPE, build_problem
from guardian.serve.server import HttpServer, log_started, serve_http
from guardian.telemetry.serve import ServeMetrics

log = structlog.stdlib.get_logger(__name__)

OpenApp = Callable[[], AbstractAsyncContextManager[ASGIApp]]
# Seconds until the store is asked again: the first time, and at most. Opening loads a model, so not all too often.
_FIRST_S, _LONGEST_S = 1.0, 15.0


class Waiting:
    """Stands where the application will be.

    Attributes:
        app: The application, once there is one.
        missing: What it waits for.
    """

    def __init__(self, missing: DependencyError) -> None:
        self.app: ASGIApp | None = None
        self.missing = missing
        self._metrics = ServeMetrics()
        self._metrics.note_ready(False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer for what is not there yet."""
        if self.app is not None:
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope["path"])(scope, receive, send)

    def _answer(self, path: str) -> Response:
        if path == "/livez":
            return JSONResponse({"status": "live"})
        if path == "/metrics":
            return Response(self._metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")
        problem = build_problem(self.missing)
        headers = {"Retry-After": str(problem.retry_after_s), "Cache-Control": "no-store"}
        return JSONResponse(problem.describe(), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


async def serve_when_there(open_app: OpenApp, bound: socket.socket, *, stop_s: float, first_s: float = _FIRST_S) -> None:
    """Serve until told to stop; while what the application stands on is away, live and unready.

    Args:
        open_app: Opens the application; entered again and again while it raises a DependencyError.
        bound: The socket.
        stop_s: Time of the requests in hand at the end, seconds.
        first_s: Pause before the second try, doubled from then on, seconds.

    Raises:
        ConfigError: It can never be opened.
    """
    async with AsyncExitStack() as stack:
        try:
            app = await stack.enter_async_context(open_app())
        except DependencyError as exc:
            log.warning("serve.awaits", dependency=exc.dependency, error=str(exc))
            waiting = Waiting(exc)
        else:
            await serve_http(app, bound, stop_s=stop_s)
            return
        server = HttpServer(waiting, stop_s=stop_s)
        with bound, log_started(bound):
            serving = asyncio.create_task(server.serve(sockets=[bound]))
            try:
                waiting.app = await _open_when_there(open_app, stack, serving, waiting, first_s)
                await serving
            finally:
                server.stop()
                await serving


async def _open_when_there(
    open_app: OpenApp, stack: AsyncExitStack, serving: asyncio.Task[None], waiting: Waiting, first_s: float
) -> ASGIApp | None:
    """Open the application as soon as that works; None where the service was stopped before."""
    pause_s = first_s
    while True:
        await asyncio.wait({serving}, timeout=pause_s)
        if serving.done():
            return None
        try:
            app = await stack.enter_async_context(open_app())
        except DependencyError as exc:
            waiting.missing, pause_s = exc, min(_LONGEST_S, 2 * pause_s)
            continue
        log.info("serve.ready_again")
        return app
