"""A worker: the real guard, dead letters, publisher and pipeline, consumed for in the order of steps of the data plane.

```
join ─▶ poll ─▶ batches of a partition ─▶ read ─▶ (version, carry out) until it succeeds ─▶ commit
```

The plane itself leans on Faust and on a socket, so its steps are played here, and its fence and everything under it are the package's
own. Each call hands the turn back first: a worker can be killed, overtaken or forgotten between any two of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from guardian.contracts.codec import DecodePolicy
from guardian.core.policy import Policy
from guardian.errors import DependencyError
from guardian.pipeline import Pipeline
from guardian.ports import OutcomeMessage
from guardian.stream.batch import Batch
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.fence import format_version, take_over
from guardian.stream.guard import Guard
from guardian.stream.origin import Record
from guardian.stream.publisher import KafkaPublisher
from guardian.telemetry.metrics import Metrics
from tests.simulation.broker import DEAD_LETTERS, DELAY_MS, Connection, Refused
from tests.simulation.schedule import Pause, Schedule
from tests.simulation.storage import StoreClient

# Nobody reads them here, and a registry is dear to make.
_METRICS = Metrics()
_IDLE_MS = 100
_LETTER_BYTES = 1 << 20


class Publisher:
    """Publishes as the package does, and tells of it.

    Attributes:
        on_publish: Called before anything is sent.
        on_published: Called when all is acknowledged.
    """

    def __init__(self, connection: Connection) -> None:
        self.on_publish: Callable[[Sequence[OutcomeMessage]], None] = lambda _: None
        self.on_published: Callable[[], None] = lambda: None
        self._inner = KafkaPublisher(connection, _METRICS)  # type: ignore[arg-type] # a connection sends as a producer does

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Send all messages."""
        self.on_publish(messages)
        await self._inner.publish(messages)
        self.on_published()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a worker is given.

    Attributes:
        random: For what it hears of and how long it waits.
        batch_events: Records in one batch at most.
    """

    schedule: Schedule
    random: Random
    policy: Policy
    partitions: tuple[int, ...]
    batch_events: int


class Worker:
    """One process.

    Attributes:
        batch: In hand, or None between batches.
        done: Next offset to work on, by partition of this round; a commit that failed may lag behind it.
        on_begin: Called with a batch before it is carried out.
    """

    pipeline_class: type[Pipeline] = Pipeline

    def __init__(self, name: str, *, store: StoreClient, connection: Connection, around: Surroundings) -> None:
        self.name = name
        self.store = store
        self.connection = connection
        self.publisher = Publisher(connection)
        self.batch: Batch | None = None
        self.done: dict[int, int] = {}
        self.on_begin: Callable[[Batch], None] = lambda _: None
        self._around = around
        self._round = 0
        self._is_hurried = False
        self._versions: dict[int, int] = {}
        self._positions: dict[int, int] = {}
        self._guard = self._build_guard()

    def _build_guard(self) -> Guard:
        producer: Any = self.connection
        policy = self._around.policy
        pipeline = self.pipeline_class(
            store=self.store,  # type: ignore[arg-type] # what a pipeline asks of a store
            policy_of=lambda _: policy,
            publisher=self.publisher,
            decide_in_thread=1 << 30,
        )
        return Guard(
            pipeline=pipeline,
            policy=DecodePolicy(),
            producer=producer,
            dead_letters=DeadLetterSender(producer, topic=DEAD_LETTERS, max_bytes=_LETTER_BYTES),
            metrics=_METRICS,
        )

    def leave_round(self) -> None:
        """Hear that the group has moved on: what is in hand is not waited for, and the next poll joins again."""
        self._round += 1
        self._versions.clear()
        self._is_hurried = True

    async def run(self) -> None:
        """Work until the end of the world or of this process."""
        while True:
            await self._join()
            while self.connection.is_current or not self._hears():
                await self._work_through()

    def _hears(self) -> bool:
        """Tell whether the heartbeat that brings the news has come by now; what was told is known."""
        return self._is_hurried or self._around.random.random() < 0.5

    async def _join(self) -> None:
        self.leave_round()
        owned = await self.connection.join()
        self._is_hurried = False
        self._positions, self.done = {}, {}
        for partition in owned:
            committed = await self._insist(lambda partition=partition: self.connection.fetch_committed(partition))
            self._positions[partition] = self.done[partition] = committed.offset

    async def _insist(self, call: Callable[[], Awaitable[Any]]) -> Any:
        while True:
            try:
                return await call()
            except DependencyError:
                await self._rest()

    async def _work_through(self) -> None:
        size, fetched_in, is_idle = self._around.batch_events, self._round, True
        for partition in list(self._positions):
            records = await self.connection.read(partition, self._positions[partition], 3 * size)
            self._positions[partition] += len(records)
            for start in range(0, len(records), size):
                is_idle = False
                if self._round != fetched_in or not await self._finish(partition, records[start : start + size]):
                    break
            if self._round != fetched_in:
                return
        if is_idle:
            await Pause("idle", _IDLE_MS)

    async def _finish(self, partition: int, records: Sequence[Record]) -> bool:
        begun_in = self._round
        self.batch = batch = self._guard.read(records, partitions=self._around.partitions)
        self.on_begin(batch)
        try:
            return await self._take_to_commit(partition, batch, begun_in)
        finally:
            self.batch = None

    async def _take_to_commit(self, partition: int, batch: Batch, begun_in: int) -> bool:
        if not await self._carry_out(partition, batch):
            return False
        return self._round == begun_in and await self._commit(partition, batch.last_offset + 1)

    async def _carry_out(self, partition: int, batch: Batch) -> bool:
        while True:
            try:
                version = await self._choose_version(partition, batch.first_offset)
                if version is None:
                    return False
                await self._guard.carry_out(batch, version=version)
            except DependencyError:
                await self._rest()
                if self._is_hurried:
                    return False
            else:
                return True

    async def _choose_version(self, partition: int, offset: int) -> int | None:
        version = self._versions.get(partition)
        if version is None:
            found = await self.connection.fetch_committed(partition)
            version = take_over(found.metadata, self._around.schedule.now_ms / 1000)
            try:
                await self.connection.commit(partition, offset, format_version(version))
            except Refused:
                return None
        self._versions[partition] = version + 1
        return version + 1

    async def _commit(self, partition: int, offset: int) -> bool:
        self.done[partition] = offset
        try:
            await self.connection.commit(partition, offset, format_version(self._versions[partition]))
        except Refused:
            return False
        except DependencyError:
            pass  # the next commit makes good for it, or a redelivery changes nothing
        return True

    async def _rest(self) -> None:
        await Pause("rest", self._around.random.randint(DELAY_MS // 4, DELAY_MS))
