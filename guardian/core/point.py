"""Points: how facts and records lie in the store, as flat payloads.

A payload is what Qdrant keeps beside the vectors: text, numbers, and lists of text. What nobody filters is one JSON string
each, since nested objects more than halve the write rate. Flags are the keywords `yes` and `no`.

Node points (what has lineage): `record`, `tombstone`, `unseen`. Fact points: `correction`, `retraction`, `verdict`, `read`,
`deletion`, `link`, `erasure`, `induction`, `calibration`. Operational points: `drift`, `alert`. The id of every point is a UUIDv5 of its
identity, so writing twice is writing once.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# Namespace of all ids made here; moving it makes every stored id unreachable.
NAMESPACE = uuid.UUID("6b0f3c1e-6f3e-5c0b-9a53-6d1f0c2a7e11")

# Length of a dense vector: its square must fit a 32-bit float with room to spare. Beyond these, engines store zeros or infinities
# without a word. One pair for what is refused on the way in, what a model may give and what a store takes: were the store's narrower,
# one event would stop its partition.
MIN_NORM, MAX_NORM = 1e-15, 1e15


class PointKind(StrEnum):
    """What a stored point is; the payload field `point`."""

    RECORD = "record"
    TOMBSTONE = "tombstone"
    UNSEEN = "unseen"
    CORRECTION = "correction"
    RETRACTION = "retraction"
    VERDICT = "verdict"
    READ = "read"
    DELETION = "deletion"
    LINK = "link"
    ERASURE = "erasure"
    INDUCTION = "induction"
    CALIBRATION = "calibration"
    DRIFT = "drift"
    ALERT = "alert"


# What a worker notes of its own looks at a bank: no fact, in no export, and outside the law that state is a function of the set of events.
OPERATIONAL = frozenset({PointKind.DRIFT, PointKind.ALERT})
NODES = frozenset({PointKind.RECORD, PointKind.TOMBSTONE, PointKind.UNSEEN})

# Payload fields that only a whole read carries; lineage reads leave them out, a family may have 100,000 records.
HEAVY_FIELDS = ("text", "card", "rest")


@dataclass(frozen=True, slots=True)
class Point:
    """One stored point.

    Attributes:
        id: UUID in text.
        payload: See `FIELDS` of the store's layout; at least `point` and `space`.
        whole: False when `HEAVY_FIELDS` were left out of the read.
    """

    id: str
    payload: Mapping[str, Any]
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """A whole point to write. `dense` and `sparse` are filled by the pipeline for records; None writes no such vector.

    Attributes:
        dense: Vector of the collection's size.
        sparse: (indices, values) of BM25, sorted by index, unique.
    """

    id: str
    payload: Mapping[str, Any]
    dense: tuple[float, ...] | None = None
    sparse: tuple[tuple[int, ...], tuple[float, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Payload fields to replace in an existing point; a value of None removes the field. Vectors stay."""

    id: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Writes in their order: upserts, patches (in the order given), deletes. Phases are written one after the other.

    A crash in between leaves a beginning of this order. What others follow from is written after them, and deleted after
    that, so that a redelivery of the same events, in whatever batches, finds it undone and works out all of it again.
    """

    upserts: tuple[Upsert, ...] = ()
    patches: tuple[Patch, ...] = ()
    deletes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.upserts or self.patches or self.deletes)


def build_point_id(space: str, *parts: str) -> str:
    """Build the id of a point from its identity within a space (UUIDv5; parts are length-prefixed, so no two collide)."""
    name = "".join([f"{len(part)}:{part}" for part in (space, *parts)])
    # What `uuid.uuid5` gives, in a third of its time: two ids an event are made.
    digest = hashlib.sha1(NAMESPACE.bytes + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
