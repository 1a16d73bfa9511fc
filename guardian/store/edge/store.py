"""The embedded store: the engine of Qdrant inside this process, no server needed, one process at a time.

What the engine really does, measured, decides how it is used:

- It holds the interpreter's lock in every call, so calls are small (at most 1,000 points) and all run in one thread
  of the store's own: that thread is the lock, and a cancelled caller cannot leave half a call beside the next one.
- It never builds HNSW graphs and never optimises here (minutes during which nothing else runs).
- Every write is addressed by id and independent of state, so that the engine's log can be replayed after any death.
- A write is durable when it was flushed: `apply` flushes before it returns. The log keeps the order of writes across
  a killed process, but pages of the segments reach the disk in any order when power fails; so a phase that changes or
  removes points is written only after the phases before it were flushed.
- A full disk kills the process, and a malformed vector poisons the log. Both are looked for before the call.
- Processes that use it must be spawned, not forked: a forked child hangs in its first call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, TypeVar

from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeShard,
    FacetRequest,
    Filter,
    PayloadSelector,
    PointVectors,
    ScrollRequest,
    SparseVector,
    UpdateOperation,
)
from qdrant_edge import (
    Point as EdgePoint,
)

from guardian.core.needs import Needs
from guardian.core.point import Patch, Phase, Point, PointKind, Upsert
from guardian.errors import ConfigError, DependencyError, GuardianError, InvariantError
from guardian.ports import Fence, Hit, SearchQuery, StoreIdentity, Vectors
from guardian.store.check import (
    build_payload,
    validate_fence,
    validate_id,
    validate_phase,
    validate_query,
    validate_vector,
)
from guardian.store.edge.directory import build_owned_error, check_free_disk, lock_directory
from guardian.store.edge.query import (
    CLAUSES_PER_LOOKUP,
    LINEAGE_ONLY,
    build_filter,
    build_lacking_filter,
    build_point,
)
from guardian.store.edge.search import search_shard
from guardian.store.edge.shard import check_shard, clear_poison, find_faults, open_shard, read_identity, write_meta
from guardian.store.identity import META_ID, build_absent_error, build_dense_identity
from guardian.store.layout import (
    DENSE,
    MAX_VALUES,
    PAGE_POINTS,
    PENDING,
    SPARSE,
    build_lookups,
    build_scan_clause,
    build_value_clause,
    build_vectors,
    iter_slices,
    merge_points,
)

Answer = TypeVar("Answer")

# Points in one upsert: 60 ms of a stopped process with vectors and 2.7 KB of payload each.
_UPSERT_POINTS = 500
# About the engine's flush of 100,000 records twice over, so that a batch begun is a batch that fits.
MIN_FREE_BYTES = 1_000_000_000


class EdgeStore:
    """Owns one directory and the engine's shard in it.

    Args:
        path: Directory of the store; made when missing.
        min_free_bytes: Writes are refused while the disk has less.
        page_size: Points in one read.
        is_read_as_it_is: Opens a store whatever it was made for and whatever it lacks, for a migration, which only reads it.

    Attributes:
        faults: What such a store lacks; an ordinary `open` refuses it.
    """

    faults: tuple[str, ...] = ()

    def __init__(
        self,
        path: Path,
        identity: StoreIdentity | None,
        *,
        min_free_bytes: int = MIN_FREE_BYTES,
        page_size: int = PAGE_POINTS,
        is_read_as_it_is: bool = False,
    ) -> None:
        self._wanted = identity
        self._is_read_as_it_is = is_read_as_it_is
        if identity is not None:
            self.identity = identity  # else known once it is open
        self.path = Path(path)
        self._min_free_bytes = min_free_bytes
        self._page_size = page_size
        self._shard: EdgeShard | None = None
        self._lock: IO[str] | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def open(self) -> None:
        """Take the directory, then open or create the shard; replays the engine's log after an unclean stop.

        Raises:
            ConfigError: Another process owns it, it was made for something else, or an index is missing.
        """
        if self._thread is not None:
            raise InvariantError(f"the store at {self.path} is open already")
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="guardian-store")
        try:
            await self._run(self._open)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Make durable and release. Closing twice does nothing."""
        if self._thread is None:
            return
        try:
            await self._run(self._close)
        finally:
            self._thread.shutdown(wait=False)
            self._thread = None

    async def fetch(self, needs: Needs) -> list[Point]:
        """Look up all keys; each point once."""
        for point_id in needs.ids:
            validate_id(point_id)
        return await self._run(self._fetch, needs)

    async def claim(self, fence: Fence) -> None:
        """Do nothing: one process writes."""
        validate_fence(fence)

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write the phases in order and flush. Patches and deletes of absent points do nothing.

        One process writes, so the fence is not compared with anything.
        """
        validate_fence(fence)
        for phase in phases:
            validate_phase(phase, vector_size=self.identity.vector_size)
        await self._run(self._apply, [phase for phase in phases if phase])

    async def search(self, query: SearchQuery) -> list[Hit]:
        """Search records by BM25 and, given a vector, by cosine; milliseconds in a space of 10,000."""
        validate_query(query, vector_size=self.identity.vector_size)
        return await self._run(lambda: search_shard(self._open_shard, query))

    async def iter_points(
        self,
        *,
        space: str | None = None,
        kinds: Collection[PointKind] | None = None,
        where: Mapping[str, str] | None = None,
        page_points: int | None = None,
    ) -> AsyncIterator[Point]:
        """Give whole points by id; those written or removed meanwhile may or may not be seen."""
        clause = build_scan_clause(space, kinds, where)
        offset = None
        while not clause.is_empty:
            page, offset = await self._run(self._read_page, build_filter([clause]), offset, whole=True, limit=page_points)
            for point in page:
                yield point
            if offset is None:
                return

    async def count(
        self,
        *,
        space: str | None = None,
        kinds: Collection[PointKind] | None = None,
        where: Mapping[str, str] | None = None,
    ) -> int:
        """Count points exactly; 40 ms for 100,000."""
        clause = build_scan_clause(space, kinds, where)
        return 0 if clause.is_empty else await self._run(self._count, build_filter([clause]))

    async def count_values(
        self, field: str, *, space: str | None = None, kinds: Collection[PointKind] | None = None
    ) -> dict[str, int]:
        """Count the points of each value of an indexed keyword field, at most a million values, exactly."""
        clause = build_value_clause(field, space, kinds)
        return {} if clause.is_empty else await self._run(self._count_values, field, build_filter([clause]))

    async def fetch_without_vector(self, limit: int) -> list[Point]:
        """Give some whole records that have no dense vector, at most `limit`; all of them in a store made without."""
        page, _ = await self._run(self._read_page, build_lacking_filter(), None, whole=True, limit=limit)
        return list(page)

    async def count_without_vector(self) -> int:
        """Count the records that have no dense vector."""
        return await self._run(self._count, build_lacking_filter())

    async def set_vectors(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        """Fill in dense vectors of records and take their `pending` away; what is no record (any more) stays as is."""
        for point_id, vector in vectors.items():
            validate_id(point_id)
            validate_vector(f"point {point_id}", vector, vector_size=self.identity.vector_size)
        await self._run(self._set_vectors, vectors)

    async def fetch_vectors(self, ids: Collection[str]) -> dict[str, Vectors]:
        """Read the vectors of points, by point id; absent points are left out."""
        for point_id in ids:
            validate_id(point_id)
        return await self._run(self._fetch_vectors, sorted(ids))

    async def add_dense(self, *, embedding: str, vector_size: int) -> None:
        """Give a store made without an embedding its dense vectors; records get them by `set_vectors`."""
        wanted = build_dense_identity(self.identity, embedding=embedding, vector_size=vector_size)
        await self._run(self._add_dense, wanted)
        self.identity = wanted

    # Everything below runs in the store's thread.

    async def _run(self, work: Callable[..., Answer], *args: Any, **kwargs: Any) -> Answer:
        if self._thread is None:
            raise InvariantError(f"the store at {self.path} is not open")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guard, lambda: work(*args, **kwargs))

    def _guard(self, work: Callable[[], Answer]) -> Answer:
        """Translate what the engine throws: bare `Exception`s with a text, and panics that are no `Exception`."""
        try:
            return work()
        except GuardianError:
            raise
        except BaseException as exc:
            if "WouldBlock" in str(exc):
                raise build_owned_error(self.path, "") from exc
            if not isinstance(exc, Exception) and self._shard is not None:
                clear_poison(self._shard)
            raise DependencyError(
                f"the embedded store at {self.path} failed, what it was writing is unknown: {exc}", dependency="store"
            ) from exc

    def _open(self) -> None:
        if self._wanted is None and not self.path.exists():
            raise build_absent_error(str(self.path))
        self._lock = lock_directory(self.path)
        self._shard = open_shard(self.path, self._wanted)
        place = f"the store at {self.path}"
        if self._is_read_as_it_is:
            self.identity, self.faults = read_identity(self._shard, place=place), find_faults(self._shard)
        else:
            self.identity = check_shard(self._shard, self._wanted, place=place)

    def _close(self) -> None:
        try:
            if self._shard is not None:
                self._shard.close()  # flushes
        finally:
            self._shard = None
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    @property
    def _open_shard(self) -> EdgeShard:
        if self._shard is None:
            raise InvariantError(f"the store at {self.path} is not open")
        return self._shard

    def _fetch(self, needs: Needs) -> list[Point]:
        found: list[Point] = []
        for lookup in build_lookups(needs, clauses_per_lookup=CLAUSES_PER_LOOKUP):
            condition = build_filter(lookup.clauses)
            page, offset = self._read_page(condition, None, whole=lookup.whole)
            found += page
            while offset is not None:
                page, offset = self._read_page(condition, offset, whole=lookup.whole)
                found += page
        for ids in iter_slices(sorted(needs.ids - {META_ID}), self._page_size):
            found += [build_point(record, whole=True) for record in self._open_shard.retrieve(list(ids), True, False)]
        return merge_points(found)

    def _read_page(self, condition: Filter, offset: Any, *, whole: bool, limit: int | None = None) -> tuple[list[Point], Any]:
        records, next_offset = self._open_shard.scroll(
            ScrollRequest(
                offset=offset,
                limit=limit or self._page_size,
                filter=condition,
                with_payload=True if whole else LINEAGE_ONLY,
                with_vector=False,
            )
        )
        return [build_point(record, whole=whole) for record in records], next_offset

    def _count(self, condition: Filter) -> int:
        return self._open_shard.count(CountRequest(filter=condition, exact=True))

    def _count_values(self, field: str, condition: Filter) -> dict[str, int]:
        answer = self._open_shard.facet(FacetRequest(field, limit=MAX_VALUES, exact=True, filter=condition))
        return {str(hit.value): hit.count for hit in answer.hits}

    def _apply(self, phases: Sequence[Phase]) -> None:
        if not phases:
            return
        check_free_disk(self.path, min_free_bytes=self._min_free_bytes)
        for place, phase in enumerate(phases):
            if place and (phase.patches or phase.deletes):
                self._open_shard.flush()
            for upserts in iter_slices(phase.upserts, _UPSERT_POINTS):
                self._open_shard.update(UpdateOperation.upsert_points([_build_edge_point(upsert) for upsert in upserts]))
            for patches in iter_slices(phase.patches, PAGE_POINTS):
                self._write_patches(patches)
            for ids in iter_slices(phase.deletes, PAGE_POINTS):
                self._open_shard.update(UpdateOperation.delete_points(list(ids)))
        self._open_shard.flush()

    def _write_patches(self, patches: Sequence[Patch]) -> None:
        """Write one call a patch (35 us); the engine removes fields that are None, and refuses absent points."""
        present = self._find_present([patch.id for patch in patches])
        for patch in patches:
            if patch.id in present:
                self._open_shard.update(UpdateOperation.set_payload([patch.id], build_payload(patch.payload)))

    def _find_present(self, ids: Sequence[str]) -> set[str]:
        return {str(record.id) for record in self._open_shard.retrieve(list(ids), False, False)}

    def _set_vectors(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        check_free_disk(self.path, min_free_bytes=self._min_free_bytes)
        for ids in iter_slices(sorted(vectors), _UPSERT_POINTS):
            kinds = self._open_shard.retrieve(list(ids), PayloadSelector.Include(["point"]), False)
            records = [str(found.id) for found in kinds if (found.payload or {}).get("point") == PointKind.RECORD]
            if records:
                filled = [PointVectors(point_id, {DENSE: list(vectors[point_id])}) for point_id in records]
                self._open_shard.update(UpdateOperation.update_vectors(filled))
                self._open_shard.update(UpdateOperation.delete_payload(list(records), [PENDING]))
        self._open_shard.flush()

    def _fetch_vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        parts = [self._open_shard.retrieve(list(part), False, True) for part in iter_slices(ids, self._page_size)]
        return {str(record.id): build_vectors(record.vector) for part in parts for record in part}

    def _add_dense(self, wanted: StoreIdentity) -> None:
        """Add the vector, then note it: both are idempotent, so a death in between is mended by doing it again."""
        try:
            self._open_shard.update(UpdateOperation.create_dense_vector(DENSE, wanted.vector_size, Distance.Cosine))
        except Exception as exc:
            if "different parameters" not in str(exc):
                raise
            raise ConfigError(
                f"the store at {self.path} has dense vectors of another size than {wanted.vector_size}.",
                setting="embedding",
                mend="choose the embedder that was chosen before, or run `guardian migrate`, which makes the vectors anew.",
            ) from exc
        write_meta(self._open_shard, wanted)


def _build_edge_point(upsert: Upsert) -> EdgePoint:
    vector: dict[str, Any] = {}
    if upsert.dense is not None:
        vector[DENSE] = list(upsert.dense)
    if upsert.sparse is not None:
        vector[SPARSE] = SparseVector(list(upsert.sparse[0]), list(upsert.sparse[1]))
    return EdgePoint(upsert.id, vector, build_payload(upsert.payload))
