"""Watch over the banks of a store: estimate where they are heading, keep the series, and tell what stands and what no longer does.

One look at drift reads the spaces that are this worker's, and all of them where it also speaks for all together; a look at the work reads
nothing. What a look changes is written before it is told, and marked once it was told, so that a look that dies in between is told by the
next one with the same id. All of it is written outside the stream's fences: points of their own kinds, which nobody else writes.

Called by one task at a time. Costs a pass over the records and reads of the spaces, in small pages with rests (`Pace`), and estimates in a
thread.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from guardian.contracts.outcome import DriftReport, Figure, build_outcome_id, encode_outcome
from guardian.core.alert import AlertKind
from guardian.core.numbers.interval import Estimate
from guardian.core.point import Phase, PointKind
from guardian.core.policy import Policy
from guardian.errors import DependencyError
from guardian.ports import Fence, OutcomeMessage, Publisher, Store
from guardian.trust.alert.finding import Finding, Reading
from guardian.trust.alert.judge import BankFigures, judge_bank
from guardian.trust.alert.operation import WorkFigures, judge_channels, judge_refused, judge_work, list_failing
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.alert.record import build_alert_id, build_alert_point, build_message, load_alert
from guardian.trust.alert.standing import AlertState, decide_alerts, mark_announced
from guardian.trust.calibrate import MAX_LABELLED, Assessment, Labelled, assess
from guardian.trust.collect import Pace, SpaceReading, Window, iter_spaces
from guardian.trust.drift import Drift, Overall, estimate_space
from guardian.trust.recalibrate import PolicyOf, load_calibrations
from guardian.trust.sample import KeySample
from guardian.trust.series import (
    Snapshot,
    build_snapshot_point,
    is_worth_keeping,
    load_snapshot,
    take_snapshot,
    thin,
)

log = structlog.stdlib.get_logger(__name__)

# What a look at the work can find; a look at drift finds the rest.
WORK_KINDS = frozenset({AlertKind.LAG, AlertKind.DEAD_LETTERS, AlertKind.STORE_AWAY, AlertKind.MODEL_AWAY})
# Refused claims count for so long.
_RECENT = timedelta(days=1)
# For intervals of channels, which are looked at each time.
_CHANNEL_RESAMPLES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPolicy:
    """How banks are watched.

    Attributes:
        since: Only episodes and reads of so long; None for all.
        window: How episodes are judged; its `since` and `recent` are set at each look.
        pace: How gently the store is read.
        resamples: For intervals.
        alert: Thresholds.
        silent: Kinds that are never raised.
        runbook_url: Page on which each kind of alert has a heading.
        policy_of: Gives the settings' policy of a space; with the calibrations that are activated it says which channels move utilities.
    """

    since: timedelta | None = None
    window: Window = field(default_factory=Window)
    pace: Pace = field(default_factory=Pace)
    resamples: int = 1_000
    alert: AlertPolicy = field(default_factory=AlertPolicy)
    silent: frozenset[AlertKind] = frozenset()
    runbook_url: str = "docs/when-things-go-wrong.md"
    policy_of: PolicyOf = lambda _: Policy()

    def open_window(self, now: datetime) -> Window:
        """Give the window of a look."""
        return replace(self.window, since=None if self.since is None else now - self.since, recent=now - _RECENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """What a worker speaks for.

    Attributes:
        owns: Whether a space is its own.
        leads: Whether it speaks for all together, too.
        round: Another one after each change.
    """

    owns: Callable[[str], bool]
    leads: bool
    round: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look found.

    Attributes:
        overall: Of all together; None where another worker speaks for them.
        spaces: Of its own spaces.
        failing: Channels that fail the error-independence test; None where that is not known.
        states: Alerts as they stand now.
        raised, resolved: By this look.
    """

    overall: Drift | None = None
    spaces: tuple[Drift, ...] = ()
    failing: int | None = None
    states: tuple[AlertState, ...] = ()
    raised: tuple[AlertState, ...] = ()
    resolved: tuple[AlertState, ...] = ()


@dataclass(slots=True)
class _Found:
    """What a look at drift gathers."""

    drifts: list[Drift] = field(default_factory=list)
    overall: Drift | None = None
    channels: list[Assessment] = field(default_factory=list)
    present: set[str] = field(default_factory=set)
    weighing: frozenset[str] = frozenset()  # channels that move utilities somewhere
    audited: int = 0  # spaces with audited episodes


class Watch:
    """Watches one store.

    Args:
        store: What it reads, and where it keeps series and alerts.
        publisher: Where estimates and changes are told; None tells nobody.
        policy: How.
    """

    def __init__(self, store: Store, publisher: Publisher | None, policy: WatchPolicy) -> None:
        self._store, self._publisher, self._policy = store, publisher, policy
        self._round: int | None = None
        self._states: dict[str, AlertState] = {}
        self._kept: dict[str, AlertState] = {}  # as the store has them
        self._series: defaultdict[str | None, list[Snapshot]] = defaultdict(list)

    async def look_at_drift(self, ownership: Ownership, *, now: datetime) -> Look:
        """Look at the banks.

        Raises:
            DependencyError: Store or broker is away; the next look makes good for what this one left.
        """
        await self._prepare(ownership)
        found = await self._read(ownership, self._policy.open_window(now))
        findings = list(self._judge(found, now))
        drifts = [*found.drifts, *([] if found.overall is None else [found.overall])]
        reports = await self._keep_series(drifts, now)
        look = await self._settle(findings, now, reports)
        failing = len(list_failing(found.channels)) if any(one.corr_truth.is_known for one in found.channels) else None
        return replace(look, overall=found.overall, spaces=tuple(found.drifts), failing=failing)

    async def look_at_work(self, ownership: Ownership, work: WorkFigures, *, now: datetime) -> Look:
        """Look at Guardian's own work, where this worker speaks for all.

        Raises:
            DependencyError: Store or broker is away; what was found is told by a later look.
        """
        await self._prepare(ownership)
        findings = judge_work(work, policy=self._policy.alert) if ownership.leads else []
        return await self._settle(findings, now, [])

    # Before

    async def _prepare(self, ownership: Ownership) -> None:
        """After a change of owners read what the one before left; then tell what was left untold."""
        if self._round != ownership.round:
            self._series.clear()
            await self._load(ownership)
            self._round = ownership.round
        await self._announce()

    async def _load(self, ownership: Ownership) -> None:
        def is_own(space: str | None) -> bool:
            return ownership.leads if space is None else ownership.owns(space)

        pace, kept = self._policy.pace, {}
        async for point in pace.iter_points(self._store, space=None, kinds={PointKind.ALERT}):
            state = load_alert(point)
            if is_own(state.scope):
                kept[state.key] = state
        async for point in pace.iter_points(self._store, space=None, kinds={PointKind.DRIFT}):
            snapshot = load_snapshot(point)
            if is_own(snapshot.space):
                self._series[snapshot.space].append(snapshot)
        for series in self._series.values():
            series.sort(key=lambda one: one.at)
        self._states, self._kept = dict(kept), kept

    # Reading

    async def _read(self, ownership: Ownership, window: Window) -> _Found:
        policy, found = self._policy, _Found()
        overall = Overall(window, resamples=policy.resamples)
        labelled: KeySample[Labelled] = KeySample(MAX_LABELLED)
        async for reading in iter_spaces(
            self._store, window, choose=lambda name: ownership.leads or ownership.owns(name), pace=policy.pace
        ):
            found.present.add(reading.space)
            found.audited += bool(reading.episodes)
            if ownership.owns(reading.space):
                found.drifts.append(await asyncio.to_thread(estimate_space, reading, window, resamples=policy.resamples))
            if ownership.leads:
                await asyncio.to_thread(_gather, reading, overall, labelled)
        if ownership.leads:
            found.overall = await asyncio.to_thread(overall.estimate)
            found.channels = await asyncio.to_thread(_assess, labelled.values)
            found.weighing = await self._find_weighing(found)
        return found

    async def _find_weighing(self, found: _Found) -> frozenset[str]:
        """Find the channels that move utilities in any space, by the settings and by what is activated there."""
        calibrations = await load_calibrations(self._store, self._policy.policy_of)
        policies = [calibrations.policy(space) for space in found.present]
        return frozenset(one.channel for one in found.channels if any(policy.weighs(one.channel) for policy in policies))

    # Judging

    def _judge(self, found: _Found, now: datetime) -> Iterable[Finding]:
        policy = self._policy.alert
        for drift in found.drifts:
            assert drift.space is not None
            findings = judge_bank(self._build_figures(drift, now), scope=drift.space, policy=policy)
            # That little is known of a space is told by its figures; an alert for each of a thousand would be noise.
            yield from (one for one in findings if one.kind is not AlertKind.DRIFT_UNKNOWN)
            yield judge_refused(drift.bank.refused, scope=drift.space, policy=policy)
        if found.overall is not None:
            findings = judge_bank(self._build_figures(found.overall, now), scope=None, policy=policy)
            yield from (one if found.audited != 1 else _leave_to_space(one) for one in findings)
            yield judge_channels(found.channels, believes=found.weighing.__contains__)
        yield from self._judge_gone(found.present)

    def _judge_gone(self, present: set[str]) -> Iterable[Finding]:
        for state in self._states.values():
            if state.scope is not None and state.scope not in present:
                reason = "the space holds no records any more."
                yield Finding(kind=state.kind, scope=state.scope, reading=Reading.CLEAR, reason=reason)

    def _build_figures(self, drift: Drift, now: datetime) -> BankFigures:
        return BankFigures(
            episodes=drift.episodes,
            evidence=drift.evidence,
            corrupted=drift.bank.corrupted,
            superseded_of_top_k=drift.bank.superseded_of_top_k,
            series=[one.trend_point for one in self._series[drift.space]],
            at=now,
        )

    # Keeping and telling

    async def _keep_series(self, drifts: Iterable[Drift], now: datetime) -> list[OutcomeMessage]:
        """Keep what is new, thin what is old; gives what is to be told of it."""
        stand_in = None if self._policy.window.stand_in is None else self._policy.window.stand_in.channel
        upserts, deletes, reports = [], [], []
        for drift in drifts:
            snapshot, series = take_snapshot(drift, at=now, stand_in=stand_in), self._series[drift.space]
            if not is_worth_keeping(snapshot, series[-1] if series else None):
                continue
            gone = thin([one.at for one in series], now=now)
            deletes += [one.id for one in series if one.at in gone]
            self._series[drift.space] = [*(one for one in series if one.at not in gone), snapshot]
            upserts.append(build_snapshot_point(snapshot))
            reports.append(_build_report(snapshot))
        if upserts:
            await self._write(Phase(upserts=tuple(upserts), deletes=tuple(deletes)))
        return reports

    async def _settle(self, findings: Iterable[Finding], now: datetime, reports: list[OutcomeMessage]) -> Look:
        """Decide what stands, keep it, then tell it."""
        heard = [one for one in findings if one.kind not in self._policy.silent]
        self._states, changes = decide_alerts(heard, self._states, now=now, policy=self._policy.alert)
        states = tuple(self._states.values())
        for change in changes:
            event = "alert.raised" if change.is_standing else "alert.resolved"
            log.warning(event, alert=change.kind.value, severity=change.severity.value, reason=change.reason)
        await self._announce(reports)
        return Look(
            states=tuple(one for one in states if one.is_standing),
            raised=tuple(one for one in changes if one.is_standing),
            resolved=tuple(one for one in changes if not one.is_standing),
        )

    async def _announce(self, reports: Sequence[OutcomeMessage] = ()) -> None:
        """Write the changes that were not told yet, tell them, and mark them as told.

        That the store is away is told although it cannot be written; it is written once the store is back.
        """
        untold = [state for state in self._states.values() if not state.is_announced]
        is_saved = await self._save(is_urgent=any(one.kind is AlertKind.STORE_AWAY for one in self._states.values()))
        messages = [*reports, *(build_message(one, runbook_url=self._policy.runbook_url) for one in untold)]
        if self._publisher is not None and messages:
            await self._publisher.publish(messages)
        self._states = mark_announced(self._states, [one.key for one in untold])
        if is_saved:
            await self._save()

    async def _save(self, *, is_urgent: bool = False) -> bool:
        """Bring the store to the alerts as they are now, also to what a failed look left; False when it is away and that is urgent."""
        changed = {key: state for key, state in self._states.items() if self._kept.get(key) != state}
        gone = [state for key, state in self._kept.items() if key not in self._states]
        if changed or gone:
            upserts = tuple(build_alert_point(state) for state in changed.values())
            deletes = tuple(build_alert_id(one.kind, one.scope) for one in gone)
            try:
                await self._write(Phase(upserts=upserts, deletes=deletes))
            except DependencyError:
                if not is_urgent:
                    raise
                return False
        self._kept = dict(self._states)
        return True

    async def _write(self, phase: Phase) -> None:
        await self._store.apply([phase], fence=Fence())


def _leave_to_space(finding: Finding) -> Finding:
    """Where one space alone has audited episodes it speaks for itself: to say the same of all would page twice."""
    if finding.kind is AlertKind.DRIFT_UNKNOWN:
        return finding
    return replace(finding, reading=Reading.CLEAR, reason="one space alone has audited episodes, and is told of by itself.")


def _gather(reading: SpaceReading, overall: Overall, labelled: KeySample[Labelled]) -> None:
    overall.add(reading)
    for key, one in reading.labelled.items():
        labelled.put(key, one)


def _assess(labelled: Mapping[str, Labelled]) -> list[Assessment]:
    records = [labelled[key] for key in sorted(labelled)]
    channels = sorted({name for one in records for name in one.verdicts})
    return [assess(records, (name,), required_precision=0.5, resamples=_CHANNEL_RESAMPLES) for name in channels]


def _build_report(snapshot: Snapshot) -> OutcomeMessage:
    report = DriftReport(
        space=snapshot.space,
        at=snapshot.at,
        episodes=snapshot.episodes,
        stand_in=snapshot.stand_in,
        stand_in_episodes=snapshot.stand_in_episodes,
        figures={name: _build_figure(one) for name, one in snapshot.figures.items()},
    )
    return OutcomeMessage(
        topic=DriftReport.published_to,
        key="overall" if snapshot.space is None else f"space:{snapshot.space}",
        value=encode_outcome(report, time=snapshot.at),
        id=build_outcome_id(report),
    )


def _build_figure(found: Estimate) -> Figure:
    return Figure(value=found.value, low=found.low, high=found.high, n=found.n)
