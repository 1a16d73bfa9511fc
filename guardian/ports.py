"""The ports: what the pipeline asks of the outside, in the words of the core.

Each protocol has at least two implementations, held equal by one contract suite in `tests/contract/`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from guardian.core.model import MemoryKind, Slot, Status
from guardian.core.needs import Needs
from guardian.core.point import Phase, Point, PointKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Who writes, and where: a server refuses writes with a lower version than a point, or the mark of a space, already has.

    Attributes:
        version: 0 .. 2**53 - 1, made of topic epoch and offset; 0 for a writer outside the stream.
        spaces: The spaces it writes in, which it claims before it first reads.
    """

    version: int = 0
    spaces: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """One hybrid search within a space.

    Attributes:
        dense: Query vector, or None to search by BM25 alone.
        sparse: (indices, values) of the BM25 query; may be empty.
        statuses: Statuses that may answer; the default read leaves superseded and erased out.
        at: When given, records whose validity does not contain this time are left out.
        without_kinds: Records of these kinds are left out; to name what is out costs an engine less than to name all that is in.
        without_roots: Records with any of these roots are left out; at most 1,000.
        fields: Payload fields to give; None for all.
        limit: Number of hits, 1 to 1,000.
        ranked_for: Go down the ranking of a search for so many hits: both rankings are cut where that search cuts them, though not
            before `limit`, so that its hits come first. None for `limit`.
        payloads: Number of hits whose payload is read, the best; the rest are ids and scores. None for all. A payload costs 50
            microseconds in the embedded engine, a place in the ranking a few.
        further_slots: Beside the best `payloads`, the next ones with any of these slots are read, too.
        further_without_kinds: Kinds that these may not be of.
        further_payloads: How many of those.
    """

    space: str
    sparse: tuple[tuple[int, ...], tuple[float, ...]]
    dense: tuple[float, ...] | None = None
    statuses: Collection[Status] = (Status.ACTIVE, Status.VERIFIED)
    slots: Collection[Slot] | None = None
    without_kinds: Collection[MemoryKind] = ()
    at: datetime | None = None
    without_roots: Collection[str] = ()
    fields: tuple[str, ...] | None = None
    limit: int = 10
    ranked_for: int | None = None
    payloads: int | None = None
    further_slots: Collection[Slot] = ()
    further_without_kinds: Collection[MemoryKind] = ()
    further_payloads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One answer of a search.

    Attributes:
        score: Reciprocal rank fusion, or BM25's own when there is no dense part.
        similarity: Cosine, where the search had a dense part and the record is among its candidates.
        is_fitting: Whether it is beyond the best `payloads` and has what the search asked for of further ones.
    """

    point: Point
    score: float
    similarity: float | None = None
    is_fitting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreIdentity:
    """What a store was made for; checked at every start, never changed silently.

    Attributes:
        schema_version: Of the payload layout.
        embedding: `identity` of the embedder, or `none`.
        vector_size: Size of `dense`; 0 when there is none.
        bm25: Identity of the BM25 configuration.
    """

    schema_version: int
    embedding: str
    vector_size: int
    bm25: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vectors of one point as a store keeps them, dense ones of length 1; None where it has none of that kind."""

    dense: tuple[float, ...] | None = None
    sparse: tuple[tuple[int, ...], tuple[float, ...]] | None = None


class Store(Protocol):
    """The state. Everything is validated before the engine is called; a store error is an error, never an empty answer.

    Raises:
        ConfigError: From `open`: another owner, another identity, a missing index.
        DependencyError: The engine or server is away; nothing is known about a write in flight.
        ConflictError: From `claim` and `apply`: a newer fence has claimed one of the spaces, or written one of the points.
    """

    identity: StoreIdentity

    async def open(self) -> None:
        """Open or create the collection, and check identity and indexes."""

    async def fetch(self, needs: Needs) -> list[Point]:
        """Look up all keys of one round; each point once (whole, if any key asks for it whole)."""

    async def claim(self, fence: Fence) -> None:
        """Bar all writers with a lower fence from its spaces, before the first read: what is read then stays as it is.

        Only a store with several writers has anything to bar. Version 0 claims nothing.
        """

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write the phases in order; when it returns all of them are durable. Applying twice is applying once."""

    async def search(self, query: SearchQuery) -> list[Hit]:
        """Search records (never other points), best first; ties by point id."""

    def iter_points(
        self,
        *,
        space: str | None = None,
        kinds: Collection[PointKind] | None = None,
        where: Mapping[str, str] | None = None,
        page_points: int | None = None,
    ) -> AsyncIterator[Point]:
        """Give whole points page by page, of one space or all, in no promised order; `where` are exact keyword matches.

        Smaller pages than the store's own leave more room to others between them.
        """

    async def count(
        self,
        *,
        space: str | None = None,
        kinds: Collection[PointKind] | None = None,
        where: Mapping[str, str] | None = None,
    ) -> int:
        """Count points exactly."""

    async def count_values(
        self, field: str, *, space: str | None = None, kinds: Collection[PointKind] | None = None
    ) -> dict[str, int]:
        """Count the points of each value of an indexed keyword field, at most a million values, exactly."""

    async def fetch_without_vector(self, limit: int) -> list[Point]:
        """Give some whole records that have no dense vector, at most `limit`; all of them in a store made without."""

    async def count_without_vector(self) -> int:
        """Count the records that have no dense vector."""

    async def set_vectors(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        """Fill in the dense vectors of existing records, by point id; `pending` goes, all else stays."""

    async def fetch_vectors(self, ids: Collection[str]) -> dict[str, Vectors]:
        """Read the vectors of points, by point id; absent points are left out."""

    async def add_dense(self, *, embedding: str, vector_size: int) -> None:
        """Give a store that was made without an embedding its dense vectors; records get theirs by `set_vectors`."""

    async def close(self) -> None:
        """Make durable and release."""


class Publisher(Protocol):
    """Where outcomes go. The pipeline awaits it before it acknowledges."""

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Send all messages and wait until they are acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeMessage:
    """One message for an outcome topic.

    Attributes:
        topic: Full topic name.
        key: Partition key, UTF-8.
        value: JSON in UTF-8; None is a tombstone of the key.
        id: Deterministic id; the same for every redelivery of its cause.
    """

    topic: str
    key: str
    value: bytes | None
    id: str
    headers: Mapping[str, str] | None = None


Payload = Mapping[str, Any]
