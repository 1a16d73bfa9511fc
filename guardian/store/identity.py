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

# On a server, of a collection that a migration is filling, and of one that a migration has taken over: the name of the next.
UNFINISHED = "unfinished"
RETIRED = "retired_for"

_FIELDS = ("schema_version", "embedding", "vector_size", "bm25")


def build_meta_payload(identity: StoreIdentity) -> dict[str, Any]:
    """Build the payload of the store's own point."""
    return {"point": META_POINT, **{field: getattr(identity, field) for field in _FIELDS}}


def check_meta(payload: Mapping[str, Any] | None, wanted: StoreIdentity | None, *, place: str) -> StoreIdentity:
    """Compare what a store was made for with what is wanted of it, and give what it was made for.

    Args:
        payload: Of the store's own point; None when there is none.
        wanted: From the settings; None to take the store for what it was made for, if this version can read it.
        place: Path or collection, for the message.

    Raises:
        ConfigError: Names both values and the mend.
    """
    kept = read_meta(payload, place=place)
    assert payload is not None
    if UNFINISHED in payload:
        raise ConfigError(f"{place} is being filled by a migration.", setting="store", mend="run `guardian migrate` to its end.")
    if RETIRED in payload and wanted is not None:
        raise build_retired_error(place, payload[RETIRED])
    wanted = wanted or replace(kept, schema_version=SCHEMA_VERSION)
    if kept == wanted:
        return kept
    differences = [
        f"{field} {getattr(kept, field)!r} (now {getattr(wanted, field)!r})"
        for field in _FIELDS
        if getattr(kept, field) != getattr(wanted, field)
    ]
    raise ConfigError(f"{place} was made with {', '.join(differences)}.", setting="embedding", mend=_choose_mend(kept, wanted))


def read_meta(payload: Mapping[str, Any] | None, *, place: str) -> StoreIdentity:
    """Read what a store was made for.

    Raises:
        ConfigError: It does not say.
    """
    if payload is None or any(field not in payload for field in _FIELDS):
        raise ConfigError(
            f"{place} holds points but not the one that says what it was made for: it is no store of Guardian.",
            setting="store",
            mend="name another path or collection, or restore it from a copy.",
        )
    return StoreIdentity(**{field: payload[field] for field in _FIELDS})


def build_retired_error(place: str, successor: str) -> ConfigError:
    """Build the refusal to write what a migration has taken over: it would be lost, as nobody carries it on."""
    return ConfigError(
        f"{place} is given up for '{successor}', nothing may be written to it any more.",
        setting="store",
        mend="start again with the settings of the migration, once it is over; `guardian migrate` goes on with one that was cut off.",
    )


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
            mend="run `guardian migrate`, which makes the vectors anew.",
        )
    return wanted


def _choose_mend(kept: StoreIdentity, wanted: StoreIdentity) -> str:
    if kept.schema_version > wanted.schema_version:
        return "run the newer Guardian that wrote it."
    if kept.vector_size == 0 and (kept.schema_version, kept.bm25) == (wanted.schema_version, wanted.bm25):
        return "set the embedder to `none`; or, with a model set, run `guardian embed --fill` once, which adds the vectors."
    return "set the old values again, or run `guardian migrate`, which brings the store to the new ones."
