"""Replay of native events in a file into the embedded store, batch by batch in turn with the engine's limit.

After every batch that the replay made durable, the same number of the very points it writes go straight into a second shard.
Disks and neighbours on a machine are moody for seconds at a time; so both meet the same mood, and their ratio holds.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from benchmarks.bank import RECEIVED_AT, iter_events, write_lines
from benchmarks.laps import Advance, Lap, interleave, part_us, ratios, timed
from benchmarks.limit import BATCH_EVENTS, VECTOR_SIZE, RawWriter, build_given, guard_points, scratch_folder
from benchmarks.report import Aim, Report
from guardian.core.model import Event
from guardian.core.point import Upsert
from guardian.dead_letter_file import DeadLetterFile
from guardian.embed.port import Embedder
from guardian.errors import ConfigError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence
from guardian.replay import Checkpoint, Replay
from guardian.settings import EmbeddingSettings, Settings
from guardian.sources.formats.native import NativeSource
from guardian.sources.port import SourceOptions
from guardian.store.edge.store import EdgeStore
from guardian.wiring import build_decode_policy, build_embedder, build_identity, build_policy_of

AIM = Aim(value=0.7)
# Stages of a batch, as its report names them.
STAGES = ("fetch", "decide", "embed", "apply")


class ReportingPipeline(Pipeline):
    """The pipeline, which also keeps what every batch reported."""

    reports: list[BatchReport]

    async def process(
        self, events: Sequence[Event], *, fence: Fence, before_apply: Callable[[BatchReport], None] | None = None
    ) -> BatchReport:
        """Take a batch through and keep its report, without its outcomes."""
        report = await super().process(events, fence=fence, before_apply=before_apply)
        report.outcomes = ()
        self.reports.append(report)
        return report


@asynccontextmanager
async def opened_replay(path: Path, embedder: Embedder | None) -> AsyncIterator[tuple[Replay, ReportingPipeline]]:
    """Build a replay into a fresh store as the command line does: native source, checkpoint, dead letters, default limits."""
    settings = Settings()
    with scratch_folder() as folder:
        store = EdgeStore(folder / "store", build_identity(embedder))
        await store.open()
        try:
            pipeline = ReportingPipeline(store=store, policy_of=build_policy_of(settings), embedder=embedder)
            pipeline.reports = []
            job = Replay(
                source=NativeSource(),
                paths=[path],
                options=SourceOptions(),
                decode_policy=build_decode_policy(settings, store.identity.vector_size),
                received_at=RECEIVED_AT,
                dead_letters=DeadLetterFile(folder / "dead-letters.jsonl"),
                pipeline=pipeline,
                checkpoint=Checkpoint(folder, [path], "bench"),
                batch_events=settings.limits.batch_events,
            )
            yield job, pipeline
        finally:
            await store.close()


async def run_pair(path: Path, points: Sequence[Upsert], *, events: int, vector_size: int) -> tuple[Lap, Lap]:
    """Replay a file and write its points raw, turn by turn; gives (replay, raw)."""
    whole, raw = Lap(count=events), Lap(count=events)
    with scratch_folder() as folder, RawWriter(folder / "raw", vector_size=vector_size) as writer:
        done = 0

        def write_same(items: int, _: int) -> None:
            nonlocal done
            upto = len(points) * items // events
            with timed(raw):
                writer.write(points[done:upto])
                writer.flush()
            done = upto

        async with opened_replay(path, build_given(vector_size)) as (job, pipeline):
            with timed(whole):
                summary = await job.run(write_same)
    replay = Lap(count=summary.events, seconds=whole.seconds - raw.seconds, cpu_seconds=whole.cpu_seconds - raw.cpu_seconds)
    _note_parts(replay, pipeline.reports)
    return replay, raw


def _note_parts(lap: Lap, reports: Sequence[BatchReport]) -> None:
    for stage in STAGES:
        lap.parts[stage] = sum(getattr(report, f"{stage}_ms") for report in reports) / 1000
    outside = lap.seconds - sum(lap.parts.values())
    lap.batches = [outside / len(reports) + sum(getattr(report, f"{stage}_ms") for stage in STAGES) / 1000 for report in reports]
    lap.parts["read and decode"] = outside
    lap.parts["rounds"] = sum(report.rounds for report in reports) / len(reports)
    lap.parts["fetched"] = sum(report.fetched for report in reports) / lap.count


async def measure_replay(*, events: int, model_events: int, repetitions: int, advance: Advance) -> Report:
    """Measure replay with BM25 alone, with vectors that come with the events, and with a model on this machine."""
    report = Report(name="replay", title=f"{events:,} events from a file into the embedded store")
    for vector_size in (0, VECTOR_SIZE):
        await _measure_beside_limit(report, events, vector_size, repetitions, advance)
    if model_events:
        await _measure_model(report, model_events, repetitions, advance)
    report.notes.append(
        f"batches of {BATCH_EVENTS}; the limit flushes each batch, too, and builds its points inside the timed part"
    )
    return report


async def _measure_beside_limit(report: Report, events: int, vector_size: int, repetitions: int, advance: Advance) -> None:
    what = f"vectors given ({vector_size}-d)" if vector_size else "BM25 only"
    advance(f"guarding events, {what}")
    points = await guard_points(events, vector_size=vector_size)
    pairs: list[tuple[Lap, Lap]] = []
    with scratch_folder() as folder:
        path = folder / "events.jsonl"
        write_lines(path, iter_events(events, vector_size=vector_size))
        gc.collect()
        gc.freeze()  # a writer would not hold the points, so the collector shall not walk them
        try:
            for turn in range(repetitions):
                advance(f"{what}: {turn + 1} of {repetitions}")
                pairs.append(await run_pair(path, points, events=events, vector_size=vector_size))
        finally:
            gc.unfreeze()
    replays, raws = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    report.add(f"{what}, limit", [lap.rate for lap in raws], "events/s")
    report.add(f"{what}, replay", [lap.rate for lap in replays], "events/s")
    report.add(f"{what}, replay to limit", ratios(replays, raws), "ratio", aim=AIM if vector_size else None)
    by_batch = [median(raw.batches) / median(replay.batches) for replay, raw in pairs]
    report.add(f"{what}, replay to limit, median batches", by_batch, "ratio")
    by_cpu = [raw.cpu_seconds / replay.cpu_seconds for replay, raw in pairs]
    report.add(f"{what}, replay to limit, processor time", by_cpu, "ratio")
    _add_parts(report, what, replays)


def _add_parts(report: Report, what: str, laps: Sequence[Lap]) -> None:
    for part in ("read and decode", *STAGES):
        report.add(f"{what}, {part}", part_us(laps, part), "µs/event")
    report.add(f"{what}, rounds of asking", laps[0].parts["rounds"], "per batch")
    report.add(f"{what}, points fetched", laps[0].parts["fetched"], "per event")


async def _measure_model(report: Report, events: int, repetitions: int, advance: Advance) -> None:
    """Measure with the packaged model; beside it the model alone on the same texts."""
    advance("loading the model")
    try:
        # Without a cache: every turn has to embed again.
        embedder = await build_embedder(EmbeddingSettings(provider="sentence-transformers", cache_entries=0))
    except ConfigError as error:
        report.notes.append(f"the model was skipped: {error}")
        return
    assert embedder is not None
    try:
        with scratch_folder() as folder:
            path = folder / "events.jsonl"
            write_lines(path, iter_events(events))
            variants = {
                "model alone": lambda: _run_model(embedder, events),
                "replay": lambda: _run_replay(path, embedder),
            }
            laps = await interleave(variants, repetitions=repetitions, advance=lambda name: advance(f"MiniLM: {name}"))
    finally:
        await embedder.close()
    what = f"MiniLM on this machine ({events:,} events)"
    report.add(f"{what}, model alone", [lap.rate for lap in laps["model alone"]], "events/s")
    report.add(f"{what}, replay", [lap.rate for lap in laps["replay"]], "events/s")
    report.add(f"{what}, replay to model alone", ratios(laps["replay"], laps["model alone"]), "ratio")
    _add_parts(report, what, laps["replay"])


async def _run_model(embedder: Embedder, events: int) -> Lap:
    texts = [event["data"]["text"] for event in iter_events(events) if "text" in event["data"]]
    lap = Lap(count=events)
    with timed(lap):
        for start in range(0, len(texts), BATCH_EVENTS):
            await embedder.embed(texts[start : start + BATCH_EVENTS])
    return lap


async def _run_replay(path: Path, embedder: Embedder) -> Lap:
    lap = Lap(count=0)
    async with opened_replay(path, embedder) as (job, pipeline):
        with timed(lap):
            summary = await job.run()
    lap.count = summary.events
    _note_parts(lap, pipeline.reports)
    return lap
