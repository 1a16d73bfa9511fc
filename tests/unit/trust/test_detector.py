"""Laws of a detector: only its flags count, so its silence may be as dependent as it likes, and an echo of the agent recovers next to nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from guardian.core.model import ChannelTrust
from guardian.core.numbers.interval import Estimate, estimate_share, unknown
from guardian.core.policy import Policy
from guardian.core.rules.utility import score_utility
from guardian.trust.calibrate import Assessment, Labelled, assess, assess_all
from guardian.trust.gate import LEAST_FLAGS, LEAST_LABELLED, Failure, decide_detector
from tests.unit.trust.test_calibrate import checker, coin, draw, generous

Channel = Callable[[float, float, np.random.Generator], float]


def narrow(truth: float, grade: float, random: np.random.Generator) -> float:
    """Flag two in five of what is wrong and the agent accepts, nothing else, and call the rest right, as the agent does."""
    return float(not (truth == 0 and grade > 0.5 and random.random() < 0.4))


def echo(truth: float, grade: float, random: np.random.Generator) -> float:
    """Repeat the agent's word but for a little noise."""
    return float(np.clip(grade + random.normal(0, 0.05), 0, 1))


def assess_one(channel: Channel, n: int = 400, rho: float = 0.5) -> Assessment:
    """Assess one channel on drawn records."""
    return assess(draw(n, x=channel), ("x",), required_precision=rho, resamples=200)


def make_bad(**channels: Channel) -> list[Labelled]:
    """Draw records that are nearly all wrong."""
    drawn = draw(1_000, **channels)
    return [one for one in drawn if not one.truth] + [one for one in drawn if one.truth][::8]


def rate(records: list[Labelled], trust: ChannelTrust) -> float:
    """Give the mean squared error of utilities under a calibration of the one channel."""
    policy = Policy(calibration="cal", channels={"x": trust})
    rated = [score_utility([one.grade], {"x": [one.verdicts["x"]]}, policy)[0] for one in records]
    return float(np.mean([((utility or 0.0) - one.truth) ** 2 for utility, one in zip(rated, records, strict=True)]))


def test_what_sees_little_and_errs_not_passes_as_a_detector_alone() -> None:
    """Its silence follows the agent, so as a score it fails; its flags are right, so as a detector it passes, and is believed as one."""
    found = assess_one(narrow)
    assert Failure.BIAS in found.failures
    assert found.detector is not None
    assert found.detector.failures == ()
    assert found.trust == ChannelTrust(alpha=1.0, payoff=found.trust.payoff, passes=True, detects=True)
    assert found.trust.payoff > 0.04


@pytest.mark.parametrize("channel", [narrow, checker, echo])
def test_the_payoff_is_the_squared_error_that_the_rule_removes(channel: Channel) -> None:
    """Over all labelled records; and no other alpha removes more."""
    records = draw(400, x=channel)
    found = assess_one(channel).detector
    assert found is not None
    assert found.alpha.value is not None
    plain = rate(records, ChannelTrust(alpha=0.0, payoff=0.1, passes=True))
    left = rate(records, ChannelTrust(alpha=found.alpha.value, payoff=0.1, passes=True, detects=True))
    assert plain - left == pytest.approx(found.payoff.value)
    for other in np.linspace(0, 1, 11):
        assert left <= rate(records, ChannelTrust(alpha=other, payoff=0.1, passes=True, detects=True)) + 1e-9
    assert found.alpha.low is not None
    assert found.alpha.low <= found.alpha.value <= (found.alpha.high or 0)
    assert (found.payoff.low or 0) <= (found.payoff.value or 0) <= (found.payoff.high or 0)


def test_an_echo_of_the_agent_recovers_next_to_nothing_by_its_flags() -> None:
    """They are precise, for it flags where the agent doubts itself: harmless, and a fiftieth of what an able detector's recover at most."""
    usual = assess_one(echo, 1_000)
    assert (usual.precision.low or 0) > 0.5
    assert Failure.BIAS in usual.failures
    assert usual.detector is not None
    assert usual.detector.failures == (Failure.NO_GAIN,)
    echoing, able = (assess(make_bad(x=channel), ("x",), required_precision=0.5, resamples=50) for channel in (echo, narrow))
    assert (echoing.precision.low or 0) > 0.9
    assert (echoing.detects, able.detects) == (True, True)
    assert 0 < echoing.trust.payoff * 50 < able.trust.payoff
    assert rate(make_bad(x=echo), echoing.trust) < rate(make_bad(x=echo), ChannelTrust(alpha=0.0, payoff=0.0, passes=False))


def test_an_echo_beside_a_detector_keeps_nothing_from_it() -> None:
    """Where both flag, the larger payoff is used: the utilities are those without the echo, or better."""
    records = make_bad(x=narrow, y=echo)
    trusts = assess_all(records, resamples=50).trusts
    assert trusts["x"].payoff > trusts["y"].payoff > 0
    both, alone = Policy(calibration="c", channels=trusts), Policy(calibration="c", channels={"x": trusts["x"]})

    def measure(policy: Policy) -> float:
        rated = [score_utility([one.grade], {name: [v] for name, v in one.verdicts.items()}, policy)[0] for one in records]
        return float(np.mean([((utility or 0.0) - one.truth) ** 2 for utility, one in zip(rated, records, strict=True)]))

    assert measure(both) <= measure(alone)


@pytest.mark.parametrize(("channel", "failure"), [(coin, Failure.PRECISION), (generous, Failure.NO_FLAGS)])
def test_what_flags_blindly_or_never_is_no_detector(channel: Channel, failure: Failure) -> None:
    """A coin's flags are right as often as the agent is wrong; what flags nothing detects nothing."""
    found = assess_one(channel)
    assert found.detector is not None
    assert failure in found.detector.failures
    assert found.trust == ChannelTrust(alpha=0.0, payoff=0.0, passes=False)


def test_precision_hangs_on_the_base_rate() -> None:
    """The same channel passes where four in ten are wrong, and not where one in fifty is."""
    records = draw(3_000, x=checker)
    right = [one for one in records if one.truth]
    rare = right + [one for one in records if not one.truth][: len(right) // 50]
    for labelled, passes in ((records, True), (rare, False)):
        found = assess(labelled, ("x",), required_precision=0.5, resamples=20).detector
        assert found is not None
        assert found.passes is passes


def test_what_passes_both_ways_is_taken_as_what_removes_more_error() -> None:
    """A channel that knows both right and wrong is a score; one asked for more precision than it has is neither."""
    found = assess_one(checker)
    assert found.detector is not None
    assert (found.failures, found.detector.failures) == ((), ())
    assert found.detects is ((found.detector.payoff.value or 0) > (found.error_removed or 0))
    assert not found.detects
    assert found.trust.payoff == round(found.payoff.value or 0, 4)
    records = draw(400, x=checker)
    plain = rate(records, ChannelTrust(alpha=0.0, payoff=0.1, passes=True))
    assert plain - rate(records, found.trust) == pytest.approx(found.error_removed, abs=1e-4)
    assert not assess_one(checker, rho=0.95).passes


def test_a_mean_is_no_detector() -> None:
    """Each of several that flags counts by itself; their mean would flag where most do."""
    found = assess_all(draw(300, x=narrow, y=narrow), resamples=20)
    assert [one.detector for one in found.ensembles] == [None]
    assert found.detectors == ["x", "y"]


@pytest.mark.parametrize(
    ("n", "flags", "hits", "payoff", "failures"),
    [
        (LEAST_LABELLED, LEAST_FLAGS, LEAST_FLAGS, 0.01, ()),
        (LEAST_LABELLED - 1, LEAST_FLAGS, LEAST_FLAGS, 0.01, (Failure.TOO_FEW,)),
        (LEAST_LABELLED, LEAST_FLAGS - 1, LEAST_FLAGS - 1, 0.01, (Failure.FEW_FLAGS,)),
        (LEAST_LABELLED, 0, 0, 0.01, (Failure.NO_FLAGS,)),
        (LEAST_LABELLED, 20, 14, 0.01, (Failure.PRECISION,)),
        (LEAST_LABELLED, 20, 15, 0.01, ()),
        (LEAST_LABELLED, 20, 15, 0.0, (Failure.NO_GAIN,)),
        (LEAST_LABELLED, 20, 15, None, (Failure.NO_GAIN,)),
    ],
)
def test_the_lower_bound_of_precision_decides(
    n: int, flags: int, hits: int, payoff: float | None, failures: tuple[Failure, ...]
) -> None:
    """Fifteen right of twenty are more than half for sure, fourteen are not; too few flags say nothing, and flags must help."""
    removed = unknown(n) if payoff is None else Estimate(payoff, payoff, payoff, n)
    assert decide_detector(n, estimate_share(hits, flags), removed, required_precision=0.5) == failures
