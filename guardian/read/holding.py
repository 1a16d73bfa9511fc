"""Holdings: what may still hold a text that was erased, where Guardian cannot or must not reach, and until when.

Each holding is told with its last date, or with what ends it. What is listed here is what `docs/erasure.md` promises to list.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from guardian.core.fact import load_ending
from guardian.core.point import PointKind
from guardian.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """One erasure that a store knows.

    Attributes:
        stated_at: The time of its event; what lay in topics before it counts from here.
    """

    space: str
    memory_id: str
    cascade: bool
    observed_at: datetime
    stated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One place that may still hold erased text.

    Attributes:
        place: Where: a topic, a file, a folder.
        holds: What lies there.
        until: The last date at which it does, if that is known.
        ends: What ends it: in words, beside the date or in its stead.
        owner: Who has to see to it: `broker`, `store`, `guardian`, or `you`.
    """

    place: str
    holds: str
    until: datetime | None
    ends: str
    owner: str


async def list_erasures(store: Store, *, space: str | None = None, memory_id: str | None = None) -> list[Erasure]:
    """List the erasures of a store, or of a space or memory of it, in the order of their times.

    Raises:
        DependencyError: The store is away.
    """
    where = {} if memory_id is None else {"memory_id": memory_id}
    found = []
    async for point in store.iter_points(space=space, kinds={PointKind.ERASURE}, where=where):
        ending = load_ending(point.id, point.payload)
        found.append(
            Erasure(
                space=point.payload["space"],
                memory_id=ending.memory_id,
                cascade=ending.cascade,
                observed_at=ending.observed_at,
                stated_at=ending.ref.time,
            )
        )
    return sorted(found, key=lambda erasure: (erasure.stated_at, erasure.space, erasure.memory_id))


def list_embedded(path: str) -> list[Holding]:
    """List what the embedded engine's files may hold."""
    return [
        Holding(
            place=path,
            holds="the engine's log and the freed pages of its segments: texts and vectors as they were written",
            until=None,
            ends="`guardian compact`",
            owner="guardian",
        )
    ]


def list_server(url: str, collection: str) -> list[Holding]:
    """List what a Qdrant server may hold."""
    return [
        Holding(
            place=f"{url}, collection {collection}",
            holds="deleted points in the segments, and the write-ahead log",
            until=None,
            ends="the server's optimizer has vacuumed the segments (a share of deleted points starts it) and cut its log",
            owner="store",
        ),
        Holding(place=url, holds="snapshots taken before the erasure", until=None, ends="you delete them", owner="you"),
    ]


def list_files() -> list[Holding]:
    """List what lies outside of Guardian's reach."""
    return [
        Holding(
            place="files that were replayed",
            holds="the agents' own logs and exports, text included; a replay brings back only what nothing but the file's own time dates",
            until=None,
            ends="you delete them",
            owner="you",
        ),
        Holding(
            place="exports and backups",
            holds="what `guardian export` and copies of folders and topics took before the erasure",
            until=None,
            ends="you delete them",
            owner="you",
        ),
        Holding(
            place="memory of running processes",
            holds="vectors and signatures of texts; the process that erases drops its own",
            until=None,
            ends="other workers and commands that read the text have ended",
            owner="you",
        ),
    ]
