"""How a worker ends: one request, one deadline that all steps share, one exit code.

Exit codes: 0 it was asked to stop; 2 settings or surroundings cannot work, or the dead-letter budget is spent (a restart changes
nothing, somebody has to look); 70 a bug, a wedged consumer or a stop that did not end in time: nothing was acknowledged that is not
durable, and a restarter should bring the worker back.
"""

from __future__ import annotations

import asyncio
import time

import structlog

from guardian.errors import ConfigError

log = structlog.stdlib.get_logger(__name__)

STOPPED, USAGE, FAILED = 0, 2, 70


class Ending:
    """The one end of a worker.

    Attributes:
        exit_code: What the process is to end with.
        cause: What ended it, or None when it was asked to stop.
    """

    def __init__(self, deadline_s: float) -> None:
        self.exit_code = STOPPED
        self.cause: Exception | None = None
        self._deadline_s = deadline_s
        self._requested = asyncio.Event()
        self._ends_at = float("inf")

    @property
    def is_requested(self) -> bool:
        """Tell whether the worker is to end."""
        return self._requested.is_set()

    def request(self) -> None:
        """Ask the worker to stop; the deadline runs from the first request on."""
        if not self.is_requested:
            self._ends_at = time.monotonic() + self._deadline_s
            self._requested.set()

    def fail(self, cause: Exception) -> None:
        """End the worker for a fault. The first fault gives the exit code; nothing may be acknowledged after it."""
        if self.cause is None:
            self.cause = cause
            self.exit_code = USAGE if isinstance(cause, ConfigError) else FAILED
            log.critical("worker.failed", exit_code=self.exit_code, error=str(cause), exc_info=cause)
        self.request()

    def measure_left_s(self, share: float = 1.0) -> float:
        """Give the seconds left of the deadline, or a share of them; never below a tenth, so that each step can at least begin."""
        return max(0.1, share * min(self._deadline_s, self._ends_at - time.monotonic()))

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the worker is to end, or the time is over; tells whether it is to end."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._requested.wait()
        except TimeoutError:
            return False
        return True
