"""The limit: the very points that Guardian wrote, upserted straight into a shard of the same configuration.

Nothing is decoded, looked up, decided or published; what is left is what the engine itself takes. Building the engine's points
from Python values is part of any writer's work and inside the timed part, but for the variant that says otherwise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from qdrant_edge import EdgeShard, SparseVector, UpdateOperation
from qdrant_edge import Point as EdgePoint

from benchmarks.bank import decode_events, iter_events
from benchmarks.laps import Advance, Lap, interleave, ratios, timed
from benchmarks.report import Report
from guardian.contracts.admission import DecodePolicy
from guardian.core.model import Written
from guardian.core.point import PointKind, Upsert
from guardian.embed.bm25 import bm25_document
from guardian.embed.given import GivenEmbedder
from guardian.embed.port import Embedder
from guardian.ports import Fence, Store
from guardian.settings import Settings
from guardian.store.edge.shard import make_shard
from guardian.store.edge.store import EdgeStore
from guardian.store.layout import DENSE, SPARSE, iter_slices
from guardian.wiring import build_identity, build_pipeline

# As the settings' default of `limits.batch_events`.
BATCH_EVENTS = 500
VECTOR_SIZE = 384

Vectors = dict[tuple[str, str], tuple[float, ...]]  # by (space, memory id)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder that is gone afterwards; it lies where `TMPDIR` says."""
    with tempfile.TemporaryDirectory(prefix="guardian-bench-") as name:
        yield Path(name)


def build_given(vector_size: int) -> Embedder | None:
    """Build the embedder for events that carry their vectors; None for none."""
    return GivenEmbedder(size=vector_size) if vector_size else None


def build_edge_point(upsert: Upsert) -> EdgePoint:
    """Build the engine's point."""
    vector: dict[str, Any] = {}
    if upsert.dense is not None:
        vector[DENSE] = list(upsert.dense)
    if upsert.sparse is not None:
        vector[SPARSE] = SparseVector(list(upsert.sparse[0]), list(upsert.sparse[1]))
    return EdgePoint(upsert.id, vector, dict(upsert.payload))


class RawWriter:
    """A fresh shard with Guardian's own configuration, written to without Guardian; a context manager."""

    def __init__(self, folder: Path, *, vector_size: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        make_shard(folder, build_identity(build_given(vector_size)))
        self._shard = EdgeShard.load(str(folder))

    def write(self, points: Sequence[Upsert]) -> None:
        """Build and upsert points."""
        self.write_built([build_edge_point(point) for point in points])

    def write_built(self, points: Sequence[EdgePoint]) -> None:
        """Upsert ready-made points."""
        self._shard.update(UpdateOperation.upsert_points(list(points)))

    def flush(self) -> None:
        """Make durable."""
        self._shard.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shard.close()


async def collect_points(store: Store, vectors: Vectors) -> list[Upsert]:
    """Read all points of a store as they ended up, with the vectors they were written with, in the order of time."""
    points = []
    async for point in store.iter_points():
        is_record = point.payload["point"] == PointKind.RECORD
        dense = vectors.get((point.payload["space"], point.payload["memory_id"])) if is_record else None
        sparse = bm25_document(point.payload["text"]) if is_record else None
        points.append(Upsert(id=point.id, payload=point.payload, dense=dense, sparse=sparse))
    return sorted(points, key=lambda point: str(point.payload.get("observed_at", "")))


async def guard_points(count: int, *, vector_size: int) -> list[Upsert]:
    """Take generated events through the guard and give the points that this leaves."""
    events = decode_events(iter_events(count, vector_size=vector_size), DecodePolicy(vector_size=vector_size or None))
    vectors: Vectors = {
        (event.space, event.memory_id): event.vector
        for event in events
        if isinstance(event, Written) and event.vector is not None
    }
    embedder = build_given(vector_size)
    with scratch_folder() as folder:
        store = EdgeStore(folder / "store", build_identity(embedder))
        await store.open()
        try:
            pipeline = build_pipeline(Settings(), store, embedder, None)
            for batch in iter_slices(events, BATCH_EVENTS):
                await pipeline.process(batch, fence=Fence())
            return await collect_points(store, vectors)
        finally:
            await store.close()


def write_raw(points: Sequence[Upsert], *, vector_size: int, flush_each: bool = True, ready_made: bool = False) -> Lap:
    """Write points into a fresh shard, in batches, and give the time.

    Args:
        points: What Guardian wrote.
        vector_size: Of the shard.
        flush_each: Flush after each batch, as Guardian does; else once at the end.
        ready_made: Build the engine's points before the clock starts.
    """
    lap = Lap(count=len(points))
    with scratch_folder() as folder, RawWriter(folder / "raw", vector_size=vector_size) as writer:
        built = [build_edge_point(point) for point in points] if ready_made else None
        with timed(lap):
            for start in range(0, len(points), BATCH_EVENTS):
                if built is None:
                    writer.write(points[start : start + BATCH_EVENTS])
                else:
                    writer.write_built(built[start : start + BATCH_EVENTS])
                if flush_each:
                    writer.flush()
            writer.flush()
    return lap


async def measure_limit(*, events: int, repetitions: int, advance: Advance) -> Report:
    """Measure the engine alone: with and without vectors, a flush a batch or one at the end, points ready-made or not."""
    report = Report(name="limit", title=f"the engine alone, the points of {events:,} guarded events")
    for vector_size in (0, VECTOR_SIZE):
        what = f"{vector_size}-d vectors and BM25" if vector_size else "BM25 only"
        advance(f"guarding events, {what}")
        points = await guard_points(events, vector_size=vector_size)

        variants = {
            "flush a batch": partial(_run_raw, points, vector_size),
            "one flush at the end": partial(_run_raw, points, vector_size, flush_each=False),
            "flush a batch, ready-made points": partial(_run_raw, points, vector_size, ready_made=True),
        }
        laps = await interleave(variants, repetitions=repetitions, advance=partial(_advance_in, advance, what))
        base = laps["flush a batch"]
        for name, of_variant in laps.items():
            report.add(f"{what}, {name}", [lap.rate for lap in of_variant], "points/s")
            if of_variant is not base:
                report.add(f"{what}, {name}, to a flush a batch", ratios(of_variant, base), "ratio")
        report.add(f"{what}, payload", sum(map(_payload_bytes, points)) / len(points), "bytes/point")
    report.notes.append(f"batches of {BATCH_EVENTS} points; `flush a batch` is what the other benchmarks call the limit")
    return report


def _advance_in(advance: Advance, what: str, name: str) -> None:
    advance(f"{what}: {name}")


async def _run_raw(points: Sequence[Upsert], vector_size: int, *, flush_each: bool = True, ready_made: bool = False) -> Lap:
    return write_raw(points, vector_size=vector_size, flush_each=flush_each, ready_made=ready_made)


def _payload_bytes(point: Upsert) -> int:
    return sum(len(name) + len(str(value)) for name, value in point.payload.items())
