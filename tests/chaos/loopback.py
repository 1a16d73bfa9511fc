"""A store over loopback: one process owns an embedded store and answers the store port to several workers; for tests only.

    python -m tests.chaos.loopback --path FOLDER --port PORT

Frames are length-prefixed pickles, so it must never listen beyond this machine. It plays what a server far away does: it can refuse for a
while, be slow, and apply without answering. It has no fence of its own (`Fence` is passed on, and the embedded store compares nothing);
instead a call is not begun once its caller is gone, so that what a killed worker asked for cannot come after its successor's writes.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import pickle
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from guardian.embed.bm25 import BM25_IDENTITY
from guardian.errors import ConfigError, ConflictError, DependencyError, GuardianError, InvariantError
from guardian.ports import Store, StoreIdentity
from guardian.store.edge.store import EdgeStore
from guardian.store.identity import NO_EMBEDDING
from guardian.store.layout import SCHEMA_VERSION

IDENTITY = StoreIdentity(schema_version=SCHEMA_VERSION, embedding=NO_EMBEDDING, vector_size=0, bm25=BM25_IDENTITY)
_SIZE_BYTES = 8
# Answers of one iteration that share a frame.
_PAGE = 256
# Longest wait of a caller, seconds; above the longest call that a test makes slow.
_TIMEOUT_S = 30.0


async def _send(writer: asyncio.StreamWriter, content: Any) -> None:
    frame = pickle.dumps(content)
    writer.write(len(frame).to_bytes(_SIZE_BYTES) + frame)
    await writer.drain()


async def _receive(reader: asyncio.StreamReader) -> Any:
    size = int.from_bytes(await reader.readexactly(_SIZE_BYTES))
    return pickle.loads(await reader.readexactly(size))


class LoopbackServer:
    """Answers calls on one store.

    Attributes:
        is_refusing_until: Time of the monotonic clock up to which every call of a worker is refused.
        delay_s: Waited before each call.
        answers_to_lose: Applies that are carried out and not answered.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_refusing_until = 0.0
        self.delay_s = 0.0
        self.answers_to_lose = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection, call by call."""
        try:
            while True:
                name, args, kwargs = await _receive(reader)
                if name.startswith("control:"):
                    setattr(self, name.removeprefix("control:"), *args)
                    await _send(writer, ("answer", None))
                    continue
                if not await self._answer(reader, writer, name, args, kwargs):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str, args: Any, kwargs: Any
    ) -> bool:
        """Answer one call; False hangs up."""
        if time.monotonic() < self.is_refusing_until:
            return False
        await asyncio.sleep(self.delay_s)
        if reader.at_eof():
            return False
        try:
            answer = getattr(self._store, name)(*args, **kwargs)
            if inspect.isawaitable(answer):
                answer = await answer
            elif inspect.isasyncgen(answer):
                await _send_pages(writer, answer)
                answer = None
        except GuardianError as exc:
            await _send(writer, ("error", (type(exc).__name__, str(exc), getattr(exc, "dependency", "store"))))
            return True
        if name == "apply" and self.answers_to_lose > 0:
            self.answers_to_lose -= 1
            return False
        await _send(writer, ("answer", answer))
        return True


async def _send_pages(writer: asyncio.StreamWriter, items: AsyncIterator[Any]) -> None:
    page: list[Any] = []
    async for item in items:
        page.append(item)
        if len(page) == _PAGE:
            await _send(writer, ("page", page))
            page = []
    await _send(writer, ("page", page))


class LoopbackStore:
    """The store port, every call of it carried to the server; a call that fails says that the store is away."""

    def __init__(self, port: int) -> None:
        self.identity = IDENTITY
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Give the call of any method that the embedded store has."""
        if name.startswith("_") or not hasattr(EdgeStore, name):
            raise AttributeError(name)
        if inspect.isasyncgenfunction(getattr(EdgeStore, name)):
            return lambda *args, **kwargs: self._iterate(name, args, kwargs)
        return lambda *args, **kwargs: self._call(name, args, kwargs)

    async def open(self) -> None:
        """See that the server answers."""
        await self._call("count", (), {"space": ""})

    async def close(self) -> None:
        """Hang up; the server's store stays open."""
        while self._idle:
            _, writer = self._idle.pop()
            writer.close()

    async def control(self, attribute: str, value: float) -> None:
        """Set how the server behaves."""
        await self._call(f"control:{attribute}", (value,), {})

    async def refuse_for(self, seconds: float) -> None:
        """Have the server refuse every call for some time; clocks of one machine agree."""
        await self.control("is_refusing_until", time.monotonic() + seconds)

    async def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return (await self._exchange(name, args, kwargs))[-1]

    async def _iterate(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncIterator[Any]:
        for page in (await self._exchange(name, args, kwargs))[:-1]:
            for item in page:
                yield item

    async def _exchange(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Give the frames of an answer; the last one is what the call returned."""
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    await _send(writer, (name, args, kwargs))
                    frames = [await _receive(reader)]
                    while frames[-1][0] == "page":
                        frames.append(await _receive(reader))
                except BaseException:
                    writer.close()
                    raise
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as exc:
            raise DependencyError(f"the store on port {self._port} is away: {exc!r}", dependency="store") from exc
        self._idle.append((reader, writer))
        if frames[-1][0] == "error":
            raise _build_error(*frames[-1][1])
        return [content for _, content in frames]


def _build_error(name: str, message: str, dependency: str) -> GuardianError:
    match name:
        case "ConflictError":
            return ConflictError(message)
        case "ConfigError":
            return ConfigError(message)
        case "DependencyError":
            return DependencyError(message, dependency=dependency)
        case _:
            return InvariantError(f"{name}: {message}")


async def run_server(path: Path, port: int) -> None:
    """Open the store and answer until the process is ended."""
    store = EdgeStore(path, IDENTITY, min_free_bytes=0)
    await store.open()
    server = LoopbackServer(store)
    async with await asyncio.start_server(server.serve, "127.0.0.1", port) as listener:
        await listener.serve_forever()


def main() -> int:
    """Run the server that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.loopback")
    parser.add_argument("--path", type=Path, required=True, help="folder of the embedded store")
    parser.add_argument("--port", type=int, required=True, help="port of 127.0.0.1")
    options = parser.parse_args()
    asyncio.run(run_server(options.path, options.port))
    return 0


if __name__ == "__main__":
    sys.exit(main())
