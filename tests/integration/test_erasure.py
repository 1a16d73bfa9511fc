"""Erasure on real brokers: what was erased is in no store, no letter and no outcome, whatever comes late or again."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from guardian.cli.holdings import collect_holdings
from guardian.core.point import PointKind
from guardian.ports import Store
from guardian.read.holding import Erasure
from guardian.settings import Settings
from guardian.store.memory import MemoryStore
from guardian.stream.worker import Worker
from guardian.topics import load_declarations
from tests.brokers import KafkaBroker, kafka_available
from tests.builders import envelope, written_data
from tests.disk import iter_files_with
from tests.integration.test_worker import build_rig
from tests.integration.worker_rig import Rig, build_worker, export, open_shelf, running, wait_until

TOKEN = "t0ken-7f3a"
NOTE: dict[str, Any] = {"metadata": {"note": TOKEN}, "subject": f"{TOKEN} subject"}


@pytest.fixture(params=[pytest.param("kafka_broker", marks=pytest.mark.kafka), "embedded_broker"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on each broker in turn."""
    return build_rig(request, request.param, tmp_path)


def write(memory_id: str, **fields: Any) -> dict[str, Any]:
    """Build a write of the space `s`."""
    return envelope("memory.written", written_data(memory_id, f"{memory_id} knows the {TOKEN}", **NOTE, **fields))


def refuse(memory_id: str, *, t: int = 0) -> dict[str, Any]:
    """Build a write that is refused for its vector."""
    return envelope("memory.written", {"memory_id": memory_id, "text": TOKEN, "vector": ["bad"]}, t=t)


def erase(memory_id: str) -> dict[str, Any]:
    """Build a cascading erasure by a user."""
    data = {"memory_id": memory_id, "cascade": True, "authority": {"kind": "user"}}
    return envelope("memory.erased", data, t="2026-06-01T00:00:00Z")


STORY = [
    write("a", src="user"),
    write("heir", src="agent", parents=["a"]),
    envelope("memory.audited", {"memory_id": "a", "channel": "execution", "value": 0.5, "evidence": {"seen": TOKEN}}, t=1),
    envelope("memory.read", {"retrieved": ["a"], "query": TOKEN}, t=1),
    envelope("memory.corrected", {"targets": ["a"], "authority": {"kind": "user"}, "reason": TOKEN}, t=2),
    refuse("a"),
    refuse("heir", t=3),
    {**envelope("memory.written", {"memory_id": "b", "text": "b is another's", "vector": ["bad"]})},
]


async def dump(store: Store) -> str:
    """Give every point of a store as text."""
    return "".join([repr(point) async for point in store.iter_points()])


async def list_letters(rig: Rig, settings: Settings) -> list[str]:
    """Give the memory ids of the letters that stand, each once."""
    return sorted({str(stored.letter.memory_id) for stored in await rig.list_letters(settings)})


async def has_tombstones(store: MemoryStore, count: int) -> bool:
    """Tell whether the store has so many."""
    return await store.count(kinds={PointKind.TOMBSTONE}) == count


async def test_an_erasure_survives_whatever_comes(rig: Rig) -> None:
    """Letters and outcomes are taken back, late duplicates stay out, also by way of ingress, and a replay from zero brings nothing."""
    await rig.create_topics("chat")
    settings = rig.build_settings()
    store = open_shelf()
    await rig.produce("guardian.events", STORY)
    worker = build_worker(settings, store)
    async with running(worker):
        await wait_until(lambda: _letters_are(rig, settings, ["a", "b", "heir"]), what="the letters of the story")
        assert TOKEN in await dump(store)
        await rig.produce("guardian.events", [erase("a")])
        await wait_until(lambda: has_tombstones(store, 2), what="the erasure")
        await wait_until(lambda: _letters_are(rig, settings, ["b"]), what="the letters to go")
        await assert_gone(rig, settings, store)
        await rig.produce("guardian.events", [*STORY, write("heir", src="agent", parents=["a"], extra="another digest")])
        await wait_until(lambda: _has_read(worker, 2 * len(STORY) + 2), what="the late ones")
        await assert_gone(rig, settings, store)
    await send_by_ingress(rig, settings, store)
    again = rig.build_settings(kafka={"group": f"{rig.prefix}again", "ingress_topics": [f"{rig.prefix}chat"]})
    before = await export(store)
    worker = build_worker(again, store)
    async with running(worker):
        await wait_until(lambda: _has_read(worker, 2 * len(STORY) + 3), what="the replay from zero, and of what ingress reads")
        await assert_gone(rig, again, store)
    assert await export(store) == before


async def _letters_are(rig: Rig, settings: Settings, expected: list[str]) -> bool:
    return await list_letters(rig, settings) == expected


def _has_read(worker: Worker, count: int) -> bool:
    """Tell whether a worker has decided or refused so many records."""
    names = ("guardian_events_total", "guardian_dead_letters_total")
    samples = [sample for family in worker.metrics.registry.collect() for sample in family.samples]
    return sum(sample.value for sample in samples if sample.name in names) >= count


async def send_by_ingress(rig: Rig, settings: Settings, store: MemoryStore) -> None:
    """Let a worker without a store refuse a record of the erased memory; a guard looks after its letter."""
    ingress = {"ingress_topics": [f"{rig.prefix}chat"]}
    await rig.produce("chat", [refuse("a", t=4)])
    async with running(build_worker(rig.build_settings(kafka=ingress, roles={"ingress"}))):
        await wait_until(lambda: _letters_are(rig, settings, ["a", "b"]), what="the letter that ingress wrote")
    async with running(build_worker(rig.build_settings(roles={"guard"}), store)):
        await wait_until(lambda: _letters_are(rig, settings, ["b"]), what="the guard to look after it")


async def assert_gone(rig: Rig, settings: Settings, store: MemoryStore) -> None:
    """Look everywhere."""
    assert await list_letters(rig, settings) == ["b"]
    assert TOKEN not in await dump(store)
    assert TOKEN.encode() not in await export(store)
    for topic in ("guardian.enriched", "guardian.supersessions", "guardian.dead-letters"):
        latest = {record.key: record.value for record in await rig.read_topic(topic)}
        assert TOKEN.encode() not in b"".join(value or b"" for value in latest.values()), topic
    enriched = {record.key: record.value for record in await rig.read_topic("guardian.enriched")}
    assert set(enriched.values()) == {None}


async def test_what_nobody_can_read_is_told_with_its_date(rig: Rig) -> None:
    """A torn record stays in its letter, and holdings say where, why, and until when; the topics' dates follow their settings."""
    await rig.create_topics("chat")
    settings = rig.build_settings(kafka={"ingress_topics": [f"{rig.prefix}chat"]})
    torn = orjson.dumps(write("a"))[:-9]
    await rig.produce("guardian.events", [torn, refuse("a"), write("c")])
    async with running(build_worker(settings, open_shelf())):
        await wait_until(lambda: _letters_are(rig, settings, ["None", "a"]), what="two letters")
    now = datetime.now(UTC)
    erasure = Erasure(space="s", memory_id="a", cascade=False, observed_at=now, stated_at=now)
    found = {holding.place.removeprefix(rig.prefix): holding for holding in await collect_holdings(settings, None, [erasure])}
    (letter,) = [place for place in found if place.startswith("guardian.dead-letters: ")]
    assert f"{rig.events_topic} partition" in letter
    assert "not_json" in found[letter].holds
    until = found[letter].until
    assert until is not None
    assert timedelta(days=89) < until - now < timedelta(days=98)
    assert found["guardian.events"].until is None
    assert "retention.ms" in found["guardian.events"].ends
    bound = found["guardian.dead-letters"].until
    assert bound is not None
    assert bound - now == timedelta(days=7)
    assert found["chat"].until is None or found["chat"].until > now
    assert await collect_holdings(settings, None, []) == []


# Apache Kafka's own files

QUICK = {"segment.ms": "100", "max.compaction.lag.ms": "100", "delete.retention.ms": "100", "min.cleanable.dirty.ratio": "0.0001"}


@pytest.fixture
def quick_broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    """Run an Apache Kafka that compacts at once."""
    if reason := kafka_available():
        pytest.skip(reason)
    cleaner = {"log.cleaner.backoff.ms": "100", "log.cleaner.min.compaction.lag.ms": "0"}
    with KafkaBroker(folder=tmp_path / "kafka", settings=cleaner) as broker:
        yield broker


@pytest.fixture
async def quick_rig(quick_broker: KafkaBroker, tmp_path: Path) -> Rig:
    """Give a rig whose compacted topics are declared as ours, with all times made short."""
    made = Rig(bootstrap=quick_broker.bootstrap, folder=tmp_path, session_timeout_s=6.0)
    admin = AIOKafkaAdminClient(bootstrap_servers=quick_broker.bootstrap)
    await admin.start()
    topics = [
        NewTopic(topic.name, 1, 1, topic_configs=topic.full_config | (QUICK if "compact" in topic.cleanup_policy else {}))
        for topic in load_declarations(prefix=made.prefix)
    ]
    await admin.create_topics(topics)
    await admin.close()
    return made


@pytest.mark.kafka
@pytest.mark.slow
async def test_compaction_takes_the_bytes_of_what_has_a_tombstone(quick_rig: Rig, quick_broker: KafkaBroker) -> None:
    """On the broker's disk neither the letter's text nor the enriched subject is left, once further records have come."""
    rig, store = quick_rig, open_shelf()
    settings = rig.build_settings()
    raw = base64.b64encode(orjson.dumps(refuse("a")))[40:80]
    folders = [quick_broker.folder / "data" / f"{rig.prefix}{name}-0" for name in ("guardian.dead-letters", "guardian.enriched")]

    def list_found() -> list[Path]:
        return [path for folder in folders for path in iter_files_with(folder, raw, TOKEN.encode())]

    await rig.produce("guardian.events", [write("a"), refuse("a")])
    async with running(build_worker(settings, store)):
        await wait_until(lambda: _letters_are(rig, settings, ["a"]), what="the letter")
        await wait_until(lambda: len(list_found()) == 2, what="the broker to flush")
        await rig.produce("guardian.events", [erase("a")])
        await wait_until(lambda: _letters_are(rig, settings, []), what="the tombstone")

        async def is_gone() -> bool:
            # A silent partition keeps its newest segment: what comes after closes it.
            later = envelope("memory.written", {"memory_id": "later", "text": "x", "vector": ["bad"]}, id=str(datetime.now(UTC)))
            await rig.produce("guardian.events", [later, envelope("memory.written", written_data("later", src=None))])
            return not list_found()

        await wait_until(is_gone, what="compaction")
    assert list(iter_files_with(quick_broker.folder / "data" / f"{rig.prefix}guardian.events-0", TOKEN.encode()))
