"""What a worker finds at its start: what is missing or taken is named before anything is read, and a broker that is not there yet is waited for."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from guardian.stream.ending import STOPPED, USAGE
from tests.integration.moody_store import MoodyStore, needs_embedded
from tests.integration.worker_rig import (
    PATIENCE_S,
    Rig,
    build_worker,
    wait_until,
)


@needs_embedded
async def test_one_embedded_store_has_one_worker(small_rig: Rig) -> None:
    """The second one ends with code 2 and says who owns the store; the first one ends with 0 when it is asked to."""
    rig = small_rig
    await rig.create_topics()
    settings = rig.build_settings()
    first = rig.start_child(settings, "first")
    try:
        await wait_until(lambda: "partitions.assigned" in rig.read_log("first"), what="the first worker")
        second = rig.start_child(settings, "second")
        assert await asyncio.to_thread(second.wait, PATIENCE_S) == USAGE
        assert f"another process owns the store at {rig.folder / 'store'} (pid {first.pid})" in rig.read_log("second")
    finally:
        first.terminate()
        code = first.wait(PATIENCE_S)
    assert code == STOPPED, rig.read_log("first")


@needs_embedded
async def test_missing_topics_are_named_and_not_created(small_rig: Rig) -> None:
    """Code 2, the names, and the command that creates them; asking twice shows that nothing was created by asking."""
    for _ in range(2):
        worker = build_worker(small_rig.build_settings(), MoodyStore())
        assert await asyncio.wait_for(worker.run(), PATIENCE_S) == USAGE
        assert f"{small_rig.prefix}guardian.dead-letters" in str(worker.ending.cause)
        assert "guardian topics apply" in str(worker.ending.cause)


@needs_embedded
async def test_a_port_that_is_taken_is_named(small_rig: Rig) -> None:
    """Code 2 and the setting, before anything is read."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = small_rig.build_settings()
        settings = settings.model_copy(update={"web": settings.web.model_copy(update={"port": taken.getsockname()[1]})})
        worker = build_worker(settings, MoodyStore())
        assert await asyncio.wait_for(worker.run(), PATIENCE_S) == USAGE
    assert "another web.port" in str(worker.ending.cause)


async def test_a_child_without_a_broker_waits_and_stops(tmp_path: Path) -> None:
    """A worker that is started before its broker is no failure: it waits, and ends with 0 when it is asked to."""
    rig = Rig(bootstrap="127.0.0.1:9", folder=tmp_path, session_timeout_s=6.0)
    child = rig.start_child(rig.build_settings(kafka={"request_timeout_s": 1.0}))
    try:
        await wait_until(lambda: rig.read_log().count('"worker.waits"') >= 2, what="a second try")
        assert child.poll() is None
    finally:
        child.terminate()
        code = child.wait(PATIENCE_S)
    assert code == STOPPED, rig.read_log()
