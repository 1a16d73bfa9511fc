"""A loop in a thread of its own, for callers without one: stores and locks belong to one loop, callers come from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines of all callers in one loop; a context manager, which closes what was entered through it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="guardian-loop", daemon=True)
        self._stack = AsyncExitStack()

    def __enter__(self) -> Self:
        """Start the loop."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close what was entered, and end the loop."""
        try:
            self.run(self._stack.aclose())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def enter(self, manager: AbstractAsyncContextManager[Result]) -> Result:
        """Enter an asynchronous context manager in the loop; it is left when the thread ends."""
        return self.run(self._stack.enter_async_context(manager))

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the loop and wait for it; never from within the loop, which would wait for itself."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the loop, and wait for it in the caller's own."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
