"""Laws of sinks: in the order they came, once begun to the end, and a read never holds up its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from guardian.contracts.codec import decode, encode_event
from guardian.core.export import build_row
from guardian.core.intake import Disposition
from guardian.core.model import Event
from guardian.core.point import PointKind
from guardian.core.policy import Policy
from guardian.errors import DependencyError, InvariantError
from guardian.pipeline import BatchReport, Pipeline
from guardian.serve.sending import PipelineSink, TopicSink
from guardian.store.memory import MemoryStore
from tests import builders as build
from tests.property.bank import IDENTITY


class GatedStore(MemoryStore):
    """A store that writes when it is told to, or fails."""

    def __init__(self) -> None:
        super().__init__(IDENTITY)
        self.go = asyncio.Event()
        self.error: Exception | None = None
        self.writes = 0

    async def apply(self, *arguments: Any, **named: Any) -> None:
        """Wait, then write or fail."""
        await self.go.wait()
        self.writes += 1
        if self.error is not None:
            raise self.error
        await super().apply(*arguments, **named)


@pytest.fixture
async def store() -> GatedStore:
    """Give an open store."""
    store = GatedStore()
    await store.open()
    return store


def sink_over(store: GatedStore) -> PipelineSink:
    """Give a sink over a store."""
    return PipelineSink(Pipeline(store=store, policy_of=lambda _: Policy()))


async def test_a_read_does_not_wait_and_comes_before_what_is_sent_after_it(store: GatedStore) -> None:
    """The answer is out while a write is still in hand; the recap that follows finds the read."""
    sink = sink_over(store)
    first = asyncio.create_task(sink.send(build.written("m", "Beans cost 20 dollars")))
    await asyncio.sleep(0)
    await asyncio.wait_for(sink.post(build.read("m", session="s1", t=1)), 5)
    assert not first.done()
    recap = asyncio.create_task(sink.send(build.written("r", "Beans cost 20 dollars", session="s1", t=2)))
    store.go.set()
    assert (await first, await recap) == (Disposition.APPLIED, Disposition.APPLIED)
    rows = [build_row(point) async for point in store.iter_points(kinds={PointKind.RECORD}, where={"memory_id": "r"})]
    assert [row["provenance"] for row in rows] == ["inferred"]


async def test_a_caller_that_gives_up_stops_nothing(store: GatedStore) -> None:
    """What was begun is finished, and closing waits for it."""
    sink = sink_over(store)
    call = asyncio.create_task(sink.send(build.written("m")))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    closing = asyncio.create_task(sink.close())
    await asyncio.sleep(0)
    assert not closing.done()
    store.go.set()
    await closing
    assert await store.count(where={"memory_id": "m"}) == 1


async def test_a_store_that_is_away_is_told_to_the_writer_and_costs_a_reader_nothing(store: GatedStore) -> None:
    """And the next event is decided as if nothing had been."""
    sink = sink_over(store)
    store.go.set()
    store.error = DependencyError("away", dependency="store")
    await sink.post(build.read("m", t=1))
    with pytest.raises(DependencyError):
        await sink.send(build.written("m"))
    store.error = None
    assert await sink.send(build.written("m")) is Disposition.APPLIED


async def test_many_reads_hold_up_no_write(store: GatedStore) -> None:
    """What came while something was being written is made durable at once, not one by one before the correction behind it."""
    sink = sink_over(store)
    first = asyncio.create_task(sink.send(build.written("m")))
    await asyncio.sleep(0)
    for number in range(100):
        await sink.post(build.read("m", session=f"s{number}", t=number))
    last = asyncio.create_task(sink.send(build.corrected("m", "n", by="human_review", t=200)))
    await asyncio.sleep(0)
    store.go.set()
    assert (await first, await last) == (Disposition.APPLIED, Disposition.APPLIED)
    assert store.writes <= 3
    await sink.close()


async def test_a_bug_costs_the_event_that_it_is_in(store: GatedStore) -> None:
    """Those that wait with it are decided without it."""

    class Faulty(Pipeline):
        """A pipeline with a bug in one event."""

        async def process(self, events: Sequence[Event], **named: Any) -> BatchReport:
            """Fail on the event `bad`."""
            if any(getattr(event, "memory_id", None) == "bad" for event in events):
                raise InvariantError("a bug")
            return await super().process(events, **named)

    sink = PipelineSink(Faulty(store=store, policy_of=lambda _: Policy()))
    calls = [asyncio.create_task(sink.send(build.written(name))) for name in ("one", "bad", "two")]
    store.go.set()
    one, bad, two = await asyncio.gather(*calls, return_exceptions=True)
    assert (one, two) == (Disposition.APPLIED, Disposition.APPLIED)
    assert isinstance(bad, InvariantError)


async def test_a_topic_gets_the_very_event_with_its_space() -> None:
    """Somebody else decides, so nothing is told of it."""
    sent: list[tuple[bytes, str]] = []

    async def forward(events: Any) -> None:
        sent.extend(events)

    event = build.written("m", space="shop")
    assert await TopicSink(forward).send(event) is None
    ((raw, space),) = sent
    assert space == "shop"
    assert raw == encode_event(decode(raw, policy=build.POLICY, received_at=build.RECEIVED_AT).event)
