"""The fence of the server store: what keeps a worker that lost its partition from writing after its successor began.

A former owner may hang in the midst of a batch and go on whenever it likes. Two things stand against it.

- A mark for each space holds the version of the last batch that claimed it. A batch marks its spaces before it first reads
  (never a lower version over a higher one, which is read back and a conflict), and looks at the marks again before every
  request that writes. So from the moment a successor begins to read, its predecessor's requests are refused, also those for
  points that the successor deleted or never made, and what the successor decides upon is not half of somebody's change.
- Every point carries the version of its last writer. A write touches only points with no higher one, and as the server does
  not say what it skipped, the versions are read back and a higher one is a conflict.

What remains: the server cannot look at one point on the condition of another, so between the look at the marks and the request
after it lies a window. A former owner that stops exactly there, or whose one request is on its way for so long that the successor
marks and reads before it arrives, still writes that request's points, unless the successor wrote them before; its next request is
refused. Nor does anything stand against a worker of a version that knows no marks.

A writer outside the stream (version 0: a replay of files into the store) claims nothing and lowers nothing. It may write where no
worker ever did; where one did it is refused, and told to go through the topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from guardian.core.point import build_point_id
from guardian.errors import ConfigError, ConflictError
from guardian.ports import Fence
from guardian.store.layout import PAGE_POINTS, VERSION, iter_slices
from guardian.store.qdrant.query import WRITE_POINTS, build_fence, check_done

MARK_POINT = "mark"
# Not the tenant's field: a mark is no point of its space, and answers to no lookup.
_OF = "marks"


async def claim_spaces(client: AsyncQdrantClient, collection: str, fence: Fence) -> None:
    """Mark the spaces of a fence in one request (500 spaces), and read the marks back.

    Raises:
        ConflictError: A newer owner has marked one of them.
    """
    if not fence.version:
        return
    for spaces in iter_slices(sorted(fence.spaces), WRITE_POINTS):
        marks = [_build_mark(space, fence.version) for space in spaces]
        check_done([await client.upsert(collection, marks, update_filter=build_fence(fence.version), wait=True)])
    await check_marks(client, collection, fence)


async def check_marks(client: AsyncQdrantClient, collection: str, fence: Fence) -> None:
    """Look at the marks of a fence's spaces.

    Raises:
        ConflictError: A newer owner has marked one of them.
        ConfigError: The writer stands outside the stream, and a worker has marked one of them.
    """
    for ids in iter_slices([_build_mark_id(space) for space in sorted(fence.spaces)], PAGE_POINTS):
        for record in await client.retrieve(collection, list(ids), with_payload=[VERSION, _OF], with_vectors=False):
            payload = record.payload or {}
            _compare(f"space {payload.get(_OF)!r}", payload, fence)


async def check_versions(client: AsyncQdrantClient, collection: str, ids: Sequence[str], fence: Fence) -> None:
    """Read back whether points were written, or skipped for a higher version.

    Raises:
        ConflictError: A newer owner has written one of them.
        ConfigError: The writer stands outside the stream, and a worker has written one of them.
    """
    records = await client.retrieve(collection, list(ids), with_payload=[VERSION], with_vectors=False)
    for record in records:
        _compare(f"point {record.id}", record.payload or {}, fence)


def _compare(name: str, payload: Mapping[str, Any], fence: Fence) -> None:
    version = payload.get(VERSION, 0)
    if version <= fence.version:
        return
    if not fence.version:
        raise ConfigError(
            f"{name} belongs to a worker of the stream, past which nothing else may write.",
            setting="store",
            mend="send the events to the worker (`guardian replay FILES --to-topic`), or name a store of your own with --store.",
        )
    raise ConflictError(f"{name} was taken under fence {version}, ours is {fence.version}: it has a newer owner")


def _build_mark_id(space: str) -> str:
    return build_point_id(space, MARK_POINT)


def _build_mark(space: str, version: int) -> models.PointStruct:
    payload = {"point": MARK_POINT, _OF: space, VERSION: version}
    return models.PointStruct(id=_build_mark_id(space), vector={}, payload=payload)
