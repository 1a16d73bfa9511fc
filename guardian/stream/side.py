"""Side topics: what is asked off the write path, and answered by agents that may take their time.

The guard publishes a request with a record's outcomes; here a data plane of its own reads the topic, in a group of its own, and has each
request answered, several at a time. What an answer says are messages, mostly events for the canonical topic, sent as soon as it is
there: nothing is written into the store from here, so a space still has one writer. A batch is committed when all its requests are
answered; one that is in the way of a stop or a rebalance is cut short and answered again, so an answer must be the same, or a duplicate by
its id, when it comes twice.

An agent decides by itself how often it tries what is away, and gives up on the request, not on the topic. Only the store and the
broker are waited for, as everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from guardian.contracts.outcome import Outcome, read_request
from guardian.errors import DependencyError, RecordError
from guardian.ports import Store
from guardian.stream.broker.kafka import Outgoing, Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.forward import send_dead_letters
from guardian.stream.plane.batch import Batch, Role
from guardian.stream.plane.origin import Record
from guardian.telemetry.metrics import Metrics


class Agent(Protocol):
    """Answers the requests of a side topic."""

    async def answer(self, request: Any) -> Sequence[Outgoing]:
        """Answer a request: give what is to be sent, or nothing. Other requests are answered at the same time.

        Raises:
            DependencyError: The store is away; the same request is asked again.
        """

    async def close(self) -> None:
        """Release what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSetup:
    """One side topic of a worker.

    Attributes:
        role: Also the last part of the group's name.
        request: Model of its requests; names the topic.
        open_agent: Builds the agent over the worker's store.
        concurrency: Requests, or parts of them, answered at the same time.
        split: Gives the parts of a request that are answered each by itself.
        batch_requests: Requests read at once; so many at most are answered again after a crash.
        patience_s: Longest time in which no request of a batch is answered and nothing is wrong; the watchdog waits so long.
    """

    role: Role
    request: type[Outcome]
    open_agent: Callable[[Store, Metrics], Awaitable[Agent]]
    split: Callable[[Any], Sequence[Any]] = lambda request: (request,)
    concurrency: int = 4
    batch_requests: int = 16
    patience_s: float = 0.0


class SideWork:
    """What is done with the records of a side topic."""

    gives_way = True

    def __init__(
        self, setup: SideSetup, agent: Agent, *, producer: Producer, dead_letters: DeadLetterSender, metrics: Metrics
    ) -> None:
        self.role = setup.role
        self.setup = setup
        self.agent = agent
        self._producer = producer
        self._dead_letters = dead_letters
        self._metrics = metrics

    def read(self, records: Iterable[Record], *, partitions: Mapping[str, Sequence[int]]) -> Batch:  # noqa: ARG002 # any partition will do
        """Read the requests."""
        batch = Batch()
        for record in records:
            try:
                batch.requests.extend(self.setup.split(read_request(record.value, record.headers, self.setup.request)))
            except RecordError as error:
                batch.refuse(record, error)
                batch.note(is_refused=True)
            else:
                batch.note(is_refused=False)
        return batch

    async def prepare(self, records: Sequence[Record]) -> None:
        """Fetch nothing: requests are plain."""

    async def carry_out(self, batch: Batch, *, version: int) -> None:  # noqa: ARG002 # nothing is written here
        """Have all requests answered; those that were already are left out."""
        await send_dead_letters(self._dead_letters, batch, self._metrics, topic_role=self.role)
        room = asyncio.Semaphore(self.setup.concurrency)

        async def answer(request: Any) -> None:
            async with room:
                await self._producer.send(await self.agent.answer(request))
            batch.requests.remove(request)
            batch.answered += 1
            batch.note_progress()

        endings = await asyncio.gather(*map(answer, list(batch.requests)), return_exceptions=True)
        faults = [ending for ending in endings if isinstance(ending, BaseException)]
        if faults:
            # A bug before something that is away.
            raise min(faults, key=lambda fault: isinstance(fault, DependencyError))
