"""A calibrated context beside plain top-10 search, on the same embedded store, question by question.

Plain search is what a reader without Guardian does: one hybrid query, the ten best records whole. The calibrated context makes the same
query deeper, decides, and writes the prompt. Vectors are given to both. Recaps lie near what they recap, so families meet in the answers.

The first round of all finds most pages of the payloads untouched: the kernel has to map each into the process once, which is a matter of a
process's first minutes and costs as much as reading the record. It is told apart; the other rounds ask the same questions.
"""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.bank import SPACES, Bank, Mix, batched, decode_events
from benchmarks.laps import Advance
from benchmarks.limit import BATCH_EVENTS, build_given, scratch_folder
from benchmarks.report import Aim, Report
from guardian.core.numbers.interval import Estimate
from guardian.core.point import PointKind
from guardian.embed.bm25 import bm25_query
from guardian.ports import Fence, SearchQuery, Store
from guardian.read import Admission, Calibrator, ReadPolicy, Task
from guardian.settings import Settings
from guardian.store.edge.store import EdgeStore
from guardian.wiring import build_identity, build_pipeline

VECTOR_SIZE = 384
TOP = 10
# How far a recap's vector lies from what it recaps, and a question's from what it asks about, a component: cosines of about 0.9.
_NOISE = 0.025
# Records whose vectors are kept for recaps to come; a recap derives from the latest sixty of its space.
_KEPT = 4_000
_WRITES = Mix(leaves=0.75, roots=0.25, reads=0.0)
CASES = {
    "question of fact": (Task(requires_objective_fact=True), ReadPolicy(limit=TOP)),
    "question of fact, what is barred untold": (Task(requires_objective_fact=True), ReadPolicy(limit=TOP, tells_barred=False)),
    "personal question": (Task(requires_objective_fact=False, personalization_allowed=True), ReadPolicy(limit=TOP)),
}
_FIRST = "question of fact"
# Samples of the interval of a ratio, of questions drawn with replacement.
_DRAWS = 2_000
MAX_P99_MS = 25.0
MAX_RATIO = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of one space."""

    space: str
    text: str
    vector: tuple[float, ...]


@dataclass(slots=True)
class Times:
    """Seconds of each call, by wall and by processor (all threads)."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    async def take(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Time one call."""
        started, cpu_started = time.perf_counter(), time.process_time()
        answer = await call()
        self.wall.append(time.perf_counter() - started)
        self.cpu.append(time.process_time() - cpu_started)
        return answer


async def measure_read(*, sizes: Sequence[int], questions: int, advance: Advance) -> Report:
    """Measure both on stores of several sizes."""
    report = Report(name="read", title=f"a calibrated context beside plain top-{TOP} search, embedded, vectors given")
    for records in sizes:
        with scratch_folder() as folder:
            store = EdgeStore(folder / "store", build_identity(build_given(VECTOR_SIZE)))
            await store.open()
            try:
                await fill_store(store, records, advance)
                await compare(store, records, questions, report, advance)
            finally:
                await store.close()
    report.notes.append(f"{SPACES} spaces, {VECTOR_SIZE}-d vectors, no HNSW; turn by turn, every other turn in reverse")
    report.notes.append("processor time counts all threads of the process, and is the steadier figure on a shared machine")
    return report


async def measure_read_at(place: Path, *, records: int, questions: int, advance: Advance) -> Report:
    """Measure on a store that is there: one of a million records takes an hour to fill."""
    report = Report(name="read", title=f"a calibrated context beside plain top-{TOP} search, {place}")
    store = EdgeStore(place, None)
    await store.open()
    try:
        await compare(store, records, questions, report, advance)
    finally:
        await store.close()
    return report


async def fill_store(store: Store, records: int, advance: Advance) -> None:
    """Write generated memories through the pipeline."""
    pipeline = build_pipeline(Settings(), store, build_given(VECTOR_SIZE), None)
    for number, events in enumerate(batched(iter_writes(records), BATCH_EVENTS)):
        if number % 20 == 0:
            advance(f"{records:,} records: {number * BATCH_EVENTS:,} written")
        await pipeline.process(decode_events(events), fence=Fence())


def iter_writes(count: int) -> Iterator[dict[str, Any]]:
    """Give generated writes of teams, whose memories are everybody's in them; a recap lies near its parents."""
    draw = np.random.default_rng(7)
    recent: OrderedDict[str, Any] = OrderedDict()
    for event in Bank(seed=3).iter_events(count, _WRITES):
        content = event["data"]
        content["scope"].pop("user_id")
        parents = [recent[parent] for parent in content.get("parents", ()) if parent in recent]
        vector = (
            draw.normal(0, 0.05, VECTOR_SIZE) if not parents else np.mean(parents, axis=0) + draw.normal(0, _NOISE, VECTOR_SIZE)
        )
        recent[content["memory_id"]] = vector
        if len(recent) > _KEPT:
            recent.popitem(last=False)
        content["vector"] = vector.round(6).tolist()
        yield event


async def draw_questions(store: Store, count: int) -> list[Question]:
    """Draw questions about records of all spaces: some of their words, and a vector near theirs."""
    draw = random.Random(11)
    pool = []
    for number in range(SPACES):
        async for point in store.iter_points(space=f"team-{number:02}", kinds=[PointKind.RECORD]):
            pool.append(point)
            if len(pool) % 100 == 0:
                break
    asked = [draw.choice(pool) for _ in range(count)]
    vectors = await store.fetch_vectors({point.id for point in asked})
    questions = []
    for point in asked:
        words = point.payload["text"].split()
        dense = vectors[point.id].dense
        assert dense is not None
        near = tuple(value + draw.gauss(0, _NOISE) for value in dense)
        questions.append(
            Question(space=point.payload["space"], text=" ".join(draw.sample(words, min(6, len(words)))), vector=near)
        )
    return questions


async def compare(store: Store, records: int, count: int, report: Report, advance: Advance) -> None:
    """Ask every question both ways, turn by turn."""
    questions = await draw_questions(store, count)
    for what, (task, policy) in [(f"{_FIRST}, pages untouched", CASES[_FIRST]), *CASES.items()]:
        calibrator = Calibrator(store, policy)
        advance(f"{records:,} records: {count} times a {what}")
        plain, calibrated, admissions = Times(), Times(), []
        for number, question in enumerate([questions[0], *questions]):  # the first is asked twice: it warms up
            turns = [_plain(store, question), _calibrated(calibrator, question, task)]
            for call, times in list(zip(turns, (plain, calibrated), strict=True))[:: -1 if number % 2 else 1]:
                answer = await times.take(call)
                if isinstance(answer, Admission):
                    admissions.append(answer)
        for times in (plain, calibrated):
            del times.wall[0], times.cpu[0]
        has_aim = records == 100_000 and what in CASES
        _report(report, f"{records:,} records, {what}", plain, calibrated, admissions, has_aim=has_aim)


def _plain(store: Store, question: Question) -> Callable[[], Awaitable[Any]]:
    return lambda: store.search(
        SearchQuery(space=question.space, sparse=bm25_query(question.text), dense=question.vector, limit=TOP)
    )


def _calibrated(calibrator: Calibrator, question: Question, task: Task) -> Callable[[], Awaitable[Any]]:
    return lambda: calibrator.context(question.text, task, space=question.space, vector=question.vector)


def _estimate_ratio(taken: Sequence[float], base: Sequence[float]) -> Estimate:
    """Give the ratio of two medians over the same questions, with its 95 % interval by the bootstrap over questions."""
    picked = np.random.default_rng(17).integers(len(base), size=(_DRAWS, len(base)))
    ratios = np.median(np.asarray(taken)[picked], axis=1) / np.median(np.asarray(base)[picked], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return Estimate(median(taken) / median(base), float(low), float(high), len(base))


def _report(
    report: Report, what: str, plain: Times, calibrated: Times, admissions: Sequence[Admission], *, has_aim: bool
) -> None:
    def percentile_ms(values: Sequence[float], share: float) -> float:
        return sorted(values)[min(len(values) - 1, int(share * len(values)))] * 1e3

    ratio_aim = Aim(value=MAX_RATIO, is_ceiling=True) if has_aim else None
    p99_aim = Aim(value=MAX_P99_MS, is_ceiling=True) if has_aim else None
    for name, times in (("plain", plain), ("calibrated", calibrated)):
        report.add(f"{what}, {name}, p50", percentile_ms(times.wall, 0.5), "ms")
        aim = p99_aim if name == "calibrated" else None
        report.add(f"{what}, {name}, p99", percentile_ms(times.wall, 0.99), "ms", aim=aim)
        report.add(f"{what}, {name}, p50 of processor time", percentile_ms(times.cpu, 0.5), "ms")
        report.add(f"{what}, {name}, p99 of processor time", percentile_ms(times.cpu, 0.99), "ms")
    for name, taken, base in (("p50", calibrated.wall, plain.wall), ("p50 of processor time", calibrated.cpu, plain.cpu)):
        report.add_estimate(f"{what}, calibrated to plain, {name}", _estimate_ratio(taken, base), "ratio", aim=ratio_aim)
    report.add(f"{what}, searches", mean(admission.searches for admission in admissions), "a context")
    report.add(f"{what}, records given", mean(len(admission.rendered) for admission in admissions), "a context")
