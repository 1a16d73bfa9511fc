"""A memory bank for tests: the real pipeline over the in-memory store, and what a reader sees of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from guardian.core.export import EXPORTED, build_row, dump_row, sort_rows
from guardian.core.model import Event, Status
from guardian.core.plan import Outcome
from guardian.core.point import Phase, Point
from guardian.core.policy import Policy
from guardian.embed.bm25 import BM25_IDENTITY, bm25_query
from guardian.errors import DependencyError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence, OutcomeMessage, SearchQuery, Store, StoreIdentity
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.memory import MemoryStore, Shelf
from guardian.trust.recalibrate import iter_rated, load_calibrations
from tests.reference.forge import START
from tests.rows import build_full_row

IDENTITY = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="none", vector_size=0, bm25=BM25_IDENTITY)
FENCE = Fence(version=1)

Row = dict[str, Any]
Batches = Sequence[Sequence[Event]]


@dataclass
class Collector:
    """A publisher that keeps what it is given."""

    messages: list[OutcomeMessage] = field(default_factory=list)

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Keep the messages."""
        self.messages += messages


class CrashingStore(MemoryStore):
    """An in-memory store whose process dies in the middle of a plan.

    Attributes:
        left: Single writes (an upsert, a patch, a delete) that are still carried out; None for all.
    """

    left: int | None = None

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write the phases in order until the writes that are left are used up.

        Raises:
            DependencyError: The process died; what was written before stays.
        """
        if self.left is None:
            return await super().apply(phases, fence=fence)
        for phase in phases:
            writes = [Phase(upserts=(upsert,)) for upsert in phase.upserts]
            writes += [Phase(patches=(patch,)) for patch in phase.patches]
            writes += [Phase(deletes=(point_id,)) for point_id in phase.deletes]
            for write in writes:
                if self.left == 0:
                    raise DependencyError("the process died", dependency="store")
                self.left -= 1
                await super().apply([write], fence=fence)
        return None


class Bank:
    """Everything of one store: send events, look at rows, search as a reader does.

    Attributes:
        store: The in-memory store, or another one.
        published: All outcome messages, in order.
        outcomes: All outcomes, in order.
    """

    def __init__(self, *, policy: Policy | None = None, store: Store | None = None) -> None:
        settled = policy or Policy()
        self.store: Store = store if store is not None else MemoryStore(IDENTITY)
        self._publisher = Collector()
        self.outcomes: list[Outcome] = []
        self.pipeline = Pipeline(store=self.store, policy_of=lambda _: settled, publisher=self._publisher)

    @property
    def published(self) -> list[OutcomeMessage]:
        """Give the messages published so far."""
        return self._publisher.messages

    async def send(self, *events: Event) -> BatchReport:
        """Process the events as one batch."""
        report = await self.pipeline.process(events, fence=FENCE)
        self.outcomes += report.outcomes
        return report

    async def recalibrate(self) -> int:
        """Bring utilities to the calibration in force, as `guardian audit recompute` does; give the number of events."""
        calibrations = await load_calibrations(self.store, self.pipeline.policy_of)
        events = [event async for event in iter_rated(self.store, calibrations, START, size=3)]
        for event in events:
            await self.send(event)
        return len(events)

    async def send_each(self, *events: Event) -> None:
        """Process the events one by one."""
        for event in events:
            await self.send(event)

    async def rows(self, memory_id: str | None = None, *, space: str | None = None) -> list[Row]:
        """Give the exported rows, of one memory or of all, sorted."""
        rows = sort_rows([build_row(point) async for point in self.store.iter_points(space=space, kinds=EXPORTED)])
        return [row for row in rows if memory_id in (None, row["memory_id"])]

    async def row(self, memory_id: str, *, space: str | None = None) -> Row:
        """Give the row of a memory that has exactly one."""
        (row,) = await self.rows(memory_id, space=space)
        return row

    async def export(self) -> bytes:
        """Give the whole export."""
        return b"".join(map(dump_row, await self.rows()))

    async def find(self, text: str, *, space: str = "s", with_history: bool = False) -> list[str]:
        """Give the memory ids that a search finds, best first; superseded ones only with the history."""
        statuses = list(Status) if with_history else [Status.ACTIVE, Status.VERIFIED]
        hits = await self.store.search(SearchQuery(space=space, sparse=bm25_query(text), statuses=statuses, limit=100))
        return [hit.point.payload["memory_id"] for hit in hits]

    async def statuses(self) -> dict[str, list[str]]:
        """Give the statuses of every memory's revisions, oldest first."""
        found: dict[str, list[str]] = {}
        for row in await self.rows():
            found.setdefault(row["memory_id"], []).append(row["status"])
        return found

    def payloads(self, *, space: str | None = None) -> dict[str, dict[str, Any]]:
        """Give the payload of every point of the in-memory store, facts included."""
        assert isinstance(self.store, MemoryStore)
        shelf: Shelf = self.store.shelf
        return {point_id: payload for point_id, payload in shelf.payloads.items() if space in (None, payload["space"])}


def play(batches: Batches, *, policy: Policy | None = None) -> Bank:
    """Process the batches one after the other into a new bank, outside of any event loop."""
    bank = Bank(policy=policy)
    resume(bank, batches)
    return bank


def resume(bank: Bank, batches: Batches, *, recalibrates: bool = True) -> list[list[OutcomeMessage]]:
    """Process more batches, and bring utilities to the calibration then in force; give the messages that each batch published."""

    async def run() -> list[list[OutcomeMessage]]:
        published = []
        for batch in batches:
            before = len(bank.published)
            await bank.send(*batch)
            published.append(bank.published[before:])
        if recalibrates:
            await bank.recalibrate()
        return published

    return asyncio.run(run())


def export(bank: Bank) -> bytes:
    """Give the bank's export, outside of any event loop."""
    return asyncio.run(bank.export())


def rows(bank: Bank) -> list[Row]:
    """Give the bank's rows, with what models said of them."""
    points = [Point(key, payload) for key, payload in bank.payloads().items() if payload["point"] in EXPORTED]
    return sort_rows(map(build_full_row, points))
