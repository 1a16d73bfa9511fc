"""Laws of a worker that watches its banks: alerts are told once over restarts, healed banks resolve them, and no fault of a look costs work."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from examples.graded_bank import iter_events
from guardian.core.point import PointKind
from guardian.errors import DependencyError
from guardian.settings import Settings
from guardian.store.memory import Shelf
from guardian.stream.plane.batch import Role
from guardian.stream.plane.loop import Plane
from guardian.stream.worker import Worker
from guardian.trust.simulated_bank import BankModel, SimulatedBank
from tests.builders import envelope
from tests.integration.worker_rig import Rig, build_worker, export, open_shelf, running, wait_until

MODEL = BankModel(kappa=0.8, leniency=0.76, sensitivity=0.90, base_error=0.2, places=60)
EPISODES = 250
ALERT = {"alert": "attractor_above_one_shot"}
KEY = "attractor_above_one_shot:graded"


@pytest.fixture
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    """Give a rig on the embedded broker."""
    return Rig(bootstrap=request.getfixturevalue("embedded_broker").bootstrap, folder=tmp_path, session_timeout_s=2.0)


def build_settings(rig: Rig, **drift: Any) -> Settings:
    """Build settings of a worker that looks all the time; the regrader of the history is not believed."""
    return rig.build_settings(
        drift={"every_s": 0.3, "pause_s": 0.0, "resamples": 100, **drift},
        alerts={"every_s": 0.5},
        policy={"alphas": {"regrader": 0.0}},
    )


def tell_labels_withdrawn() -> list[dict[str, Any]]:
    """Tell that people have looked again: of the episodes called wrong only as many stay so as clean memories would have made wrong."""
    random = np.random.default_rng(5)
    kept = MODEL.base_error
    return [
        envelope(
            "memory.audited",
            {"memory_id": f"ep-{one.number}", "channel": "gold", "value": 1.0},
            t=10_000 + one.number,
            space="graded",
            id=f"again-{one.number}",
        )
        for one in SimulatedBank(MODEL, seed=0).run(EPISODES, keep_episodes=True).episodes
        if one.is_wrong and random.random() > kept / min(1.0, kept + MODEL.kappa * one.corrupted_share)
    ]


def count_looks(worker: Worker, outcome: str = "done") -> float:
    """Count the looks at drift that came out so."""
    return worker.metrics.registry.get_sample_value("guardian_drift_runs_total", {"outcome": outcome}) or 0.0


async def look_again(worker: Worker, times: int = 2) -> None:
    """Wait until the worker has looked at what is there now."""
    seen = count_looks(worker)
    await wait_until(lambda: count_looks(worker) >= seen + times + 1, what="more looks at drift")


async def wait_for_planes(worker: Worker) -> list[Plane]:
    """Wait until a worker has joined its groups; gives its data planes."""
    await wait_until(lambda: worker.health.is_ready, what="a worker that is ready")
    return worker._planes  # nothing else gives them


async def has_lag(plane: Plane, rig: Rig, lag: int) -> bool:
    """Tell whether the group has so many records to work on."""
    return await plane.measure_group_lag(rig.events_topic) == lag


async def read_statuses(rig: Rig, topic: str = "guardian.alerts") -> list[str]:
    """Give the statuses that were told of the alert, each of one id once, in order."""
    told = {}
    for record in await rig.read_topic(topic):
        value = orjson.loads(record.value)
        if value["data"]["key"] == KEY:
            assert record.key.decode() == KEY
            told[value["id"]] = value["data"]["status"]
    return list(told.values())


async def test_a_corrupted_bank_is_told_once_over_restarts_and_its_healing_once(rig: Rig) -> None:
    """Alert and estimates come from the topic alone; a successor tells nothing again; with better labels it is resolved, once."""
    await rig.create_topics()
    settings = build_settings(rig)
    await rig.produce("guardian.events", iter_events(MODEL, episodes=EPISODES))
    async with running(worker := build_worker(settings)):
        registry = worker.metrics.registry
        await wait_until(lambda: (registry.get_sample_value("guardian_alerts_raised_total", ALERT) or 0) >= 1, what="an alert")
        await look_again(worker)
        bound = {"scope": "overall", "bound": "value"}
        assert 0.3 < (registry.get_sample_value("guardian_drift_kappa", bound) or 0) < 1.3
        assert not math.isnan(registry.get_sample_value("guardian_drift_corrupted_share", {**bound, "scope": "worst"}) or 0)
        standing = {**ALERT, "severity": "warning"}
        assert registry.get_sample_value("guardian_alert_standing", standing) == 1
    assert await read_statuses(rig) == ["standing"]
    async with running(worker := build_worker(settings)):
        await look_again(worker)
        assert worker.metrics.registry.get_sample_value("guardian_alerts_raised_total", ALERT) == 0
        assert worker.metrics.registry.get_sample_value("guardian_alert_standing", standing) == 1
        await rig.produce("guardian.events", tell_labels_withdrawn())
        resolved = "guardian_alerts_resolved_total"
        await wait_until(lambda: worker.metrics.registry.get_sample_value(resolved, ALERT) == 1, what="a resolution")
        await look_again(worker)
    assert await read_statuses(rig) == ["standing", "resolved"]
    reports = [orjson.loads(record.value) for record in await rig.read_topic("guardian.drift")]
    assert {report.get("space") for report in reports} == {"graded", None}
    assert len({report["id"] for report in reports}) == len(reports)


async def test_reading_the_topic_again_tells_nothing_again(rig: Rig) -> None:
    """A second group over the same store and the same events: no alert is raised, the export stays."""
    await rig.create_topics()
    shelf = Shelf()
    await rig.produce("guardian.events", iter_events(MODEL, episodes=EPISODES))
    async with running(worker := build_worker(build_settings(rig), open_shelf(shelf))):
        registry = worker.metrics.registry
        await wait_until(lambda: (registry.get_sample_value("guardian_alerts_raised_total", ALERT) or 0) >= 1, what="an alert")
        await wait_until(
            lambda: worker.health.is_ready and not worker._planes[0].condition.lag, what="all events"
        )  # nothing else tells
        await look_again(worker)
    before = await export(open_shelf(shelf))
    again = build_settings(rig)
    again = again.model_copy(update={"kafka": again.kafka.model_copy(update={"group": f"{rig.prefix}second"})})
    async with running(worker := build_worker(again, open_shelf(shelf))):
        await wait_until(
            lambda: (
                (worker.metrics.registry.get_sample_value("guardian_batch_seconds_count", {"topic_role": "canonical"}) or 0) > 0
            ),
            what="the events once more",
        )
        await look_again(worker, times=3)
        assert worker.metrics.registry.get_sample_value("guardian_alerts_raised_total", ALERT) == 0
    assert await export(open_shelf(shelf)) == before
    assert await read_statuses(rig) == ["standing"]


async def test_two_workers_tell_each_alert_once_between_them(rig: Rig) -> None:
    """Each speaks for the spaces of its partitions, one for all together; a worker that joins and one that leaves tell nothing again."""
    await rig.create_topics()
    shelf, settings = Shelf(), build_settings(rig)
    spaces = [f"bank-{number}" for number in range(4)]
    for number, space in enumerate(spaces):
        await rig.produce("guardian.events", iter_events(MODEL, episodes=EPISODES, seed=number, space=space))

    def count_standing(*workers: Worker) -> float:
        standing = {**ALERT, "severity": "warning"}
        return sum(worker.metrics.registry.get_sample_value("guardian_alert_standing", standing) or 0 for worker in workers)

    async with running(first := build_worker(settings, open_shelf(shelf))):
        (plane,) = await wait_for_planes(first)
        await wait_until(lambda: has_lag(plane, rig, 0), what="no lag of the group")
        # Of each space, and of all together.
        await wait_until(lambda: count_standing(first) == len(spaces) + 1, what="alerts of all banks")
        async with running(second := build_worker(settings, open_shelf(shelf))):
            await wait_until(
                lambda: second.health.is_ready and second.health.planes[Role.CANONICAL].partitions > 0, what="a second owner"
            )
            await look_again(second)
            await look_again(first)
            # One worker tells the lag of both.
            assert await has_lag(plane, rig, 0)
            await wait_until(lambda: count_standing(first, second) == len(spaces) + 1, what="the alerts, shared out")
        await wait_until(lambda: count_standing(first) == len(spaces) + 1, what="the alerts, all with one again")
        await look_again(first)
    told = [orjson.loads(record.value)["data"] for record in await rig.read_topic("guardian.alerts")]
    expected = {f"{ALERT['alert']}:{space}" for space in spaces} | {ALERT["alert"]}
    assert sorted(one["key"] for one in told if one["alert"] == ALERT["alert"]) == sorted(expected)
    assert {one["status"] for one in told if one["alert"] == ALERT["alert"]} == {"standing"}


async def test_a_look_that_fails_costs_no_work(rig: Rig) -> None:
    """It is counted, events are worked on meanwhile, and a look of later makes good for it; so is one that takes too long."""

    class Faulty(type(open_shelf())):  # type: ignore[misc] # of the in-memory store
        fault: BaseException | None = None

        async def iter_points(self, **wanted: Any) -> Any:
            if self.fault is not None and set(wanted["kinds"]) == {PointKind.READ}:
                raise self.fault
            async for point in super().iter_points(**wanted):
                yield point

    await rig.create_topics()
    store = Faulty(open_shelf().identity)
    await rig.produce("guardian.events", iter_events(MODEL, episodes=40))
    async with running(worker := build_worker(build_settings(rig), store)):
        await wait_until(lambda: count_looks(worker) >= 1, what="a look")
        for fault in (DependencyError("away", dependency="store"), RuntimeError("a bug"), TimeoutError()):
            store.fault, failed = fault, count_looks(worker, "failed")
            await wait_until(lambda before=failed: count_looks(worker, "failed") > before, what="a look that fails")
        await rig.produce("guardian.events", [envelope("memory.written", {"memory_id": "late", "text": "Late"}, space="graded")])
        await wait_until(lambda: any(one.get("memory_id") == "late" for one in store.shelf.payloads.values()), what="the event")
        store.fault = None
        await look_again(worker)


async def test_a_worker_stops_in_the_midst_of_a_look(rig: Rig) -> None:
    """The look is given up at once, and the stop is clean."""

    class Paged(type(open_shelf())):  # type: ignore[misc] # of the in-memory store
        has_given_a_page = False

        async def iter_points(self, **wanted: Any) -> Any:
            given = 0
            async for point in super().iter_points(**wanted):
                given += 1
                self.has_given_a_page |= given == 10
                yield point

    await rig.create_topics()
    store = Paged(open_shelf().identity)
    await rig.produce("guardian.events", iter_events(MODEL, episodes=40))
    async with running(worker := build_worker(build_settings(rig, pause_s=10.0, page_points=10), store)):
        await wait_until(lambda: store.has_given_a_page, what="a look that rests after its first page")
        looks = count_looks(worker)
    assert worker.is_clean
    assert count_looks(worker) == looks
