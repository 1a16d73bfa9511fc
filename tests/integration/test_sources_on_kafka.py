"""Laws of other programs' topics on real brokers: what workers make of them is what a replay of the same records in a file makes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer

from guardian.contracts.admission import DecodePolicy
from guardian.core.policy import Policy
from guardian.dead_letter_file import FILE_NAME, DeadLetterFile
from guardian.pipeline import Pipeline
from guardian.replay import Replay, ReplaySummary
from guardian.settings import Settings
from guardian.sources.port import SourceOptions
from guardian.stream.dead_letter import redrive
from guardian.wiring import build_decode_policy, build_kafka_options, build_rows_source
from tests.builders import RECEIVED_AT, envelope, written_data
from tests.integration.worker_rig import Rig, build_worker, export, open_shelf, running, wait_until
from tests.kcat import dump_kcat

TOPIC = "agent.notes"
AT_MS = 1_777_622_400_000


@dataclass(frozen=True)
class Sent:
    """A record as a program sends it."""

    value: Any
    key: Any = None
    headers: tuple[tuple[str, bytes], ...] = ()
    at_ms: int = AT_MS + 3_600_000
    is_bad: bool = False


@dataclass
class Case:
    """Records of a topic, and what is known of them.

    Attributes:
        reasons: Of dead letters, how often each.
        skipped: Rows that become no event, by reason.
        settings: Sections beside those of the rig.
    """

    sent: Sequence[Sent]
    reasons: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def kafka_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on Apache Kafka, which takes no session below six seconds."""
    return Rig(bootstrap=request.getfixturevalue("kafka_broker").bootstrap, folder=tmp_path, session_timeout_s=6.0)


def dump(value: Any) -> bytes | None:
    """Give what is sent: bytes and nothing as they are, all else as JSON."""
    return value if isinstance(value, bytes | None) else orjson.dumps(value)


def store_row(key: str, text: str, minute: int, **fields: Any) -> dict[str, Any]:
    """Build a row of LangGraph's table `store` as Debezium shows it."""
    at = f"2026-05-01T08:{minute:02}:00.000000Z"
    row = {"prefix": "users.ann", "key": key, "value": json.dumps({"kind": "Memory", "content": {"content": text}})}
    return {
        **row,
        "created_at": "2026-05-01T08:00:00.000000Z",
        "updated_at": at,
        "expires_at": None,
        "ttl_minutes": None,
        **fields,
    }


def change(op: str, lsn: int, *, before: Any = None, after: Any = None, snapshot: str = "false") -> dict[str, Any]:
    """Build Debezium's envelope."""
    source = {"version": "3.2.0", "connector": "postgresql", "name": "db", "ts_ms": AT_MS + 60_000 * lsn, "snapshot": snapshot}
    source |= {"db": "app", "schema": "public", "table": "store", "lsn": lsn}
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": AT_MS + 60_000 * lsn + 200}


def in_connect(value: Any) -> dict[str, Any]:
    """Wrap a change into Kafka Connect's envelope, with the parts of the schema that say what a value is."""
    row = {
        "type": "struct",
        "fields": [
            {"field": "value", "type": "string", "name": "io.debezium.data.Json"},
            {"field": "updated_at", "type": "string", "name": "io.debezium.time.ZonedTimestamp"},
        ],
    }
    return {"schema": {"type": "struct", "fields": [{**row, "field": "before"}, {**row, "field": "after"}]}, "payload": value}


def build_langgraph(*, is_wrapped: bool) -> Case:
    """Tell of a store: two items written, one changed, one read, one deleted with its tombstone, and a snapshot of what was left."""

    def place(name: str) -> Any:
        return {"prefix": "users.ann", "key": name}

    first, second = store_row("k1", "Desk 2", 0), store_row("k2", "Tea at four", 1)
    newer = store_row("k1", "Desk 3", 2)
    unavailable = {**newer, "value": "__debezium_unavailable_value", "expires_at": "2026-06-01T00:00:00Z"}
    changes = [
        ("k1", change("c", 1, after=first)),
        ("k2", change("c", 2, after=second)),
        ("k1", change("u", 3, after=newer)),
        ("k1", change("u", 4, after=unavailable)),
        ("k1", change("u", 5, before=newer, after={**newer, "expires_at": "2026-06-02T00:00:00Z"})),
        ("k2", change("d", 6, before={**dict.fromkeys(second), **place("k2")})),
        ("k2", None),
        ("k1", change("r", 7, after=newer, snapshot="first")),
        ("k3", change("r", 7, after=store_row("k3", "The lab is in Kyiv", 3), snapshot="last")),
        (None, change("t", 8)),
    ]
    sent = [
        Sent(
            in_connect(value) if is_wrapped and value is not None else value, in_connect(place(key)) if is_wrapped else place(key)
        )
        if key is not None
        else Sent(in_connect(value) if is_wrapped else value)
        for key, value in changes
    ]
    return Case(sent, skipped={"metadata_only": 2, "tombstone": 1, "rowless_change": 1})


def build_cloudevents() -> Case:
    """Tell a chain of three writes in the three modes that producers use, and its correction; another program's event beside."""
    events = [
        envelope("memory.written", written_data("m1", "Depot A owns 7 trailers", src="document"), t=0),
        envelope("memory.written", written_data("m2", "A has seven trailers", parents=["m1"]), t=1),
        envelope("memory.written", written_data("m3", "Seven trailers are enough", parents=["m2"]), t=2),
        envelope("memory.corrected", {"targets": ["m1"], "replacement": written_data("m4", "A owns 9", src=None), "authority": {"kind": "user"}}, t=3),
    ]  # fmt: skip
    sent = []
    for event, prefix in zip(events[:2], ("ce_", "ce-"), strict=True):
        headers = [(f"{prefix}{name}", str(value).encode()) for name, value in event.items() if name != "data"]
        sent.append(Sent(event["data"], headers=(*headers, ("content-type", b"application/json"))))
    structured = (("content-type", b"application/cloudevents+json; charset=utf-8"),)
    sent += [Sent(events[2], headers=structured), Sent(events[3], key="any")]
    row = {"specversion": "1.0", "id": "1", "source": "/lg", "type": "row.changed", "time": "2026-05-01T08:00:00Z"}
    sent.append(Sent({**row, "data": store_row("k9", "Badge 11", 0)}))
    return Case(sent)


MAPS = {
    "notes": {
        "id": "uuid",
        "type": {"path": "op", "values": {"add": "memory.written", "remove": "memory.deleted"}},
        "time": {"path": "ts", "convert": "unix_ms"},
        "deletes_by_tombstone": True,
        "data": {
            "memory_id": "note",
            "text": "body.text",
            "self_grade": {"path": "stars", "convert": "grade_1_5"},
            "parents": "refs[].id",
            "source": {"kind": {"const": "tool"}, "actor": "author"},
        },
    }
}


def note(uuid: str, name: str, text: str | None = None, **fields: Any) -> dict[str, Any]:
    """Build a record of a program that nobody knows."""
    row = {"uuid": uuid, "note": name, "op": "add", "ts": AT_MS + len(uuid), "author": "ann"}
    return {**row, **({} if text is None else {"body": {"text": text}}), **fields}


def build_mapped(prefix: str) -> Case:
    """Tell of notes by a map: grades, lineage, a deletion as a row, one by tombstone; and records that do not fit beside them."""
    sent = [
        Sent(note("u1", "n1", "Depot A owns 7 trailers", stars=5)),
        Sent(note("u22", "n2", "Seven trailers suffice", stars=2, refs=[{"id": "n1"}])),
        Sent(note("u333", "n3", "Gate 4 is closed")),
        Sent(note("u4444", "n4", "Lunch at noon")),
        Sent(note("u55555", "n3", op="remove")),
        Sent(None, key=b"n4", at_ms=AT_MS + 4_500_000),
        Sent(note("u666666", "n5", "Seven stars", stars=7), is_bad=True),
        Sent(b"\xff\xfe no JSON", is_bad=True),
        Sent([note("u7777777", "n6", "Ramp 2 is free"), note("u88888888", "n7", "Bad grade", stars="many")], is_bad=True),
        Sent(note("u999999999", "n8"), is_bad=True),
    ]
    ingress = {f"{prefix}{TOPIC}": {"map": "notes", "space": "depot", "scope": {"project_id": "p"}}}
    reasons = {"map_misfit": 2, "not_utf8": 1, "missing_field": 1}
    return Case(sent, reasons=reasons, settings={"maps": MAPS, "ingress": ingress})


def build_webhooks() -> Case:
    """Tell of mem0's Platform by its webhooks: added, updated, categorised, deleted; and a feedback."""

    def hook(event: str, name: str, **data: Any) -> Sent:
        at_ms = AT_MS + 1000 * len(sent)
        return Sent({"event_details": {"id": name, "data": data or None, "event": event}}, at_ms=at_ms)

    sent: list[Sent] = []
    sent.append(hook("ADD", "m1", memory="Ann has desk 2"))
    sent.append(hook("ADD", "m2", memory="Ann drinks tea"))
    sent.append(hook("UPDATE", "m1", memory="Ann has desk 3"))
    sent.append(hook("CATEGORIZE", "m1", memory="Ann has desk 3"))
    sent.append(hook("DELETE", "m2"))
    sent.append(Sent({"memory_id": "m1", "feedback": "POSITIVE"}, at_ms=AT_MS + 9000))
    return Case(sent, skipped={"metadata_only": 1})


async def send(rig: Rig, sent: Sequence[Sent]) -> None:
    """Send records to one partition, in order, with their own timestamps."""
    producer = AIOKafkaProducer(bootstrap_servers=rig.bootstrap, acks="all")
    await producer.start()
    try:
        for one in sent:
            await producer.send_and_wait(
                rig.prefix + TOPIC,
                dump(one.value),
                key=dump(one.key),
                partition=0,
                timestamp_ms=one.at_ms,
                headers=list(one.headers),
            )
    finally:
        await producer.stop()


async def write_file(rig: Rig, path: Path) -> int:
    """Write what lies on the topic as `kcat -J` does; gives the number of records. What is no UTF-8 kcat cannot write."""
    records = await rig.read_topic(TOPIC)
    lines = []
    for one in records:
        with suppress(UnicodeDecodeError):
            lines.append(
                dump_kcat(
                    topic=one.topic,
                    partition=one.partition,
                    offset=one.offset,
                    timestamp_ms=one.timestamp,
                    key=one.key,
                    value=one.value,
                    headers=one.headers,
                )
            )
    path.write_bytes(b"\n".join(lines) + b"\n")  # noqa: ASYNC240 # a small file; nothing else runs meanwhile
    return len(records)


async def replay(settings: Settings, path: Path, store: Any) -> ReplaySummary:
    """Replay a file of records as `guardian replay FILE` does, into a store."""
    policy: DecodePolicy = build_decode_policy(settings, 0)
    await store.open()
    job = Replay(
        source=build_rows_source(settings, None),
        paths=[path],
        options=SourceOptions(),
        decode_policy=policy,
        received_at=RECEIVED_AT,
        dead_letters=DeadLetterFile(path.with_name(FILE_NAME)),
        pipeline=Pipeline(store=store, policy_of=lambda _: Policy()),
    )
    return await job.run()


async def is_read(rig: Rig, settings: Settings, records: int) -> bool:
    """Tell whether ingress has done so many records, and the guard all that came of them."""
    done = sum(offset for offset, _ in (await rig.fetch_committed(settings, "ingress")).values())
    if done < records:
        return False
    committed = sum(offset for offset, _ in (await rig.fetch_committed(settings, "guard")).values())
    return committed >= len(await rig.read_topic("guardian.events"))


async def check(rig: Rig, case: Case) -> None:
    """A worker's bank equals that of a replay of the same records; a second delivery and a second import change no byte of it."""
    await rig.create_topics(TOPIC)
    settings = rig.build_settings(kafka={"ingress_topics": (f"{rig.prefix}{TOPIC}",)}, **case.settings)
    live, replayed = open_shelf(), open_shelf()
    await send(rig, case.sent)
    worker = build_worker(settings, live)
    async with running(worker):
        await wait_until(lambda: is_read(rig, settings, len(case.sent)), what="the records to be done")
        bank = await export(live)
        path = rig.folder / "topic.jsonl"
        assert await write_file(rig, path) == len(case.sent)
        await send(rig, case.sent)
        await wait_until(lambda: is_read(rig, settings, 2 * len(case.sent)), what="the second delivery to be done")
        assert await export(live) == bank, "a second delivery changes the bank"
    letters = await rig.list_letters(settings)
    assert {one.letter.value for one in letters} == {dump(one.value) for one in case.sent if one.is_bad}
    assert Counter(one.letter.reason for one in letters) == {reason: 2 * count for reason, count in case.reasons.items()}
    summary = await replay(settings, path, replayed)
    assert summary.events
    assert summary.skipped == Counter(case.skipped)
    assert await export(replayed) == bank, "a file gives another bank than the topic"
    again = await replay(settings, path, replayed)
    assert again.records == 0
    assert await export(replayed) == bank, "a second import changes the bank"


@pytest.mark.kafka
@pytest.mark.parametrize("is_wrapped", [False, True], ids=["schemaless", "connect"])
async def test_a_change_log_of_langgraph(kafka_rig: Rig, is_wrapped: bool) -> None:
    """Changes, deletions, tombstones, snapshots and texts that the log leaves out: each memory once, as its rows say."""
    await check(kafka_rig, build_langgraph(is_wrapped=is_wrapped))


@pytest.mark.kafka
async def test_cloudevents_in_every_mode(kafka_rig: Rig) -> None:
    """Binary mode with both prefixes, structured mode with and without its header, and another program's event around a row."""
    await check(kafka_rig, build_cloudevents())


@pytest.mark.kafka
async def test_a_mapped_topic(kafka_rig: Rig) -> None:
    """A map's grades, lineage and deletions; what does not fit is a dead letter, and what was right beside it goes on."""
    await check(kafka_rig, build_mapped(kafka_rig.prefix))


@pytest.mark.kafka
async def test_what_a_map_did_not_fit_is_driven_again_after_it_is_mended(kafka_rig: Rig) -> None:
    """With the map mended, its dead letters become what they are worth, nothing else changes, and what no map can mend stays."""
    rig, case = kafka_rig, build_mapped(kafka_rig.prefix)
    await rig.create_topics(TOPIC)
    kafka, live = {"ingress_topics": (f"{rig.prefix}{TOPIC}",)}, open_shelf()
    settings = rig.build_settings(kafka=kafka, **case.settings)
    await send(rig, case.sent)
    async with running(build_worker(settings, live)):
        await wait_until(lambda: is_read(rig, settings, len(case.sent)), what="the records to be done")
        before = await export(live)
    mended_map = {**MAPS["notes"], "data": {key: rule for key, rule in MAPS["notes"]["data"].items() if key != "self_grade"}}
    mended = rig.build_settings(kafka=kafka, **{**case.settings, "maps": {"notes": mended_map}})
    report = await redrive(
        build_kafka_options(mended),
        topic=f"{rig.prefix}guardian.dead-letters",
        events_topic=rig.events_topic,
        selects=lambda stored: stored.letter.reason == "map_misfit",
    )
    assert len(report.driven) == 2
    async with running(build_worker(mended, live)):
        await wait_until(lambda: is_read(rig, mended, len(case.sent) + 2), what="the letters to be done")
    rows = {row["memory_id"]: row for row in map(orjson.loads, (await export(live)).splitlines())}
    assert rows.keys() - {orjson.loads(line)["memory_id"] for line in before.splitlines()} == {"n5", "n7"}
    assert {one.letter.reason for one in await rig.list_letters(mended)} == {"not_utf8", "missing_field"}


@pytest.mark.kafka
async def test_webhooks_of_mem0(kafka_rig: Rig) -> None:
    """Notices of the Platform, which name no time: each is dated by its record."""
    await check(kafka_rig, build_webhooks())
