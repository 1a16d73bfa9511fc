"""Corrections of large families in the embedded store, and whether the event loop goes on beating meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.bank import batched, build_correction, build_retraction, build_write, decode_events
from benchmarks.laps import Advance, Lap, timed
from benchmarks.limit import BATCH_EVENTS, scratch_folder
from benchmarks.report import Aim, Report
from guardian.core.point import Phase
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence
from guardian.settings import KafkaSettings, Settings
from guardian.store.edge.store import EdgeStore
from guardian.wiring import build_identity, build_pipeline

SPACE = "family"
ROOT = "root"
# Seconds between the beats of a loop that is not held up.
BEAT_S = 0.05
# New recaps measured, one batch each.
RECAPS = 20
# Size of what is corrected -> seconds at most; other sizes have no aim.
AIMS_S = {10_000: 5.0, 100_000: 60.0}


class CountingStore(EdgeStore):
    """The embedded store, counting what is written to it."""

    written = 0

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write, and count upserts, patches and deletes."""
        self.written += sum(len(phase.upserts) + len(phase.patches) + len(phase.deletes) for phase in phases)
        await super().apply(phases, fence=fence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One event taken through the pipeline: its time, what it read and wrote, and the longest gap between two beats."""

    lap: Lap
    report: BatchReport
    written: int
    longest_gap_s: float


@dataclass(slots=True, kw_only=True)
class Family:
    """A family in a store of its own, and the number of the next event."""

    store: CountingStore
    pipeline: Pipeline
    size: int
    number: int = 0
    build_s: float = 0.0

    async def take(self, event: dict[str, Any]) -> Pass:
        """Take one event through, alone in its batch, with a heart beating beside it."""
        before, lap = self.store.written, Lap(count=1)
        events = decode_events([event])
        async with beating() as gaps:
            with timed(lap):
                report = await self.pipeline.process(events, fence=Fence())
        report.outcomes = ()
        return Pass(lap=lap, report=report, written=self.store.written - before, longest_gap_s=max(gaps))

    def next_number(self) -> int:
        """Count the events; their times follow the count."""
        self.number += 1
        return self.number


@asynccontextmanager
async def beating() -> AsyncIterator[list[float]]:
    """Beat every 50 ms while the block runs; gives the gaps between beats, in seconds, filled when it ends."""
    gaps: list[float] = []

    async def beat() -> None:
        last = time.perf_counter()
        try:
            while True:
                await asyncio.sleep(BEAT_S)
                now = time.perf_counter()
                gaps.append(now - last)
                last = now
        finally:
            gaps.append(time.perf_counter() - last)

    heart = asyncio.create_task(beat())
    await asyncio.sleep(0)  # its first beat is due from here on
    try:
        yield gaps
    finally:
        heart.cancel()
        await asyncio.wait([heart])


@asynccontextmanager
async def built_family(size: int, *, is_chain: bool, advance: Advance) -> AsyncIterator[Family]:
    """Write a root and `size` records below it: each the child of the one before, or all of the root."""
    shape = "chain" if is_chain else "family"
    with scratch_folder() as folder:
        store = CountingStore(folder / "store", build_identity(None))
        await store.open()
        try:
            family = Family(store=store, pipeline=build_pipeline(Settings(), store, None, None), size=size)
            started = time.perf_counter()
            for batch in batched(_iter_writes(family, size, is_chain=is_chain), BATCH_EVENTS):
                await family.pipeline.process(decode_events(batch), fence=Fence())
                advance(f"writing a {shape} of {size:,}: {family.number:,}")
            family.build_s = time.perf_counter() - started
            yield family
        finally:
            await store.close()


def _iter_writes(family: Family, size: int, *, is_chain: bool) -> Iterator[dict[str, Any]]:
    yield build_write(ROOT, family.next_number(), space=SPACE)
    above = ROOT
    for step in range(size):
        memory_id = f"derived-{step:07}"
        yield build_write(memory_id, family.next_number(), space=SPACE, parents=[above])
        above = memory_id if is_chain else above


async def measure_correct(*, chain: int, families: Sequence[int], advance: Advance) -> Report:
    """Measure the correction of a chain's root and of family roots, recaps in these families, and growth with size."""
    report = Report(name="correct", title="one correction of a root, in the embedded store, BM25 only")
    await _measure_chain(report, chain, advance)
    per_record: dict[int, float] = {}
    for size in families:
        per_record[size] = await _measure_family(report, size, advance)
    for size in families[1:]:
        growth = per_record[size] / per_record[families[0]]
        report.add(f"processor time a record, family of {size:,} to {families[0]:,}", growth, "ratio")
    session_s = KafkaSettings().session_timeout_s
    report.notes.append(
        f"a beat is due every {BEAT_S * 1000:g} ms; the aim of its longest gap is a third of the session timeout of {session_s:g} s"
    )
    return report


async def _measure_chain(report: Report, size: int, advance: Advance) -> None:
    what = f"chain of {size:,}"
    async with built_family(size, is_chain=True, advance=advance) as family:
        report.add(f"{what}, written before", size / family.build_s, "records/s")
        advance(f"correcting the root of a {what}")
        _add_pass(report, what, size, await family.take(build_correction(ROOT, family.next_number(), space=SPACE)))


async def _measure_family(report: Report, size: int, advance: Advance) -> float:
    """Measure one family; gives processor seconds a record of its correction."""
    what = f"family of {size:,}"
    async with built_family(size, is_chain=False, advance=advance) as family:
        report.add(f"{what}, written before", size / family.build_s, "records/s")
        advance(f"new recaps in a {what}")
        await _measure_recaps(report, f"{what}, a new recap before the correction", family)
        correction = build_correction(ROOT, family.next_number(), space=SPACE)
        advance(f"correcting the root of a {what}")
        corrected = await family.take(correction)
        _add_pass(report, what, size, corrected)
        await _measure_recaps(report, f"{what}, a new recap after the correction", family)
        advance(f"retracting the correction of a {what}")
        retracted = await family.take(build_retraction(correction, family.next_number()))
        report.add(f"{what}, the correction retracted again", retracted.lap.seconds, "s")
        return corrected.lap.cpu_seconds / corrected.report.felled


def _add_pass(report: Report, what: str, size: int, done: Pass) -> None:
    session_s = KafkaSettings().session_timeout_s
    aim = Aim(value=AIMS_S[size], is_ceiling=True) if size in AIMS_S else None
    report.add(f"{what}, corrected", done.lap.seconds, "s", aim=aim)
    report.add(f"{what}, corrected, processor time", done.lap.cpu_seconds, "s")
    report.add(f"{what}, records felled", done.report.felled, "records")
    report.add(f"{what}, rounds of asking", done.report.rounds, "rounds")
    report.add(f"{what}, points fetched", done.report.fetched, "points")
    report.add(f"{what}, written", done.written / done.lap.seconds, "points/s")
    for stage in ("fetch", "decide", "apply"):
        report.add(f"{what}, {stage}", getattr(done.report, f"{stage}_ms") / 1000, "s")
    report.add(f"{what}, longest gap of the beat", done.longest_gap_s, "s", aim=Aim(value=session_s / 3, is_ceiling=True))


async def _measure_recaps(report: Report, what: str, family: Family) -> None:
    recaps = [f"recap-{family.number}-{step}" for step in range(RECAPS)]
    passes = [
        await family.take(
            build_write(name, family.next_number(), space=SPACE, parents=[f"derived-{step % family.size:07}", ROOT])
        )
        for step, name in enumerate(recaps)
    ]
    report.add(what, [one.lap.seconds * 1000 for one in passes], "ms")
    report.add(f"{what}, without writing", [one.report.fetch_ms + one.report.decide_ms for one in passes], "ms")
    report.add(f"{what}, points fetched", median(one.report.fetched for one in passes), "points")
