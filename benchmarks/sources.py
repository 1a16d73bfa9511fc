"""Reading and decoding long histories: rows a second of one core, and whether memory stays flat.

Each history is generated on the disk and read in a process of its own by a dry run of `guardian replay`: framing, the format's
reader, decoding and the account of rows, without a store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from benchmarks.bank import RECEIVED_AT
from benchmarks.histories import HISTORIES
from benchmarks.laps import Advance, Lap, timed
from benchmarks.limit import BATCH_EVENTS, scratch_folder
from benchmarks.memory import read_resident
from benchmarks.report import Aim, Report
from guardian.contracts.admission import DecodePolicy
from guardian.replay import Rehearsal, Replay
from guardian.sources.port import SourceOptions
from guardian.sources.registry import by_name

AIM = Aim(value=20_000)
# Memory is looked at after each so many items.
_LOOK_ITEMS = 5_000
# Bytes read to compare one process with two; a whole history would only take longer.
_JOBS_BYTES = 100_000_000
_MB = 1_000_000


@dataclass(slots=True, kw_only=True)
class Reading:
    """What one reading took.

    Attributes:
        memory_mb: Own memory of the process, along the way.
    """

    lap: Lap
    rows: int = 0
    events: int = 0
    memory_mb: list[float] = field(default_factory=list)


async def measure_sources(*, size_mb: int, advance: Advance) -> Report:
    """Measure a history of `size_mb` megabytes in each format."""
    report = Report(name="sources", title=f"reading and decoding histories of {size_mb:,} MB, dry run, batches of {BATCH_EVENTS}")
    for name, write in HISTORIES.items():
        with scratch_folder() as folder:
            advance(f"{name}: writing")
            paths = await asyncio.to_thread(write, folder, size_mb * _MB)
            advance(f"{name}: reading")
            reading = await _run_apart(read_history, name, paths)
        _add(report, name, reading)
    await _compare_jobs(report, min(size_mb * _MB, _JOBS_BYTES), advance)
    report.notes.append("memory is anonymous memory of the reading process, interpreter and libraries included")
    return report


def _add(report: Report, name: str, reading: Reading) -> None:
    lap, memory = reading.lap, reading.memory_mb
    report.add(f"{name}, rows", reading.rows, "rows")
    report.add(f"{name}, events", reading.events, "events")
    report.add(f"{name}, wall time", lap.rate, "rows/s")
    report.add(f"{name}, processor time", lap.cpu_rate, "rows/s", aim=AIM)
    report.add(f"{name}, peak memory", max(memory), "MB")
    report.add(f"{name}, memory from a quarter of the way to the end", memory[-1] - memory[len(memory) // 4], "MB")


async def _compare_jobs(report: Report, size_bytes: int, advance: Advance) -> None:
    with scratch_folder() as folder:
        paths = await asyncio.to_thread(HISTORIES["cloudevents"], folder, size_bytes)
        laps = {}
        for jobs in (1, 2):
            advance(f"cloudevents: {jobs} at a time")
            laps[jobs] = (await _run_apart(read_history, "cloudevents", paths, jobs)).lap
    report.add("cloudevents, --jobs 2 to --jobs 1, wall time", laps[2].rate / laps[1].rate, "ratio")
    cpu = laps[1].cpu_seconds / laps[2].cpu_seconds
    report.add("cloudevents, --jobs 2 to --jobs 1, processor time of the main process", cpu, "ratio")


async def _run_apart(work: Callable[..., Reading], *args: object) -> Reading:
    """Run in a fresh process, whose memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return await asyncio.get_running_loop().run_in_executor(apart, work, *args)


def read_history(name: str, paths: list[Path], jobs: int = 1) -> Reading:
    """Read and decode a whole history."""
    reading = Reading(lap=Lap(count=0), memory_mb=[read_resident().anonymous_mb])
    due = _LOOK_ITEMS

    def look(items: int, _: int) -> None:
        nonlocal due
        if items >= due:
            reading.memory_mb.append(read_resident().anonymous_mb)
            due = items + _LOOK_ITEMS

    replay = Replay(
        source=by_name(name),
        paths=paths,
        options=SourceOptions(space="bench"),
        decode_policy=DecodePolicy(),
        received_at=RECEIVED_AT,
        dead_letters=Rehearsal(),
        batch_events=BATCH_EVENTS,
        jobs=jobs,
    )
    with timed(reading.lap):
        summary = asyncio.run(replay.run(look))
    reading.rows, reading.events, reading.lap.count = summary.rows, summary.events, summary.rows
    reading.memory_mb.append(read_resident().anonymous_mb)
    assert not summary.dead_letters, "a generated history is sound"
    return reading
