"""A worker as a process: signals, one deadline for the stop, one exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable

from guardian.stream.ending import FAILED
from guardian.stream.worker import Worker

# Seconds beyond the stop's deadline after which the process is ended from outside its event loop.
_GRACE_S = 5.0


def run(build: Callable[[], Worker]) -> int:
    """Run a worker in this process until SIGTERM or SIGINT; gives the exit code.

    A stop that does not end in its deadline ends the process here, with exit code 70: a thread that hangs in a model or an engine
    would keep it for ever.
    """
    worker: Worker | None = None

    async def serve() -> int:
        nonlocal worker
        worker = build()
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, worker.ending.request)
        guard = asyncio.create_task(_arm(worker))
        try:
            return await worker.run()
        finally:
            guard.cancel()

    code = asyncio.run(serve())
    if worker is not None and not worker.is_clean:
        _end_process(code or FAILED)
    return code


async def _arm(worker: Worker) -> None:
    """Once the stop has begun, see to it that it ends."""
    await worker.ending.wait()
    timer = threading.Timer(worker.ending.measure_left_s() + _GRACE_S, _end_process, [FAILED])
    timer.daemon = True
    timer.start()
    try:
        await asyncio.Event().wait()  # until cancelled
    finally:
        timer.cancel()


def _end_process(code: int) -> None:
    logging.shutdown()
    os._exit(code)
