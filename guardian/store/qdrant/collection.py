"""The collection of a store on a server: making one, finding the one in use, and whether it may still be written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from guardian.errors import ConfigError
from guardian.ports import StoreIdentity
from guardian.store.identity import META_ID, META_POINT, RETIRED, UNFINISHED, build_retired_error
from guardian.store.layout import DENSE, SERVER_INDEXES, SPARSE, TENANT, IndexType

_TYPES = MappingProxyType(
    {
        IndexType.KEYWORD: models.PayloadSchemaType.KEYWORD,
        IndexType.FLOAT: models.PayloadSchemaType.FLOAT,
        IndexType.DATETIME: models.PayloadSchemaType.DATETIME,
        IndexType.INTEGER: models.PayloadSchemaType.INTEGER,
    }
)


class Role(StrEnum):
    """What a store object is to its collection."""

    USED = "used"
    READ_AS_IT_IS = "read as it is"
    FILLED = "filled"

    @property
    def mark(self) -> dict[str, str]:
        """Give what the collection's own point says besides its identity."""
        return {UNFINISHED: "yes"} if self is Role.FILLED else {}


async def create_collection(client: AsyncQdrantClient, collection: str, identity: StoreIdentity) -> None:
    """Create an empty collection; nothing to do where another worker was first."""
    size = identity.vector_size
    try:
        await client.create_collection(
            collection,
            vectors_config={DENSE: models.VectorParams(size=size, distance=models.Distance.COSINE)} if size else {},
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
    except ApiException:
        if not await client.collection_exists(collection):
            raise


async def create_indexes(client: AsyncQdrantClient, collection: str) -> None:
    """Create all indexes; those that are there stay."""
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    for field, index in SERVER_INDEXES.items():
        schema = tenant if field == TENANT else _TYPES[index]
        await client.create_payload_index(collection, field, field_schema=schema, wait=True)


async def find_faults(client: AsyncQdrantClient, collection: str) -> tuple[str, ...]:
    """List the indexes that a collection lacks."""
    schema = (await client.get_collection(collection)).payload_schema
    return tuple(
        f"{'an index of another type' if field in schema else 'no index'} on '{field}' ({index})"
        for field, index in SERVER_INDEXES.items()
        if field not in schema or schema[field].data_type != _TYPES[index]
    )


async def find_collection(client: AsyncQdrantClient, alias: str) -> str:
    """Give the name of the collection in use, or the name for the first one.

    A finished one to which no alias leads was left by a switch or a creation that was cut off, and is the one in use.

    Raises:
        ConfigError: There are several.
    """
    aliases = {item.alias_name: item.collection_name for item in (await client.get_aliases()).aliases}
    if alias in aliases:
        return aliases[alias]
    if await client.collection_exists(alias):
        return alias
    noted = {name: note for name, note in (await list_numbered(client, alias)).items() if note}
    finished = [name for name, note in noted.items() if UNFINISHED not in note and RETIRED not in note]
    if len(finished) > 1 or (noted and not finished):
        raise ConfigError(
            f"no alias '{alias}' leads to one of the collections {', '.join(finished or noted)}.",
            setting="GUARDIAN_STORE__COLLECTION",
            mend="make the alias for the newest complete one, as Qdrant's documentation of aliases says.",
        )
    return finished[0] if finished else f"{alias}-1"


async def point_alias(client: AsyncQdrantClient, alias: str, collection: str) -> None:
    """Let the alias lead to a collection, in one request; nothing to do where the collection has the name itself."""
    if collection == alias:
        return
    known = {item.alias_name: item.collection_name for item in (await client.get_aliases()).aliases}
    if known.get(alias) == collection:
        return
    operations: list[Any] = []
    if alias in known:
        operations.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
    create = models.CreateAlias(collection_name=collection, alias_name=alias)
    await client.update_collection_aliases([*operations, models.CreateAliasOperation(create_alias=create)])


async def refuse_retired(client: AsyncQdrantClient, collection: str) -> None:
    """Refuse to write a collection that was given up, or was removed since.

    Raises:
        ConfigError: Names the one it was given up for.
    """
    place = f"the Qdrant collection '{collection}'"
    try:
        note = await read_note(client, collection)
    except (UnexpectedResponse, ValueError) as exc:
        if await client.collection_exists(collection):
            raise
        raise build_retired_error(place, "another") from exc
    if RETIRED in note:
        raise build_retired_error(place, note[RETIRED])


async def list_numbered(client: AsyncQdrantClient, alias: str) -> dict[str, Mapping[str, Any]]:
    """Give the collections named as the alias and a number, oldest first, with what their own points say.

    One that says nothing was never finished or is somebody else's: it is never used up, nor removed.
    """
    names = [item.name for item in (await client.get_collections()).collections]
    numbered = sorted((name for name in names if re.fullmatch(rf"{re.escape(alias)}-\d+", name)), key=read_number)
    return {name: await read_note(client, name) for name in numbered}


def read_number(collection: str) -> int:
    """Give the number of a generation."""
    return int(collection.rpartition("-")[2])


async def read_note(client: AsyncQdrantClient, collection: str) -> Mapping[str, Any]:
    """Read a collection's own point; empty when it has none of Guardian's."""
    records = await client.retrieve(collection, [META_ID], with_payload=True, with_vectors=False)
    note = (records[0].payload or {}) if records else {}
    return note if note.get("point") == META_POINT else {}
