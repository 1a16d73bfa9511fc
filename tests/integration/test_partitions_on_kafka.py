"""Laws of raising the partitions of the canonical topic while producers and workers run, on Apache Kafka."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from qdrant_client import AsyncQdrantClient

from guardian.errors import ConfigError
from guardian.store.memory import MemoryStore
from guardian.store.qdrant.store import QdrantStore
from guardian.stream.broker.partition import Backlog, raise_partitions, wait_worked_off
from guardian.stream.guard import choose_partition
from guardian.topics import apply, load_declarations, plan
from guardian.wiring import build_kafka_options
from tests.integration.worker_rig import (
    IDENTITY,
    PATIENCE_S,
    ROOT,
    Rig,
    build_worker,
    decide_directly,
    export,
    open_shelf,
    running,
    tell_story,
    wait_until,
)

pytestmark = pytest.mark.kafka


@pytest.fixture
async def rig(kafka_broker: Any, tmp_path: Path) -> Rig:
    """Give a rig whose topics keyed by space have two partitions."""
    rig = Rig(kafka_broker.bootstrap, tmp_path, session_timeout_s=6.0)
    declared = load_declarations(prefix=rig.prefix)
    few = [topic.model_copy(update={"partitions": 2}) if topic.copartitioned else topic for topic in declared]
    await apply(rig.bootstrap, few)
    return rig


def list_keyed(rig: Rig) -> set[str]:
    """Give the names of the topics keyed by space."""
    return {topic.name for topic in load_declarations(prefix=rig.prefix) if topic.copartitioned}


class Stream:
    """Produces events one by one, to the two partitions of the old view until `old_until` of them are sent.

    The second half waits for `may_go_on`: a raise takes as long as the broker takes.
    """

    def __init__(self, rig: Rig, events: list[dict[str, Any]]) -> None:
        self.sent = 0
        self.old_until = len(events)
        self.may_go_on = asyncio.Event()
        self._rig, self._events = rig, events

    async def run(self) -> None:
        """Send all, a little pause after each."""
        producer = AIOKafkaProducer(bootstrap_servers=self._rig.bootstrap, acks="all", metadata_max_age_ms=500)
        await producer.start()
        try:
            for event in self._events:
                if self.sent > len(self._events) / 2:
                    await self.may_go_on.wait()
                space = str(event["space"])
                partition = choose_partition(space, (0, 1)) if self.sent < self.old_until else None
                await producer.send_and_wait(self._rig.events_topic, orjson.dumps(event), key=space.encode(), partition=partition)
                self.sent += 1
                await asyncio.sleep(0.005)
        finally:
            await producer.stop()


def interleave(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mix the spaces, so that each has events before, during and after the change."""
    by_space: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        by_space.setdefault(event["space"], []).append(event)
    return [
        group[place] for place in range(max(map(len, by_space.values()))) for group in by_space.values() if place < len(group)
    ]


async def raise_in_the_midst(rig: Rig, settings: Any, events: list[dict[str, Any]]) -> list[Backlog]:
    """Stream events, raise two partitions to six when a third is sent, and wait until all is worked off."""
    seen: list[Backlog] = []
    options = build_kafka_options(settings)
    stream = Stream(rig, events)
    task = asyncio.create_task(stream.run())
    await wait_until(lambda: stream.sent > len(events) / 3, what="a third of the events")
    raised = await raise_partitions(options, list_keyed(rig), 6)
    assert raised == dict.fromkeys(list_keyed(rig), 2)
    stream.old_until = stream.sent + 20  # these are sent to where their spaces do not live any more
    assert stream.old_until < len(events)
    stream.may_go_on.set()
    await asyncio.wait_for(task, PATIENCE_S)
    group = f"{settings.kafka.group}.guard"
    await asyncio.wait_for(wait_worked_off(options, topic=rig.events_topic, group=group, observe=seen.append), PATIENCE_S)
    return seen


async def send_to_an_old_home(rig: Rig, settings: Any, events: list[dict[str, Any]], worker: Any) -> None:
    """Send an event again to where its space lived before, as a producer with an old view does, until the worker has sent one on."""
    event = next(one for one in events if choose_partition(one["space"], tuple(range(6))) > 1)
    space = str(event["space"])
    async with AIOKafkaProducer(bootstrap_servers=rig.bootstrap, acks="all") as producer:
        # A worker whose own view is still old takes it for at home, and rightly; its view is new within the age of metadata.
        while not worker.metrics.rerouted._value.get():
            partition = choose_partition(space, (0, 1))
            await producer.send_and_wait(rig.events_topic, orjson.dumps(event), key=space.encode(), partition=partition)
            await asyncio.sleep(0.5)
    group = f"{settings.kafka.group}.guard"
    waiting = wait_worked_off(build_kafka_options(settings), topic=rig.events_topic, group=group, observe=lambda _: None)
    await asyncio.wait_for(waiting, PATIENCE_S)


async def check_all_is_there(rig: Rig, settings: Any, events: list[dict[str, Any]], store: Any) -> None:
    """Check state, dead letters and offsets, and that spaces did move."""
    assert await export(store) == await decide_directly(events)
    assert await rig.list_letters(settings) == []
    ends: dict[int, int] = {}
    homes: dict[str, set[int]] = {}
    for record in await rig.read_topic("guardian.events"):
        ends[record.partition] = max(ends.get(record.partition, 0), record.offset + 1)
        homes.setdefault(record.key.decode(), set()).add(record.partition)
    committed = await rig.fetch_committed(settings)
    assert {partition.partition: offset for partition, (offset, _) in committed.items() if offset} == ends
    assert max(ends) > 1, "no space moved, so the test shows nothing"
    assert any(len(partitions) > 1 for partitions in homes.values())


async def test_nothing_is_lost_and_the_state_is_the_same(rig: Rig) -> None:
    """A worker runs, a producer sends, two partitions become six: the export equals that of the pipeline alone, to the byte."""
    settings = rig.build_settings()
    events = interleave(tell_story(spaces=12, length=20))
    store = open_shelf()
    worker = build_worker(settings, store)
    async with running(worker):
        seen = await raise_in_the_midst(rig, settings, events)
        await asyncio.wait_for(send_to_an_old_home(rig, settings, events, worker), PATIENCE_S)
    assert [backlog.wave for backlog in seen if not backlog.left][-1] == 3
    assert {backlog.workers for backlog in seen} == {1}
    assert worker.metrics.rerouted._value.get() > 0
    await check_all_is_there(rig, settings, events, store)


async def test_two_workers_that_share_a_store_come_to_the_same_state(rig: Rig) -> None:
    """Spaces move from one worker to another in the midst; the store's fence sees to it that no write of a former owner stays."""
    settings = rig.build_settings()
    events = interleave(tell_story(spaces=8, length=12))
    client = AsyncQdrantClient(location=":memory:")

    def build_store() -> QdrantStore:
        return QdrantStore(client, collection="c", identity=IDENTITY, has_indexes=False, closes_client=False)

    async with running(build_worker(settings, build_store())), running(build_worker(settings, build_store())):
        await raise_in_the_midst(rig, settings, events)
    store = build_store()
    await store.open()
    await check_all_is_there(rig, settings, events, store)
    await client.close()


async def test_more_than_declared_is_as_declared_where_all_of_a_group_agree(rig: Rig) -> None:
    """After a raise nothing differs; one of the group alone does, and fewer cannot be had."""
    options = build_kafka_options(rig.build_settings())
    events, *others = sorted(list_keyed(rig))
    await raise_partitions(options, {events}, 24)
    declared = load_declarations(prefix=rig.prefix)
    found = {topic.declaration.name: topic for topic in (await plan(rig.bootstrap, declared)).topics}
    assert found[events].standing == "ok"
    assert found[others[0]].standing == "partitions_differ"
    with pytest.raises(ConfigError, match="--partitions N"):
        await apply(rig.bootstrap, declared)
    assert await raise_partitions(options, list_keyed(rig), 24) == dict.fromkeys(others, 2)
    assert await raise_partitions(options, list_keyed(rig), 24) == {}
    assert (await plan(rig.bootstrap, declared)).is_clean
    with pytest.raises(ConfigError, match=r"24 partitions and cannot be brought to 6.*another topic"):
        await raise_partitions(options, list_keyed(rig), 6)


async def test_without_a_worker_the_wait_says_so_and_can_be_given_up(rig: Rig) -> None:
    """Nothing moves, the count of workers is none, and a later wait ends once a worker has done its work."""
    settings = rig.build_settings()
    options = build_kafka_options(settings)
    group = f"{settings.kafka.group}.guard"
    events = tell_story(spaces=2, length=3)
    await rig.produce("guardian.events", events)
    await raise_partitions(options, list_keyed(rig), 6)
    seen: list[Backlog] = []
    wait = asyncio.create_task(wait_worked_off(options, topic=rig.events_topic, group=group, observe=seen.append, settle_s=0))
    await wait_until(lambda: bool(seen), what="a look at the backlog")
    assert (seen[0].left, seen[0].total, seen[0].workers) == (len(events), len(events), 0)
    wait.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait
    store: MemoryStore = open_shelf()
    async with running(build_worker(settings, store)):
        await asyncio.wait_for(
            wait_worked_off(options, topic=rig.events_topic, group=group, observe=seen.append, settle_s=0), PATIENCE_S
        )
    assert await export(store) == await decide_directly(events)


async def test_the_command_raises_waits_and_says_what_stands(rig: Rig, tmp_path: Path) -> None:
    """`guardian topics apply --partitions` beside a worker: raised, worked off, and as declared from then on."""
    settings = rig.build_settings()
    events = tell_story(spaces=4, length=5)
    await rig.produce("guardian.events", events)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")} | {
        "GUARDIAN_KAFKA__BOOTSTRAP": rig.bootstrap,
        "GUARDIAN_KAFKA__TOPIC_PREFIX": rig.prefix,
        "GUARDIAN_KAFKA__GROUP": settings.kafka.group,
        "GUARDIAN_KAFKA__METADATA_MAX_AGE_S": "1",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "160",
    }

    async def call(*arguments: str) -> tuple[int | None, str, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "guardian", "topics", *arguments,
            cwd=tmp_path, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    code, _, err = await call("apply")
    assert code == 2
    assert "--partitions N" in err
    store = open_shelf()
    async with running(build_worker(settings, store)):
        code, out, err = await call("apply", "--partitions", "13")
        assert code == 0, err
        assert f"raised: {rig.events_topic} from 2 to 13" in out
        assert "is worked off" in err
    assert await export(store) == await decide_directly(events)
    assert (await call("apply"))[0] == 0
    code, _, err = await call("apply", "--partitions", "12")
    assert code == 2
    assert "cannot be brought to 12" in err
