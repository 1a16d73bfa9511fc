"""The process around the HTTP service: its address, its start, and its orderly stop."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import structlog
import uvicorn
from starlette.types import ASGIApp

from guardian.errors import ConfigError

log = structlog.stdlib.get_logger(__name__)

_STOPPING = (signal.SIGTERM, signal.SIGINT)
# Largest head of a request, bytes: two ids of 1,024 characters, each of up to 12 bytes percent-encoded, and its headers.
_MAX_HEAD_BYTES = 64 * 1024


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's own; a name is one only if it is `localhost`."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def require_keys(address: str, *, has_keys: bool) -> None:
    """Refuse to serve others without keys.

    Raises:
        ConfigError: The address is not loopback, and there is no key.
    """
    if not has_keys and not is_loopback(address):
        raise ConfigError(
            f"{address} can be reached by others, and no key is set.",
            setting="GUARDIAN_SERVE__KEYS",
            mend="declare [serve.keys.NAME] in guardian.toml, or listen on 127.0.0.1.",
        )


def bind_socket(address: str, port: int) -> socket.socket:
    """Bind the address; port 0 takes a free one.

    Raises:
        ConfigError: It is taken, or not this machine's.
    """
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(target)
    except OSError as exc:
        raise ConfigError(
            f"{address}, port {port}, cannot be listened on: {exc.strerror or exc}.",
            setting="GUARDIAN_SERVE__PORT",
            mend="choose another port or address; port 0 takes a free one.",
        ) from exc
    return bound


class HttpServer(uvicorn.Server):
    """A server over a bound socket, stopped by a signal or by `stop`."""

    def __init__(self, app: ASGIApp, *, stop_s: float) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
                http="h11",  # the other parser has no limit for a head
                timeout_graceful_shutdown=max(1, round(stop_s)),
            )
        )

    def stop(self) -> None:
        """Take no more requests, and end when those in hand are answered."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal, and leave what comes after, closing the store, its time: the library would raise the signal again."""
        try:
            before = {each: signal.signal(each, self._note_signal) for each in _STOPPING}
        except ValueError:  # not the main thread
            yield
            return
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _note_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 # the handler's signature
        log.info("serve.stopping", signal=signal.Signals(number).name)
        self.stop()


async def serve_http(app: ASGIApp, bound: socket.socket, *, stop_s: float) -> None:
    """Serve until told to stop, from the moment that the log says so; requests in hand then have `stop_s` seconds."""
    with bound, log_started(bound):
        await HttpServer(app, stop_s=stop_s).serve(sockets=[bound])


@contextmanager
def log_started(bound: socket.socket) -> Iterator[None]:
    """Tell the log where is listened, and when that has ended in order."""
    address, port = bound.getsockname()[:2]
    bound.listen()  # before it is told: who starts this process connects on that word
    log.info("serve.started", address=address, port=port)
    yield
    log.info("serve.stopped")
