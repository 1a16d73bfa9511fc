"""Readiness: whether the store answers, asked anew each time, with a patience of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from guardian.errors import DependencyError
from guardian.telemetry.serve import ServeMetrics

log = structlog.stdlib.get_logger(__name__)


class Readiness:
    """Asks the store for something small, and tells the log and the figures when that changes.

    Args:
        probe: Asks; raises a DependencyError when the store is away.
        metrics: Gets what was found.
        timeout_s: After which a store that says nothing is away.
    """

    def __init__(self, probe: Callable[[], Awaitable[None]], metrics: ServeMetrics, *, timeout_s: float = 5.0) -> None:
        self._probe, self._metrics, self._timeout_s = probe, metrics, timeout_s
        self._was_ready = True

    async def require(self) -> None:
        """Ask.

        Raises:
            DependencyError: The store is away.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._probe()
        except TimeoutError as exc:
            self._note(False)
            raise DependencyError(f"the store did not answer within {self._timeout_s:g} s.", dependency="store") from exc
        except DependencyError:
            self._note(False)
            raise
        self._note(True)

    async def look(self) -> bool:
        """Ask, for the figures alone."""
        try:
            await self.require()
        except DependencyError:
            return False
        return True

    def _note(self, is_ready: bool) -> None:
        self._metrics.note_ready(is_ready)
        if is_ready and not self._was_ready:
            log.info("serve.ready_again")
        if self._was_ready and not is_ready:
            log.warning("serve.store_away")
        self._was_ready = is_ready
