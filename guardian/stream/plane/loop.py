"""A data plane: one consumer in one group; offsets are committed only when their batch is durable.

```
getmany ─▶ at most batch_events ─▶ read (once) ─▶ budget ─▶ carry_out (same batch until it succeeds) ─▶ commit
```

- The lock `_busy` is held around a batch and its commit. The revocation callback takes it, so partitions leave this worker between
  batches; a batch that waits for something that is away is given up at once, without a commit.
- Every rebalance begins a new round. Records fetched in an earlier round are dropped: positions begin again at the committed offsets.
- What escapes is a bug: it ends the process without a commit. This is the one place that catches everything.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import Any

import aiokafka
import mode
import structlog
from aiokafka import TopicPartition
from aiokafka.errors import ConsumerStoppedError, KafkaError

from guardian.errors import DependencyError
from guardian.settings import LimitSettings
from guardian.stream.broker.kafka import KafkaOptions, broker_errors, build_consumer
from guardian.stream.broker.lenient import read_leniently
from guardian.stream.ending import Ending
from guardian.stream.health import Health, PlaneHealth, Standing
from guardian.stream.plane.batch import Batch, Work
from guardian.stream.plane.budget import DeadLetterBudget
from guardian.stream.plane.chunk import iter_chunks
from guardian.stream.plane.offset import Offsets, describe_offsets
from guardian.stream.plane.origin import Record
from guardian.telemetry.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)

# How long a fetch is waited for before the loop looks around, milliseconds.
_IDLE_MS = 500
# The first pause after a failure; each further one is twice as long.
_FIRST_PAUSE_S = 0.2


class Plane(mode.Service):
    """Consumes topics and has their records worked on.

    Args:
        work: What is done with them.
        group: Consumer group.
        choose_topics: Given the names of all topics, those to subscribe to.
    """

    mundane_level = "debug"

    def __init__(
        self,
        *,
        work: Work,
        group: str,
        choose_topics: Callable[[Collection[str]], set[str]],
        options: KafkaOptions,
        limits: LimitSettings,
        ending: Ending,
        health: Health,
        metrics: Metrics,
    ) -> None:
        super().__init__()
        self.condition = PlaneHealth(role=work.role)
        self._work = work
        self._group = group
        self._choose_topics = choose_topics
        self._options = options
        self._limits = limits
        self._ending = ending
        self._health = health
        self._metrics = metrics
        self._offsets = Offsets(options, group=group)
        self._budget = DeadLetterBudget(
            ratio=limits.dead_letter_ratio, window=limits.dead_letter_window, run=limits.dead_letter_run
        )
        self._busy = asyncio.Lock()
        self._hurry = asyncio.Event()  # a batch that waits is to give up
        self._round = 0
        self._consumer: Any = None
        self._topics: set[str] = set()
        health.planes[work.role] = self.condition

    @mode.Service.task
    async def consume(self) -> None:
        """Consume until the worker is to end."""
        try:
            await self._consume()
        except Exception as exc:  # noqa: BLE001 # the outer edge: whatever comes here ends the worker without a commit
            self._ending.fail(exc)

    async def on_stop(self) -> None:
        """Let the batch in hand finish within the deadline, then leave the group."""
        await self.leave_round()
        await self._close()

    async def refresh_topics(self) -> None:
        """Look topics up again and subscribe anew if others are wanted now.

        Raises:
            DependencyError: The broker is away.
        """
        consumer = self._consumer
        if consumer is None or self._ending.is_requested:
            return
        async with broker_errors(self._options):
            wanted = self._choose_topics(await consumer.topics())
        self._health.note("broker", is_up=True)
        if not wanted:
            self.condition.standing = Standing.STANDBY
        elif wanted != self._topics and consumer is self._consumer:
            log.info("topics.chosen", topic_role=self.condition.role.value, topics=sorted(wanted))
            self._topics = wanted
            consumer.subscribe(sorted(wanted), listener=_Listener(self))

    def find_owned(self, topic: str) -> tuple[int, frozenset[int], tuple[int, ...]] | None:
        """Give the round, the owned and all partitions of a topic; None while it owns none of it, or does not know."""
        consumer = self._consumer
        if consumer is None or self.condition.standing is not Standing.ASSIGNED:
            return None
        owned = frozenset(one.partition for one in consumer.assignment() if one.topic == topic)
        numbers = tuple(sorted(consumer.partitions_for_topic(topic) or ()))
        return (self._round, owned, numbers) if owned and numbers else None

    async def measure_group_lag(self, topic: str) -> int | None:
        """Give the records of a topic that its group has not worked on, whoever owns them; None while this worker is not in the group.

        Raises:
            DependencyError: The broker is away.
        """
        consumer = self._consumer
        if consumer is None or self.condition.standing is not Standing.ASSIGNED:
            return None
        partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        return await self._offsets.measure_group_lag(consumer, partitions)

    async def check_progress(self, longest_s: float) -> bool:
        """Tell whether this plane moves: it has nothing to do, waits for something that is away, or finished a batch lately."""
        condition, consumer = self.condition, self._consumer
        is_excused = condition.waits_for is not None or condition.standing is Standing.STANDBY or not self._health.is_up("broker")
        if not is_excused and condition.standing is Standing.ASSIGNED and consumer is not None:
            condition.lag = await self._offsets.measure_lag(consumer, consumer.assignment())
            self._metrics.lag.labels(condition.role).set(condition.lag)
            is_excused = condition.lag == 0
        if is_excused:
            condition.progress_at = time.monotonic()
        return condition.measure_idle_s() <= longest_s

    # The loop

    async def _consume(self) -> None:
        pauses = self._iter_pauses()
        while not self._is_ending:
            try:
                if self._consumer is None:
                    await self._open()
                taken = await self._poll()
            except ConsumerStoppedError:  # by `on_stop`
                continue
            except (KafkaError, DependencyError, UnicodeDecodeError) as exc:
                await self._close()  # some errors stay until the client is built anew
                if not read_leniently(exc):
                    self._note_failure(exc, "broker")
                    await self._ending.wait(next(pauses))
                continue
            pauses = self._iter_pauses()
            await self._work_through(taken, self._round)
            if not taken:
                async with self._busy:
                    await self._commit_owed()
            del taken  # else two fetches are alive while the next one is awaited

    @property
    def _is_ending(self) -> bool:
        return self._ending.is_requested or bool(self.should_stop)

    async def _open(self) -> None:
        consumer = build_consumer(self._options, group=self._group)
        try:
            async with broker_errors(self._options):
                await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        self._consumer, self._topics = consumer, set()
        await self.refresh_topics()
        self._note_success()

    async def _close(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._begin_round(())
        if consumer is not None:
            try:
                async with asyncio.timeout(self._ending.measure_left_s()):
                    await consumer.stop()
            except (KafkaError, TimeoutError) as exc:
                log.warning("consumer.not_stopped", topic_role=self.condition.role.value, error=repr(exc))

    async def _poll(self) -> dict[TopicPartition, list[Any]]:
        """Fetch what is there, and wait once for a small batch to fill."""
        if not self._topics:
            await self._ending.wait(_IDLE_MS / 1000)
            return {}
        consumer = self._consumer
        taken: dict[TopicPartition, list[Any]] = await consumer.getmany(timeout_ms=_IDLE_MS)
        count = sum(map(len, taken.values()))
        if not count or count >= self._limits.batch_events or await self._ending.wait(self._limits.batch_wait_ms / 1000):
            return taken
        for partition, more in (await consumer.getmany(timeout_ms=0)).items():
            taken[partition] = [*taken.get(partition, []), *more]
        return taken

    async def _work_through(self, taken: dict[TopicPartition, list[Any]], fetched_in: int) -> None:
        for records in iter_chunks(taken, self._limits.batch_events):
            async with self._busy:
                is_ours = self._round == fetched_in and not self._is_ending
                if not is_ours or not await self._finish(records):
                    return

    async def _commit_owed(self) -> None:
        """Commit again what no broker answered: where nothing follows, no later commit makes good for it."""
        if self._offsets.owed and self._consumer is not None:
            await self._offsets.commit(self._consumer, {})

    async def _finish(self, records: Mapping[TopicPartition, Sequence[Any]]) -> bool:
        """Take one batch to its commit; tells whether the next one may follow."""
        consumer, begun_in, started = self._consumer, self._round, time.perf_counter()
        starts = {partition: read[0].offset for partition, read in records.items()}
        ends = {partition: read[-1].offset + 1 for partition, read in records.items()}
        for partition, offset in starts.items():
            self._offsets.done.setdefault(partition, offset)
        topics = {partition.topic for partition in records}
        read_once = [Record.of(one) for read in records.values() for one in read]
        if not await self._try_until_done(lambda: self._work.prepare(read_once)):
            return False
        batch = self._work.read(
            read_once,
            partitions={topic: sorted(consumer.partitions_for_topic(topic) or ()) for topic in topics},
        )
        batch.note_progress = self._note_progress
        self._budget.note(batch.verdicts, topic=", ".join(sorted(topics)))
        if not await self._carry_out(consumer, starts, batch):
            return False
        # A batch that was not waited for any longer is durable, but the partitions are no longer ours to speak for.
        is_ours = self._round == begun_in and await self._offsets.commit(consumer, ends)
        self._note_batch(batch, starts, ends, spent_s=time.perf_counter() - started)
        self._note_lag(consumer)
        return is_ours

    async def _carry_out(self, consumer: Any, starts: Mapping[TopicPartition, int], batch: Batch) -> bool:
        """Carry a batch out under a version of its own; False when it is given up, without a commit."""
        is_ours = True

        async def carry_out() -> None:
            nonlocal is_ours
            version = await self._offsets.choose_version(consumer, starts)
            is_ours = version is not None
            if version is not None:
                is_ours = await self._see_through(self._work.carry_out(batch, version=version))

        return await self._try_until_done(carry_out) and is_ours

    async def _see_through(self, action: Coroutine[Any, Any, None]) -> bool:
        """Wait for a batch, unless it gives way and is in the way; then it is cut short, and False."""
        if not self._work.gives_way:
            await action
            return True
        doing, hurry = asyncio.create_task(action), asyncio.create_task(self._hurry.wait())
        try:
            await asyncio.wait({doing, hurry}, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                await doing
                return True
            return False
        finally:
            for task in (doing, hurry):
                task.cancel()
            await asyncio.gather(doing, hurry, return_exceptions=True)

    async def _try_until_done(self, action: Callable[[], Awaitable[None]]) -> bool:
        """Try the same thing until nothing that it needs is away; False when it is given up."""
        for pause_s in self._iter_pauses():
            try:
                await action()
            except DependencyError as exc:
                self._note_failure(exc, exc.dependency)
                if await self._wait_in_vain(pause_s):
                    return False
            else:
                self._note_success()
                return True
        raise AssertionError("pauses do not end")

    async def _wait_in_vain(self, pause_s: float) -> bool:
        """Wait before the next try; True when there is to be none, as the worker ends or the partition leaves."""
        try:
            async with asyncio.timeout(pause_s):
                await self._hurry.wait()
        except TimeoutError:
            return self._is_ending
        return True

    def _iter_pauses(self) -> Iterator[float]:
        """Give pauses in seconds: twice as long each time up to the limit, with jitter so that workers do not come together."""
        pause_s = _FIRST_PAUSE_S
        while True:
            yield min(pause_s, self._limits.retry_max_s) * random.uniform(0.5, 1.0)  # noqa: S311 # no secret
            pause_s = min(2 * pause_s, self._limits.retry_max_s)

    # Rebalances

    async def leave_round(self) -> None:
        """Give partitions up: let the batch in hand finish and commit, at most until nobody waits any longer."""
        self._hurry.set()
        try:
            # In a stop some time is kept for leaving the group: a successor then need not wait for the session to run out.
            longest_s = min(self._ending.measure_left_s(0.8), self._options.rebalance_timeout_s)
            async with asyncio.timeout(longest_s), self._busy:
                await self._commit_owed()
                self._begin_round(())
        except TimeoutError:
            log.warning("batch.not_waited_for", topic_role=self.condition.role.value)
            self._begin_round(())

    def begin_owning(self, assigned: Collection[TopicPartition]) -> None:
        """Take partitions over."""
        self._begin_round(assigned)
        self.condition.standing = Standing.ASSIGNED if assigned else Standing.STANDBY
        if not self._is_ending:
            self._hurry.clear()
        owned = sorted(f"{partition.topic}/{partition.partition}" for partition in assigned)
        log.info("partitions.assigned", topic_role=self.condition.role.value, partitions=owned)

    def _begin_round(self, assigned: Collection[TopicPartition]) -> None:
        self._round += 1
        self._offsets.forget()
        self.condition.standing = Standing.JOINING
        self.condition.partitions = len(assigned)
        self.condition.progress_at = time.monotonic()
        self._metrics.partitions.labels(self.condition.role).set(len(assigned))

    # What operators see

    def _note_progress(self) -> None:
        self.condition.progress_at = time.monotonic()

    def _note_failure(self, exc: Exception, dependency: str) -> None:
        self.condition.waits_for, self.condition.error = dependency, str(exc)
        self._health.note(dependency, is_up=False)
        self._metrics.retries.labels(dependency).inc()
        log.warning("batch.postponed", topic_role=self.condition.role.value, dependency=dependency, error=str(exc))

    def _note_success(self) -> None:
        if self.condition.waits_for is not None:
            self._health.note(self.condition.waits_for, is_up=True)
            log.info("batch.resumed", topic_role=self.condition.role.value, dependency=self.condition.waits_for)
        self.condition.waits_for = self.condition.error = None

    def _note_lag(self, consumer: Any) -> None:
        self.condition.lag = self._offsets.measure_known_lag(consumer)
        self._metrics.lag.labels(self.condition.role).set(self.condition.lag)

    def _note_batch(
        self, batch: Batch, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], *, spent_s: float
    ) -> None:
        self.condition.progress_at = self.condition.batch_at = time.monotonic()
        self._metrics.batch.labels(self.condition.role).observe(spent_s)
        log.info(
            "batch.finished",
            topic_role=self.condition.role.value,
            first_offsets=describe_offsets(starts),
            next_offsets=describe_offsets(ends),
            total_ms=round(spent_s * 1000, 1),
            **batch.describe(),
        )


class _Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka is untyped
    """Tells a plane about rebalances."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Wait for the batch in hand. Also called before the first assignment, with nothing to give up."""
        if revoked:
            await self._plane.leave_round()

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Begin a round."""
        self._plane.begin_owning(assigned)
