"""Make, open, check and mend a shard of the embedded engine. Called from the store's own thread."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from qdrant_edge import (
    DatetimeIndexParams,
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FloatIndexParams,
    KeywordIndexParams,
    Modifier,
    PayloadSchemaType,
    UpdateOperation,
)
from qdrant_edge import (
    Point as EdgePoint,
)

from guardian.errors import ConfigError
from guardian.ports import StoreIdentity
from guardian.store.edge.directory import FIRST_SHARD, clear_creating, read_pointer, write_pointer
from guardian.store.identity import META_ID, build_absent_error, build_meta_payload, check_meta, read_meta
from guardian.store.layout import DENSE, INDEXES, SPARSE, TENANT, IndexType

# In KB of vectors a segment: none ever gets an HNSW graph, whose making stops the process for minutes.
_NO_HNSW_THRESHOLD = 10_000_000
# A point of its own that is written and removed again to see whether the engine is well.
_PROBE_ID = "00000000-0000-0000-0000-000000000001"
_PROBES = 3

_TYPES = MappingProxyType(
    {
        IndexType.KEYWORD: PayloadSchemaType.Keyword,
        IndexType.FLOAT: PayloadSchemaType.Float,
        IndexType.DATETIME: PayloadSchemaType.Datetime,
    }
)


def open_shard(path: Path, identity: StoreIdentity | None) -> EdgeShard:
    """Load the shard in use of a locked directory, or make the first one.

    The first is made aside, closed, renamed and only then pointed at, so a shard that is there is complete.
    """
    name = read_pointer(path)
    if name is None and identity is None:
        raise build_absent_error(str(path))
    if name is None:
        assert identity is not None
        creating = clear_creating(path)
        make_shard(creating, identity)
        name = FIRST_SHARD
        creating.rename(path / name)
    write_pointer(path, name)
    return EdgeShard.load(str(path / name))


def make_shard(path: Path, identity: StoreIdentity) -> None:
    """Make an empty shard with all indexes in an empty directory, durable and closed."""
    vectors = {DENSE: EdgeVectorParams(size=identity.vector_size, distance=Distance.Cosine)} if identity.vector_size else {}
    shard = EdgeShard.create(
        str(path),
        EdgeConfig(
            vectors=vectors,
            sparse_vectors={SPARSE: EdgeSparseVectorParams(modifier=Modifier.Idf)},
            optimizers=EdgeOptimizersConfig(indexing_threshold=_NO_HNSW_THRESHOLD),
        ),
    )
    for field, index in INDEXES.items():
        shard.update(UpdateOperation.create_field_index(field, _build_index(field, index)))
    write_meta(shard, identity)
    shard.close()


def write_meta(shard: EdgeShard, identity: StoreIdentity) -> None:
    """Note, durably, what the shard is made for."""
    shard.update(UpdateOperation.upsert_points([EdgePoint(META_ID, {}, build_meta_payload(identity))]))
    shard.flush()


def check_shard(shard: EdgeShard, identity: StoreIdentity | None, *, place: str) -> StoreIdentity:
    """Check identity and indexes of a loaded shard, and give what it was made for.

    Raises:
        ConfigError: Names what differs and the mend.
    """
    found_identity = check_meta(_read_meta_payload(shard), identity, place=place)
    for fault in find_faults(shard):
        raise ConfigError(f"{place} has {fault}.", setting="store", mend="run `guardian migrate`, which builds it anew.")
    return found_identity


def read_identity(shard: EdgeShard, *, place: str) -> StoreIdentity:
    """Give what a loaded shard was made for, even if this version cannot use it.

    Raises:
        ConfigError: It does not say.
    """
    return read_meta(_read_meta_payload(shard), place=place)


def find_faults(shard: EdgeShard) -> tuple[str, ...]:
    """List the indexes that a loaded shard lacks."""
    schema = shard.info().payload_schema
    return tuple(
        f"{'no index' if field not in schema else 'an index of another type'} on '{field}' ({index})"
        for field, index in INDEXES.items()
        if field not in schema or schema[field].data_type != _TYPES[index]
    )


def _read_meta_payload(shard: EdgeShard) -> Any:
    kept = shard.retrieve([META_ID], True, False)
    return kept[0].payload if kept else None


def clear_poison(shard: EdgeShard) -> None:
    """Bring the engine back after a panic, as far as it can be.

    The log still holds the operation that panicked, and every later load would panic on it. A flush drops it only
    once a later operation succeeded, and the next upsert panics too (and is not applied). So: flush and probe until
    one succeeds, remove the probe, flush.
    """
    for _ in range(_PROBES):
        with suppress(BaseException):
            shard.flush()
            shard.update(UpdateOperation.upsert_points([EdgePoint(_PROBE_ID, {}, {})]))
            shard.update(UpdateOperation.delete_points([_PROBE_ID]))
            shard.flush()
            return


def _build_index(field: str, index: IndexType) -> Any:
    if index is IndexType.KEYWORD:
        return KeywordIndexParams(is_tenant=field == TENANT)
    return FloatIndexParams() if index is IndexType.FLOAT else DatetimeIndexParams()
