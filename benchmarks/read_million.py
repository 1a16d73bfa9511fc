"""The cost of a calibrated read at a million records: `python -m benchmarks.read_million --place FOLDER`.

Filling a million through the guard takes more than an hour. So a tenth is decided by the guard as always, and written ten times: each copy
has memories and families of its own, a vector near the original's, and the same text, card and permission. What a read looks at is the same.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.limit import build_given
from benchmarks.read import VECTOR_SIZE, fill_store, measure_read_at
from guardian.core.point import Phase, Point, PointKind, Upsert, build_point_id
from guardian.embed.bm25 import bm25_document
from guardian.ports import Fence, Store, StoreIdentity
from guardian.store.edge.store import EdgeStore
from guardian.wiring import build_identity

_COPIES = 10
_PAGE = 1_000
# As far as a recap's vector lies from its original's.
_NOISE = 0.025
_NAMES = ("memory_id",)
_LISTS = ("roots", "parents")


async def grow(seed: Store, store: Store, copies: int, advance: Any) -> int:
    """Write every record of one store several times into another, each time as another memory."""
    draw = np.random.default_rng(5)
    written = 0
    async for page in _iter_pages(seed):
        vectors = await seed.fetch_vectors([point.id for point in page])
        texts = {point.id: bm25_document(point.payload["text"]) for point in page}
        for copy in range(copies):
            upserts = []
            for point in page:
                dense = vectors[point.id].dense
                assert dense is not None
                near = np.asarray(dense) + (draw.normal(0, _NOISE, len(dense)) if copy else 0.0)
                upserts.append(_copy(point, copy, tuple((near / np.linalg.norm(near)).tolist()), texts[point.id]))
            await store.apply([Phase(upserts=tuple(upserts))], fence=Fence())
            written += len(upserts)
        advance(f"{written:,} written")
    return written


async def _iter_pages(seed: Store) -> AsyncIterator[list[Point]]:
    page: list[Point] = []
    async for point in seed.iter_points(kinds={PointKind.RECORD}):
        page.append(point)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _copy(point: Point, copy: int, dense: tuple[float, ...], sparse: tuple[tuple[int, ...], tuple[float, ...]]) -> Upsert:
    payload = dict(point.payload)
    for name in _NAMES:
        payload[name] = f"{payload[name]}~{copy}"
    for name in _LISTS:
        if payload.get(name):
            payload[name] = [f"{value}~{copy}" for value in payload[name]]
    return Upsert(id=build_point_id(payload["space"], "copy", point.id, str(copy)), payload=payload, dense=dense, sparse=sparse)


async def run(place: Path, *, seeds: int, copies: int, questions: int) -> None:
    """Fill what is not there, then measure."""

    def advance(text: str) -> None:
        print(text, flush=True)

    identity: StoreIdentity = build_identity(build_given(VECTOR_SIZE))
    if not (place / "large").exists():
        seed, large = EdgeStore(place / "seed", identity), EdgeStore(place / "large.part", identity)
        await seed.open()
        try:
            await fill_store(seed, seeds, advance)
            await large.open()
            try:
                await grow(seed, large, copies, advance)
            finally:
                await large.close()
        finally:
            await seed.close()
        (place / "large.part").rename(place / "large")
    report = await measure_read_at(place / "large", records=seeds * copies, questions=questions, advance=advance)
    print(report.markdown())


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", type=Path, required=True, help="folder for both stores, some 10 GB; kept, and used again")
    parser.add_argument("--seeds", type=int, default=100_000, help="records decided by the guard")
    parser.add_argument("--copies", type=int, default=_COPIES, help="times each is written")
    parser.add_argument("--questions", type=int, default=200, help="questions of each sort")
    given = parser.parse_args()
    asyncio.run(run(given.place, seeds=given.seeds, copies=given.copies, questions=given.questions))


if __name__ == "__main__":
    main()
