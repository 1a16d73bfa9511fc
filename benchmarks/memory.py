"""Memory of a process over a long replay: does it grow with the events, and how much of that is the engine's?

Two fresh processes, one after the other: a replay, and a raw writer of the points that the replay left. The engine keeps its
indexes in memory and maps its files; what the replay grows beyond the raw writer is Guardian's own.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import orjson

from benchmarks.bank import batched, iter_events, write_lines
from benchmarks.laps import Advance
from benchmarks.limit import BATCH_EVENTS, RawWriter, scratch_folder
from benchmarks.replay import opened_replay
from benchmarks.report import Report
from guardian.core.point import PointKind, Upsert
from guardian.embed.bm25 import bm25_document

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """Memory of a process at a moment.

    Attributes:
        anonymous_mb: Its own pages; this is what runs a machine out of memory.
        file_mb: Mapped files that happen to be in memory; the kernel takes them back when it needs to.
    """

    anonymous_mb: float
    file_mb: float


def read_resident() -> Resident:
    """Read the memory of this process; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = {
        name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines) if name.startswith("Rss")
    }
    return Resident(anonymous_mb=kilobytes["RssAnon"] / 1024, file_mb=kilobytes["RssFile"] / 1024)


async def measure_memory(*, marks: Sequence[int], advance: Advance) -> Report:
    """Measure the memory of a replay and of a raw writer after each number of events in `marks`, ascending."""
    report = Report(name="memory", title=f"memory over a replay of {marks[-1]:,} events, BM25 only")
    with scratch_folder() as folder:
        events, points = folder / "events.jsonl", folder / "points.jsonl"
        advance(f"writing {marks[-1]:,} events")
        write_lines(events, iter_events(marks[-1]))
        advance("replaying in a process of its own")
        guarded = await _run_apart(watch_replay, events, points, tuple(marks))
        advance("writing raw in a process of its own")
        raw = await _run_apart(watch_raw, points, tuple(marks))
    for name, found in (("replay", guarded), ("raw writer", raw)):
        for mark, resident in zip((0, *marks), found, strict=True):
            report.add(f"{name}, own memory after {mark:,} events", resident.anonymous_mb, "MB")
        report.add(f"{name}, mapped files after {marks[-1]:,} events", found[-1].file_mb, "MB")
    stretch = (marks[-1] - (marks[-2] if len(marks) > 1 else 0)) / 10_000
    growths = [(found[-1].anonymous_mb - found[-2].anonymous_mb) / stretch for found in (guarded, raw)]
    report.add("replay, growth on the last stretch", growths[0], "MB/10,000 events")
    report.add("raw writer, growth on the last stretch", growths[1], "MB/10,000 events")
    report.add("Guardian's own growth on the last stretch", growths[0] - growths[1], "MB/10,000 events")
    report.notes.append("Guardian keeps what it worked out of the latest texts, about 1 KB each, up to a bound; then it is flat")
    return report


async def _run_apart(work: Callable[..., Answer], *args: Any) -> Answer:
    """Run in a fresh process; a forked one would hang in the engine."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return await asyncio.get_running_loop().run_in_executor(apart, work, *args)


def watch_replay(events: Path, points: Path, marks: tuple[int, ...]) -> list[Resident]:
    """Replay a file, look at the memory at the marks, and leave the points in another file."""
    return asyncio.run(_watch_replay(events, points, marks))


async def _watch_replay(events: Path, points: Path, marks: tuple[int, ...]) -> list[Resident]:
    async with opened_replay(events, None) as (job, pipeline):
        found, due = [_look()], list(marks)

        def note(items: int, _: int) -> None:
            while due and items >= due[0]:
                found.append(_look())
                due.pop(0)

        await job.run(note)
        with points.open("wb") as file:
            async for point in pipeline.store.iter_points():
                file.write(orjson.dumps([point.id, point.payload]) + b"\n")
    return found


def watch_raw(points: Path, marks: tuple[int, ...]) -> list[Resident]:
    """Write the points of a file raw, and look at the memory when as many are done as the replay had events."""
    with scratch_folder() as folder, RawWriter(folder / "raw", vector_size=0) as writer, points.open("rb") as file:
        found, due, done = [_look()], list(marks), 0
        for lines in batched(file, BATCH_EVENTS):
            writer.write([_read_point(line) for line in lines])
            writer.flush()
            done += len(lines)
            while due and done >= due[0]:
                found.append(_look())
                due.pop(0)
        found += [_look() for _ in due]  # fewer points than events: what is left stands for the end
    return found


def _read_point(line: bytes) -> Upsert:
    point_id, payload = orjson.loads(line)
    sparse = bm25_document(payload["text"]) if payload["point"] == PointKind.RECORD else None
    return Upsert(id=point_id, payload=payload, sparse=sparse)


def _look() -> Resident:
    gc.collect()
    return read_resident()
