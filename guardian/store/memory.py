"""The in-memory twin of the stores: the same answers without an engine, for tests, dry runs and property checks.

It holds what the embedded and the server store hold, and the contract suite keeps them equal. It makes nothing
durable: its `Shelf` lives as long as the process, and can be handed to a second store to play a restart. It has one
writer, so fences are checked for form and otherwise ignored.

Lookups cost the size of the smallest set of the clause, through one dictionary of sets a keyword field.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import mul
from typing import Any

from guardian.core.needs import Needs
from guardian.core.point import HEAVY_FIELDS, Patch, Phase, Point, PointKind, Upsert
from guardian.ports import Fence, Hit, SearchQuery, StoreIdentity, Vectors
from guardian.store.check import (
    build_payload,
    validate_fence,
    validate_id,
    validate_phase,
    validate_query,
    validate_vector,
)
from guardian.store.fusion import build_hits, choose_hits, count_candidates, list_optional, list_wanted, rank_scores
from guardian.store.identity import build_dense_identity, build_meta_payload, check_meta
from guardian.store.layout import (
    KEYWORDS,
    PAGE_POINTS,
    PENDING,
    TENANT,
    Clause,
    build_further_clause,
    build_lookups,
    build_scan_clause,
    build_search_clause,
    build_value_clause,
    iter_slices,
    merge_points,
)

_RECORDS = Clause((("point", (PointKind.RECORD.value,)),))
# Nothing is gained by small calls here.
_CLAUSES_PER_LOOKUP = 10_000


@dataclass(slots=True)
class Shelf:
    """What an engine would keep on disk."""

    meta: dict[str, Any] | None = None
    payloads: dict[str, dict[str, Any]] = field(default_factory=dict)
    dense: dict[str, tuple[float, ...]] = field(default_factory=dict)
    sparse: dict[str, dict[int, float]] = field(default_factory=dict)
    index: dict[str, defaultdict[str, set[str]]] = field(default_factory=lambda: {name: defaultdict(set) for name in KEYWORDS})


class MemoryStore:
    """Keeps all points in dictionaries.

    Args:
        shelf: Contents of an earlier store, or None to begin empty.
        page_size: Points read between two looks at the shelf while iterating.
    """

    def __init__(self, identity: StoreIdentity, *, shelf: Shelf | None = None, page_size: int = PAGE_POINTS) -> None:
        self.identity = identity
        self.shelf = shelf if shelf is not None else Shelf()
        self._page_size = page_size

    async def open(self) -> None:
        """Note the identity of an empty shelf, or check that of a full one."""
        if self.shelf.meta is None and not self.shelf.payloads:
            self.shelf.meta = build_meta_payload(self.identity)
        self.identity = check_meta(self.shelf.meta, self.identity, place="the in-memory store")

    async def close(self) -> None:
        """Do nothing: the shelf is the caller's."""

    async def fetch(self, needs: Needs) -> list[Point]:
        """Look up all keys; each point once."""
        found: list[Point] = []
        for lookup in build_lookups(needs, clauses_per_lookup=_CLAUSES_PER_LOOKUP):
            for clause in lookup.clauses:
                found += [self._read_point(point_id, whole=lookup.whole) for point_id in self._iter_matches(clause)]
        for point_id in needs.ids:
            validate_id(point_id)
            if point_id in self.shelf.payloads:
                found.append(self._read_point(point_id, whole=True))
        return merge_points(found)

    async def claim(self, fence: Fence) -> None:
        """Do nothing: there is one writer."""
        validate_fence(fence)

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write the phases in order. Patches and deletes of absent points do nothing."""
        validate_fence(fence)
        for phase in phases:
            validate_phase(phase, vector_size=self.identity.vector_size)
        for phase in phases:
            for upsert in phase.upserts:
                self._upsert(upsert)
            for patch in phase.patches:
                self._patch(patch)
            for point_id in phase.deletes:
                self._delete(point_id)

    async def search(self, query: SearchQuery) -> list[Hit]:
        """Search records by cosine and BM25, fused by rank; IDF is over the space's records with a BM25 vector."""
        validate_query(query, vector_size=self.identity.vector_size)
        matches = self._iter_matches(build_search_clause(query))
        ids = [point_id for point_id in matches if _is_valid(self.shelf.payloads[point_id], query.at)]
        dense = None if query.dense is None else self._cut(self._score_dense(ids, query.dense), query)
        sparse = self._cut(self._score_sparse(ids, query), query)
        best = choose_hits(dense, sparse, limit=query.limit)
        names = [hit.id for hit in best]
        further = build_further_clause(query)
        fitting = {point_id for point_id in list_optional(names, query) if _fits(self.shelf.payloads[point_id], further)}
        wanted = list_wanted(names, query, fitting)
        return build_hits(best, wanted, [self._read_fields(point_id, query.fields) for point_id in wanted], fitting)

    async def iter_points(
        self,
        *,
        space: str | None = None,
        kinds: Collection[PointKind] | None = None,
        where: Mapping[str, str] | None = None,
        page_points: int | None = None,
    ) -> AsyncIterator[Point]:
        """Give whole points; those written or removed meanwhile may or may not be seen."""
        ids = sorted(self._iter_matches(build_scan_clause(space, kinds, where)))
        for page in iter_slices(ids, page_points or self._page_size):
            present = [point_id for point_id in page if point_id in self.shelf.payloads]
            for point in [self._read_point(point_id, whole=True) for point_id in present]:
                yield point

    async def count(
        self,
        *,
        space: str | None = None,
        kinds: Collection[PointKind] | None = None,
        where: Mapping[str, str] | None = None,
    ) -> int:
        """Count points exactly."""
        return sum(1 for _ in self._iter_matches(build_scan_clause(space, kinds, where)))

    async def count_values(
        self, field: str, *, space: str | None = None, kinds: Collection[PointKind] | None = None
    ) -> dict[str, int]:
        """Count the points of each value of an indexed keyword field, at most a million values, exactly."""
        counts: Counter[str] = Counter()
        for point_id in self._iter_matches(build_value_clause(field, space, kinds)):
            value = self.shelf.payloads[point_id].get(field, ())
            counts.update({value} if isinstance(value, str) else set(value))
        return dict(counts)

    async def fetch_without_vector(self, limit: int) -> list[Point]:
        """Give some whole records that have no dense vector, at most `limit`; all of them in a store made without."""
        lacking = sorted(point_id for point_id in self._iter_matches(_RECORDS) if point_id not in self.shelf.dense)
        return [self._read_point(point_id, whole=True) for point_id in lacking[:limit]]

    async def count_without_vector(self) -> int:
        """Count the records that have no dense vector."""
        return sum(point_id not in self.shelf.dense for point_id in self._iter_matches(_RECORDS))

    async def set_vectors(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        """Fill in dense vectors of records and take their `pending` away; what is no record (any more) stays as is."""
        for point_id, vector in vectors.items():
            validate_id(point_id)
            validate_vector(f"point {point_id}", vector, vector_size=self.identity.vector_size)
        for point_id, vector in vectors.items():
            if self.shelf.payloads.get(point_id, {}).get("point") == PointKind.RECORD:
                self.shelf.dense[point_id] = _normalise(vector)
                self._patch(Patch(id=point_id, payload={PENDING: None}))

    async def fetch_vectors(self, ids: Collection[str]) -> dict[str, Vectors]:
        """Read the vectors of points, by point id; absent points are left out."""
        for point_id in ids:
            validate_id(point_id)
        return {point_id: self._read_vectors(point_id) for point_id in ids if point_id in self.shelf.payloads}

    async def add_dense(self, *, embedding: str, vector_size: int) -> None:
        """Give a store made without an embedding its dense vectors; records get them by `set_vectors`."""
        self.identity = build_dense_identity(self.identity, embedding=embedding, vector_size=vector_size)
        self.shelf.meta = build_meta_payload(self.identity)

    def _read_vectors(self, point_id: str) -> Vectors:
        terms = self.shelf.sparse.get(point_id)
        sparse = None if terms is None else (tuple(sorted(terms)), tuple(terms[index] for index in sorted(terms)))
        return Vectors(dense=self.shelf.dense.get(point_id), sparse=sparse)

    def _upsert(self, upsert: Upsert) -> None:
        self._delete(upsert.id)
        self._set_payload(upsert.id, build_payload(upsert.payload))
        if upsert.dense is not None:
            self.shelf.dense[upsert.id] = _normalise(upsert.dense)
        if upsert.sparse is not None:
            self.shelf.sparse[upsert.id] = dict(zip(*upsert.sparse, strict=True))

    def _patch(self, patch: Patch) -> None:
        old = self.shelf.payloads.get(patch.id)
        if old is None:
            return
        merged = {**old, **build_payload(patch.payload)}
        self._unindex(patch.id)
        self._set_payload(patch.id, {key: value for key, value in merged.items() if value is not None})

    def _delete(self, point_id: str) -> None:
        if point_id in self.shelf.payloads:
            self._unindex(point_id)
            del self.shelf.payloads[point_id]
            self.shelf.dense.pop(point_id, None)
            self.shelf.sparse.pop(point_id, None)

    def _set_payload(self, point_id: str, payload: dict[str, Any]) -> None:
        self.shelf.payloads[point_id] = payload
        for name, ids_by_value in self.shelf.index.items():
            for value in _list_values(payload, name):
                ids_by_value[value].add(point_id)

    def _unindex(self, point_id: str) -> None:
        payload = self.shelf.payloads[point_id]
        for name, ids_by_value in self.shelf.index.items():
            for value in _list_values(payload, name):
                ids_by_value[value].discard(point_id)
                if not ids_by_value[value]:
                    del ids_by_value[value]

    def _iter_matches(self, clause: Clause) -> Iterator[str]:
        sets = [
            [ids for value in dict.fromkeys(values) if (ids := self.shelf.index[name].get(value))]
            for name, values in clause.matches
        ]
        smallest = min(sets, key=lambda some: sum(map(len, some)))
        for point_id in set().union(*smallest):
            if _fits(self.shelf.payloads[point_id], clause):
                yield point_id

    def _read_point(self, point_id: str, *, whole: bool) -> Point:
        payload = self.shelf.payloads[point_id]
        if whole:
            return Point(point_id, dict(payload))
        return Point(point_id, {key: value for key, value in payload.items() if key not in HEAVY_FIELDS}, whole=False)

    def _read_fields(self, point_id: str, fields: tuple[str, ...] | None) -> Point:
        if fields is None:
            return self._read_point(point_id, whole=True)
        payload = self.shelf.payloads[point_id]
        return Point(point_id, {name: payload[name] for name in fields if name in payload}, whole=False)

    def _cut(self, scores: Iterable[tuple[str, float]], query: SearchQuery) -> list[tuple[str, float]]:
        return rank_scores(scores)[: count_candidates(query.limit, query.ranked_for)]

    def _score_dense(self, ids: list[str], vector: tuple[float, ...]) -> Iterator[tuple[str, float]]:
        wanted = _normalise(vector)
        for point_id in ids:
            if point_id in self.shelf.dense:
                yield point_id, sum(map(mul, wanted, self.shelf.dense[point_id]))

    def _score_sparse(self, ids: list[str], query: SearchQuery) -> Iterator[tuple[str, float]]:
        members = self.shelf.index[TENANT].get(query.space, ())
        corpus = [self.shelf.sparse[point_id] for point_id in members if point_id in self.shelf.sparse]
        frequency = {term: sum(term in document for document in corpus) for term in query.sparse[0]}
        weights = {
            term: value * math.log((len(corpus) - frequency[term] + 0.5) / (frequency[term] + 0.5) + 1)
            for term, value in zip(*query.sparse, strict=True)
        }
        for point_id in ids:
            document = self.shelf.sparse.get(point_id, {})
            if not weights.keys().isdisjoint(document):
                yield point_id, sum(weight * document.get(term, 0.0) for term, weight in weights.items())


def _fits(payload: Mapping[str, Any], clause: Clause) -> bool:
    return all(not set(values).isdisjoint(_list_values(payload, name)) for name, values in clause.matches) and all(
        set(values).isdisjoint(_list_values(payload, name)) for name, values in clause.without
    )


def _list_values(payload: Mapping[str, Any], name: str) -> Sequence[str]:
    value = payload.get(name)
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)


def _normalise(vector: tuple[float, ...]) -> tuple[float, ...]:
    norm = math.hypot(*vector)
    return tuple(number / norm for number in vector)


def _is_valid(payload: Mapping[str, Any], at: datetime | None) -> bool:
    if at is None:
        return True
    starts, ends = payload.get("valid_from"), payload.get("valid_until")
    return (starts is None or datetime.fromisoformat(starts) <= at) and (ends is None or datetime.fromisoformat(ends) > at)
