"""The laws across stores: whatever the state lies in, the same events give the same export, and a replay writes nothing."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient

from guardian.core.export import dump_row
from guardian.core.model import Corrected, Event
from guardian.ports import Store
from guardian.store.edge.store import EdgeStore
from guardian.store.memory import MemoryStore
from guardian.store.qdrant.store import QdrantStore
from tests.property.bank import IDENTITY, Bank
from tests.strategies import event_sets, shuffled, split

# Sets of events for one store; each set has spaces of its own, so the store is opened once.
SETS = 6
# In memory where there is such a place: flushes of a busy disk take their time.
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


@asynccontextmanager
async def open_edge() -> AsyncIterator[Store]:
    """Open the embedded store in a directory of its own."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        store = EdgeStore(Path(folder) / "store", IDENTITY, min_free_bytes=0)
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def open_qdrant() -> AsyncIterator[Store]:
    """Open the server store over the client's local mode."""
    store = QdrantStore(AsyncQdrantClient(location=":memory:"), collection="laws", identity=IDENTITY, has_indexes=False)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def move(event: Event, number: int) -> Event:
    """Move an event to a space of its own set."""
    space = f"{event.space}-{number}"
    if isinstance(event, Corrected) and event.inline is not None:
        return replace(event, space=space, inline=replace(event.inline, space=space))
    return replace(event, space=space)


@pytest.mark.parametrize("open_store", [open_edge, open_qdrant], ids=["edge", "qdrant-local"])
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_store_gives_the_same_export(
    open_store: Callable[[], AbstractAsyncContextManager[Store]], data: st.DataObject
) -> None:
    """Another arrival into another store gives the same bytes, and knows every event again."""
    sets = [[move(event, number) for event in data.draw(event_sets(max_events=14))] for number in range(SETS)]
    arrivals = [data.draw(shuffled(events).flatmap(split)) for events in sets]
    asyncio.run(compare(open_store, sets, arrivals))


async def compare(
    open_store: Callable[[], AbstractAsyncContextManager[Store]],
    sets: Sequence[Sequence[Event]],
    arrivals: Sequence[Sequence[Sequence[Event]]],
) -> None:
    """Send the sets whole to the in-memory store and as they arrived to the other, and compare what comes out."""
    twin = Bank(store=MemoryStore(IDENTITY))
    async with open_store() as store:
        bank = Bank(store=store)
        for events, arrival in zip(sets, arrivals, strict=True):
            await twin.send(*events)
            for batch in arrival:
                await bank.send(*batch)
        await twin.recalibrate()
        await bank.recalibrate()
        assert await bank.export() == await twin.export()
        kept = {point.id: dict(point.payload) async for point in store.iter_points()}
        assert kept == {point.id: dict(point.payload) async for point in twin.store.iter_points()}
        report = await bank.send(*[event for events in sets for event in events])
        assert report.records == 0
        assert b"".join(map(dump_row, await bank.rows())) == await twin.export()
