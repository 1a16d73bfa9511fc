"""Where the events of callers go: to the canonical topic, or through the pipeline in this process when it owns the store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from guardian.contracts.codec import encode_event
from guardian.core.intake import Disposition
from guardian.core.model import Event
from guardian.errors import DependencyError
from guardian.pipeline import Pipeline
from guardian.ports import Fence

log = structlog.stdlib.get_logger(__name__)

# Events in hand beyond which a reader waits, too; 2 KiB each.
_MAX_POSTED = 1_000
# Events decided at once; a batch of more keeps the next caller waiting for longer than it saves.
_MAX_BATCH = 200

Forward = Callable[[Sequence[tuple[bytes, str]]], Awaitable[None]]  # (event bytes, space) to the canonical topic
_Waiting = tuple[Event, "asyncio.Future[Disposition]"]


class Sink(Protocol):
    """Takes one event."""

    async def send(self, event: Event) -> Disposition | None:
        """Send or decide an event; gives what became of it, or None when somebody else decides.

        Raises:
            DependencyError: Broker or store is away; sending again changes nothing that was done.
        """

    async def close(self) -> None:
        """Wait for what is in hand."""


class TopicSink:
    """Sends to the canonical topic; a worker decides."""

    def __init__(self, forward: Forward) -> None:
        self._forward = forward

    async def send(self, event: Event) -> Disposition | None:
        """Send the event, acknowledged by the broker."""
        await self._forward([(encode_event(event), event.space)])
        return None

    async def close(self) -> None:
        """Do nothing: each send was awaited."""


class PipelineSink:
    """Decides in this process, in the order of what comes; what came while a decision was written is one batch.

    Each batch is made durable once, so many readers, each of whose reads is an event, hold up no write for long.

    A caller that gives up, by its deadline or by closing the connection, does not stop what is being written: half a decision would
    be made up by the next one, but the caller's own retry must find it whole.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._waiting: deque[_Waiting] = deque()
        self._working: asyncio.Task[None] | None = None

    async def send(self, event: Event) -> Disposition | None:
        """Decide the event; durable when it returns."""
        return await asyncio.shield(self._put(event))

    async def post(self, event: Event) -> None:
        """Have the event decided before whatever is sent later, without waiting for it, unless very much is in hand.

        For reads: an answer does not wait until a large correction is written, and a failure costs no more than an inferred parent.
        """
        decided = self._put(event)
        decided.add_done_callback(_tell_failure)
        if len(self._waiting) > _MAX_POSTED:
            await asyncio.wait({decided})

    async def close(self) -> None:
        """Wait for what is in hand."""
        if self._working is not None:
            await asyncio.wait({self._working})

    def _put(self, event: Event) -> asyncio.Future[Disposition]:
        decided: asyncio.Future[Disposition] = asyncio.get_running_loop().create_future()
        decided.add_done_callback(_see)
        self._waiting.append((event, decided))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return decided

    async def _work(self) -> None:
        while self._waiting:
            await self._decide([self._waiting.popleft() for _ in range(min(_MAX_BATCH, len(self._waiting)))])

    async def _decide(self, batch: Sequence[_Waiting]) -> None:
        try:
            report = await self._pipeline.process([event for event, _ in batch], fence=Fence())
        except Exception as exc:  # noqa: BLE001 # raised to each who waits, none of whom is here
            if len(batch) > 1 and not isinstance(exc, DependencyError):
                for one in batch:  # a bug costs the event that it is in
                    await self._decide([one])
                return
            for _, decided in batch:
                decided.set_exception(exc)
            return
        for (_, decided), outcome in zip(batch, report.outcomes, strict=True):
            decided.set_result(outcome.disposition)


def _see(decided: asyncio.Future[Disposition]) -> None:
    """Look at a failure: the caller may be gone, and the loop would tell of one that nobody saw."""
    if not decided.cancelled():
        decided.exception()


def _tell_failure(decided: asyncio.Future[Disposition]) -> None:
    if not decided.cancelled() and (error := decided.exception()) is not None:
        log.warning("read.not_decided", error=type(error).__name__)
