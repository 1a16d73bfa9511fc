"""Laws of amplification: intervals cover the truth of simulated banks, and what a bank cannot say of itself is unknown."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from guardian.core.numbers.attractor import amplify_retrieval
from guardian.core.numbers.interval import Estimate
from guardian.trust.amplify import estimate_retrieval, estimate_transfer

Sample = NDArray[np.float64]
WINDOWS = 100


def covers(found: Estimate, truth: float) -> bool:
    """Tell whether an interval is known and holds the truth."""
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


def draw_reuse(seed: int, *, temperature: float, n: int = 300) -> tuple[Sample, Sample, Sample, Sample]:
    """Draw records that are retrieved by a softmax over their grades, each as often as its age allows."""
    random = np.random.default_rng(seed)
    wrong = (random.random(n) < 0.4).astype(float)
    grade = np.where(wrong == 1, random.uniform(0.1, 1.0, n), random.uniform(0.4, 1.0, n))
    age = random.uniform(0.2, 1.8, n)
    reuse = random.poisson(2 * age * np.exp((grade - 0.7) / temperature)).astype(float)
    return grade, reuse, wrong, (grade >= 0.5).astype(float)


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_a_ret_is_covered_as_claimed(temperature: float) -> None:
    """Of 100 windows at least 89 hold the formula's value at the temperature that is true."""
    covered = 0
    for seed in range(WINDOWS):
        grade, reuse, wrong, accepted = draw_reuse(seed, temperature=temperature)
        bad, good = (wrong * accepted).sum(), ((1 - wrong) * accepted).sum()
        bias = float((wrong * accepted * grade).sum() / bad)
        truth = amplify_retrieval(bias, temperature=temperature, wrong=bad, right=good)
        covered += covers(estimate_retrieval(grade, reuse, wrong=wrong, accepted=accepted, least=50), truth)
    assert covered >= 89, covered


def test_a_ret_is_one_where_retrieval_ignores_the_grade() -> None:
    """The interval holds 1, on both sides."""
    grade, _, wrong, accepted = draw_reuse(1, temperature=1.0)
    reuse = np.random.default_rng(9).poisson(3, len(grade)).astype(float)
    found = estimate_retrieval(grade, reuse, wrong=wrong, accepted=accepted, least=50)
    assert covers(found, 1.0)
    assert found.low is not None
    assert found.low < 1


@pytest.mark.parametrize("change", ["few", "same grade", "never read", "none wrong", "none right"])
def test_a_ret_is_unknown_where_nothing_speaks_for_it(change: str) -> None:
    """Too few records, and any of the figures that it is made of missing."""
    grade, reuse, wrong, accepted = draw_reuse(2, temperature=1.0)
    if change == "few":
        grade, reuse, wrong, accepted = (part[:49] for part in (grade, reuse, wrong, accepted))
    if change == "same grade":
        grade = np.full_like(grade, 0.8)
    if change == "never read":
        reuse = np.zeros_like(reuse)
    if change in {"none wrong", "none right"}:
        wrong = np.full_like(wrong, float(change == "none right"))
    assert not estimate_retrieval(grade, reuse, wrong=wrong, accepted=accepted, least=50).is_known


def draw_transfer(seed: int, *, without: float, with_bias: float, least_bias: float = 0.0, n: int = 900) -> dict[str, Sample]:
    """Draw episodes whose wrong memories pass their error on the more, the better they were graded."""
    random = np.random.default_rng(seed)
    share = random.integers(0, 6, n) / 5
    bias = np.where(share > 0, random.uniform(least_bias, 1.0, n), np.nan)
    error = 0.1 + share * (without + with_bias * np.nan_to_num(bias))
    return {"share": share, "bias": bias, "wrong": (random.random(n) < error).astype(float), "group": np.zeros(n, dtype=np.intp)}


def estimate(drawn: dict[str, Sample]) -> Estimate:
    """Estimate A_tr."""
    return estimate_transfer(
        drawn["share"], drawn["bias"], wrong=drawn["wrong"], group=drawn["group"].astype(np.intp), least=20, resamples=150, seed=1
    )


def test_a_tr_is_covered_as_claimed() -> None:
    """Of 100 windows at least 89 hold tau(b) / tau(0) at the mean bias of what was read."""
    covered = 0
    for seed in range(WINDOWS):
        drawn = draw_transfer(seed, without=0.3, with_bias=0.4)
        bias = float((drawn["share"] * np.nan_to_num(drawn["bias"])).sum() / drawn["share"].sum())
        covered += covers(estimate(drawn), (0.3 + 0.4 * bias) / 0.3)
    assert covered >= 89, covered


def test_a_tr_is_unknown_where_every_wrong_memory_was_graded_well() -> None:
    """What a wrong memory of no bias would do cannot be seen in such a bank; nor where such ones pass nothing on."""
    assert not estimate(draw_transfer(1, without=0.3, with_bias=0.4, least_bias=0.5)).is_known
    assert not estimate(draw_transfer(1, without=0.0, with_bias=0.5)).is_known
