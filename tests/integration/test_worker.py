"""Laws of the worker on real brokers: what reaches the store, what becomes of bad records, and that neither depends on the way there."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.consumer import fetcher
from aiokafka.producer import message_accumulator
from aiokafka.producer import producer as producer_module
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy

from guardian.core.point import PointKind
from guardian.store.memory import Shelf
from guardian.stream.dead_letter import is_cut, redrive
from guardian.wiring import build_kafka_options
from tests.builders import envelope, written_data
from tests.integration.worker_rig import (
    Rig,
    build_worker,
    decide_directly,
    export,
    open_shelf,
    running,
    tell_story,
    wait_until,
)

SHOP = [
    ("m1", "Arabica beans, $16.50/kg", "document", [], 0),
    ("m2", "Holding the price at $16.50/kg", "agent", ["m1"], 1),
    ("m3", "Main supplier: ~$16.50/kg", "agent", ["m2"], 2),
    ("m5", "Bean usage: 60 kg per month", "document", [], 3),
]


@pytest.fixture(params=[pytest.param("kafka_broker", marks=pytest.mark.kafka), "embedded_broker"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on each broker in turn."""
    return build_rig(request, request.param, tmp_path)


@pytest.fixture
def kafka_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on Apache Kafka."""
    return build_rig(request, "kafka_broker", tmp_path)


def build_rig(request: pytest.FixtureRequest, broker: str, folder: Path) -> Rig:
    """Build a rig; Apache Kafka takes no session below six seconds."""
    bootstrap = request.getfixturevalue(broker).bootstrap
    return Rig(bootstrap=bootstrap, folder=folder, session_timeout_s=6.0 if broker == "kafka_broker" else 2.0)


def write(memory_id: str, **fields: Any) -> dict[str, Any]:
    """Build a write of the space `s`."""
    return envelope("memory.written", written_data(memory_id, **fields))


def tell_shop() -> list[dict[str, Any]]:
    """Tell of a price that changed: a chain of recaps, and the document that corrects it."""
    shop: dict[str, Any] = {"space": "coffee-shop"}
    events = [
        envelope("memory.written", written_data(name, text, src=source, ref=name, parents=parents), t=t, **shop)
        for name, text, source, parents, t in SHOP
    ]
    new = written_data("m6", "Arabica beans, $19.80/kg", src="document", ref="letter", verified=True, supersedes=["m1"])
    events.append(envelope("memory.written", new, t=60, **shop))
    late = written_data("m8", "Plan: order at $16.50/kg", src="agent", parents=["m3"])
    return [*events, envelope("memory.written", late, t=90, **shop)]


async def test_a_story_through_ingress_stands_corrected(rig: Rig) -> None:
    """Written with any key to an agent's own topic, the chain falls, what comes after is born superseded, and outcomes tell it."""
    await rig.create_topics("chat.shop")
    settings = rig.build_settings(kafka={"ingress_pattern": rf"{rig.prefix}chat\..*"})
    store = open_shelf()
    events = tell_shop()
    async with running(build_worker(settings, store)):
        await rig.produce("chat.shop", events, keyed=False)
        await wait_until(lambda: has_records(store, 6), what="all six records")
    assert await export(store) == await decide_directly(events)
    rows = [orjson.loads(line) for line in (await export(store)).splitlines()]
    statuses = {row["memory_id"]: row["status"] for row in rows}
    assert statuses == {
        "m1": "superseded",
        "m2": "superseded",
        "m3": "superseded",
        "m5": "active",
        "m6": "verified",
        "m8": "superseded",
    }
    enriched = [orjson.loads(record.value)["data"] for record in await rig.read_topic("guardian.enriched")]
    assert {row["memory_id"] for row in enriched} == statuses.keys()


async def has_records(store: Any, count: int) -> bool:
    """Tell whether a store holds so many records."""
    return bool(await store.count(kinds={PointKind.RECORD}) == count)


@pytest.mark.kafka
async def test_the_stream_and_the_pipeline_alone_leave_the_same_bytes(kafka_rig: Rig) -> None:
    """Through Kafka, small batches and the embedded engine, or at once and in memory: one export. Again from zero: no change."""
    rig = kafka_rig
    await rig.create_topics()
    events = tell_story(spaces=4, length=40)
    await rig.produce("guardian.events", events)
    settings = rig.build_settings(limits={"batch_events": 17})
    expected = await decide_directly(events)
    for group in ("first", "again"):
        worker = build_worker(
            settings.model_copy(update={"kafka": settings.kafka.model_copy(update={"group": rig.prefix + group})})
        )
        async with running(worker) as task:
            await wait_until(lambda worker=worker: count_events(worker) == len(events), what="all events")
            assert await export(worker._pipeline.store) == expected  # type: ignore[union-attr] # the test knows that it is there
        assert task.result() == 0


def count_events(worker: Any) -> int:
    """Give the events a worker has decided."""
    samples = (sample for metric in worker.metrics.registry.collect() for sample in metric.samples)
    return int(sum(sample.value for sample in samples if sample.name == "guardian_events_total"))


BAD = [b"\xff{", b'{"id":5}', b"null", b"[" * 2_000 + b"]" * 2_000]


async def test_bad_records_cost_themselves_and_can_be_driven_again(rig: Rig) -> None:
    """Their neighbours land, they are kept whole with their place, and after a mend one command brings them home."""
    await rig.create_topics()
    too_long = write("long", text="x" * 100)
    values: list[Any] = [write("a"), *BAD, too_long, write("b")]
    strict = rig.build_settings(limits={"max_text_bytes": 50})
    shelf = Shelf()
    async with running(build_worker(strict, open_shelf(shelf))) as task:
        await rig.produce("guardian.events", values)
        await wait_until(lambda: has_records(open_shelf(shelf), 2), what="both good records")
        assert not task.done()
    letters = [stored.letter for stored in await rig.list_letters(strict)]
    assert [letter.value for letter in letters] == [*BAD, orjson.dumps(too_long)]
    assert {letter.topic for letter in letters} == {rig.events_topic}
    assert [letter.offset for letter in letters] == [1, 2, 3, 4, 5]
    assert [letter.reason for letter in letters] == [
        "not_utf8",
        "missing_field",
        "null_value",
        "nested_too_deep",
        "text_too_large",
    ]
    mended = rig.build_settings()
    options, dead = build_kafka_options(mended), f"{rig.prefix}guardian.dead-letters"
    report = await redrive(
        options, topic=dead, events_topic=rig.events_topic, selects=lambda stored: stored.letter.reason == "text_too_large"
    )
    assert len(report.driven) == 1
    async with running(build_worker(mended, open_shelf(shelf))):
        await wait_until(lambda: has_records(open_shelf(shelf), 3), what="the record that was driven again")
    assert await export(open_shelf(shelf)) == await decide_directly([write("a"), write("b"), too_long])
    assert [stored.letter.value for stored in await rig.list_letters(mended)] == BAD


async def test_a_record_under_a_strange_key_reaches_its_space(rig: Rig) -> None:
    """Producers without a key, or with another partitioner, do not split a space over partitions."""
    await rig.create_topics()
    store = open_shelf()
    events = [write(f"m{number}", text=f"Trailer {number}", t=number) for number in range(30)]
    worker = build_worker(rig.build_settings(), store)
    async with running(worker):
        await rig.produce("guardian.events", events, keyed=False)
        await wait_until(lambda: has_records(store, 30), what="all records")
    assert await export(store) == await decide_directly(events)
    assert worker.metrics.registry.get_sample_value("guardian_events_rerouted_total") > 0  # type: ignore[operator] # None would fail the comparison, as it should


async def test_a_record_beyond_all_limits_holds_nothing_up(embedded_broker: Any, tmp_path: Path) -> None:
    """Six megabytes of nonsense become a letter that says that it is cut; it is not driven again, its neighbour lands."""
    rig = Rig(bootstrap=embedded_broker.bootstrap, folder=tmp_path, session_timeout_s=2.0)
    await rig.create_topics()
    settings, store = rig.build_settings(), open_shelf()
    async with running(build_worker(settings, store)):
        await rig.produce("guardian.events", [os.urandom(6_000_000), write("a")])
        await wait_until(lambda: has_records(store, 1), what="the record behind it")
    (stored,) = await rig.list_letters(settings)
    assert is_cut(stored.letter)
    report = await redrive(
        build_kafka_options(settings),
        topic=f"{rig.prefix}guardian.dead-letters",
        events_topic=rig.events_topic,
        selects=lambda _: True,
    )
    assert (report.driven, report.cut) == ([], [stored.key])


class NoName(str):
    """A header name that is sent as bytes that are no UTF-8."""

    __slots__ = ()

    def encode(self, *_: str) -> bytes:
        """Give the bytes."""
        return b"\xff\xfe"


@pytest.mark.kafka
async def test_a_header_name_of_any_bytes_stops_no_partition(kafka_rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers take names that are no UTF-8; the record is read with the name escaped, and so is all behind it."""
    rig = kafka_rig
    await rig.create_topics()
    monkeypatch.setattr(fetcher, "MemoryRecords", fetcher.MemoryRecords)  # put back afterwards
    for module in (message_accumulator, producer_module):  # the compiled one takes plain strings alone
        monkeypatch.setattr(module, "DefaultRecordBatchBuilder", _DefaultRecordBatchBuilderPy)
    store = open_shelf()
    async with running(build_worker(rig.build_settings(), store)) as task:
        producer = AIOKafkaProducer(bootstrap_servers=rig.bootstrap)
        await producer.start()
        for number, headers in enumerate(([], [(NoName("n"), b"v")], [])):
            value = orjson.dumps(write(f"m{number}", text=f"Trailer {number}"))
            await producer.send_and_wait(rig.events_topic, value, key=b"s", headers=headers)
        refused = [(NoName("n"), b"v"), ("plain", None)]
        await producer.send_and_wait(rig.events_topic, b"{", key=b"s", headers=refused)
        await producer.stop()
        await wait_until(lambda: has_records(store, 3), what="all three records")
        assert not task.done()
    (stored,) = await rig.list_letters(rig.build_settings())
    assert stored.letter.record_headers == [("\\xff\\xfe", b"v"), ("plain", None)]


@pytest.mark.kafka
async def test_ingress_topics_that_come_later_are_found(kafka_rig: Rig) -> None:
    """A topic that matches the pattern and is created while the worker runs is read from its first record."""
    rig = kafka_rig
    await rig.create_topics("chat.first")
    store = open_shelf()
    worker = build_worker(rig.build_settings(kafka={"ingress_pattern": rf"{rig.prefix}chat\..*"}), store)
    async with running(worker):
        await rig.produce("chat.first", [write("a")])
        await wait_until(lambda: has_records(store, 1), what="the first topic's record")
        await rig.create_topics("chat.second")
        await rig.produce("chat.second", [write("b", text="Another text")])
        await wait_until(lambda: has_records(store, 2), what="the second topic's record")


@pytest.mark.kafka
async def test_trust_follows_an_event_through_ingress(kafka_rig: Rig) -> None:
    """What may not verify on its own topic may not on the canonical one either, nor by a header that claims another origin."""
    rig = kafka_rig
    await rig.create_topics("chat", "reviews")
    trust = {"topics": {f"{rig.prefix}chat": "agent", rig.events_topic: "agent", f"{rig.prefix}reviews": "human_review"}}
    only_chat_is_low = {"topics": {f"{rig.prefix}chat": "agent"}}
    for rules, verified in ((only_chat_is_low, {"reviews"}), (trust, set())):
        store = open_shelf()
        settings = rig.build_settings(
            kafka={"ingress_topics": (f"{rig.prefix}chat", f"{rig.prefix}reviews"), "group": f"{rig.prefix}{len(verified)}"},
            trust=rules,
        )
        async with running(build_worker(settings, store)):
            for topic in ("chat", "reviews"):
                await rig.produce(topic, [write(topic, text=topic, src="document", ref=topic, verified=True)])
            await wait_until(lambda store=store: has_records(store, 2), what="both records")
        rows = [orjson.loads(line) for line in (await export(store)).splitlines()]
        assert {row["memory_id"] for row in rows if row["status"] == "verified"} == verified


def test_the_story_has_all_that_it_is_said_to_have() -> None:
    """The comparisons above compare something: every sort of event is in it."""
    kinds = Counter(event["type"] for event in tell_story(spaces=1, length=40))
    assert set(kinds) == {"memory.written", "memory.read", "memory.audited", "memory.corrected", "memory.deleted"}
