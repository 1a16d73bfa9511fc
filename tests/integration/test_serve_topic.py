"""What callers write where a broker is set: events on the canonical topic, and a worker that decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.core.model import SourceKind
from guardian.errors import DependencyError
from guardian.serve.access import Access
from guardian.serve.body import ContextRequest, CorrectRequest, OutcomeRequest, TaskBody, WriteRequest
from guardian.serve.key import Key, Right
from guardian.stream.broker.embedded import EmbeddedBroker
from guardian.wiring import build_access, open_producer
from tests.integration.worker_rig import Rig, build_worker, open_shelf, running, wait_until

AGENT = Key(name="bot", spaces=("shop",), may=frozenset({Right.READ, Right.WRITE}), actor="bot", source="/keys/bot")
ANN = Key(name="ann", spaces=("*",), may=frozenset(Right), highest=SourceKind.HUMAN_REVIEW, actor="ann", source="/keys/ann")


@pytest.fixture
def rig(embedded_broker: EmbeddedBroker, tmp_path: Path) -> Rig:
    """Give a rig on the embedded broker."""
    return Rig(bootstrap=embedded_broker.bootstrap, folder=tmp_path, session_timeout_s=2.0)


async def status_of(access: Access, memory_id: str) -> str:
    """Give the standing of a memory, or an empty word where it is not there yet."""
    try:
        return (await access.explain(ANN, "shop", memory_id)).revisions[0].status
    except Exception:  # noqa: BLE001 # not there yet
        return ""


def write(memory_id: str, text: str, **fields: Any) -> WriteRequest:
    """Build a write."""
    return WriteRequest.model_validate({"memory_id": memory_id, "text": text, **fields})


async def test_a_worker_decides_what_callers_send(rig: Rig) -> None:
    """Write, context, recap, correction: each is an event of its key, and the read is on the topic, too."""
    await rig.create_topics()
    settings, store = rig.build_settings(), open_shelf()
    async with running(build_worker(settings, store)), open_producer(settings) as producer:
        await wait_until(lambda: _is_open(store), what="the store")
        access = build_access(settings, store, None, producer)
        sent = await access.write(ANN, "shop", write("note", "Beans cost 16 dollars", kind="fact", source={"kind": "document"}))
        assert (sent.state, sent.disposition) == ("sent", None)
        await wait_until(lambda: _has(access, "note", "active"), what="the note")

        given = await access.context(AGENT, "shop", ContextRequest(question="What do beans cost?", task=TaskBody(session="s1")))
        assert given.recorded
        assert (await access.judge(AGENT, "shop", given.id, OutcomeRequest(value=0.0, judged_by="tests"))).known
        await access.write(
            AGENT, "shop", write("recap", "Beans cost 16 dollars", source={"kind": "agent"}, scope={"session_id": "s1"})
        )
        await wait_until(lambda: _has(access, "recap", "active"), what="the recap")
        told = await access.correct(ANN, "shop", CorrectRequest(targets=("note",)))
        assert (told.state, told.trusted) == ("sent", True)
        await wait_until(lambda: _has(access, "recap", "superseded"), what="the correction to reach the recap")

    events = [orjson.loads(record.value) for record in await rig.read_topic("guardian.events")]
    assert sorted((event["type"], event["source"]) for event in events) == [
        ("memory.corrected", "/keys/ann"),
        ("memory.read", "/guardian/reader"),
        ("memory.written", "/keys/ann"),
        ("memory.written", "/keys/bot"),
    ]
    lines = [orjson.loads(record.value)["type"] for record in await rig.read_topic("guardian.ledger")]
    assert sorted(lines) == ["guardian.context.given", "guardian.context.judged"]


async def test_a_broker_that_is_away_is_told_and_nothing_is_taken_for_sent(tmp_path: Path) -> None:
    """A write fails, to be sent again; an answer is given all the same, and says that it was not recorded."""
    store = open_shelf()
    await store.open()
    with EmbeddedBroker() as broker:
        rig = Rig(bootstrap=broker.bootstrap, folder=tmp_path, session_timeout_s=2.0)
        await rig.create_topics()
        settings = rig.build_settings(kafka={"request_timeout_s": 5.0})
        async with open_producer(settings) as producer:
            access = build_access(settings, store, None, producer)
            assert (await access.write(AGENT, "shop", write("m", "Beans"))).state == "sent"
            broker.stop()
            with pytest.raises(DependencyError):
                await access.write(AGENT, "shop", write("m", "Beans"))
            assert (await access.context(AGENT, "shop", ContextRequest(question="beans"))).recorded is False


async def _has(access: Access, memory_id: str, status: str) -> bool:
    return await status_of(access, memory_id) == status


async def _is_open(store: Any) -> bool:
    try:
        await store.count()
    except Exception:  # noqa: BLE001 # the worker opens it
        return False
    return True
