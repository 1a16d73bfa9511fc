"""Laws of calibration: a channel is believed for knowing the truth by itself, never for agreeing with the agent, and not on thin evidence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from guardian.core.numbers.interval import Estimate, unknown
from guardian.core.numbers.lucid import choose_alpha, measure
from guardian.trust.calibrate import Assessment, Labelled, assess, assess_all, calibrate
from guardian.trust.gate import LEAST_LABELLED, Failure, decide
from tests.builders import audited, written
from tests.property.bank import Bank
from tests.unit.trust.history import write_history

Channel = Callable[[float, float, np.random.Generator], float]


def checker(truth: float, grade: float, random: np.random.Generator) -> float:
    """Err by itself, in one case of ten."""
    return truth if random.random() < 0.9 else 1 - truth


def copy(truth: float, grade: float, random: np.random.Generator) -> float:
    """Repeat the agent's word."""
    return grade


def oracle(truth: float, grade: float, random: np.random.Generator) -> float:
    """Know the truth."""
    return truth


def coin(truth: float, grade: float, random: np.random.Generator) -> float:
    """Know nothing."""
    return float(random.random() < 0.5)


def generous(truth: float, grade: float, random: np.random.Generator) -> float:
    """Never flag anything, and still say more of right ones."""
    return 0.5 + 0.5 * truth


def draw(n: int, seed: int = 0, **channels: Channel) -> list[Labelled]:
    """Draw labelled records: 40 % wrong, graded by an agent that accepts 76 % of these."""
    random = np.random.default_rng(seed)
    drawn = []
    for number in range(n):
        truth = float(random.random() > 0.4)
        grade = float(random.uniform(0.6, 1.0) if random.random() < (0.9 if truth else 0.76) else random.uniform(0, 0.4))
        verdicts = {name: channel(truth, grade, random) for name, channel in channels.items()}
        drawn.append(Labelled(space=f"team-{number % 2}", grade=grade, truth=truth, verdicts=verdicts))
    return drawn


def assess_one(channel: Channel, n: int = 300) -> Assessment:
    """Assess one channel on drawn records."""
    return assess(draw(n, x=channel), ("x",), required_precision=0.5, resamples=200)


@pytest.mark.parametrize("channel", [checker, oracle])
def test_what_knows_the_truth_by_itself_may_demote(channel: Channel) -> None:
    """Figures are those of the formulas, and alpha lies within its interval."""
    found = assess_one(channel)
    assert found.passes
    records = draw(300, x=channel)
    moments = measure([one.grade for one in records], [one.verdicts["x"] for one in records], [one.truth for one in records])
    assert found.corr_truth.value == pytest.approx(moments.corr_truth)
    assert found.corr_bias.value == pytest.approx(moments.corr_bias or 0.0)
    assert found.beta.value == pytest.approx(moments.beta)
    alpha = choose_alpha(beta=moments.beta, var_bias=moments.var_bias, var_noise=moments.var_noise)
    assert found.usable_alpha == pytest.approx(alpha, abs=1e-4)
    assert found.alpha.low <= alpha <= found.alpha.high


@pytest.mark.parametrize(("channel", "failure"), [(copy, Failure.BIAS), (coin, Failure.TRUTH), (generous, Failure.NO_FLAGS)])
def test_what_does_not_may_not(channel: Channel, failure: Failure) -> None:
    """A copy of the agent, a coin and a channel that flags nothing are told apart, and each gets alpha 0."""
    found = assess_one(channel)
    assert failure in found.failures
    assert found.usable_alpha == 0


def test_thin_evidence_is_no_evidence() -> None:
    """Even an oracle is not believed on a handful of labels, nor is anything of it known."""
    found = assess_one(oracle, LEAST_LABELLED - 1)
    assert found.failures == (Failure.TOO_FEW,)
    assert (found.usable_alpha, found.var_bias) == (0, None)
    assert not found.alpha.is_known
    assert assess_one(oracle, LEAST_LABELLED).passes


@pytest.mark.parametrize(
    ("truth", "bias", "precision", "failures"),
    [
        ((0.31, 0.9), (-0.49, 0.49), (0.51, 0.9), ()),
        ((0.30, 0.9), (-0.1, 0.1), (0.51, 0.9), (Failure.TRUTH,)),
        ((0.5, 0.9), (-0.5, 0.1), (0.51, 0.9), (Failure.BIAS,)),
        ((0.5, 0.9), (0.1, 0.5), (0.51, 0.9), (Failure.BIAS,)),
        ((0.5, 0.9), (0.1, 0.2), (0.5, 0.9), (Failure.PRECISION,)),
        (None, None, None, (Failure.TRUTH, Failure.BIAS, Failure.NO_FLAGS)),
    ],
)
def test_the_cautious_end_of_each_interval_decides(
    truth: tuple[float, float] | None,
    bias: tuple[float, float] | None,
    precision: tuple[float, float] | None,
    failures: tuple[Failure, ...],
) -> None:
    """Each condition by itself keeps a channel from demoting; what is unknown fails."""
    estimates = [unknown(100) if ends is None else Estimate(sum(ends) / 2, *ends, 100) for ends in (truth, bias, precision)]
    assert decide(100, *estimates, required_precision=0.5) == failures


def test_harm_raises_the_precision_that_is_asked_for() -> None:
    """The same flags pass where demoting a right record costs little, and not where it costs much."""
    records = draw(300, x=checker)
    assert assess(records, ("x",), required_precision=0.5, resamples=50).passes
    assert assess(records, ("x",), required_precision=0.95, resamples=50).failures == (Failure.PRECISION,)


def test_an_ensemble_is_tested_like_a_channel() -> None:
    """Two that err apart know more together; one with a copy of the agent is only as good as its errors; all three are tried, too."""
    found = assess_all(draw(600, a=checker, b=checker, c=copy), resamples=100)
    ensembles = {one.channel: one for one in found.ensembles}
    assert set(ensembles) == {"a+b", "a+c", "b+c", "a+b+c"}
    single = max(one.corr_truth.value or 0 for one in found.channels)
    assert (ensembles["a+b"].corr_truth.value or 0) > single
    assert ensembles["a+b"].passes
    assert Failure.BIAS in ensembles["a+c"].failures
    assert set(found.alphas) == {"a", "b", "c"}
    assert found.alphas["c"] == 0


def test_intervals_cover_as_they_claim() -> None:
    """Over 60 samples those of Corr(V, U), Corr(nu, b) and alpha* hold the values of a very large sample."""
    large = assess(draw(60_000, 99, x=checker), ("x",), required_precision=0.5, resamples=2)
    covered = dict.fromkeys(("corr_truth", "corr_bias", "alpha"), 0)
    for seed in range(60):
        found = assess(draw(200, seed, x=checker), ("x",), required_precision=0.5, resamples=150)
        for name in covered:
            estimate = getattr(found, name)
            covered[name] += estimate.low <= getattr(large, name).value <= estimate.high
    assert min(covered.values()) >= 0.87 * 60, covered


async def test_a_store_is_calibrated_from_its_labels() -> None:
    """Through the real pipeline: the checker passes, the re-grader does not, flags are counted exactly, and the id follows the labels."""
    bank = Bank()
    run = await write_history(bank, episodes=300, seed=4, space="team-a")
    everywhere, part, none = await calibrate(bank.store, patterns=["team-*", "other"], resamples=100)
    checked, regraded = everywhere.channels
    assert (checked.channel, checked.n, checked.passes) == ("checker", 300, True)
    assert (regraded.channel, regraded.failures[-1]) == ("regrader", Failure.BIAS)
    assert checked.recall.n == sum(one.is_wrong for one in run)
    assert checked.recall.low is not None
    assert checked.recall.low <= 0.85 <= checked.recall.high
    assert checked.specificity.low <= 0.92 <= checked.specificity.high
    assert part.channels == everywhere.channels
    assert (none.labelled, none.channels) == (0, ())
    again = (await calibrate(bank.store, resamples=100))[0]
    assert again.id == everywhere.id
    await bank.send(
        written("more", "Done", t=9_000, grade=0.9, space="team-a"),
        audited("more", 0.0, t=9_001, space="team-a"),
        audited("more", 1.0, channel="checker", t=9_002, space="team-a"),
    )
    assert (await calibrate(bank.store, resamples=100))[0].id != everywhere.id


async def test_records_without_grade_or_label_say_nothing() -> None:
    """A verdict alone, a label without a self-grade: neither is counted."""
    bank = Bank()
    await bank.send(
        written("a", "One", grade=0.9), audited("a", 0.0, channel="x", t=1),
        written("b", "Two"), audited("b", 0.0, channel="x", t=1), audited("b", 0.0, t=1),
    )  # fmt: skip
    (found,) = await calibrate(bank.store)
    assert (found.labelled, found.channels, found.alphas) == (0, (), {})
