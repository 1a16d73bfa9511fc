"""Laws of how a worker looks: whose spaces it speaks for, what it shows, and that every setting reaches what it names."""

from __future__ import annotations

import math
from datetime import timedelta

from guardian.core.alert import AlertKind
from guardian.core.numbers.interval import Estimate, unknown
from guardian.errors import DependencyError
from guardian.settings import AlertSettings, DriftSettings, PolicySettings, Settings
from guardian.stream.guard import choose_partition
from guardian.stream.watching import Owned, WorkGauge, find_worst, show_drift
from guardian.telemetry.metrics import DRIFT_FIGURES, Metrics
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.bank import BankCounts
from guardian.trust.drift import Drift
from guardian.trust.estimate import DriftEstimate
from guardian.trust.feedback import FeedbackEvidence
from guardian.trust.truth import StandIn
from guardian.trust.watch import Look
from guardian.wiring import build_watch_policy, build_watch_setup

SPACES = [f"space-{number}" for number in range(50)]


def test_each_space_has_one_worker_and_all_together_one() -> None:
    """Whatever way the partitions are split."""
    numbers = tuple(range(6))
    split = [Owned(numbers=part, all_numbers=numbers, round=1).ownership for part in (frozenset({0, 4}), frozenset({1, 2, 3, 5}))]
    assert [one.leads for one in split] == [True, False]
    for space in SPACES:
        assert sum(one.owns(space) for one in split) == 1
        assert split[0].owns(space) == (choose_partition(space, numbers) in {0, 4})


def build_drift(space: str | None, *, kappa: float | None, sensitivity: float) -> Drift:
    """Build what a look says of a bank."""
    figures = {name: unknown(0) for name in DriftEstimate.__slots__ if name != "episodes"}
    figures["sensitivity"] = Estimate(sensitivity, sensitivity - 0.1, sensitivity + 0.05, 90)
    if kappa is not None:
        figures["kappa"] = Estimate(kappa, kappa - 0.1, kappa + 0.1, 90)
    episodes = DriftEstimate(episodes=90, **figures)
    bank = BankCounts().estimate(None)
    return Drift(space=space, episodes=episodes, evidence=FeedbackEvidence(), bank=bank, stand_in_episodes=0, is_whole=True)


def test_metrics_show_all_together_and_the_worst_space() -> None:
    """The worst is the greatest, of the sensitivity the least; what no space knows is no number."""
    metrics = Metrics()
    spaces = (
        build_drift("a", kappa=0.2, sensitivity=0.9),
        build_drift("b", kappa=0.7, sensitivity=0.6),
        build_drift("c", kappa=None, sensitivity=0.8),
    )
    show_drift(metrics, Look(overall=build_drift(None, kappa=0.4, sensitivity=0.8), spaces=spaces, failing=2))

    def read(name: str, scope: str, bound: str = "value") -> float:
        found = metrics.registry.get_sample_value(f"guardian_drift_{name}", {"scope": scope, "bound": bound})
        assert found is not None
        return found

    assert (read("kappa", "overall"), read("kappa", "worst"), read("kappa", "worst", "low")) == (0.4, 0.7, 0.6)
    assert (read("sensitivity", "worst"), read("sensitivity", "worst", "high")) == (0.6, 0.65)
    assert math.isnan(read("attractor", "worst"))
    assert metrics.registry.get_sample_value("guardian_channels_failing") == 2
    for name in DRIFT_FIGURES:
        read(name, "overall")
    show_drift(metrics, Look(spaces=spaces))
    assert math.isnan(read("kappa", "overall"))
    assert find_worst([unknown(1)], least=True) is None


def test_settings_reach_what_they_name() -> None:
    """The defaults are the policy's own, and each of the settings' own values arrives."""
    assert build_watch_policy(Settings()).alert == AlertPolicy()
    settings = Settings(
        drift=DriftSettings(
            every_s=5,
            window_s=60,
            accept_level=0.7,
            channel="x",
            channel_sensitivity=0.8,
            channel_specificity=0.9,
            page_points=10,
        ),
        alerts=AlertSettings(
            every_s=7,
            runbook_url="https://x.test/runbook",
            silent=frozenset({AlertKind.ECHO}),
            lag_raise=9,
            lag_clear=3,
            rise_window_s=60,
        ),
        policy=PolicySettings(alphas={"x": 0.0}, default_alpha=0.4),
    )
    setup = build_watch_setup(settings)
    policy = setup.policy
    assert (setup.drift_every_s, setup.work_every_s, policy.since) == (5, 7, timedelta(seconds=60))
    assert policy.window.stand_in == StandIn(channel="x", sensitivity=0.8, specificity=0.9)
    assert (policy.window.accept_level, policy.pace.page_points) == (0.7, 10)
    assert (policy.runbook_url, policy.silent) == ("https://x.test/runbook", {AlertKind.ECHO})
    assert (policy.alert.lag_raise, policy.alert.lag_clear, policy.alert.rise_window) == (9, 3, timedelta(minutes=1))
    assert (policy.policy_of("s").weighs("x"), policy.policy_of("s").weighs("y")) == (False, True)


async def test_work_is_measured_as_far_as_it_is_known() -> None:
    """A rate of dead letters needs two looks at a topic that was read; a broker that is away leaves the lag unknown."""
    counts: list[int | None] = [None, 10, 15, None, 20, 50]

    async def measure_lag() -> int | None:
        if len(counts) == 1:
            raise DependencyError("away", dependency="broker")
        return 7

    gauge = WorkGauge(measure_lag=measure_lag, count_letters=lambda: counts.pop(0), is_up=lambda name: name == "store")
    found = [await gauge.measure(now_s=60.0 * place) for place in range(6)]
    assert [one.letters_an_hour for one in found] == [None, None, 300, None, None, 1_800]
    assert [one.lag for one in found] == [7, 7, 7, 7, 7, None]
    assert (found[0].is_store_up, found[0].is_model_up) == (True, False)
