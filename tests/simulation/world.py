"""The world of one seed: everything is built from it, runs under it, and ends in a report.

First a storm, in which records are sent while calls fail and processes die, hang, lose partitions and come back; then calm, in which all
lag must be worked off in a bounded number of steps, the state must be the reference's, and reading everything again must write nothing.
"""

from __future__ import annotations

import hashlib
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import Any

from guardian.core.model import Event
from guardian.errors import GuardianError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence
from guardian.store.memory import MemoryStore
from guardian.stream.guard import choose_partition
from tests.simulation.broker import Broker, Connection
from tests.simulation.check import Checks, Violation
from tests.simulation.faults import Fault, Faults
from tests.simulation.population import Item, build_population
from tests.simulation.schedule import Pause, Schedule, Task
from tests.simulation.storage import IDENTITY, Server, StoreClient, recalibrate
from tests.simulation.truth import POLICIES, Truth, describe_difference
from tests.simulation.worker import Surroundings, Worker

# Turns of calm that one record may take at most, and what starting takes; a seed that needs more does not come to rest.
CALM_STEPS_PER_RECORD = 100
CALM_STEPS = 1_000
_RESTART_MS = 1_500
_LONGEST_HANG_MS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What is played: a seed, less what was taken out of it.

    Attributes:
        dropped_items: Numbers of records that nobody sends.
        dropped_faults: Numbers of questions at which nothing strikes.
        faults_until: From this question on nothing strikes.
    """

    seed: int
    dropped_items: frozenset[int] = frozenset()
    dropped_faults: frozenset[int] = frozenset()
    faults_until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What may be put in the place of the real thing, to see whether the checks notice.

    Attributes:
        is_fenced: False takes the fence from the store.
        is_marked: False takes the marks from the fence.
        rates: Chances of faults, instead of those that the seed draws.
        crippled: Takes a rule from the core for as long as the world lasts.
    """

    worker: type[Worker] = Worker
    store: type[StoreClient] = StoreClient
    is_fenced: bool = True
    is_marked: bool = True
    rates: Mapping[Fault, float] = field(default_factory=dict)
    crippled: Callable[[], AbstractContextManager[object]] = nullcontext


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of a script.

    Attributes:
        violation: The promise that was broken, or None.
        digest: Of the trace: equal for every run of one script.
        compared: How often the store was held against the reference.
    """

    script: Script
    violation: str | None = None
    where: str = ""
    trace: list[str] = field(default_factory=list)
    digest: str = ""
    steps: int = 0
    calm_steps: int = 0
    items: int = 0
    compared: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    struck: list[tuple[int, Fault]] = field(default_factory=list)


class World:
    """One seed, alive."""

    def __init__(self, script: Script, parts: Parts) -> None:
        _, self._random, faults, turns, workers = _split(script.seed)
        self._parts = parts
        self.items = list_items(script)
        self.policy, reference = self._random.choice(POLICIES)
        self.schedule = Schedule(turns)
        self.faults = Faults(faults, dropped=script.dropped_faults, until=script.faults_until, rates=parts.rates)
        self.broker = Broker(self.schedule, partitions=self._random.choice((1, 1, 2, 3)))
        self.server = Server.build(is_fenced=parts.is_fenced, is_marked=parts.is_marked)
        self.checks = Checks(self.broker, self.server, Truth(reference))
        self.trace: list[str] = []
        self._around = Surroundings(
            schedule=self.schedule,
            random=workers,
            policy=self.policy,
            partitions=self.broker.partitions,
            batch_events=self._random.choice((1, 2, 3, 5, 8)),
        )
        self._pace_ms = self._random.choice((0, 50, 400))
        self._storm_steps = self._random.choice((200, 500, 1_000))
        self._workers: dict[str, tuple[Worker, Task]] = {}
        self._started = 0
        self._starting: list[int] = []
        self._is_rebalance_due = True
        self._producer: Task | None = None
        self._seen = 0

    # The storm and the calm

    async def play(self) -> int:
        """Play the storm, the calm and the end; gives the turns that the calm took."""
        self._producer = self.schedule.start("producer", self._produce())
        for _ in range(self._random.choice((1, 2, 3))):
            self._start_worker()
        while not self._producer.is_done or self._is_stormy():
            self._strike()
            await self._turn()
        self.faults.is_on = False
        self._note("calm")
        begun = self.schedule.steps
        limit = CALM_STEPS + CALM_STEPS_PER_RECORD * sum(map(len, self.broker.logs.values()))
        while not self._is_calm():
            if self.schedule.steps - begun > limit:
                raise Violation(f"P10: after {limit} steps without faults {self._measure_lag()} records still wait")
            await self._turn()
        await self._look_after_letters()
        await recalibrate(self.server.memory, self._build_pipeline(self.server.memory))
        self.checks.check_end()
        await self._check_replay()
        await self._check_points()
        return self.schedule.steps - begun

    async def _look_after_letters(self) -> None:
        """Let a worker do what its timer does: find the letters that late workers wrote of erased memories."""
        worker, _ = next(iter(self._workers.values()))
        task = self.schedule.start("letters", worker.letters.look_after(worker.store))  # type: ignore[arg-type] # what an index asks of a store
        while not task.is_done:
            await self._turn()

    def _is_stormy(self) -> bool:
        """Tell whether the storm goes on when all is sent: for as long as drawn, less if nobody has anything to do."""
        steps = self.schedule.steps
        if self.faults.is_over or steps >= self._storm_steps:
            return False
        return steps < self._storm_steps // 3 or not self._is_calm()

    async def _turn(self) -> None:
        while self._starting and self._starting[0] <= self.schedule.now_ms:
            self._starting.pop(0)
            self._start_worker()
        if self._is_rebalance_due and not any(self._is_busy(worker) for worker, _ in self._workers.values()):
            self._rebalance(frozenset())
        task = self.schedule.choose()
        if task is None:
            assert self._starting, "nobody is left and nobody comes"
            self.schedule.now_ms = self._starting[0]
            return
        place = task.place
        self.schedule.give_turn(task)
        if place not in ("idle", "poll"):
            self._note(f"{task.name} {place}")
        for number, fault in self.faults.struck[self._seen :]:
            self._note(f"  fault {number} {fault}")
        self._seen = len(self.faults.struck)
        await self.checks.check_step()

    def _note(self, text: str) -> None:
        self.trace.append(f"{self.schedule.steps} {text}")

    def _is_busy(self, worker: Worker) -> bool:
        """Tell whether the group waits for a member: it has a batch in hand and does not lag behind."""
        return worker.is_busy and worker.connection.is_current

    def _is_calm(self) -> bool:
        all_here = not self._starting and not self._is_rebalance_due and bool(self._workers)
        settled = all(not worker.is_busy and worker.connection.is_current for worker, _ in self._workers.values())
        return all_here and settled and self._measure_lag() == 0

    def _measure_lag(self) -> int:
        """Give the group's lag: the records behind the committed offsets."""
        return sum(len(log) - self.broker.committed[partition].offset for partition, log in self.broker.logs.items())

    async def _produce(self) -> None:
        for item in self.items:
            if self._pace_ms:
                await Pause("produce", Random(item.number).randrange(self._pace_ms))
            self._send(item)

    def _send(self, item: Item) -> None:
        partitions = self.broker.partitions
        if item.space is None:
            partition = Random(item.number).choice(partitions)
        else:
            partition = choose_partition(item.space, partitions)
            partition = (partition + item.is_misplaced) % len(partitions)
        key = None if item.space is None else item.space.encode()
        self.broker.append(partition, key=key, value=item.value)

    # Processes and the group

    def _start_worker(self) -> None:
        self._started += 1
        name = f"w{self._started}"
        worker = self._parts.worker(
            name,
            store=self._parts.store(self.server, self.faults),
            connection=Connection(self.broker, self.faults, name),
            around=self._around,
        )
        self.checks.watch(worker)
        self._workers[name] = worker, self.schedule.start(name, worker.run())
        self._is_rebalance_due = True

    def _strike(self) -> None:
        if self.faults.strikes(Fault.CRASH) and self._workers:
            self._crash()
        if self.faults.strikes(Fault.REBALANCE):
            self._is_rebalance_due = True
        if self.faults.strikes(Fault.TAKEOVER):
            busy = {name: task.place for name, (worker, task) in self._workers.items() if self._is_busy(worker)}
            # It hurts most in the midst of writing.
            writing = [name for name, place in busy.items() if place.startswith("write:")]
            if chosen := writing or list(busy):
                self._hang(chosen[self.faults.pick(len(chosen))])
        if self.faults.strikes(Fault.REWIND):
            partition = self.broker.partitions[self.faults.pick(len(self.broker.partitions))]
            offset = self.faults.pick(self.broker.committed[partition].offset + 1)
            self._note(f"partition {partition} is set back to {offset}")
            self.broker.rewind(partition, offset)
            self._rebalance(frozenset())

    def _hang(self, name: str) -> None:
        """Stop a process in the midst of a batch for so long that others take over; then it goes on as if nothing had been."""
        _, task = self._workers[name]
        task.ready_ms = self.schedule.now_ms + self.faults.pick(_LONGEST_HANG_MS)
        self._rebalance(frozenset({name}))

    def _crash(self) -> None:
        name = sorted(self._workers)[self.faults.pick(len(self._workers))]
        _, task = self._workers.pop(name)
        self._note(f"{name} dies before {task.place}")
        task.kill()
        self._starting.append(self.schedule.now_ms + self.faults.pick(_RESTART_MS))
        self._starting.sort()
        self._is_rebalance_due = True

    def _rebalance(self, hanging: frozenset[str]) -> None:
        """Deal the partitions out anew; the group waits for nobody, and who hangs may not even hear of it."""
        self._is_rebalance_due = bool(hanging)
        members = [name for name in self._workers if name not in hanging]
        random = Random(self.broker.generation)
        owners = {partition: random.choice(members) if members else None for partition in self.broker.partitions}
        self.broker.assign(owners)
        self._note(f"generation {self.broker.generation}: {owners}, hanging {sorted(hanging)}")
        for name, (worker, _) in self._workers.items():
            if name not in hanging or random.random() < 0.3:
                worker.leave_round()

    # The end

    async def _check_replay(self) -> None:
        """Read everything again, one by one and in another cut: nothing is to be written."""
        pipeline = self._build_pipeline(self.server.memory)
        events = self._list_events()
        for size in (1, self._random.choice((self._random.randint(2, 9), max(1, len(events))))):
            for start in range(0, len(events), size):
                batch = events[start : start + size]
                plan = await pipeline.plan(batch, BatchReport())
                if plan.phases:
                    raise Violation(f"P6: reading {len(batch)} events again from {start} would write {plan.phases}")

    async def _check_points(self) -> None:
        """Do everything at once in an empty store without faults: not a point may differ, also where no row shows it yet."""
        clean = MemoryStore(IDENTITY)
        pipeline = self._build_pipeline(clean)
        await pipeline.process(self._list_events(), fence=Fence())
        difference = describe_difference(_by_key(clean.shelf.payloads), _by_key(self.server.payloads), is_whole=True)
        if difference:
            raise Violation(f"P2: points: {difference}")

    def _build_pipeline(self, store: MemoryStore) -> Pipeline:
        return Pipeline(store=store, policy_of=lambda _: self.policy, decide_in_thread=1 << 30)

    def _list_events(self) -> list[Event]:
        """Give every good event once."""
        places = sorted(self.checks.events.keys() - self.checks.misplaced)
        events = [self.checks.events[place] for place in places]
        return list({(event.space, event.ref): event for event in events}.values())


def _by_key(payloads: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(payload["space"], payload["point"], point_id): dict(payload) for point_id, payload in payloads.items()}


def _split(seed: int) -> list[Random]:
    """Give the streams of a seed: what takes more or less from one does not move another."""
    master = Random(seed)
    return [Random(master.getrandbits(64)) for _ in range(5)]


@lru_cache(maxsize=1_000)
def _build_items(seed: int) -> tuple[Item, ...]:
    return tuple(build_population(_split(seed)[0]))


def list_items(script: Script) -> list[Item]:
    """Give the records of a script."""
    return [item for item in _build_items(script.seed) if item.number not in script.dropped_items]


def simulate(script: Script, parts: Parts | None = None) -> Report:
    """Play a script to its end or to the first broken promise."""
    parts = parts or Parts()
    with parts.crippled():
        return _simulate(script, parts)


def _simulate(script: Script, parts: Parts) -> Report:
    world = World(script, parts)
    report = Report(script=script, items=len(world.items))
    play = world.play()
    try:
        play.send(None)
    except StopIteration as done:
        report.calm_steps = done.value
    except Violation as exc:
        report.violation, report.where = str(exc), "check"
    except (GuardianError, AssertionError, LookupError, ValueError, TypeError, AttributeError) as exc:
        frame = traceback.extract_tb(exc.__traceback__)[-1]
        report.violation = f"{type(exc).__name__}: {exc}"
        report.where = f"{frame.name} in {frame.filename.rsplit('/', 2)[-1]}"
    else:
        raise AssertionError("the world waits for something outside")
    finally:
        world.schedule.kill_all()
    report.trace, report.steps, report.compared = world.trace, world.schedule.steps, world.checks.compared
    report.faults, report.struck = world.faults.count(), world.faults.struck
    report.digest = hashlib.sha256("\n".join([*world.trace, str(report.violation)]).encode()).hexdigest()[:16]
    return report


def drop(script: Script, *, items: frozenset[int] = frozenset(), faults: frozenset[int] = frozenset()) -> Script:
    """Give the script with more taken out."""
    return replace(script, dropped_items=script.dropped_items | items, dropped_faults=script.dropped_faults | faults)
