"""The play: load without pause, while workers are killed at random moments, joined, stopped, and their store fails; then the verdict."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random

from guardian.errors import DependencyError
from guardian.stream.broker.kafka import Producer
from tests.brokers import KafkaBroker
from tests.chaos.ledger import Ledger, read_into
from tests.chaos.loopback import LoopbackStore
from tests.chaos.outcomes import read_letters
from tests.chaos.population import Sent, iter_records
from tests.chaos.stage import BURST, STOP_DEADLINE_S, Life, Stage, StoreKind
from tests.chaos.verify import Say, Verdict, check_committed, open_any_store, verify
from tests.topic_reader import TopicReader, reading

# A kill in so many comes while the worker starts; a SIGTERM takes the place of one kill in so many.
_EARLY, _GENTLE = 5, 12
# Most that a worker is let do, in shares of one kill: with its last batch and the early kills about a share, so that load lasts.
_WORK = 1.6
# Records that are kept waiting, in shares of one kill.
_LAG_SHARES = 2
# Kills between two looks at what is committed; spaces looked at: those behind the latest offsets, and any others.
_LOOK_EVERY, _LOOK_LATEST, _LOOK_ANY = 5, 60, 40
# How long a worker may take from its start to its first batch before it is killed without one, seconds.
_UNWORKED_S = 45.0
_LONGEST_BATCH_S = 5.0
# How long after its last awaited batch it goes on at most: about a batch, so that its moment falls anywhere in one.
_PAST_BATCH_S = 1.5
# Grace of the process beyond the stop's deadline, seconds: interpreter, logging, and a machine with other work.
_STOP_GRACE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What is played, all of it from the seed.

    Attributes:
        events: Distinct draws; a few percent more are sent.
        kills: Ends without warning.
        broker_stops: Times that the broker is killed, too, and started again with its log.
    """

    seed: int
    events: int
    kills: int
    workers: int = 1
    broker_stops: int = 0


@dataclass(slots=True)
class Course:
    """What happened.

    Attributes:
        signals: Ends of workers by sort, and faults of the store.
        loaded: Kills at which records waited or were in work.
        looked: Events that were found durable before a committed offset, and spaces held against the reference, while the play ran.
        faults: Promises that were seen broken while it ran.
        slowest_stop_s: Longest time from SIGTERM to the end.
    """

    signals: Counter[str] = field(default_factory=Counter)
    loaded: int = 0
    looks: int = 0
    looked: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest_stop_s: float = 0.0
    begun: float = field(default_factory=time.monotonic)

    @property
    def kills(self) -> int:
        """Workers killed so far."""
        return self.signals["kill -9"]

    def describe(self) -> str:
        """Give what happened in one line."""
        told = ", ".join(f"{count} {sort}" for sort, count in self.signals.most_common())
        return (
            f"{told}; {self.loaded} of the kills under load; {self.looks} looks at committed offsets in mid play found {self.looked['events']:,} events durable and "
            f"{self.looked['spaces']:,} whole spaces equal to the reference; longest stop {self.slowest_stop_s:.1f} s; "
            f"{time.monotonic() - self.begun:.0f} s"
        )


class Play:
    """One play on a stage that is set up."""

    def __init__(self, script: Script, stage: Stage, *, broker: KafkaBroker | None = None, say: Say = lambda _: None) -> None:
        self.course = Course()
        self._script = script
        self._stage = stage
        self._broker = broker
        self._say = say
        master = Random(script.seed)
        self._moments, self._troubles, self._choices = (Random(master.getrandbits(64)) for _ in range(3))
        self._records: Iterator[Sent] = iter_records(script.seed, script.events)
        self._ledger: Ledger = stage.build_ledger()
        self._share = script.events / max(1, script.kills)
        self._is_over = self._is_all_sent = False

    async def run(self) -> Verdict:
        """Play to the end and verify everything."""
        stage, script = self._stage, self._script
        async with AsyncExitStack() as stack:
            producer = await stage.open_producer()
            stack.push_async_callback(producer.stop)
            reader = await stack.enter_async_context(reading(stage.rig.bootstrap, stage.around.topic))
            async with asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(self._send(producer))
                troubling = tasks.create_task(self._trouble()) if stage.kind is StoreKind.LOOPBACK else None
                if script.workers == 1:
                    await self._kill_in_turn(reader)
                else:
                    await self._join_and_leave()
                self._is_over = True
                await sending
                if troubling is not None:
                    await troubling
            await self._finish(reader)
        verdict = await verify(stage.around, say=self._say)
        verdict.note(self.course.faults)
        return verdict

    async def _send(self, producer: Producer) -> None:
        """Keep records waiting for the workers until all are sent; what is left when the kills are over is sent at once."""
        while burst := list(itertools.islice(self._records, BURST)):
            await self._stage.send(burst, producer=producer)
            while not self._is_over and await self._measure_lag() > _LAG_SHARES * self._share:  # noqa: ASYNC110 # a broker tells nobody of commits
                await asyncio.sleep(0.2)
        self._is_all_sent = True

    async def _measure_lag(self) -> int:
        return self._stage.sent - sum((await self._stage.fetch_committed()).values())

    # One worker after the other

    async def _kill_in_turn(self, reader: TopicReader) -> None:
        while self.course.kills < self._script.kills:
            life = self._stage.start_worker()
            await self._live(life)
            if self._is_broker_due():
                await self._stop_broker()
            await self._end(life)
            if self.course.kills % _LOOK_EVERY == 0:
                await self._look(reader)

    async def _live(self, life: Life) -> None:
        """Let a worker live until its moment: sometimes before it has done anything, else within some batch after a few."""
        if self._moments.randrange(_EARLY) == 0:
            await asyncio.sleep(self._moments.uniform(0.2, 4.0))
            return
        batches = round(self._moments.uniform(0.0, _WORK) * self._share / self._stage.settings.limits.batch_events)
        longest_s = _UNWORKED_S + _LONGEST_BATCH_S * batches

        while life.count("batch.finished") <= batches and time.monotonic() - life.begun < longest_s:
            await asyncio.sleep(0.05)
            if life.process.poll() is not None or (self._is_all_sent and await self._measure_lag() == 0):
                break
        await asyncio.sleep(self._moments.uniform(0.0, _PAST_BATCH_S))

    async def _end(self, life: Life) -> None:
        code = life.process.poll()
        if code is not None:
            self.course.faults.append(f"{life.name} ended by itself with {code}, see {life.log_path}")
            self.course.signals["end by itself"] += 1
            assert self.course.signals["end by itself"] < 5, self.course.faults
            return
        if life.has_worked() and self._moments.randrange(_GENTLE) == 0:
            spent_s = await life.stop()
            self.course.signals["SIGTERM"] += 1
            self.course.slowest_stop_s = max(self.course.slowest_stop_s, spent_s)
            if spent_s > STOP_DEADLINE_S + _STOP_GRACE_S:
                self.course.faults.append(f"{life.name} took {spent_s:.1f} s to stop")
        else:
            await life.kill()
            self.course.signals["kill -9"] += 1
            self.course.loaded += sum((await self._stage.fetch_committed()).values()) < self._stage.sent
        if self.course.kills % 10 == 0:
            self._say(
                f"{self.course.kills} kills, {self._stage.sent:,} records sent, {time.monotonic() - self.course.begun:.0f} s"
            )

    def _is_broker_due(self) -> bool:
        script, done = self._script, self.course.signals["stop of the broker"]
        return self._broker is not None and self.course.kills * (script.broker_stops + 1) > script.kills * (done + 1)

    async def _stop_broker(self) -> None:
        """Kill the broker under the worker, and start it again with its log; whoever sends or works waits for it."""
        assert self._broker is not None
        self.course.signals["stop of the broker"] += 1
        await asyncio.to_thread(self._broker.kill)
        await asyncio.sleep(self._moments.uniform(0.0, 5.0))
        await asyncio.to_thread(self._broker.start)
        await asyncio.sleep(self._moments.uniform(0.0, 5.0))

    async def _look(self, reader: TopicReader) -> None:
        """Look, while no worker lives, whether all that is committed is durable; opening the store is what a restart does."""
        stage = self._stage
        committed = await stage.fetch_committed()
        await read_into(self._ledger, reader)
        letters = await read_letters(stage.rig.bootstrap, stage.rig.prefix)
        store = open_any_store(stage.around.store)
        await store.open()
        try:
            faults, events, spaces = await check_committed(
                self._ledger, committed, store, letters, topic=stage.around.topic, spaces=self._choose_spaces(committed)
            )
        finally:
            await store.close()
        self.course.faults += faults
        self.course.looks += 1
        self.course.looked.update(events=events, spaces=spaces)
        for fault in faults[:5]:
            self._say(fault)

    def _choose_spaces(self, committed: dict[int, int]) -> list[str]:
        """Choose the spaces whose events lie closest before the committed offsets, and any others."""

        def measure_distance(name: str) -> int:
            space = self._ledger.spaces[name]
            before = [place[1] for place in space.places if place[1] < committed.get(place[0], 0)]
            return committed[space.partition] - max(before) if before else 1 << 60

        names = sorted(self._ledger.spaces)
        latest = sorted(names, key=measure_distance)[:_LOOK_LATEST]
        return sorted({*latest, *self._choices.sample(names, min(len(names), _LOOK_ANY))})

    # Several workers

    async def _join_and_leave(self) -> None:
        async with asyncio.TaskGroup() as slots:
            for _ in range(self._script.workers):
                slots.create_task(self._fill_slot())

    async def _fill_slot(self) -> None:
        """Start one worker after the other, with pauses in which the others have everything."""
        while self.course.kills < self._script.kills:
            life = self._stage.start_worker()
            await self._live(life)
            await self._end(life)
            await asyncio.sleep(self._moments.uniform(0.0, 3.0))

    async def _trouble(self) -> None:
        """Make the loopback store fail, now in this way, now in that."""
        client = LoopbackStore(self._stage.port)
        while not self._is_over:
            await asyncio.sleep(self._troubles.uniform(2.0, 10.0))
            trouble = self._troubles.choice(("outage", "slow", "lost answers", "kill -9 of the store"))
            self.course.signals[trouble] += 1
            try:
                await self._make_trouble(client, trouble)
            except DependencyError:
                await client.close()  # it was refused itself
        await client.close()
        client = LoopbackStore(self._stage.port)
        await client.control("answers_to_lose", 0)
        await client.close()

    async def _make_trouble(self, client: LoopbackStore, trouble: str) -> None:
        match trouble:
            case "outage":
                await client.refuse_for(self._troubles.uniform(1.0, 5.0))
            case "slow":
                await client.control("delay_s", self._troubles.uniform(0.02, 0.3))
                await asyncio.sleep(self._troubles.uniform(2.0, 5.0))
                await client.control("delay_s", 0.0)
            case "lost answers":
                await client.control("answers_to_lose", self._troubles.randint(1, 3))
            case _:
                await self._stage.kill_server()
                await client.close()
                await asyncio.sleep(self._troubles.uniform(0.0, 2.0))
                await self._stage.start_server()

    # The end

    async def _finish(self, reader: TopicReader) -> None:
        """Let the last workers do what is left, without faults."""
        lives = [self._stage.start_worker() for _ in range(self._script.workers)]
        try:
            await self._stage.wait_until_done()
        finally:
            for life in lives:
                if life.process.poll() is None:
                    self.course.slowest_stop_s = max(self.course.slowest_stop_s, await life.stop())
        await read_into(self._ledger, reader)
        self._say(f"all {self._ledger.count:,} records are committed: {self.course.describe()}")
