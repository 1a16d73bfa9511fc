"""Laws of the worker when something fails: nothing is acknowledged that is not durable, and it goes on or ends with the right code."""

from __future__ import annotations

import asyncio
import itertools
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from guardian.errors import ConfigError, InvariantError
from guardian.settings import Settings
from guardian.store.edge.store import EdgeStore
from guardian.store.memory import MemoryStore, Shelf
from guardian.stream.ending import FAILED, STOPPED, USAGE
from guardian.stream.plane.fence import LEAP
from tests.brokers import KafkaBroker, kafka_available
from tests.integration.moody_store import Mood, MoodyStore, count_records, needs_embedded, write
from tests.integration.worker_rig import (
    IDENTITY,
    PATIENCE_S,
    Rig,
    build_worker,
    decide_directly,
    export,
    running,
    tell_story,
    wait_until,
)


@pytest.fixture
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on Apache Kafka, whose groups and offsets are the real ones; it takes no session below six seconds."""
    bootstrap = request.getfixturevalue("kafka_broker").bootstrap
    return Rig(bootstrap=bootstrap, folder=tmp_path, session_timeout_s=6.0)


async def sum_committed(rig: Rig, settings: Settings) -> int:
    """Give how many records are acknowledged, over all partitions."""
    return sum(offset for offset, _ in (await rig.fetch_committed(settings)).values())


@pytest.mark.kafka
async def test_a_store_that_is_away_is_waited_for(rig: Rig) -> None:
    """The same batch is tried until it succeeds; nothing beyond what is stored is acknowledged; the wait can be seen."""
    await rig.create_topics()
    settings, store = rig.build_settings(limits={"batch_events": 2}), MoodyStore()
    events = [write(number) for number in range(10)]
    worker = build_worker(settings, store)
    async with running(worker) as task:
        await rig.produce("guardian.events", events[:4])
        await wait_until(lambda: sum_is(rig, settings, 4), what="the first events' commits")
        assert await fetch_status(worker, "readyz") == 200
        store.mood, tries = Mood.AWAY, store.tries
        await rig.produce("guardian.events", events[4:])
        await wait_until(lambda: store.tries >= tries + 4, what="some tries")
        assert await sum_committed(rig, settings) == await count_records(store) == 4
        assert await fetch_status(worker, "readyz") == 503
        assert await fetch_status(worker, "livez") == 200
        metrics = worker.metrics.registry
        assert metrics.get_sample_value("guardian_dependency_up", {"dependency": "store"}) == 0
        assert metrics.get_sample_value("guardian_retries_total", {"dependency": "store"}) >= 3  # type: ignore[operator] # None would fail the comparison, as it should
        store.mood = Mood.WELL
        await wait_until(lambda: sum_is(rig, settings, 10), what="all commits")
        assert await fetch_status(worker, "readyz") == 200
        assert metrics.get_sample_value("guardian_dependency_up", {"dependency": "store"}) == 1
    assert task.result() == STOPPED
    assert await export(store) == await decide_directly(events)


async def sum_is(rig: Rig, settings: Settings, count: int) -> bool:
    """Tell whether so many records are acknowledged."""
    return await sum_committed(rig, settings) == count


async def fetch_status(worker: Any, page: str) -> int:
    """Give the status of a page."""
    url = f"http://127.0.0.1:{worker.server.port}/{page}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert page != "metrics" or b"guardian_lag_records" in await answer.read()
        return answer.status


@pytest.mark.kafka
async def test_a_worker_that_waits_stops_when_asked(rig: Rig) -> None:
    """The batch in hand is given up without a commit, and the next worker does it."""
    await rig.create_topics()
    settings, store = rig.build_settings(limits={"retry_max_s": 30.0}), MoodyStore()
    store.mood = Mood.AWAY
    await rig.produce("guardian.events", [write(0)])
    async with running(build_worker(settings, store)) as task:
        await wait_until(lambda: store.tries >= 3, what="some tries")
    assert task.result() == STOPPED
    assert await sum_committed(rig, settings) == 0
    store.mood = Mood.WELL
    async with running(build_worker(settings, store)):
        await wait_until(lambda: sum_is(rig, settings, 1), what="the commit")
    assert await count_records(store) == 1


@pytest.mark.kafka
async def test_a_bug_ends_the_worker_without_a_commit(rig: Rig) -> None:
    """It ends by itself with code 70; after the mend nothing is missing."""
    await rig.create_topics()
    settings, store = rig.build_settings(), MoodyStore()
    store.mood = Mood.BROKEN
    events = [write(number) for number in range(3)]
    await rig.produce("guardian.events", events)
    code = await asyncio.wait_for(build_worker(settings, store).run(), PATIENCE_S)
    assert code == FAILED
    assert await sum_committed(rig, settings) == 0
    store.mood = Mood.WELL
    async with running(build_worker(settings, store)):
        await wait_until(lambda: sum_is(rig, settings, 3), what="all commits")
    assert await export(store) == await decide_directly(events)


@pytest.mark.kafka
async def test_a_worker_that_hangs_ends_itself(rig: Rig) -> None:
    """Records wait, nothing is away, and no batch finishes: the watchdog ends it with code 70, within the stop's deadline."""
    await rig.create_topics()
    settings, store = rig.build_settings(limits={"watchdog_s": 1.0, "stop_deadline_s": 3.0}), MoodyStore()
    store.mood = Mood.STUCK
    await rig.produce("guardian.events", [write(0)])
    worker = build_worker(settings, store)
    assert await asyncio.wait_for(worker.run(), PATIENCE_S) == FAILED
    assert isinstance(worker.ending.cause, InvariantError)
    assert await sum_committed(rig, settings) == 0


@pytest.mark.kafka
async def test_an_idle_worker_is_let_be(rig: Rig) -> None:
    """With nothing to read, or while it waits for a store, the watchdog finds nothing wrong."""
    await rig.create_topics()
    settings, store = rig.build_settings(limits={"watchdog_s": 1.5}), MoodyStore()
    async with running(build_worker(settings, store)) as task:
        await asyncio.sleep(4)
        store.mood = Mood.AWAY
        await rig.produce("guardian.events", [write(0)])
        await asyncio.sleep(4)
        assert not task.done()
        store.mood = Mood.WELL
        await wait_until(lambda: sum_is(rig, settings, 1), what="the commit")
    assert task.result() == STOPPED


@pytest.mark.kafka
async def test_too_many_dead_letters_stop_the_worker(rig: Rig) -> None:
    """It ends with code 2 before the topic is drained, and nothing of the batch that spent the budget is acknowledged."""
    await rig.create_topics()
    settings = rig.build_settings(limits={"dead_letter_run": 10, "batch_events": 4})
    await rig.produce("guardian.events", [b"nonsense"] * 30)
    worker = build_worker(settings, MoodyStore())
    assert await asyncio.wait_for(worker.run(), PATIENCE_S) == USAGE
    assert isinstance(worker.ending.cause, ConfigError)
    assert await sum_committed(rig, settings) == 8
    assert len(await rig.list_letters(settings)) == 8


@pytest.mark.kafka
async def test_fences_grow_over_owners(rig: Rig) -> None:
    """Each owner of a partition writes above all versions of the one before, also when it reads the same offsets again."""
    await rig.create_topics()
    settings, shelf = rig.build_settings(limits={"batch_events": 1}), Shelf()
    owners = []
    for number in range(3):
        store = MoodyStore(shelf)
        await rig.produce("guardian.events", [write(2 * number), write(2 * number + 1)])
        async with running(build_worker(settings, store)):
            await wait_until(lambda count=2 * number + 2: sum_is(rig, settings, count), what="both commits")
        owners.append(store.versions)
    assert all(first < second for first, second in owners)
    assert all(before[-1] + LEAP <= after[0] for before, after in itertools.pairwise(owners))


@pytest.mark.kafka
async def test_a_partition_leaves_a_worker_that_waits(rig: Rig) -> None:
    """A second worker takes its share at once though the first one's store is away, and the rest when the first one leaves."""
    await rig.create_topics()
    settings, shelf = rig.build_settings(), Shelf()
    spaces = [f"space-{number}" for number in range(12)]
    events = [write(number, space=space) for space in spaces for number in range(3)]
    first, second = MoodyStore(shelf), MoodyStore(shelf)
    first.mood = Mood.AWAY
    await rig.produce("guardian.events", events)
    leaving = build_worker(settings, first)
    async with running(leaving) as one:
        await wait_until(lambda: first.tries >= 2, what="the first worker's tries")
        async with running(build_worker(settings, second)) as two:
            await wait_until(lambda: bool(second.versions), what="the second worker's first batch")
            assert not one.done()
            assert await count_records(second) < len(events)
            leaving.ending.request()
            await wait_until(lambda: sum_is(rig, settings, len(events)), what="all commits by the second worker")
        assert two.result() == STOPPED
    assert await export(second) == await decide_directly(events)


@pytest.mark.kafka
async def test_killed_in_mid_load_nothing_is_lost(rig: Rig) -> None:
    """Killed twice without warning and started again, the embedded store holds what the pipeline alone would have made."""
    await rig.create_topics("chat")
    events = tell_story(spaces=3, length=40)
    settings = rig.build_settings(kafka={"ingress_topics": (f"{rig.prefix}chat",)}, limits={"batch_events": 1})
    await rig.produce("chat", events[: len(events) // 2], keyed=False)
    await rig.produce("guardian.events", events[len(events) // 2 :])
    for life in range(2):
        child = rig.start_child(settings, f"life{life}")
        try:
            await wait_until(lambda name=f"life{life}": rig.read_log(name).count('"applied"') >= 6, what="some batches")
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(PATIENCE_S)
        assert await sum_committed(rig, settings) < len(events)
    child = rig.start_child(
        settings.model_copy(update={"limits": settings.limits.model_copy(update={"batch_events": 500})}), "last"
    )
    try:
        await wait_until(lambda: is_read_to_the_end(rig, settings, len(events)), what="the end of the topic")
    finally:
        child.terminate()
        code = child.wait(PATIENCE_S)
    assert code == STOPPED, rig.read_log("last")
    store = EdgeStore(rig.folder / "store", IDENTITY, min_free_bytes=0)
    await store.open()
    try:
        assert await export(store) == await decide_directly(events)
    finally:
        await store.close()


async def is_read_to_the_end(rig: Rig, settings: Settings, least: int) -> bool:
    """Tell whether every record is acknowledged; killed ingress may have forwarded some twice, so there are at least so many."""
    forwarded = sum(offset for offset, _ in (await rig.fetch_committed(settings, "ingress")).values())
    return forwarded == least // 2 and await sum_committed(rig, settings) == len(await rig.read_topic("guardian.events"))


@needs_embedded
async def test_ingress_and_guard_can_be_two_workers(small_rig: Rig) -> None:
    """The one without the guard opens no store; together they do what one does."""
    rig = small_rig
    await rig.create_topics("chat")
    settings, store = rig.build_settings(kafka={"ingress_topics": (f"{rig.prefix}chat",)}), MoodyStore()
    unopened = MoodyStore()
    ingress = build_worker(settings.model_copy(update={"roles": frozenset({"ingress"})}), unopened)
    guard = build_worker(settings.model_copy(update={"roles": frozenset({"guard"})}), store)
    async with running(ingress), running(guard):
        await rig.produce("chat", [write(0)], keyed=False)
        await wait_until(lambda: has_one(store), what="the record")
        await wait_until(lambda: ingress.health.is_ready and guard.health.is_ready, what="both to be ready")
    assert set(ingress.health.planes) | set(guard.health.planes) == {"ingress", "canonical"}
    assert unopened.tries == 0


async def has_one(store: MemoryStore) -> bool:
    """Tell whether a store holds a record."""
    return await count_records(store) == 1


@pytest.mark.kafka
async def test_a_broker_that_dies_is_waited_for(tmp_path: Path) -> None:
    """The worker outlives it, goes on by itself when it is back, and misses nothing."""
    if reason := kafka_available():
        pytest.skip(reason)
    with KafkaBroker(folder=tmp_path / "kafka") as broker:
        rig = Rig(bootstrap=broker.bootstrap, folder=tmp_path, session_timeout_s=6.0)
        await rig.create_topics()
        settings, store = rig.build_settings(), MoodyStore()
        worker = build_worker(settings, store)
        async with running(worker) as task:
            await rig.produce("guardian.events", [write(0)])
            await wait_until(lambda: sum_is(rig, settings, 1), what="the first commit")
            broker.kill()
            await wait_until(lambda: not worker.health.is_up("broker"), what="the outage to be seen")
            assert await fetch_status(worker, "readyz") == 503
            await asyncio.to_thread(broker.start)
            await rig.produce("guardian.events", [write(1)])
            await wait_until(lambda: sum_is(rig, settings, 2), what="the second commit")
            await wait_until(lambda: worker.health.is_ready, what="the worker to be ready again")
            assert not task.done()
    assert await export(store) == await decide_directly([write(0), write(1)])
