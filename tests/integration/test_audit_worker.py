"""The way of an audit through a real worker: a written episode is judged off the write path, and its utility falls in the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.core.policy import Policy
from guardian.pipeline import Pipeline
from guardian.ports import Publisher
from guardian.settings import Settings
from guardian.stream.audit import ask_for_audit
from guardian.stream.broker.embedded import EmbeddedBroker
from guardian.stream.worker import Worker
from guardian.wiring import build_worker_setup
from tests.builders import envelope, written_data
from tests.integration.worker_rig import Rig, build_worker, open_shelf, running, wait_until


@pytest.fixture
async def rig(embedded_broker: EmbeddedBroker, tmp_path: Path) -> Rig:
    """Give Guardian's topics on the embedded broker, and a small database beside them."""
    made = Rig(bootstrap=embedded_broker.bootstrap, folder=tmp_path, session_timeout_s=2.0)
    await made.create_topics()
    with closing(sqlite3.connect(tmp_path / "music.db")) as database:
        database.execute("CREATE TABLE track (name TEXT, ms INTEGER)")
        database.execute("INSERT INTO track VALUES ('Ash', 100)")
        database.commit()
    return made


def build_settings(rig: Rig, **audit: Any) -> Settings:
    """Build settings with channels on the database."""
    return rig.build_settings(
        audit={"channels": ["execution", "degeneracy"], "database": str(rig.folder / "music.db"), "retry_pause_s": 0.05, **audit}
    )


def write_query(memory_id: str, query: str, **more: Any) -> dict[str, Any]:
    """Write an episode whose answer is a query that the agent is content with."""
    episode = {"task": "How long is Ash?", "answer": query, "language": "sql", **more}
    return envelope("memory.written", written_data(memory_id, "How long is Ash?", kind="episode", grade=0.9, episode=episode))


async def fetch(worker: Worker, memory_id: str) -> Node | None:
    """Look a record up in the worker's own store."""
    if worker._pipeline is None:
        return None
    points = await worker._pipeline.store.fetch(Needs(memories={("s", memory_id)}))
    return next((load_node(point) for point in points if point.payload["point"] == PointKind.RECORD), None)


async def is_judged(worker: Worker, *memory_ids: str) -> bool:
    """Tell whether verdicts on these records are in the store."""
    nodes = [await fetch(worker, memory_id) for memory_id in memory_ids]
    return all(node is not None and node.verdicts for node in nodes)


async def test_a_wrong_query_is_deflated_in_the_store(rig: Rig) -> None:
    """Written, asked about, run, judged, decided: what does not run falls, what runs does not, and a fact is not asked about."""
    worker = build_worker(build_settings(rig))
    async with running(worker):
        await rig.produce(
            "guardian.events",
            [
                write_query("good", "SELECT ms FROM track WHERE name = 'Ash'"),
                write_query("bad", "SELECT length FROM tracks"),
                envelope("memory.written", written_data("fact", "Ash is a track", src="document")),
            ],
        )
        await wait_until(lambda: is_judged(worker, "good", "bad"), what="verdicts")
        good, bad = await fetch(worker, "good"), await fetch(worker, "bad")
        assert worker.health.is_ready
    assert good is not None
    assert bad is not None
    assert (bad.utility, bad.utility_basis) == (0.45, "execution")
    assert good.utility is not None
    assert good.utility > 0.9
    assert set(good.verdicts or {}) == {"self", "execution", "degeneracy"}
    requests = await rig.read_topic("guardian.audit-requests")
    assert {orjson.loads(one.value)["data"]["memory_id"] for one in requests} == {"good", "bad"}
    assert {one.key for one in requests} == {b"s"}
    verdicts = [orjson.loads(one.value) for one in await rig.read_topic("guardian.events")][3:]
    assert {one["source"] for one in verdicts} == {"/guardian/channels/execution", "/guardian/channels/degeneracy"}


async def test_a_redelivered_episode_is_asked_about_again_and_judged_once(rig: Rig) -> None:
    """The same request, the same verdict, or none."""
    episode = write_query("bad", "SELECT length FROM tracks")
    worker = build_worker(build_settings(rig))
    async with running(worker):
        await rig.produce("guardian.events", [episode])
        await wait_until(lambda: is_judged(worker, "bad"), what="the verdict")
        await rig.produce("guardian.events", [episode, write_query("next", "SELECT 1")])
        await wait_until(lambda: is_judged(worker, "next"), what="the next verdict")
        node = await fetch(worker, "bad")
    assert node is not None
    assert node.verdicts is not None
    assert node.verdicts["execution"] == [0.0, 1]
    ids = [orjson.loads(one.value)["id"] for one in await rig.read_topic("guardian.audit-requests")]
    assert (len(ids), len(set(ids))) == (3, 2)


async def test_a_database_that_is_away_holds_up_nothing_that_is_written(rig: Rig) -> None:
    """Episodes are stored while the channel is tried in vain; it is given up on, counted, and the worker stays ready."""
    (rig.folder / "music.db").unlink()
    worker = build_worker(build_settings(rig, channels=["execution", "text_grounding"], tries=2))
    async with running(worker):
        await rig.produce("guardian.events", [write_query("one", "SELECT 1"), write_query("two", "SELECT 2")])

        async def is_given_up() -> bool:
            return b'guardian_audits_total{channel="execution",outcome="away"} 2.0' in worker.metrics.render()

        await wait_until(is_given_up, what="the channel to be given up on")
        one, two = await fetch(worker, "one"), await fetch(worker, "two")
        assert worker.health.is_ready
    assert one is not None
    assert two is not None
    assert (one.utility_basis, two.utility_basis) == ("unaudited", "unaudited")


async def test_a_stop_does_not_wait_for_an_audit_and_a_restart_makes_it(rig: Rig) -> None:
    """A case that waits is cut short without a commit; the next worker judges it."""
    database = rig.folder / "music.db"
    away = database.rename(rig.folder / "away.db")
    worker = build_worker(build_settings(rig, channels=["execution"], retry_pause_s=3_000.0))
    with capture_logs() as logs:
        async with running(worker):
            await rig.produce("guardian.events", [write_query("late", "SELECT ms FROM nowhere")])
            await wait_until(lambda: _is_busy(worker), what="the case to be in hand")
    assert worker.is_clean
    assert "batch.not_waited_for" not in {line["event"] for line in logs}
    away.rename(database)
    again = build_worker(build_settings(rig, channels=["execution"]))
    async with running(again):
        await wait_until(lambda: is_judged(again, "late"), what="the verdict after the restart")


async def _is_busy(worker: Worker) -> bool:
    planes = [plane for plane in worker._planes if plane.condition.role.is_side]
    return await fetch(worker, "late") is not None and any(plane._busy.locked() for plane in planes)


async def test_without_a_channel_nothing_is_asked(rig: Rig) -> None:
    """The topic stays empty, and no plane reads it."""
    worker = build_worker(rig.build_settings())
    async with running(worker):
        await rig.produce("guardian.events", [write_query("one", "SELECT 1")])

        async def is_stored() -> bool:
            return await fetch(worker, "one") is not None

        await wait_until(is_stored, what="the record")
        assert [plane.condition.role.is_side for plane in worker._planes] == [False]
    assert await rig.read_topic("guardian.audit-requests") == []


async def test_an_auditor_may_run_apart_from_the_guard(rig: Rig) -> None:
    """Over a store that both reach: one writes and asks, the other answers, and is ready by itself."""
    store = open_shelf()
    await store.open()

    async def open_pipeline(publisher: Publisher) -> Pipeline:
        return Pipeline(store=store, policy_of=lambda _: Policy(), publisher=publisher, asks=(ask_for_audit,))

    def build(*roles: str) -> Worker:
        settings = build_settings(rig).model_copy(update={"roles": frozenset(roles)})
        return Worker(replace(build_worker_setup(settings), open_pipeline=open_pipeline))

    guard, auditor = build("guard"), build("auditor")
    async with running(guard), running(auditor):
        await rig.produce("guardian.events", [write_query("bad", "SELECT length FROM tracks")])
        await wait_until(lambda: is_judged(guard, "bad"), what="the verdict")
        assert auditor.health.is_ready
        assert b'guardian_audits_total{channel="execution",outcome="judged"} 1.0' in auditor.metrics.render()
        assert b"guardian_audits_total{" not in guard.metrics.render()
