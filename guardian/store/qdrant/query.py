"""Lookups, searches and fenced writes in the words of a Qdrant server; and its errors in ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from grpc import RpcError, StatusCode  # type: ignore[import-untyped]  # has no stubs of its own
from qdrant_client import models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from guardian.core.point import HEAVY_FIELDS, Patch, Point, PointKind, Upsert
from guardian.errors import ConfigError, DependencyError, InvariantError
from guardian.ports import SearchQuery
from guardian.store.check import build_payload
from guardian.store.fusion import count_candidates
from guardian.store.layout import DENSE, SPARSE, TENANT, VERSION, Clause, build_further_clause, build_search_clause

# A call costs a round trip here, so more clauses share one than in the embedded engine.
CLAUSES_PER_LOOKUP = 64
# Points or patches in one request: about 4 MB of JSON with vectors, well below the server's limit of 32 MB.
WRITE_POINTS = 500
_KINDS = frozenset(PointKind)
LINEAGE_ONLY = models.PayloadSelectorExclude(exclude=[*HEAVY_FIELDS, VERSION])
WHOLE = models.PayloadSelectorExclude(exclude=[VERSION])


def build_filter(clauses: Sequence[Clause]) -> models.Filter:
    """Build the filter of points that match any clause."""
    return models.Filter(should=[_build_clause(clause) for clause in clauses])


def build_lacking_filter() -> models.Filter:
    """Build the filter of records without a dense vector."""
    is_record = models.FieldCondition(key="point", match=models.MatchValue(value=PointKind.RECORD.value))
    return models.Filter(must=[is_record], must_not=[models.HasVectorCondition(has_vector=DENSE)])


def build_fence(version: int, point_ids: Sequence[str] | None = None) -> models.Filter:
    """Build the filter of points (all, or the given) that no writer with a higher version has written."""
    unwritten = models.IsEmptyCondition(is_empty=models.PayloadField(key=VERSION))
    passed = models.FieldCondition(key=VERSION, range=models.Range(lte=version))
    must: list[Any] = [models.Filter(should=[unwritten, passed])]
    if point_ids is not None:
        must.append(models.HasIdCondition(has_id=list(point_ids)))
    return models.Filter(must=must)


def build_struct(upsert: Upsert, *, version: int) -> models.PointStruct:
    """Build a whole point, marked with the version of its writer."""
    vector: dict[str, Any] = {}
    if upsert.dense is not None:
        vector[DENSE] = list(upsert.dense)
    if upsert.sparse is not None:
        vector[SPARSE] = models.SparseVector(indices=list(upsert.sparse[0]), values=list(upsert.sparse[1]))
    return models.PointStruct(id=upsert.id, vector=vector, payload={**build_payload(upsert.payload), VERSION: version})


def build_patch(patch: Patch, *, version: int) -> models.UpdateOperation:
    """Build the one operation of a patch; a filter leaves absent points alone.

    A field set to null is removed by the server. Set and removed in two operations, a crash in between would leave a record that
    a redelivery takes for done, or no longer finds.
    """
    mine = build_fence(version, [patch.id])
    payload = {**build_payload(patch.payload), VERSION: version}
    return models.SetPayloadOperation(set_payload=models.SetPayload(payload=payload, filter=mine))


def build_requests(query: SearchQuery) -> list[models.QueryRequest]:
    """Build the rankings of a search, BM25 first; its IDF is the space's own."""
    corpus = models.Filter(must=[models.FieldCondition(key=TENANT, match=models.MatchValue(value=query.space))])
    condition = _build_clause(build_search_clause(query), [] if query.at is None else _build_validity(query.at))
    indices, values = query.sparse
    wanted: list[tuple[str, Any, models.SearchParams | None]] = []
    wanted.append(
        (
            SPARSE,
            models.SparseVector(indices=list(indices), values=list(values)),
            models.SearchParams(idf=models.IdfCorpusParams(corpus=corpus)),
        )
    )
    if query.dense is not None:
        wanted.append((DENSE, list(query.dense), None))
    return [
        models.QueryRequest(
            query=vector,
            using=using,
            filter=condition,
            params=params,
            limit=count_candidates(query.limit, query.ranked_for),
            with_payload=False,
            with_vector=False,
        )
        for using, vector, params in wanted
    ]


def build_slot_filter(names: Sequence[str], query: SearchQuery) -> models.Filter:
    """Build the filter of the named points that have one of the further slots, and are of no kind that is barred."""
    return _build_clause(build_further_clause(query), [models.HasIdCondition(has_id=list(names))])


def build_selector(fields: tuple[str, ...] | None) -> models.PayloadSelector:
    """Build what a read gives of a payload: some fields, or all but the writer's version."""
    return WHOLE if fields is None else models.PayloadSelectorInclude(include=list(fields))


def is_point(record: models.Record) -> bool:
    """Tell whether it is one that the core knows: the store's own note and the marks of its spaces are none."""
    return (record.payload or {}).get("point") in _KINDS


def build_point(record: models.Record, *, whole: bool) -> Point:
    """Build a point from what the server gave; the version of its writer is no part of it."""
    payload = {key: value for key, value in (record.payload or {}).items() if key != VERSION and value is not None}
    return Point(str(record.id), payload, whole=whole)


def check_done(results: Iterable[models.UpdateResult]) -> None:
    """Take nothing for written that the server only accepted: after its own time limit it answers without an error."""
    for result in results:
        if result.status != models.UpdateStatus.COMPLETED:
            raise DependencyError(f"the server answered '{result.status}' to a write", dependency="store")


@contextmanager
def vendor_errors(place: str) -> Iterator[None]:
    """Translate what the client throws: refused access is settings, a refused request our bug, all else may pass."""
    try:
        yield
    except (ApiException, RpcError, OSError) as exc:
        status = exc.status_code if isinstance(exc, UnexpectedResponse) else getattr(exc, "code", lambda: None)()
        if status in (401, 403, StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED):
            raise ConfigError(
                f"{place} refuses access: {exc}.",
                setting="store.api_key",
                mend="set an API key that may read and write the collection.",
            ) from exc
        if status in (400, 422, StatusCode.INVALID_ARGUMENT):
            raise InvariantError(f"{place} refuses a request: {exc}") from exc
        raise DependencyError(f"{place} is away or failed: {exc}", dependency="store") from exc
    except (ValueError, KeyError, TypeError) as exc:  # the client's own checks, and its local mode
        raise InvariantError(f"the client of {place} refuses a request: {exc}") from exc


def _build_clause(clause: Clause, further: Sequence[Any] = ()) -> models.Filter:
    must: list[Any] = [*further, *map(_build_condition, clause.matches)]
    return models.Filter(must=must, must_not=list(map(_build_condition, clause.without)) or None)


def _build_condition(match: tuple[str, tuple[str, ...]]) -> models.FieldCondition:
    field, values = match
    return models.FieldCondition(key=field, match=models.MatchAny(any=[str(value) for value in values]))


def _build_validity(at: datetime) -> list[Any]:
    moment = at.astimezone(UTC)
    bounds = {"valid_from": models.DatetimeRange(lte=moment), "valid_until": models.DatetimeRange(gt=moment)}
    return [
        models.Filter(
            should=[
                models.IsEmptyCondition(is_empty=models.PayloadField(key=field)),
                models.FieldCondition(key=field, range=bound),
            ]
        )
        for field, bound in bounds.items()
    ]
