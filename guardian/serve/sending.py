"""Where the events of callers go: to the canonical topic, or through the pipeline in this process when it owns the store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from guardian.contracts.codec import encode_event
from guardian.core.intake import Disposition
from guardian.core.model import Event
from guardian.pipeline import Pipeline
from guardian.ports import Fence

log = structlog.stdlib.get_logger(__name__)

# Events in hand beyond which a reader waits, too; 2 KiB each.
_MAX_POSTED = 1_000

Forward = Callable[[Sequence[tuple[bytes, str]]], Awaitable[None]]  # (event bytes, space) to the canonical topic


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
    """Decides in this process, one event after the other.

    A caller that gives up, by its deadline or by closing the connection, does not stop what is being written: half a decision would
    be made up by the next one, but the caller's own retry must find it whole.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._turn = asyncio.Lock()
        self._in_hand: set[asyncio.Task[Disposition]] = set()

    async def send(self, event: Event) -> Disposition | None:
        """Decide the event; durable when it returns."""
        return await asyncio.shield(self._start(event))

    async def post(self, event: Event) -> None:
        """Have the event decided before whatever is sent later, without waiting for it, unless very much is in hand.

        For reads: an answer does not wait until a large correction is written, and a failure costs no more than an inferred parent.
        """
        task = self._start(event)
        task.add_done_callback(_tell_failure)
        if len(self._in_hand) > _MAX_POSTED:
            await asyncio.wait({task})

    async def close(self) -> None:
        """Wait for what is in hand."""
        await asyncio.gather(*self._in_hand, return_exceptions=True)

    def _start(self, event: Event) -> asyncio.Task[Disposition]:
        task = asyncio.create_task(self._decide(event))
        self._in_hand.add(task)
        task.add_done_callback(self._drop)
        return task

    async def _decide(self, event: Event) -> Disposition:
        async with self._turn:
            report = await self._pipeline.process([event], fence=Fence())
        (disposition,) = report.dispositions
        return Disposition(disposition)

    def _drop(self, task: asyncio.Task[Disposition]) -> None:
        self._in_hand.discard(task)
        if not task.cancelled():
            task.exception()  # seen: its caller may be gone


def _tell_failure(task: asyncio.Task[Disposition]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("read.not_decided", error=type(error).__name__)
