"""Laws of watching: a bank that is being corrupted is told of once, also over restarts and failures, and once more when it has healed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from examples.graded_bank import START as BEGUN
from examples.graded_bank import iter_events
from guardian.core.alert import AlertKind
from guardian.core.point import OPERATIONAL, Phase, PointKind, Upsert
from guardian.core.policy import Policy
from guardian.errors import DependencyError
from guardian.ports import Fence, OutcomeMessage
from guardian.store.memory import MemoryStore, Shelf
from guardian.trust.alert.operation import WorkFigures
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.collect import Pace, Window
from guardian.trust.series import load_snapshot
from guardian.trust.truth import StandIn
from guardian.trust.watch import Look, Ownership, Watch, WatchPolicy
from tests.builders import calibrated, event_of, trust, written
from tests.property.bank import IDENTITY, Bank, Collector
from tests.unit.trust.history import MODEL

ALL = Ownership(owns=lambda _: True, leads=True)
# The regrader of the history repeats the agent: were it believed, that would be an alert as well.
POLICY = WatchPolicy(
    since=timedelta(days=2),
    resamples=100,
    pace=Pace(page_points=50, episodes=20),
    policy_of=lambda _: Policy(alphas={"regrader": 0.0}),
)
EPISODES = 300
# After the last episode.
NOW = BEGUN + timedelta(minutes=EPISODES + 60)
COMPOUNDING = AlertKind.ATTRACTOR_ABOVE_ONE_SHOT


async def fill(bank: Bank, *, kappa: float, days: int = 0, space: str = "graded", episodes: int = EPISODES) -> None:
    """Write a history of its own ids that begins some days after the first."""
    wires = iter_events(replace(MODEL, kappa=kappa), episodes=episodes, seed=3, space=space)
    events = []
    for wire in wires:
        moved = json.loads(json.dumps(wire).replace('"ep-', f'"d{days}-ep-').replace('"start-', f'"d{days}-start-'))
        moved["time"] = (datetime.fromisoformat(wire["time"]) + timedelta(days=days)).isoformat()
        events.append(event_of({**moved, "id": f"d{days}-{wire['id']}"}))
    for start in range(0, len(events), 1_000):
        await bank.send(*events[start : start + 1_000])


_SHELVES: dict[float, Shelf] = {}


async def open_filled(kappa: float) -> Bank:
    """Give a bank all of whose episodes are labelled; it is filled once, and each test has a copy."""
    if kappa not in _SHELVES:
        store = MemoryStore(IDENTITY, shelf=(shelf := Shelf()))
        await fill(Bank(store=store), kappa=kappa)
        _SHELVES[kappa] = shelf
    return Bank(store=MemoryStore(IDENTITY, shelf=deepcopy(_SHELVES[kappa])))


@pytest.fixture
async def corrupted() -> Bank:
    """A bank with strong feedback."""
    return await open_filled(0.8)


async def look(bank: Bank, collector: Collector | None = None, *, now: datetime = NOW, policy: WatchPolicy = POLICY) -> Look:
    """Look as a worker that has just started does."""
    return await Watch(bank.store, collector, policy).look_at_drift(ALL, now=now)


def read_alerts(messages: Sequence[OutcomeMessage]) -> list[tuple[str, str]]:
    """Give (key, status) of the alerts among messages, in order."""
    values = [json.loads(message.value or b"") for message in messages if message.topic == "guardian.alerts"]
    return [(value["data"]["key"], value["data"]["status"]) for value in values]


async def test_a_corrupted_bank_is_told_once_and_healed_once(corrupted: Bank) -> None:
    """Raised by one look, not again by a worker that comes after, and resolved once when the episodes of late are not corrupted."""
    told = Collector()
    first = await look(corrupted, told)
    assert COMPOUNDING in {state.kind for state in first.raised}
    again = await look(corrupted, told, now=NOW + timedelta(hours=1))
    assert (again.raised, again.resolved) == ((), ())
    assert {state.key for state in again.states} == {state.key for state in first.states}
    await fill(corrupted, kappa=0.0, days=10)
    later = NOW + timedelta(days=10)
    policy = replace(POLICY, since=timedelta(days=5))
    looks = [await look(corrupted, told, now=later + timedelta(hours=number), policy=policy) for number in range(4)]
    assert COMPOUNDING in {state.kind for one in looks for state in one.resolved}
    key = f"{COMPOUNDING.value}:graded"
    assert [status for name, status in read_alerts(told.messages) if name == key] == ["standing", "resolved"]


async def test_a_channel_is_told_of_where_a_calibration_lets_it_weigh() -> None:
    """The regrader repeats the agent: that is no alert while the settings leave it out, nor as a detector, and one once it is activated as a score."""
    bank, told = await open_filled(0.0), Collector()

    def list_kinds(found: Look) -> set[AlertKind]:
        return {state.kind for state in found.states}

    now = NOW
    for detects, is_told in ((True, False), (False, True)):
        now += timedelta(hours=1)
        kinds = list_kinds(await look(bank, told, now=now))
        assert AlertKind.CHANNEL_DEPENDENCE not in kinds
        await bank.send(calibrated("made-up", t=now, space="graded", regrader=trust(0.8, detects=detects)))
        for _ in range(3):
            now += timedelta(hours=1)
            kinds = list_kinds(await look(bank, told, now=now))
        assert (AlertKind.CHANNEL_DEPENDENCE in kinds) is is_told


async def test_a_bank_without_feedback_is_silent() -> None:
    """With the same grades, and at every look while it fills."""
    bank, told = await open_filled(0.0), Collector()
    for hours in range(1, 6):
        assert not (await look(bank, told, now=BEGUN + timedelta(hours=hours))).states
    assert not read_alerts(told.messages)


async def test_figures_are_told_and_kept_when_they_are_new(corrupted: Bank) -> None:
    """One report and one point of the space and of all together; a second look at the same says nothing."""
    told = Collector()
    found = await look(corrupted, told)
    reports = [json.loads(message.value or b"") for message in told.messages if message.topic == "guardian.drift"]
    assert {message.key for message in told.messages if message.topic == "guardian.drift"} == {"space:graded", "overall"}
    assert found.overall is not None
    assert reports[0]["data"]["figures"]["kappa"]["value"] == pytest.approx(found.overall.episodes.kappa.value, abs=1e-6)
    await look(corrupted, told, now=NOW + timedelta(minutes=15))
    assert sum(message.topic == "guardian.drift" for message in told.messages) == 2
    kept = [load_snapshot(point) async for point in corrupted.store.iter_points(kinds={PointKind.DRIFT})]
    assert {(one.space, one.episodes) for one in kept} == {("graded", EPISODES), (None, EPISODES)}


async def test_what_a_watch_keeps_is_no_state(corrupted: Bank) -> None:
    """An export, and every other point, is as it was before."""
    rows = await corrupted.export()
    kinds = set(PointKind) - OPERATIONAL
    before = {point.id: dict(point.payload) async for point in corrupted.store.iter_points(kinds=kinds)}
    await look(corrupted)
    assert await corrupted.store.count(kinds=OPERATIONAL) >= 3
    assert await corrupted.export() == rows
    assert {point.id: dict(point.payload) async for point in corrupted.store.iter_points(kinds=kinds)} == before


async def test_an_alert_that_was_not_told_is_told_by_the_next_look(corrupted: Bank) -> None:
    """The broker dies while it is told: the next worker tells the same, with the same id, and nobody raises it anew."""

    class Away(Collector):
        async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
            await super().publish(messages)
            raise DependencyError("the broker is away", dependency="broker")

    away, told = Away(), Collector()
    with pytest.raises(DependencyError):
        await look(corrupted, away)
    after = await look(corrupted, told, now=NOW + timedelta(minutes=5))
    assert not after.raised
    first, second = ({message.id for message in one.messages if message.topic == "guardian.alerts"} for one in (away, told))
    assert first == second
    assert first
    silent = Collector()
    await look(corrupted, silent, now=NOW + timedelta(minutes=10))
    assert not read_alerts(silent.messages)


async def test_a_worker_speaks_for_its_own_spaces_alone(corrupted: Bank) -> None:
    """And only one of them for all together; what others keep it leaves alone."""
    await look(corrupted)
    kept = {point.id: dict(point.payload) async for point in corrupted.store.iter_points(kinds=OPERATIONAL)}
    other = Watch(corrupted.store, told := Collector(), POLICY)
    found = await other.look_at_drift(Ownership(owns=lambda _: False, leads=False), now=NOW + timedelta(hours=2))
    assert (found.overall, found.spaces, found.states, told.messages) == (None, (), (), [])
    assert {point.id: dict(point.payload) async for point in corrupted.store.iter_points(kinds=OPERATIONAL)} == kept


async def test_alerts_follow_their_space_to_another_worker(corrupted: Bank) -> None:
    """A new owner knows what stands, and the old one forgets it when its round is over."""
    watch = Watch(corrupted.store, None, POLICY)
    mine = await watch.look_at_drift(ALL, now=NOW)
    assert mine.states
    left = await watch.look_at_drift(Ownership(owns=lambda _: False, leads=False, round=1), now=NOW + timedelta(minutes=1))
    assert left.states == ()
    taken = await Watch(corrupted.store, None, POLICY).look_at_drift(ALL, now=NOW + timedelta(minutes=2))
    assert {state.key for state in taken.states} == {state.key for state in mine.states}


async def test_a_channel_serves_where_nobody_labels() -> None:
    """Without one gold verdict, a channel whose errors are known tells the corrupted bank, and the report says whose word it is."""
    bank, told = Bank(), Collector()
    wires = iter_events(replace(MODEL, kappa=0.8), episodes=500, seed=3, labelled=0.0)
    await bank.send(*(event_of(wire) for wire in wires))
    stand_in = StandIn(channel="checker", sensitivity=0.85, specificity=0.92)
    policy = replace(POLICY, window=Window(stand_in=stand_in), since=None)
    blind = await look(bank, policy=replace(POLICY, since=None))
    assert {state.kind for state in blind.states} <= {AlertKind.DRIFT_UNKNOWN}
    found = await look(bank, told, policy=policy, now=NOW + timedelta(days=1))
    assert COMPOUNDING in {state.kind for state in found.states}
    report = json.loads(next(message.value for message in told.messages if message.topic == "guardian.drift") or b"")["data"]
    assert (report["stand_in"], report["stand_in_episodes"]) == ("checker", report["episodes"])


async def test_claims_without_authority_are_told() -> None:
    """An agent that keeps saying its memories are verified raises an alert for its space."""
    bank = Bank()
    policy = replace(POLICY, alert=AlertPolicy(refused_raise=5))
    await bank.send(*(written(f"m{number}", f"claim {number}", t=number, verified=True) for number in range(6)))
    found = await look(bank, policy=policy, now=datetime(2026, 3, 1, 1, tzinfo=UTC))
    assert [(state.kind, state.figures["refused_a_day"]) for state in found.raised] == [(AlertKind.REFUSED_CLAIMS, 6)]


async def test_a_space_that_is_gone_has_no_alerts(corrupted: Bank) -> None:
    """Nobody is paged for ever about a bank that holds nothing any more."""
    first = await look(corrupted)
    assert any(state.scope == "graded" for state in first.states)
    empty = Bank(store=MemoryStore(IDENTITY))
    kept = [Upsert(id=point.id, payload=point.payload) async for point in corrupted.store.iter_points(kinds=OPERATIONAL)]
    await empty.store.apply([Phase(upserts=tuple(kept))], fence=Fence())
    await look(empty, now=NOW + timedelta(hours=1))
    last = await look(empty, now=NOW + timedelta(hours=2))
    assert not any(state.scope == "graded" for state in last.states)


async def test_a_store_that_is_away_is_told_all_the_same() -> None:
    """Though it cannot be written to; once it is back that is told as well, and kept."""

    class Failing(MemoryStore):
        is_away = False

        async def apply(self, phases, *, fence):  # type: ignore[no-untyped-def] # of the port
            if self.is_away:
                raise DependencyError("away", dependency="store")
            await super().apply(phases, fence=fence)

    store, told = Failing(IDENTITY), Collector()
    watch = Watch(store, told, POLICY)
    await watch.look_at_work(ALL, WorkFigures(is_store_up=True), now=NOW)
    store.is_away = True
    for minute in range(1, 5):
        await watch.look_at_work(ALL, WorkFigures(is_store_up=False), now=NOW + timedelta(minutes=minute))
    store.is_away = False
    await watch.look_at_work(ALL, WorkFigures(is_store_up=True), now=NOW + timedelta(minutes=9))
    assert read_alerts(told.messages) == [("store_away", "standing"), ("store_away", "resolved")]
    assert not await store.count(kinds=OPERATIONAL)
