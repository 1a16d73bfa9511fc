"""The store on a Qdrant server, which many workers and readers share.

The collection of the settings is an alias; behind it lies a collection of its own name and a number, so that a migration can fill
the next one and switch. A store keeps to the one it found when it was opened (see `guardian.store.qdrant.generation`).

Writes are fenced, so that a worker that lost its partition can neither overwrite its successor nor bring back what that
one deleted; see `guardian.store.qdrant.fence`, which also says what remains open.

Nothing is retried here: a failed call is a `DependencyError`, and the pipeline does the same batch again. All writes
wait until they are applied; the server's log makes them durable. Patches and deletes are sent with a filter on the id
and the version, so those of absent points do nothing.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from guardian.core.needs import Needs
from guardian.core.point import Phase, Point, PointKind
from guardian.errors import ConfigError
from guardian.ports import Fence, Hit, SearchQuery, StoreIdentity, Vectors
from guardian.store.check import validate_fence, validate_id, validate_phase, validate_query, validate_vector
from guardian.store.identity import (
    META_ID,
    build_absent_error,
    build_dense_identity,
    build_meta_payload,
    check_meta,
    read_meta,
)
from guardian.store.layout import (
    DENSE,
    MAX_VALUES,
    PAGE_POINTS,
    PENDING,
    Clause,
    build_lookups,
    build_scan_clause,
    build_search_clause,
    build_value_clause,
    build_vectors,
    iter_slices,
    merge_points,
)
from guardian.store.qdrant.collection import (
    Role,
    create_collection,
    create_indexes,
    find_collection,
    find_faults,
    point_alias,
    refuse_retired,
)
from guardian.store.qdrant.fence import check_marks, check_versions, claim_spaces
from guardian.store.qdrant.query import (
    CLAUSES_PER_LOOKUP,
    LINEAGE_ONLY,
    WHOLE,
    WRITE_POINTS,
    build_fence,
    build_filter,
    build_lacking_filter,
    build_patch,
    build_point,
    build_struct,
    check_done,
    is_point,
    vendor_errors,
)
from guardian.store.qdrant.search import search_collection

# The first that counts IDF within a tenant; an older one takes the parameter and silently counts over all.
_MIN_SERVER = (1, 19)


def build_client(
    url: str, *, api_key: str | None = None, timeout_s: int = 10, prefer_grpc: bool = False, ca_file: Path | None = None
) -> AsyncQdrantClient:
    """Build the client of a server; TLS is said by the URL (`https://`). Nothing is called yet.

    Args:
        url: With scheme and port, such as `http://localhost:6333`.
        api_key: Sent with every call.
        timeout_s: Whole seconds that any call may take.
        prefer_grpc: Use gRPC (port 6334) where the client can.
        ca_file: PEM file of the authority that signs the server's certificate; None for the usual ones.
    """
    tls: dict[str, Any] = {} if ca_file is None else {"verify": str(ca_file)}
    return AsyncQdrantClient(
        url=url, api_key=api_key, timeout=timeout_s, prefer_grpc=prefer_grpc, check_compatibility=False, **tls
    )


class QdrantStore:
    """Keeps one collection.

    Args:
        client: Closed with the store, unless `closes_client` is False.
        collection: Its alias; in a migration's roles its own name.
        has_indexes: False for the client's local mode, which has no payload indexes to make or check.
        page_size: Points in one read.
        role: Anything but `USED` is for a migration.

    Attributes:
        faults: What a collection lacks that is read as it is; an ordinary `open` refuses it.
    """

    faults: tuple[str, ...] = ()

    def __init__(
        self,
        client: AsyncQdrantClient,
        *,
        collection: str,
        identity: StoreIdentity | None,
        has_indexes: bool = True,
        closes_client: bool = True,
        page_size: int = PAGE_POINTS,
        role: Role = Role.USED,
    ) -> None:
        self._wanted = identity
        self._role = role
        self._alias = collection
        if identity is not None:
            self.identity = identity  # else known once it is open
        self.collection = collection
        self._client = client
        self._has_indexes = has_indexes
        self._closes_client = closes_client
        self._page_size = page_size
        self._place = f"the Qdrant collection '{collection}'"

    async def open(self) -> None:
        """Create the collection, or check the identity and indexes of the one that is there.

        Raises:
            ConfigError: The server is too old, or the collection was made for something else or lacks an index.
        """
        with vendor_errors(self._place):
            await self._check_server()
            if self._role is Role.USED:
                self.collection = await find_collection(self._client, self._alias)
            if not await self._client.collection_exists(self.collection):
                if self._wanted is None:
                    raise build_absent_error(self._place)
                await create_collection(self._client, self.collection, self._wanted)
            meta = await self._read_meta()
            if meta is None and self._wanted is not None and not (await self._client.count(self.collection, exact=True)).count:
                if self._has_indexes:
                    await create_indexes(self._client, self.collection)
                await self._write_meta(self._wanted, mode=models.UpdateMode.INSERT_ONLY)
                meta = await self._read_meta()  # another worker may have been first
            self.faults = await find_faults(self._client, self.collection) if self._has_indexes else ()
            if self._role is Role.USED:
                self.identity = check_meta(meta, self._wanted, place=self._place)
                self._refuse_faults()
                await point_alias(self._client, self._alias, self.collection)
            else:
                self.identity = read_meta(meta, place=self._place)

    async def close(self) -> None:
        """Release the connections; every write was durable already."""
        if self._closes_client:
            await self._client.close()

    async def fetch(self, needs: Needs) -> list[Point]:
        """Look up all keys; each point once."""
        found: list[Point] = []
        for point_id in needs.ids:
            validate_id(point_id)
        with vendor_errors(self._place):
            for lookup in build_lookups(needs, clauses_per_lookup=CLAUSES_PER_LOOKUP):
                async for page in self._iter_pages(lookup.clauses, whole=lookup.whole):
                    found += page
            for ids in iter_slices(sorted(needs.ids), self._page_size):
                records = await self._retrieve(ids, WHOLE)
                found += [build_point(record, whole=True) for record in records if is_point(record)]
        return merge_points(found)

    async def claim(self, fence: Fence) -> None:
        """Mark the spaces of a writer in the stream: nobody with a lower fence writes there any more.

        Raises:
            ConflictError: A newer owner has marked one of them.
        """
        validate_fence(fence)
        with vendor_errors(self._place):
            await claim_spaces(self._client, self.collection, fence)

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write the phases in order. Patches and deletes of absent points do nothing.

        Raises:
            ConflictError: A newer owner has marked one of the spaces, or written one of the points; a beginning of the phases
                may be written.
            ConfigError: The writer stands outside the stream, and workers own one of the spaces.
        """
        validate_fence(fence)
        for phase in phases:
            validate_phase(phase, vector_size=self.identity.vector_size)
        with vendor_errors(self._place):
            for phase in phases:
                await self._write_phase(phase, fence)
            await refuse_retired(self._client, self.collection)  # else acknowledged, though a migration may have passed it by

    async def search(self, query: SearchQuery) -> list[Hit]:
        """Search records by BM25 and, given a vector, by cosine (approximate once the server has built its graphs)."""
        validate_query(query, vector_size=self.identity.vector_size)
        if build_search_clause(query).is_empty:
            return []
        with vendor_errors(self._place):
            return await search_collection(self._client, self.collection, query)

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
        if clause.is_empty:
            return
        with vendor_errors(self._place):
            async for page in self._iter_pages((clause,), whole=True, page_points=page_points):
                for point in page:
                    yield point

    async def count(
        self,
        *,
        space: str | None = None,
        kinds: Collection[PointKind] | None = None,
        where: Mapping[str, str] | None = None,
    ) -> int:
        """Count points exactly."""
        clause = build_scan_clause(space, kinds, where)
        if clause.is_empty:
            return 0
        with vendor_errors(self._place):
            answer = await self._client.count(self.collection, count_filter=build_filter([clause]), exact=True)
        return int(answer.count)

    async def count_values(
        self, field: str, *, space: str | None = None, kinds: Collection[PointKind] | None = None
    ) -> dict[str, int]:
        """Count the points of each value of an indexed keyword field, at most a million values, exactly."""
        clause = build_value_clause(field, space, kinds)
        if clause.is_empty:
            return {}
        with vendor_errors(self._place):
            answer = await self._client.facet(
                self.collection, key=field, facet_filter=build_filter([clause]), limit=MAX_VALUES, exact=True
            )
        return {str(hit.value): hit.count for hit in answer.hits}

    async def fetch_without_vector(self, limit: int) -> list[Point]:
        """Give some whole records that have no dense vector, at most `limit`; all of them in a store made without."""
        with vendor_errors(self._place):
            records, _ = await self._client.scroll(
                self.collection, scroll_filter=build_lacking_filter(), limit=limit, with_payload=WHOLE, with_vectors=False
            )
        return [build_point(record, whole=True) for record in records]

    async def count_without_vector(self) -> int:
        """Count the records that have no dense vector."""
        with vendor_errors(self._place):
            return (await self._client.count(self.collection, count_filter=build_lacking_filter(), exact=True)).count

    async def set_vectors(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        """Fill in dense vectors of records and take their `pending` away; what is no record (any more) stays as is."""
        for point_id, vector in vectors.items():
            validate_id(point_id)
            validate_vector(f"point {point_id}", vector, vector_size=self.identity.vector_size)
        with vendor_errors(self._place):
            for ids in iter_slices(sorted(vectors), WRITE_POINTS):
                await refuse_retired(self._client, self.collection)
                await self._set_vectors(ids, vectors)

    async def fetch_vectors(self, ids: Collection[str]) -> dict[str, Vectors]:
        """Read the vectors of points, by point id; absent points are left out."""
        for point_id in ids:
            validate_id(point_id)
        found: dict[str, Vectors] = {}
        with vendor_errors(self._place):
            for part in iter_slices(sorted(ids), self._page_size):
                records = await self._client.retrieve(self.collection, list(part), with_payload=False, with_vectors=True)
                found |= {str(record.id): build_vectors(record.vector) for record in records}
        return found

    async def add_dense(self, *, embedding: str, vector_size: int) -> None:
        """Give a store made without an embedding its dense vectors; records get them by `set_vectors`."""
        wanted = build_dense_identity(self.identity, embedding=embedding, vector_size=vector_size)
        config = models.DenseVectorNameConfig(dense=models.DenseVectorConfig(size=vector_size, distance=models.Distance.COSINE))
        with vendor_errors(self._place):
            await refuse_retired(self._client, self.collection)
            check_done([await self._client.create_vector_name(self.collection, DENSE, config)])
            await self._write_meta(wanted, mode=models.UpdateMode.UPSERT)
        self.identity = wanted

    async def _check_server(self) -> None:
        version = (await self._client.info()).version
        numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
        if numbers < _MIN_SERVER:
            raise ConfigError(
                f"{self._place} lies on a server of version {version}, whose BM25 would let one space move another's ranking.",
                setting="store.url",
                mend=f"run a server of version {'.'.join(map(str, _MIN_SERVER))} or later.",
            )

    def _refuse_faults(self) -> None:
        for fault in self.faults:
            raise ConfigError(
                f"{self._place} has {fault}.", setting="store", mend="run `guardian migrate`, which builds it anew."
            )

    async def _read_meta(self) -> Mapping[str, Any] | None:
        records = await self._retrieve([META_ID], True)
        return (records[0].payload or {}) if records else None

    async def _write_meta(self, identity: StoreIdentity, *, mode: models.UpdateMode) -> None:
        payload = {**build_meta_payload(identity), **self._role.mark}
        point = models.PointStruct(id=META_ID, vector={}, payload=payload)
        check_done([await self._client.upsert(self.collection, [point], wait=True, update_mode=mode)])

    async def _retrieve(self, ids: Sequence[str], with_payload: Any) -> list[models.Record]:
        return await self._client.retrieve(self.collection, list(ids), with_payload=with_payload, with_vectors=False)

    async def _iter_pages(
        self, clauses: Sequence[Clause], *, whole: bool, page_points: int | None = None
    ) -> AsyncIterator[list[Point]]:
        offset: Any = None
        while True:
            records, offset = await self._client.scroll(
                self.collection,
                scroll_filter=build_filter(clauses),
                limit=page_points or self._page_size,
                offset=offset,
                with_payload=WHOLE if whole else LINEAGE_ONLY,
                with_vectors=False,
            )
            yield [build_point(record, whole=whole) for record in records]
            if offset is None:
                return

    async def _write_phase(self, phase: Phase, fence: Fence) -> None:
        for upserts in iter_slices(phase.upserts, WRITE_POINTS):
            structs = [build_struct(upsert, version=fence.version) for upsert in upserts]
            await self._check_writable(fence)
            done = await self._client.upsert(self.collection, structs, update_filter=build_fence(fence.version), wait=True)
            check_done([done])
            await check_versions(self._client, self.collection, [upsert.id for upsert in upserts], fence)
        for patches in iter_slices(phase.patches, WRITE_POINTS):
            operations = [build_patch(patch, version=fence.version) for patch in patches]
            await self._check_writable(fence)
            check_done(await self._client.batch_update_points(self.collection, operations, wait=True))
            await check_versions(self._client, self.collection, [patch.id for patch in patches], fence)
        for ids in iter_slices(phase.deletes, WRITE_POINTS):
            selector = models.FilterSelector(filter=build_fence(fence.version, ids))
            await self._check_writable(fence)
            check_done([await self._client.delete(self.collection, selector, wait=True)])
            await check_versions(self._client, self.collection, ids, fence)

    async def _check_writable(self, fence: Fence) -> None:
        """Look, before every request that writes, whether the collection and the spaces are still this writer's."""
        await refuse_retired(self._client, self.collection)
        await check_marks(self._client, self.collection, fence)

    async def _set_vectors(self, ids: Sequence[str], vectors: Mapping[str, tuple[float, ...]]) -> None:
        is_record = models.FieldCondition(key="point", match=models.MatchValue(value=PointKind.RECORD.value))
        kinds = await self._retrieve(ids, ["point"])
        records = [str(found.id) for found in kinds if (found.payload or {}).get("point") == PointKind.RECORD]
        if not records:
            return
        filled = [models.PointVectors(id=point_id, vector={DENSE: list(vectors[point_id])}) for point_id in records]
        still = models.Filter(must=[is_record])  # an erasure may have come between
        check_done([await self._client.update_vectors(self.collection, filled, update_filter=still, wait=True)])
        mine = models.Filter(must=[is_record, models.HasIdCondition(has_id=list(records))])
        selector = models.FilterSelector(filter=mine)
        check_done([await self._client.delete_payload(self.collection, [PENDING], selector, wait=True)])
