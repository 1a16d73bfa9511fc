"""A reading agent on a real broker: its ledger lands, and the guard learns of its reads without its help."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from guardian.contracts.ledger import ContextGiven
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.ports import Store
from guardian.read import ReadPolicy, Task
from guardian.wiring import build_calibrator, build_publisher, open_producer
from tests.builders import envelope, written_data
from tests.integration.worker_rig import Rig, build_worker, open_shelf, running, wait_until


@pytest.fixture
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on the embedded broker."""
    return Rig(bootstrap=request.getfixturevalue("embedded_broker").bootstrap, folder=tmp_path, session_timeout_s=2.0)


async def find_roots(store: Store, memory_id: str) -> tuple[str, ...] | None:
    """Give the roots and the way to them of a memory, None while it is not there."""
    async for point in store.iter_points(kinds=[PointKind.RECORD], where={"memory_id": memory_id}):
        node = load_node(point)
        return (node.provenance, *node.roots)
    return None


async def test_a_read_reaches_the_guard_and_an_undeclared_recap_gets_its_parent(rig: Rig) -> None:
    """Question, ledger line and `memory.read` in one call; what the agent writes again in that session derives from what it was given."""
    await rig.create_topics()
    settings, store = rig.build_settings(), open_shelf()
    async with running(build_worker(settings, store)), open_producer(settings) as producer:
        fact = written_data("fact", "Depot A owns trailer 7", src="tool", kind="fact")
        await rig.produce("guardian.events", [envelope("memory.written", fact)])
        await wait_until(lambda: _is_there(store, "fact"), what="the fact")
        calibrator = build_calibrator(settings, store, policy=ReadPolicy(limit=3), publisher=build_publisher(settings, producer))
        asked = Task(requires_objective_fact=True, session="talk", task_id="t-1")
        admission = await calibrator.context("who owns trailer 7", asked, space="s")
        assert admission.is_recorded
        recap = written_data("recap", "Trailer 7: depot A owns it", src="agent", session="talk")
        await rig.produce("guardian.events", [envelope("memory.written", recap, t=datetime.now(UTC))])
        await wait_until(lambda: _is_there(store, "recap"), what="the recap")
        assert await find_roots(store, "recap") == ("inferred", "fact")
    (line,) = await rig.read_topic("guardian.ledger")
    document = orjson.loads(line.value)
    assert (line.key, document["type"], document["id"]) == (b"s", "guardian.context.given", admission.id)
    assert ContextGiven.model_validate(document["data"]) == admission.entry
    assert b"trailer" not in line.value
    (read,) = [
        record for record in await rig.read_topic("guardian.events") if orjson.loads(record.value)["type"] == "memory.read"
    ]
    assert read.key == b"s"
    assert orjson.loads(read.value)["data"] == {"retrieved": ["fact"], "session_id": "talk", "task_id": "t-1"}


async def _is_there(store: Store, memory_id: str) -> bool:
    return await find_roots(store, memory_id) is not None
