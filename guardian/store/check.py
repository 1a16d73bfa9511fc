"""What may be written: everything is checked before an engine is called. Pure.

Engines accept what they should not: a NaN in a vector is stored and never found again, a sparse vector of unequal
lengths makes the embedded engine panic now and at every later start, a wrong vector leaves half a batch applied. What
fails here is a bug of ours (events were validated where they entered), hence `InvariantError`.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

from guardian.core.point import MAX_NORM, MIN_NORM, Patch, Phase, PointKind, Upsert
from guardian.errors import InvariantError
from guardian.ports import Fence, SearchQuery
from guardian.store.layout import INDEXES, NAMES_PER_CLAUSE, TENANT, VERSION, IndexType

MAX_SPARSE_INDEX = 2**32 - 1
# Engines turn larger integers into floats.
MAX_INTEGER = 2**63 - 1
# A fence travels as a float in a server's range filter.
MAX_FENCE = 2**53 - 1
MAX_HITS = 1_000

_FIELD = re.compile(r"[a-z][a-z0-9_]*")
_CANONICAL_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KINDS = frozenset(PointKind)


def validate_phase(phase: Phase, *, vector_size: int) -> None:
    """Check all writes of one phase.

    Raises:
        InvariantError: Names the point and the field. A point may be named once in a phase, as its writes have no
            order.
    """
    seen: set[str] = set()
    for point_id in chain((item.id for item in phase.upserts), (item.id for item in phase.patches), phase.deletes):
        validate_id(point_id)
        if point_id in seen:
            raise InvariantError(f"point {point_id} is written twice in one phase, whose writes have no order")
        seen.add(point_id)
    for upsert in phase.upserts:
        validate_upsert(upsert, vector_size=vector_size)
    for patch in phase.patches:
        validate_patch(patch)


def validate_upsert(upsert: Upsert, *, vector_size: int) -> None:
    """Check one whole point (but its id).

    Raises:
        InvariantError: Names the point and the field.
    """
    where = f"point {upsert.id}"
    if upsert.payload.get("point") not in _KINDS:
        raise InvariantError(f"{where}: 'point' is {upsert.payload.get('point')!r}, not a kind of point")
    if not upsert.payload.get(TENANT):
        raise InvariantError(f"{where}: has no space")
    for field, value in upsert.payload.items():
        _validate_field(where, field, value)
    if upsert.dense is not None:
        validate_vector(where, upsert.dense, vector_size=vector_size)
    if upsert.sparse is not None:
        validate_sparse(where, upsert.sparse)


def validate_patch(patch: Patch) -> None:
    """Check one patch (but its id); None removes a field, but a point keeps its kind and space.

    Raises:
        InvariantError: Names the point and the field.
    """
    where = f"patch of point {patch.id}"
    for field, value in patch.payload.items():
        if field in ("point", TENANT):
            raise InvariantError(f"{where}: '{field}' never changes")
        if value is None:
            _validate_name(where, field)
        else:
            _validate_field(where, field, value)


def validate_id(point_id: str) -> None:
    """Check that an id is a UUID in its one canonical spelling, since stores compare ids as text."""
    if isinstance(point_id, str) and _CANONICAL_ID.fullmatch(point_id):
        return
    try:
        canonical = str(uuid.UUID(point_id))
    except (ValueError, AttributeError, TypeError) as exc:
        raise InvariantError(f"point id {point_id!r} is not a UUID") from exc
    if canonical != point_id:
        raise InvariantError(f"point id {point_id!r} is not spelt as {canonical}")


def validate_vector(where: str, vector: tuple[float, ...], *, vector_size: int) -> None:
    """Check that a dense vector has the store's size, and a finite norm that is not zero."""
    if len(vector) != vector_size:
        raise InvariantError(f"{where}: dense vector has {len(vector)} numbers, the store's have {vector_size}")
    try:
        norm = math.hypot(*vector)
    except TypeError as exc:
        raise InvariantError(f"{where}: dense vector holds something that is no number") from exc
    if not MIN_NORM <= norm <= MAX_NORM:  # also false for NaN
        raise InvariantError(f"{where}: dense vector has norm {norm}; it must be finite and not zero")


def validate_sparse(where: str, sparse: tuple[tuple[int, ...], tuple[float, ...]]) -> None:
    """Check that a sparse vector has as many indices as values, sorted and unique, and finite values."""
    indices, values = sparse
    if len(indices) != len(values):
        raise InvariantError(f"{where}: sparse vector has {len(indices)} indices and {len(values)} values")
    if any(left >= right for left, right in pairwise(indices)):
        raise InvariantError(f"{where}: sparse indices are not sorted and unique")
    if indices and not (indices[0] >= 0 and indices[-1] <= MAX_SPARSE_INDEX):
        raise InvariantError(f"{where}: sparse indices must lie in 0 to {MAX_SPARSE_INDEX}")
    if not all(math.isfinite(value) for value in values):
        raise InvariantError(f"{where}: sparse vector holds a value that is not finite")


def validate_query(query: SearchQuery, *, vector_size: int) -> None:
    """Check a search before it is run."""
    if not 1 <= query.limit <= MAX_HITS:
        raise InvariantError(f"search limit is {query.limit}, not 1 to {MAX_HITS}")
    if query.ranked_for is not None and query.ranked_for < 1:
        raise InvariantError(f"a search is to be ranked for {query.ranked_for} hits")
    if query.dense is not None:
        validate_vector("search", query.dense, vector_size=vector_size)
    validate_sparse("search", query.sparse)
    if query.at is not None and query.at.tzinfo is None:
        raise InvariantError(f"search time {query.at} has no zone")
    if query.payloads is not None and query.payloads < 0:
        raise InvariantError(f"a search is to read {query.payloads} payloads")
    if query.further_payloads < 0 or (query.further_payloads and not query.further_slots):
        raise InvariantError(
            f"a search is to read {query.further_payloads} further payloads with one of {len(query.further_slots)} slots"
        )
    if len(query.without_roots) > NAMES_PER_CLAUSE:
        raise InvariantError(f"a search leaves out {len(query.without_roots)} families, at most {NAMES_PER_CLAUSE} go into one")


def validate_fence(fence: Fence) -> None:
    """Check that a fence survives the way through a float."""
    if not 0 <= fence.version <= MAX_FENCE:
        raise InvariantError(f"fence version {fence.version} is not in 0 to {MAX_FENCE}")


def build_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Build the payload as it is stored and read back: tuples become lists, so that all stores give equal points."""
    return {key: list(value) if isinstance(value, tuple | list) else value for key, value in payload.items()}


@lru_cache(maxsize=256)
def _is_writable(field: str) -> bool:
    return _FIELD.fullmatch(field) is not None and field != VERSION


def _validate_name(where: str, field: str) -> None:
    if not _is_writable(field):
        raise InvariantError(f"{where}: '{field}' is not a field that may be written")


def _validate_field(where: str, field: str, value: Any) -> None:
    _validate_name(where, field)
    index = INDEXES.get(field)
    if isinstance(value, str):
        _validate_text(where, field, value)
        if index is IndexType.DATETIME:
            _validate_time(where, field, value)
        is_fitting = index in (None, IndexType.KEYWORD, IndexType.DATETIME)
    elif isinstance(value, list | tuple):
        for item in value:
            _validate_text(where, field, item)
        is_fitting = index in (None, IndexType.KEYWORD)
    elif isinstance(value, float):
        is_fitting = math.isfinite(value) and index in (None, IndexType.FLOAT)
    else:  # a bool is an int to Python, and matches nothing in the embedded engine
        is_fitting = type(value) is int and abs(value) <= MAX_INTEGER and index in (None, IndexType.FLOAT)
    if not is_fitting:
        raise InvariantError(f"{where}: '{field}' cannot hold {value!r:.80} ({type(value).__name__})")


def _validate_text(where: str, field: str, value: Any) -> None:
    try:
        if not value.isascii():
            value.encode()
    except (AttributeError, UnicodeEncodeError) as exc:
        raise InvariantError(f"{where}: '{field}' holds something that is no text in UTF-8: {value!r:.80}") from exc


def _validate_time(where: str, field: str, value: str) -> None:
    try:
        is_aware = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        is_aware = False
    if not is_aware:  # an engine would leave it out of the index without a word
        raise InvariantError(f"{where}: '{field}' is no RFC 3339 time with a zone: {value!r:.80}")
