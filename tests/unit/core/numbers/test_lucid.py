"""Laws of LUCID: the best alpha is the best, its payoff is what it removes, and a judge of the agent's own kind recovers nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.numbers.lucid import choose_alpha, covary, leave_variance, measure, pay_off, require_precision

SHARE = st.floats(min_value=0, max_value=1)
VARIANCE = st.floats(min_value=1e-6, max_value=1)
BETA = st.floats(min_value=-1, max_value=1.5)


@given(BETA, VARIANCE, VARIANCE, SHARE)
def test_no_other_alpha_leaves_less(beta: float, var_bias: float, var_noise: float, other: float) -> None:
    """alpha* minimises the remaining variance over [0, 1]."""
    moments = {"beta": beta, "var_bias": var_bias, "var_noise": var_noise}
    best = leave_variance(choose_alpha(**moments), **moments)
    assert best <= leave_variance(other, **moments) + 1e-12


@given(st.floats(min_value=-1, max_value=0.99), VARIANCE, VARIANCE)
def test_the_payoff_is_the_papers_where_alpha_is_not_clamped(beta: float, var_bias: float, var_noise: float) -> None:
    """(1 - beta)^2 Var(b)^2 / ((1 - beta)^2 Var(b) + Var(eta)); with a clamp it is what is removed, and less."""
    moments = {"beta": beta, "var_bias": var_bias, "var_noise": var_noise}
    papers = (1 - beta) ** 2 * var_bias**2 / ((1 - beta) ** 2 * var_bias + var_noise)
    if choose_alpha(**moments) < 1:
        assert pay_off(**moments) == pytest.approx(papers, abs=1e-12)
    else:
        assert pay_off(**moments) <= papers + 1e-12


@pytest.mark.parametrize("beta", [1.0, 1.2])
def test_a_judge_that_shares_the_bias_recovers_nothing(beta: float) -> None:
    """With beta >= 1 nothing is demoted, however little noise it has: capability is no evidence."""
    assert choose_alpha(beta=beta, var_bias=0.1, var_noise=0.0) == 0
    assert pay_off(beta=beta, var_bias=0.1, var_noise=0.0) == 0


def test_an_oracle_recovers_everything() -> None:
    """V = U: beta 0, no noise, alpha 1, the bias is gone."""
    assert choose_alpha(beta=0, var_bias=0.1, var_noise=0) == 1
    assert pay_off(beta=0, var_bias=0.1, var_noise=0) == pytest.approx(0.1)


@pytest.mark.parametrize(("beta", "noise"), [(0.0, 0.2), (0.3, 0.1), (0.9, 0.05), (-0.2, 0.3)])
def test_moments_and_variance_agree_with_a_simulation(beta: float, noise: float) -> None:
    """Monte Carlo: a channel built with beta and noise is measured as such, and Q' keeps the variance that the formula says."""
    rng = random.Random(7)
    truths = [float(rng.random() < 0.6) for _ in range(40_000)]
    bias = [rng.gauss(0.2, 0.25) for _ in truths]
    grades = [u + b for u, b in zip(truths, bias, strict=True)]
    verdicts = [u + beta * b + rng.gauss(0, noise) for u, b in zip(truths, bias, strict=True)]
    found = measure(grades, verdicts, truths)
    assert found.beta == pytest.approx(beta, abs=0.02)
    assert found.var_noise == pytest.approx(noise * noise, rel=0.05)
    moments = {"beta": found.beta, "var_bias": found.var_bias, "var_noise": found.var_noise}
    for alpha in (0.0, 0.3, choose_alpha(**moments), 1.0):
        left = [r - alpha * (r - v) - u for r, v, u in zip(grades, verdicts, truths, strict=True)]
        assert covary(left, left) == pytest.approx(leave_variance(alpha, **moments), rel=1e-6)


def test_an_information_channel_recovers_most_of_what_an_oracle_does() -> None:
    """And a re-grader with beta near 1 next to nothing."""
    oracle = pay_off(beta=0, var_bias=0.09, var_noise=0)
    assert pay_off(beta=0.05, var_bias=0.09, var_noise=0.01) / oracle > 0.85
    assert pay_off(beta=0.97, var_bias=0.09, var_noise=0.01) / oracle < 0.01


def test_below_the_required_precision_demoting_makes_things_worse() -> None:
    """rho* = h / (g + h) is where gain and harm balance."""
    gain, harm = 1.0, 3.0
    bar = require_precision(gain=gain, harm=harm)
    assert bar == 0.75
    for precision in (0.5, 0.74):
        assert precision * gain - (1 - precision) * harm < 0
    assert 0.8 * gain - 0.2 * harm > 0


def test_what_does_not_vary_has_no_correlation() -> None:
    """Unknown is not zero."""
    found = measure([0.9, 0.9], [1.0, 1.0], [1.0, 0.0])
    assert found.corr_truth is None
    assert measure([0.5], [0.5], [0.5]).beta == 0
    with pytest.raises(ValueError, match="as many"):
        measure([0.5], [], [0.5])


def judge(rng: random.Random, truth: float, grade: float, kind: str) -> float:
    """Judge an episode: as an oracle, as a channel that errs by itself in one of ten, or as one that sees what the agent saw."""
    if kind == "oracle":
        return truth
    if kind == "checker":
        return truth if rng.random() < 0.9 else 1 - truth
    return grade if rng.random() < 0.97 else truth


@pytest.mark.parametrize(("kind", "least", "most"), [("oracle", 1.0, 1.0), ("checker", 0.6, 0.9), ("regrader", 0.0, 0.05)])
def test_what_is_recovered_of_graded_episodes(kind: str, least: float, most: float) -> None:
    """Monte Carlo, yes-or-no episodes that the agent accepts leniently: the share of an oracle's payoff is what deflation really removes."""
    rng = random.Random(11)
    truths = [float(rng.random() < 0.6) for _ in range(20_000)]
    grades = [float(rng.random() < (0.9 if truth else 0.76)) for truth in truths]
    verdicts = [judge(rng, truth, grade, kind) for truth, grade in zip(truths, grades, strict=True)]
    found = measure(grades, verdicts, truths)
    moments = {"beta": found.beta, "var_bias": found.var_bias, "var_noise": found.var_noise}
    alpha = choose_alpha(**moments) if kind != "regrader" else 0.5
    left = [r - alpha * (r - v) - u for r, v, u in zip(grades, verdicts, truths, strict=True)]
    removed = (found.var_bias - covary(left, left)) / found.var_bias
    assert least - 1e-9 <= removed <= most + 1e-9
    assert (found.beta > 0.95) == (kind == "regrader")
