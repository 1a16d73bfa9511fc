"""Laws of a migration on a server while a worker runs, on Apache Kafka: the worker is stopped by it, and nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from qdrant_client import AsyncQdrantClient

from guardian.errors import ConfigError
from guardian.migration import migrate
from guardian.store.qdrant.generation import QdrantGenerations
from guardian.store.qdrant.store import QdrantStore
from tests.generations import observe
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

pytestmark = pytest.mark.kafka


@pytest.fixture
async def rig(kafka_broker: Any, tmp_path: Path) -> Rig:
    """Give a rig with its topics."""
    rig = Rig(kafka_broker.bootstrap, tmp_path, session_timeout_s=6.0)
    await rig.create_topics()
    return rig


async def produce_slowly(rig: Rig, events: list[dict[str, Any]], sent: list[int], is_switched: asyncio.Event) -> None:
    """Send events one by one with a little pause after each, and keep count; the last third waits until there is a new collection."""
    producer = AIOKafkaProducer(bootstrap_servers=rig.bootstrap, acks="all")
    await producer.start()
    try:
        for event in events:
            if len(sent) > len(events) * 2 / 3:
                await is_switched.wait()
            await producer.send_and_wait(rig.events_topic, orjson.dumps(event), key=str(event["space"]).encode())
            sent.append(1)
            await asyncio.sleep(0.01)
    finally:
        await producer.stop()


async def test_a_running_worker_is_stopped_by_the_switch_and_its_successor_loses_nothing(rig: Rig) -> None:
    """Exit code 2 with the mend, nothing committed that the new collection lacks; the export equals the pipeline's own."""
    settings = rig.build_settings()
    events = tell_story(spaces=6, length=25)
    client = AsyncQdrantClient(location=":memory:")

    def build_store() -> QdrantStore:
        return QdrantStore(client, collection="c", identity=IDENTITY, has_indexes=False, closes_client=False)

    sent: list[int] = []
    is_switched = asyncio.Event()
    producing = asyncio.create_task(produce_slowly(rig, events, sent, is_switched))
    former = build_worker(settings, build_store())
    async with running(former) as run:
        await wait_until(lambda: former.metrics.events.labels("applied")._value.get() > len(events) / 4, what="some events")
        generations = QdrantGenerations(client, alias="c", has_indexes=False, settle_s=0.5)
        assert (await migrate(generations, None, observe=observe)).is_switched
        assert len(sent) < len(events)
        is_switched.set()
        assert await asyncio.wait_for(asyncio.shield(run), PATIENCE_S) == 2
    assert isinstance(former.ending.cause, ConfigError)
    assert "given up" in str(former.ending.cause)
    successor = build_worker(settings, build_store())
    async with running(successor):
        await asyncio.wait_for(producing, PATIENCE_S)

        async def is_done() -> bool:
            committed = await rig.fetch_committed(settings)
            ends = {record.partition: record.offset + 1 for record in await rig.read_topic("guardian.events")}
            return {partition.partition: offset for partition, (offset, _) in committed.items() if offset} == ends

        await wait_until(is_done, what="all to be committed")
    store = build_store()
    await store.open()
    assert store.collection == "c-2"
    assert await export(store) == await decide_directly(events)
    assert await rig.list_letters(settings) == []
    await client.close()
