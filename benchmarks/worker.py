"""The real worker on Apache Kafka: `guardian worker` in its own process, on a topic that was filled before.

Beside it in the same turn: a bare Faust agent and a bare aiokafka loop on the same topic, and the engine's limit for the points
that these events become. Times are from the first batch in hand to the last commit; starting and joining the group are not in them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path

import orjson
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError

from benchmarks.bank import iter_events
from benchmarks.laps import Advance, Lap, interleave, part_us, ratios
from benchmarks.limit import guard_points, scratch_folder, write_raw
from benchmarks.report import Aim, Report
from guardian import topics
from guardian.core.point import Upsert
from guardian.errors import DependencyError
from guardian.settings import KafkaSettings
from guardian.telemetry.metrics import PHASES
from tests.brokers import KafkaBroker, kafka_available

TOPIC = KafkaSettings().events_topic
ROOT = Path(__file__).parent.parent
AIM = Aim(value=0.7)
# A worker that has not caught up by then never will.
TIMEOUT_S = 900.0
# The worker writes one log line a batch; this often its group's offsets are looked at.
_LOOK_S = 0.2


async def measure_worker(*, events: int, repetitions: int, advance: Advance) -> Report:
    """Measure the worker from the start of consumption to a lag of zero, without embedding."""
    report = Report(name="worker", title=f"the worker on Apache Kafka, {events:,} events, no embedding")
    if reason := kafka_available():
        report.notes.append(f"skipped: {reason}")
        return report
    advance("guarding events for the limit")
    points = await guard_points(events, vector_size=0)
    advance("starting Apache Kafka")
    with KafkaBroker() as broker:
        await topics.apply(broker.bootstrap, topics.load_declarations())
        advance(f"producing {events:,} events")
        await fill_topic(broker.bootstrap, events)
        turn = iter(range(10_000))
        variants = {
            "limit before": lambda: _run_limit(points, events),
            "worker": lambda: run_worker(broker.bootstrap, events, group=f"bench-{next(turn)}"),
            "limit after": lambda: _run_limit(points, events),
            "bare Faust agent": lambda: run_bare("faust", broker.bootstrap, events, group=f"bench-{next(turn)}"),
            "bare aiokafka loop": lambda: run_bare("aiokafka", broker.bootstrap, events, group=f"bench-{next(turn)}"),
        }
        laps = await interleave(variants, repetitions=repetitions, advance=advance)
    _describe(report, laps)
    return report


def _describe(report: Report, laps: Mapping[str, Sequence[Lap]]) -> None:
    for name, of_variant in laps.items():
        report.add(name, [lap.rate for lap in of_variant], "events/s")
    worker = laps["worker"]
    # The mean of both neighbours in time: disks have moods.
    sides = zip(ratios(worker, laps["limit before"]), ratios(worker, laps["limit after"]), strict=True)
    report.add("worker to limit", [2 / (1 / before + 1 / after) for before, after in sides], "ratio", aim=AIM)
    for name in ("bare Faust agent", "bare aiokafka loop"):
        report.add(f"worker to {name}", ratios(worker, laps[name]), "ratio")
    for phase in (*PHASES, "read, count, commit"):
        report.add(f"worker, {phase}", part_us(worker, phase), "µs/event")
    report.add("worker, batches", [lap.parts["batches"] for lap in worker], "batches")
    report.notes.append("the worker publishes an outcome for every event and waits for the broker before it commits")
    report.notes.append("broker and worker share the machine's cores")


async def _run_limit(points: Sequence[Upsert], events: int) -> Lap:
    lap = write_raw(points, vector_size=0)
    lap.count = events
    return lap


async def fill_topic(bootstrap: str, count: int) -> None:
    """Produce generated events, keyed by space."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=20)
    await producer.start()
    try:
        for event in iter_events(count):
            await producer.send(TOPIC, orjson.dumps(event), key=event["space"].encode())
        await producer.flush()
    finally:
        await producer.stop()


async def run_bare(consumer: str, bootstrap: str, count: int, *, group: str) -> Lap:
    """Run a bare consumer in its own process."""
    arguments = ["-m", "benchmarks.bare", consumer, "--bootstrap", bootstrap, "--topic", TOPIC, "--group", group]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        "--count",
        str(count),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        told, complaints = await process.communicate()
    except BaseException:
        process.kill()
        raise
    if process.returncode != 0:
        raise DependencyError(f"the bare {consumer} consumer failed: {complaints.decode()[-2_000:]}", dependency="broker")
    return Lap(count=count, seconds=orjson.loads(told)["seconds"])


async def run_worker(
    bootstrap: str,
    count: int,
    *,
    group: str,
    settings: Mapping[str, str] | None = None,
    command: Sequence[str] = ("-m", "guardian"),
) -> Lap:
    """Run `guardian worker` until its group has no lag, and read the times from its log.

    Args:
        bootstrap: The broker.
        count: Events on the topic.
        group: Consumer group.
        settings: Further settings, by the names of their variables.
        command: Python's arguments that start the command line.
    """
    with scratch_folder() as folder:
        log = folder / "worker.log"
        started = _running_worker(bootstrap, group, folder, log, settings=settings or {}, command=command)
        async with started as process:
            await _wait_for_lag_zero(bootstrap, f"{group}.guard", count, process, log)
        return _read_log(log, count)


@asynccontextmanager
async def _running_worker(
    bootstrap: str, group: str, folder: Path, log: Path, *, settings: Mapping[str, str], command: Sequence[str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    own = {
        "GUARDIAN_KAFKA__BOOTSTRAP": bootstrap,
        "GUARDIAN_KAFKA__GROUP": group,
        "GUARDIAN_STORE__PATH": str(folder / "store"),
        "GUARDIAN_STATE_DIR": str(folder / "state"),
        "GUARDIAN_WEB__PORT": "0",
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}
    with log.open("wb") as output:
        # In the scratch folder, so that no settings file of the caller counts.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            "worker",
            cwd=folder,
            env={**inherited, **own, **settings},
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _wait_for_lag_zero(bootstrap: str, group: str, count: int, process: asyncio.subprocess.Process, log: Path) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                if process.returncode is not None:
                    raise _explain_end(process.returncode, log)
                with suppress(GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError):  # it moves in the beginning
                    committed = await admin.list_consumer_group_offsets(group)
                    if sum(max(0, entry.offset) for entry in committed.values()) >= count:
                        return
                await asyncio.sleep(_LOOK_S)
    finally:
        await admin.close()


def _explain_end(code: int, log: Path) -> DependencyError:
    told = log.read_text(errors="replace")[-2_000:]
    return DependencyError(f"the worker ended with {code}: {told}", dependency="broker")


def _read_log(log: Path, count: int) -> Lap:
    """Read the one line a batch: the first began when it was in hand, the last ended with its commit."""
    lines = (orjson.loads(line) for line in log.read_bytes().splitlines() if line.startswith(b"{"))
    batches = [line for line in lines if line.get("event") == "batch.finished"]
    times = [datetime.fromisoformat(batch["timestamp"]).timestamp() for batch in batches]
    seconds = times[-1] - times[0] + batches[0]["total_ms"] / 1000
    lap = Lap(count=count, seconds=seconds)
    for phase in PHASES:
        lap.parts[phase] = sum(batch.get(f"{phase}_ms", 0.0) for batch in batches) / 1000
    lap.parts["read, count, commit"] = seconds - sum(lap.parts.values())
    lap.parts["batches"] = float(len(batches))
    return lap
