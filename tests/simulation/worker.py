"""A worker: the real guard, dead letters, publisher and pipeline, consumed for in the order of steps of the data plane.

```
join ─▶ poll ─▶ batches of all partitions ─▶ read ─▶ (version, carry out) until it succeeds ─▶ commit
```

The plane itself leans on Faust and on a socket, so its steps are played here, and its fence and everything under it are the package's
own. Each call hands the turn back first: a worker can be killed, overtaken or forgotten between any two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from guardian.contracts.codec import DecodePolicy
from guardian.core.policy import Policy
from guardian.errors import DependencyError
from guardian.pipeline import Pipeline
from guardian.ports import OutcomeMessage
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.guard import Guard
from guardian.stream.letter_index import LetterIndex
from guardian.stream.plane.batch import Batch
from guardian.stream.plane.chunk import iter_chunks
from guardian.stream.plane.fence import LEAP, format_version, take_over
from guardian.stream.plane.origin import Record
from guardian.stream.publisher import KafkaPublisher
from guardian.telemetry.metrics import Metrics
from tests.simulation.broker import DEAD_LETTERS, DELAY_MS, TOPIC, Committed, Connection, Refused
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
        if messages and all(message.value is None for message in messages):  # taken back before the plan is durable
            await self._inner.publish(messages)
            return
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
        is_busy: A batch is in hand.
        letters: Its index of the dead letters.
        on_begin: Called with the records of a batch before it is carried out.
    """

    pipeline_class: type[Pipeline] = Pipeline
    index_class: type[LetterIndex] = LetterIndex

    def __init__(self, name: str, *, store: StoreClient, connection: Connection, around: Surroundings) -> None:
        self.name = name
        self.store = store
        self.connection = connection
        self.publisher = Publisher(connection)
        self.is_busy = False
        self.on_begin: Callable[[Sequence[Record]], None] = lambda _: None
        self._around = around
        self._round = 0
        self._is_hurried = False
        self._version = 0
        self._committed: dict[int, int] = {}  # versions, by partition
        self._owed: dict[int, int] = {}  # offsets that are done and not committed, by partition
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
        self.letters = self.index_class(
            read_on=self.connection.read_letters, producer=producer, topic=DEAD_LETTERS, metrics=_METRICS
        )
        return Guard(
            pipeline=pipeline,
            policy=DecodePolicy(),
            producer=producer,
            dead_letters=DeadLetterSender(producer, topic=DEAD_LETTERS, max_bytes=_LETTER_BYTES),
            letters=self.letters,
            metrics=_METRICS,
        )

    def leave_round(self) -> None:
        """Hear that the group has moved on: what is in hand is not waited for, and the next poll joins again."""
        self._round += 1
        self._committed.clear()
        self._owed.clear()
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
        self._positions = {}
        for partition in owned:
            committed = await self._fetch_committed(partition)
            self._positions[partition] = committed.offset

    async def _fetch_committed(self, partition: int) -> Committed:
        while True:
            try:
                return await self.connection.fetch_committed(partition)
            except DependencyError:
                await self._rest()

    async def _work_through(self) -> None:
        size, fetched_in = self._around.batch_events, self._round
        taken: dict[int, list[Record]] = {}
        for partition, position in self._positions.items():
            if read := await self.connection.read(partition, position, 2 * size):
                taken[partition] = read
        if self._round != fetched_in:
            return
        self._positions.update({partition: read[-1].offset + 1 for partition, read in taken.items()})
        if not taken:
            await Pause("idle", _IDLE_MS)
            if self._owed and self._round == fetched_in:
                await self._commit_owed()
        for chunk in iter_chunks(taken, size):  # partitions are plain numbers here
            if self._round != fetched_in or not await self._finish(chunk):
                return

    async def _finish(self, chunk: Mapping[int, Sequence[Record]]) -> bool:
        begun_in = self._round
        records = [record for read in chunk.values() for record in read]
        batch = self._guard.read(records, partitions={TOPIC: self._around.partitions})
        self.is_busy = True
        self.on_begin(records)
        try:
            return await self._take_to_commit(chunk, batch, begun_in)
        finally:
            self.is_busy = False

    async def _take_to_commit(self, chunk: Mapping[int, Sequence[Record]], batch: Batch, begun_in: int) -> bool:
        if not await self._carry_out(chunk, batch):
            return False
        return self._round == begun_in and await self._commit(chunk)

    async def _carry_out(self, chunk: Mapping[int, Sequence[Record]], batch: Batch) -> bool:
        while True:
            try:
                version = await self._choose_version({partition: read[0].offset for partition, read in chunk.items()})
                if version is None:
                    return False
                await self._guard.carry_out(batch, version=version)
            except DependencyError:
                await self._rest()
                if self._is_hurried:
                    return False
            else:
                return True

    async def _choose_version(self, starts: Mapping[int, int]) -> int | None:
        claims = {partition: offset for partition, offset in starts.items() if self._lies_a_leap_behind(partition)}
        if claims and not await self._claim(claims):
            return None
        self._version += 1
        return self._version

    def _lies_a_leap_behind(self, partition: int) -> bool:
        return partition not in self._committed or self._version + 1 - self._committed[partition] >= LEAP

    async def _claim(self, claims: Mapping[int, int]) -> bool:
        unknown = [partition for partition in claims if partition not in self._committed]
        found = [await self.connection.fetch_committed(partition) for partition in unknown]
        now_s = self._around.schedule.now_ms / 1000
        version = max([self._version, *(take_over(committed.metadata, now_s) for committed in found)])
        try:
            await self._send_commit(claims, version)
        except Refused:
            return False
        self._version = version
        return True

    async def _commit(self, chunk: Mapping[int, Sequence[Record]]) -> bool:
        self._owed |= {partition: read[-1].offset + 1 for partition, read in chunk.items()}
        return await self._commit_owed()

    async def _commit_owed(self) -> bool:
        """Commit what is done; what a broker did not take is owed still, to the next commit or to a poll that finds nothing."""
        owed = dict(self._owed)
        try:
            await self._send_commit(owed, self._version)
        except Refused:
            return False
        except DependencyError:
            return True
        self._owed = {partition: offset for partition, offset in self._owed.items() if offset != owed.get(partition)}
        return True

    async def _send_commit(self, offsets: Mapping[int, int], version: int) -> None:
        await self.connection.commit(offsets, format_version(version))
        self._committed.update(dict.fromkeys(offsets, version))

    async def _rest(self) -> None:
        await Pause("rest", self._around.random.randint(DELAY_MS // 4, DELAY_MS))
