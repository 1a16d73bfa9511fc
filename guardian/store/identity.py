"""What a store was made for, kept in one point of its own and compared at every open. Pure.

A model of another size or name, another BM25 or another layout would mix what cannot be compared; so a difference is
refused with the command that resolves it, and nothing is recreated silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from guardian.errors import ConfigError
from guardian.ports import StoreIdentity
from guardian.store.layout import SCHEMA_VERSION

# The one point without a space or a `PointKind`: the nil UUID, which no UUIDv5 can be.
META_ID = "00000000-0000-0000-0000-000000000000"
META_POINT = "meta"
NO_EMBEDDING = "none"

_FIELDS = ("schema_version", "embedding", "vector_size", "bm25")


def build_meta_payload(identity: StoreIdentity) -> dict[str, Any]:
    """Build the payload of the store's own point."""
    return {"point": META_POINT, **{field: getattr(identity, field) for field in _FIELDS}}


def check_meta(payload: Mapping[str, Any] | None, wanted: StoreIdentity | None, *, place: str) -> StoreIdentity:
    """Compare what a store holds with what is wanted of it, and give what it holds.

    Args:
        payload: Of the store's own point; None when there is none.
        wanted: From the settings; None to take the store for what it was made for, if this version can read it.
        place: Path or collection, for the message.

    Raises:
        ConfigError: Names both values and the mend.
    """
    if payload is None or any(field not in payload for field in _FIELDS):
        raise ConfigError(
            f"{place} holds points but not the one that says what it was made for: it is no store of Guardian.",
            setting="store",
            mend="name another path or collection, or restore it from a copy.",
        )
    kept = StoreIdentity(**{field: payload[field] for field in _FIELDS})
    wanted = wanted or replace(kept, schema_version=SCHEMA_VERSION)
    if kept == wanted:
        return kept
    differences = [
        f"{field} {getattr(kept, field)!r} (now {getattr(wanted, field)!r})"
        for field in _FIELDS
        if getattr(kept, field) != getattr(wanted, field)
    ]
    raise ConfigError(f"{place} was made with {', '.join(differences)}.", setting="embedding", mend=_choose_mend(kept, wanted))


def build_absent_error(place: str) -> ConfigError:
    """Build the refusal to read a store that is not there."""
    return ConfigError(
        f"there is no store at {place}.",
        setting="store",
        mend="name its folder or URL with --store, or replay something into it first.",
    )


def build_dense_identity(identity: StoreIdentity, *, embedding: str, vector_size: int) -> StoreIdentity:
    """Build the identity of a store that had no embedding and now gets one.

    Raises:
        ConfigError: It has another embedding already, or the new one has no size.
    """
    if vector_size < 1 or embedding == NO_EMBEDDING:
        raise ConfigError(
            f"embedding {embedding!r} of size {vector_size} gives no vectors.",
            setting="embedding",
            mend="choose an embedder.",
        )
    wanted = StoreIdentity(
        schema_version=identity.schema_version, embedding=embedding, vector_size=vector_size, bm25=identity.bm25
    )
    if identity.vector_size and identity != wanted:
        raise ConfigError(
            f"the store has dense vectors of {identity.embedding!r} ({identity.vector_size}) already.",
            setting="embedding",
            mend="replay your logs into a new store made for the other embedder (`guardian replay FILES --store NEW`).",
        )
    return wanted


def _choose_mend(kept: StoreIdentity, wanted: StoreIdentity) -> str:
    if kept.schema_version > wanted.schema_version:
        return "run the newer Guardian that wrote it."
    if kept.vector_size == 0 and (kept.schema_version, kept.bm25) == (wanted.schema_version, wanted.bm25):
        return "set the embedder to `none`; or, with a model set, run `guardian embed --fill` once, which adds the vectors."
    return "set the old values again, or replay your logs into a new store made for the new ones (`guardian replay FILES --store NEW`)."
