"""Faults of real parts, each with its name: whatever happens, the verifier finds every record where it must be."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.stream.guard import choose_partition
from tests.brokers import KafkaBroker, kafka_available
from tests.builders import envelope, written_data
from tests.chaos.loopback import LoopbackStore
from tests.chaos.memory import read_memory
from tests.chaos.play import Play, Script
from tests.chaos.population import Sent, iter_records
from tests.chaos.stage import BROKER_SETTINGS, Life, Stage, StoreKind
from tests.chaos.verify import verify
from tests.integration.worker_rig import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
MIB = 1 << 20
# How long the store is away at least, seconds; the long form of the test takes 30.
OUTAGE_S = float(os.environ.get("GUARDIAN_CHAOS_OUTAGE_S", "5"))
FOR_EVER_S = 1e6
BuildStage = Callable[..., Stage]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Run an Apache Kafka that lets go of killed workers quickly."""
    if reason := kafka_available():
        pytest.skip(reason)
    with KafkaBroker(folder=tmp_path_factory.mktemp("kafka"), settings=BROKER_SETTINGS) as running:
        yield running


@pytest.fixture
async def build_stage(broker: KafkaBroker, tmp_path: Path) -> AsyncIterator[BuildStage]:
    """Give what builds a stage; at the end no process is left."""
    stages: list[Stage] = []

    def build(kind: StoreKind = StoreKind.EMBEDDED, *, folder: Path = tmp_path, **sections: Any) -> Stage:
        stages.append(Stage(bootstrap=broker.bootstrap, folder=folder, kind=kind, **sections))
        return stages[-1]

    yield build
    for stage in stages:
        stage.end_all()


def write(number: int, space: str, **fields: Any) -> Sent:
    """Build one of many plain writes."""
    data = written_data(f"m{number}", f"Trailer {number}", src="tool", **fields)
    return Sent(space.encode(), orjson.dumps(envelope("memory.written", data, t=number % 1000, space=space)))


async def send(stage: Stage, records: list[Sent]) -> None:
    """Send records and have them acknowledged."""
    producer = await stage.open_producer()
    try:
        await stage.send(records, producer=producer)
    finally:
        await producer.stop()


async def count_committed(stage: Stage) -> int:
    """Give the records that are acknowledged."""
    return sum((await stage.fetch_committed()).values())


async def expect_right(stage: Stage, *lives: Life) -> None:
    """Stop the workers in order, and have everything verified."""
    await stage.wait_until_done()
    for life in lives:
        await life.stop()
    verdict = await verify(stage.around)
    assert not verdict.faults, verdict.describe()[:4_000]


async def test_killed_again_and_again_nothing_is_lost_or_doubled(build_stage: BuildStage) -> None:
    """Six kills at random moments under load: every record has its one fate, and every byte is the reference's."""
    stage = build_stage(limits={"batch_events": 100})
    await stage.set_up()
    play = Play(Script(seed=20_261, events=1_500, kills=6), stage)
    verdict = await play.run()
    assert not verdict.faults, f"{play.course.describe()}\n{verdict.describe()[:4_000]}"
    assert play.course.kills == 6
    assert play.course.looked["events"] > 0


async def test_workers_join_and_leave_under_load(build_stage: BuildStage) -> None:
    """Two workers of one store come and go, killed or asked, while the store fails, too."""
    stage = build_stage(StoreKind.LOOPBACK, limits={"batch_events": 100})
    await stage.set_up()
    play = Play(Script(seed=20_262, events=800, kills=4, workers=2), stage)
    verdict = await play.run()
    assert not verdict.faults, f"{play.course.describe()}\n{verdict.describe()[:4_000]}"


async def test_a_stop_in_mid_load_ends_in_order(build_stage: BuildStage) -> None:
    """Asked to stop with records in work, a worker ends clean and with 0, within the one deadline that would else end it with 70."""
    stage = build_stage(limits={"batch_events": 25})  # forty batches: the signal comes long before the last
    await stage.set_up()
    await send(stage, list(iter_records(31, 1_000)))
    life = stage.start_worker()
    await wait_until(lambda: life.count("batch.finished") >= 2, what="some batches")
    await life.stop()
    assert '"is_clean": true' in life.log_path.read_text()
    assert 0 < await count_committed(stage) < stage.sent
    successor = stage.start_worker()
    await expect_right(stage, successor)


async def test_a_store_in_trouble_costs_nothing(build_stage: BuildStage) -> None:
    """A store that refuses for seconds, is slow, applies without answering, or dies: the worker waits, and each event lands once."""
    stage = build_stage(StoreKind.LOOPBACK)
    await stage.set_up()
    life, client = stage.start_worker(), LoopbackStore(stage.port)
    records = iter_records(32, 1 << 30)

    async def send_some() -> None:
        await send(stage, [next(records) for _ in range(100)])

    await send_some()
    await stage.wait_until_done()
    await client.refuse_for(FOR_EVER_S)
    before, begun = await count_committed(stage), time.monotonic()
    await send_some()
    await wait_until(lambda: life.count("batch.postponed") >= 3 and time.monotonic() > begun + OUTAGE_S, what="some tries")
    assert await count_committed(stage) == before
    await client.refuse_for(0)
    await stage.wait_until_done()
    await client.control("delay_s", 0.5)
    await send_some()
    await stage.wait_until_done()
    await client.control("delay_s", 0.0)
    await client.control("answers_to_lose", 3)
    tries = life.count("batch.postponed")
    await send_some()
    await stage.wait_until_done()
    assert life.count("batch.postponed") >= tries + 3
    await stage.kill_server()
    await send_some()
    await wait_until(lambda: "Connect call failed" in life.log_path.read_text(), what="the death to be seen")
    await client.close()
    await stage.start_server()
    await expect_right(stage, life)


async def test_a_full_disk_is_waited_for(build_stage: BuildStage, disk_path: Path) -> None:
    """Below `min_free_bytes` nothing is written, nothing acknowledged and nothing dies; with room again it goes on by itself."""
    free = shutil.disk_usage(disk_path).free
    if free < 3 * 1024 * MIB:
        pytest.skip("less than 3 GiB of free disk")
    stage = build_stage(folder=disk_path, store={"min_free_bytes": free - 1024 * MIB})
    await stage.set_up()
    life = stage.start_worker()
    await send(stage, list(iter_records(33, 100)))
    await stage.wait_until_done()
    filler = disk_path / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 2 * 1024 * MIB)
    done = await count_committed(stage)
    await send(stage, list(iter_records(34, 100)))
    await wait_until(lambda: life.count("batch.postponed") >= 2, what="some tries")
    assert "(min_free_bytes). Mend: free some space" in life.log_path.read_text()
    assert await count_committed(stage) == done
    assert life.process.poll() is None
    filler.unlink()
    await expect_right(stage, life)


async def test_a_loud_space_holds_up_no_other(build_stage: BuildStage) -> None:
    """Beside a space with 95 % of all records the others wait for what was fetched before them, and for no more.

    Counted in records of the loud space, not in time. In other partitions a record waits at most for two fetches and a batch: the one in
    hand, one that was under way, and the batch it lands with. In the loud space's own partition it waits for what lies before it, and
    lands with at most a batch.
    """
    batch, fetch_bytes = 100, 64 * 1024
    stage = build_stage(limits={"batch_events": batch}, kafka={"max_fetch_bytes": fetch_bytes})
    await stage.set_up()
    traffic = Traffic(stage)
    loud = [write(number, LOUD) for number in range(2_000)]
    fetch = fetch_bytes // min(len(sent.value or b"") for sent in loud) + 1
    first = await traffic.send(
        [one for number, sent in enumerate(loud) for one in ([sent, *traffic.draw_small(1)] if number % 20 == 0 else [sent])]
    )
    life = stage.start_worker()
    waited = [await traffic.measure_wait(life, first.elsewhere)]
    for _ in range(4):
        small = await traffic.send(traffic.draw_small(8))
        begun = read_positions(life)[-1].get(traffic.home, 0)
        waited.append(await traffic.measure_wait(life, small.elsewhere) - begun)
    assert max(waited) <= 2 * fetch + batch, waited
    await stage.wait_until_done()
    ends = [position[traffic.home] for position in read_positions(life) if traffic.home in position]
    assert all(next(end for end in ends if end > offset) - offset <= batch for offset in traffic.beside)
    await expect_right(stage, life)


LOUD = "loud"


@dataclass(frozen=True, slots=True)
class Reached:
    """Offsets to reach in the partitions where the loud space does not live."""

    elsewhere: dict[int, int]


class Traffic:
    """Knows where each record lies: nobody else writes to the topic.

    Attributes:
        home: Partition of the loud space.
        beside: Offsets of small spaces' records in it.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._partitions = tuple(range(12))
        self.home = choose_partition(LOUD, self._partitions)
        self.beside: list[int] = []
        self._ends = dict.fromkeys(self._partitions, 0)
        self._drawn = 0

    def draw_small(self, count: int) -> list[Sent]:
        """Draw writes of small spaces, half of them in the loud space's partition."""
        drawn: list[Sent] = []
        while len(drawn) < count:
            self._drawn += 1
            space = f"small-{self._drawn}"
            is_beside = choose_partition(space, self._partitions) == self.home
            if is_beside == (self._drawn % 2 == 0):
                drawn.append(write(0, space))
        return drawn

    async def send(self, records: list[Sent]) -> Reached:
        """Send records and note where they lie."""
        reached: dict[int, int] = {}
        for sent in records:
            partition = choose_partition(sent.key.decode(), self._partitions)
            if partition != self.home:
                reached[partition] = self._ends[partition] + 1
            elif sent.key != LOUD.encode():
                self.beside.append(self._ends[partition])
            self._ends[partition] += 1
        await send(self._stage, records)
        return Reached(reached)

    async def measure_wait(self, life: Life, goal: dict[int, int]) -> int:
        """Wait until offsets are reached elsewhere; gives where the loud space's partition stood in that very batch."""

        def find() -> dict[int, int] | None:
            reached = (position for position in read_positions(life) if all(position.get(p, 0) >= end for p, end in goal.items()))
            return next(reached, None)

        await wait_until(lambda: find() is not None, what="the small spaces' records")
        return (find() or {}).get(self.home, 0)


def read_positions(life: Life) -> list[dict[int, int]]:
    """Give the offsets reached after each batch, by partition, as the worker logged them; a first one before any batch."""
    positions: list[dict[int, int]] = [{}]
    for line in life.log_path.read_text().splitlines():
        if '"batch.finished"' in line and line.endswith("}"):
            reached = {int(name.rpartition("/")[2]): offset for name, offset in orjson.loads(line)["next_offsets"].items()}
            positions.append(positions[-1] | reached)
    return positions


async def test_the_largest_events_are_worked_in_bounded_memory(build_stage: BuildStage) -> None:
    """With an event of nearly 1 MiB in every batch, memory peaks at some fetches and batches, whatever the number of events."""
    stage = build_stage(limits={"batch_events": 20}, kafka={"max_fetch_bytes": MIB})
    await stage.set_up()
    life = stage.start_worker()
    await send(stage, [write(number, f"bank-{number}") for number in range(40)])
    await stage.wait_until_done()
    before = read_memory(life.process.pid)
    assert before is not None
    peak = before.private
    large = [write(number, f"bank-{number % 12}", metadata={"blob": "x" * 1_000_000}) for number in range(80)]
    await send(stage, [one for number, sent in enumerate(large) for one in (sent, write(number, f"small-{number}"))])

    async def is_done() -> bool:
        nonlocal peak
        memory = read_memory(life.process.pid)
        assert memory is not None
        peak = max(peak, memory.private)
        return await count_committed(stage) >= stage.sent

    await wait_until(is_done, what="all commits")
    assert peak - before.private < 120 * MIB, (before, peak)
    await expect_right(stage, life)
