"""Looks at the banks and at the work of the worker now and then, beside its data planes.

One task, one look at a time; it reads the store in small pages with rests, so the data plane goes on. A look that fails or takes too long is
counted and told, and the next one makes good for it: nothing here ever ends the worker. Each worker looks at the spaces of the partitions it
owns; the owner of the first partition also speaks for all together.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from guardian.core.alert import SEVERITIES, AlertKind
from guardian.core.numbers.interval import Estimate
from guardian.errors import DependencyError
from guardian.ports import Publisher, Store
from guardian.stream.guard import choose_partition
from guardian.telemetry.metrics import DRIFT_FIGURES, Metrics
from guardian.trust.alert.operation import WorkFigures
from guardian.trust.drift import Drift
from guardian.trust.watch import Look, Ownership, Watch, WatchPolicy

log = structlog.stdlib.get_logger(__name__)

# The first look at drift comes after at most so long, seconds: a worker that is restarted often looks, too, and one that catches up is let be.
_FIRST_S = 60.0
# Metric -> figure of a bank's estimates.
_FIGURES = {
    "corrupted_share": "corrupted",
    "compounding": "ratio",
    "collapse_margin": "margin",
    "superseded_top_k": "superseded_of_top_k",
}
# Of which the least is worst.
_LEAST_IS_WORST = frozenset({"sensitivity", "collapse_margin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSetup:
    """How a worker watches.

    Attributes:
        policy: What is estimated and alerted.
        drift_every_s: Seconds between looks at drift; 0 for never.
        work_every_s: Seconds between looks at the work; 0 for never.
        longest_s: Seconds after which a look is given up.
    """

    policy: WatchPolicy
    drift_every_s: float
    work_every_s: float
    longest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The partitions of the canonical topic that a worker owns: `numbers` of `all_numbers`, in one round of its group."""

    numbers: frozenset[int]
    all_numbers: tuple[int, ...]
    round: int

    @property
    def ownership(self) -> Ownership:
        """What that means for spaces."""
        return Ownership(
            owns=lambda space: choose_partition(space, self.all_numbers) in self.numbers,
            leads=self.all_numbers[0] in self.numbers,
            round=self.round,
        )


class WorkGauge:
    """Measures Guardian's own work, of all workers together as far as the broker tells.

    Args:
        measure_lag: Gives the records of the canonical topic that wait; None while that is not known.
        count_letters: Gives how many dead letters there are, whoever wrote them; None while that is not known.
        is_up: Tells whether a dependency answered when it was last asked.
    """

    def __init__(
        self,
        *,
        measure_lag: Callable[[], Awaitable[int | None]],
        count_letters: Callable[[], int | None],
        is_up: Callable[[str], bool],
    ) -> None:
        self._measure_lag, self._count_letters, self._is_up = measure_lag, count_letters, is_up
        self._letters: tuple[float, int] | None = None

    async def measure(self, *, now_s: float) -> WorkFigures:
        """Measure; what a broker that is away cannot tell is unknown.

        Args:
            now_s: Seconds of a clock that never goes back.
        """
        try:
            lag = await self._measure_lag()
        except DependencyError:
            lag = None
        return WorkFigures(
            lag=lag,
            letters_an_hour=self._measure_letters(now_s),
            is_store_up=self._is_up("store"),
            is_model_up=self._is_up("model"),
        )

    def _measure_letters(self, now_s: float) -> float | None:
        """Give the rate of dead letters since the measurement before; None at the first."""
        count, before = self._count_letters(), self._letters
        self._letters = None if count is None else (now_s, count)
        if count is None or before is None:
            return None
        return (count - before[1]) / max(1.0, now_s - before[0]) * 3600


class Watching:
    """The task.

    Args:
        find_owned: Gives what the worker owns now; None while it owns nothing.
        gauge: Measures the work.
    """

    def __init__(
        self,
        setup: WatchSetup,
        *,
        store: Store,
        publisher: Publisher,
        find_owned: Callable[[], Owned | None],
        gauge: WorkGauge,
        metrics: Metrics,
    ) -> None:
        self._setup = setup
        self._watch = Watch(store, publisher, setup.policy)
        self._find_owned = find_owned
        self._gauge = gauge
        self._metrics = metrics
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Give up the look in hand."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        setup, now = self._setup, time.monotonic()
        drift_at = now + min(setup.drift_every_s, _FIRST_S) if setup.drift_every_s else math.inf
        work_at = now + setup.work_every_s if setup.work_every_s else math.inf
        while min(drift_at, work_at) < math.inf:
            await asyncio.sleep(max(0.0, min(drift_at, work_at) - time.monotonic()))
            if time.monotonic() >= work_at:
                await self._look(self._look_at_work)
                work_at = time.monotonic() + setup.work_every_s
            if time.monotonic() >= drift_at:
                with self._metrics.drift_run.time():
                    outcome = await self._look(self._look_at_drift)
                self._metrics.drift_runs.labels(outcome).inc()
                drift_at = time.monotonic() + setup.drift_every_s

    async def _look(self, look: Callable[[Ownership], Awaitable[Look]]) -> str:
        """Take one look, whatever comes of it; gives what became of it."""
        owned = self._find_owned()
        if owned is None:
            # What it showed while it owned something is its successor's to show now.
            self._note(Look())
            show_drift(self._metrics, Look())
            return "skipped"
        try:
            async with asyncio.timeout(self._setup.longest_s):
                self._note(await look(owned.ownership))
        except (DependencyError, TimeoutError) as exc:
            log.warning("watch.postponed", error=repr(exc))
            return "failed"
        except Exception:  # a look that fails must not cost the worker its work
            log.exception("watch.failed")
            return "failed"
        return "done"

    async def _look_at_work(self, ownership: Ownership) -> Look:
        work = await self._gauge.measure(now_s=time.monotonic()) if ownership.leads else WorkFigures()
        return await self._watch.look_at_work(ownership, work, now=datetime.now(UTC))

    async def _look_at_drift(self, ownership: Ownership) -> Look:
        look = await self._watch.look_at_drift(ownership, now=datetime.now(UTC))
        show_drift(self._metrics, look)
        self._metrics.drift_last_run.set_to_current_time()
        log.info("drift.estimated", spaces=len(look.spaces), raised=len(look.raised), resolved=len(look.resolved))
        return look

    def _note(self, look: Look) -> None:
        counts = dict.fromkeys(AlertKind, 0)
        for state in look.states:
            counts[state.kind] += 1
        for kind, count in counts.items():
            self._metrics.alert_standing.labels(kind.value, SEVERITIES[kind].value).set(count)
        for state in look.raised:
            self._metrics.alerts_raised.labels(state.kind.value).inc()
        for state in look.resolved:
            self._metrics.alerts_resolved.labels(state.kind.value).inc()


def show_drift(metrics: Metrics, look: Look) -> None:
    """Show what a look at drift found; what is not known, or is another worker's to say, is NaN."""
    metrics.channels_failing.set(math.nan if look.failing is None else look.failing)
    metrics.drift_episodes.labels("overall").set(math.nan if look.overall is None else look.overall.episodes.episodes)
    metrics.drift_episodes.labels("worst").set(min((one.episodes.episodes for one in look.spaces), default=0))
    for name in DRIFT_FIGURES:
        overall = None if look.overall is None else find_figure(look.overall, name)
        worst = find_worst([find_figure(one, name) for one in look.spaces], least=name in _LEAST_IS_WORST)
        for scope, shown in (("overall", overall), ("worst", worst)):
            for bound in ("value", "low", "high"):
                value = None if shown is None else getattr(shown, bound)
                metrics.drift[name].labels(scope, bound).set(math.nan if value is None else value)


def find_worst(estimates: Sequence[Estimate], *, least: bool) -> Estimate | None:
    """Give the worst of those that are known: the greatest, or the least."""
    known = [(one.value, place) for place, one in enumerate(estimates) if one.value is not None]
    return estimates[(min if least else max)(known)[1]] if known else None


def find_figure(drift: Drift, metric: str) -> Estimate:
    """Give the figure that a metric shows."""
    name = _FIGURES.get(metric, metric)
    found: Estimate = getattr(drift.episodes, name, None) or getattr(drift.bank, name)
    return found
