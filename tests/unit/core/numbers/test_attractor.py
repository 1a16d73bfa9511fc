"""Laws of the attractor: the paper's numbers, the fixed point as what the loop reaches, and the limits."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.numbers.attractor import (
    amplify_retrieval,
    amplify_transition,
    err,
    find_attractor,
    find_collapse,
    shoot_once,
    write_back,
)

PAPER = {"kappa": 0.38, "leniency": 0.76, "sensitivity": 0.90, "base_error": 0.32}
SHARE = st.floats(min_value=0.01, max_value=0.99)


def test_the_papers_numbers_come_out() -> None:
    """p* = .448 (observed .42), p0 = .284, ratio 1.6."""
    attractor = find_attractor(**PAPER)
    once = shoot_once(leniency=0.76, sensitivity=0.90, base_error=0.32)
    assert attractor == pytest.approx(0.448, abs=5e-4)
    assert once == pytest.approx(0.284, abs=5e-4)
    assert attractor / once == pytest.approx(1.6, abs=0.05)


@given(SHARE, SHARE, SHARE, st.floats(min_value=0, max_value=2))
def test_the_loop_from_below_reaches_the_attractor(leniency: float, sensitivity: float, base_error: float, kappa: float) -> None:
    """Writing back again and again from a clean bank ends at p*, never beyond it."""
    model = {"kappa": kappa, "leniency": leniency, "sensitivity": sensitivity, "base_error": base_error}
    attractor = find_attractor(**model)
    p = 0.0
    for _ in range(20_000):
        p, before = write_back(p, **model), p
        assert p <= attractor + 1e-9
        if abs(p - before) < 1e-13:
            break
    # Near a double root the approach is slower than any number of steps; there it is at least a near fixed point.
    assert p == pytest.approx(attractor, abs=2e-2)
    assert write_back(attractor, **model) == pytest.approx(attractor, abs=1e-6)


@given(SHARE, SHARE, SHARE)
def test_without_feedback_one_shot_is_the_end(leniency: float, sensitivity: float, base_error: float) -> None:
    """Kappa = 0: p* = p0, nothing compounds."""
    model = {"leniency": leniency, "sensitivity": sensitivity, "base_error": base_error}
    assert find_attractor(kappa=0, **model) == pytest.approx(shoot_once(**model))


@given(SHARE, SHARE, st.floats(min_value=0, max_value=1))
def test_more_leniency_is_never_better(base_error: float, sensitivity: float, kappa: float) -> None:
    """p* rises with l."""
    found = [
        find_attractor(kappa=kappa, leniency=leniency, sensitivity=sensitivity, base_error=base_error)
        for leniency in (0.1, 0.3, 0.6, 0.9)
    ]
    assert all(after >= before - 1e-12 for before, after in pairwise(found))


@pytest.mark.parametrize(("leniency", "sensitivity"), [(0.9, 0.45), (0.8, 0.4)])
def test_above_the_collapse_threshold_a_vanishing_error_takes_the_bank_over(leniency: float, sensitivity: float) -> None:
    """kappa* = s / l, as e0 goes to 0: just below it the bank stays clean, above it not."""
    collapse = find_collapse(leniency=leniency, sensitivity=sensitivity)
    below = find_attractor(kappa=0.9 * collapse, leniency=leniency, sensitivity=sensitivity, base_error=1e-9)
    above = find_attractor(kappa=1.2 * collapse, leniency=leniency, sensitivity=sensitivity, base_error=1e-9)
    assert below < 1e-6
    assert above > 0.2
    assert find_collapse(leniency=0, sensitivity=0.5) == math.inf


def test_a_bank_that_nothing_stops_ends_wholly_wrong() -> None:
    """No root inside: 1."""
    assert find_attractor(kappa=2, leniency=1, sensitivity=0.2, base_error=0.5) == 1
    assert err(0.9, kappa=2, base_error=0.5) == 1


@pytest.mark.parametrize("kappa", [1.3, 1e12, 1e200, 1e308])
def test_however_steep_the_feedback_the_attractor_is_a_plain_share(kappa: float) -> None:
    """Wholly wrong from any base error; from none it stays at 0, which has no sign."""
    assert find_attractor(kappa=kappa, leniency=0.76, sensitivity=0.9, base_error=0.32) == 1
    assert str(find_attractor(kappa=kappa, leniency=0.76, sensitivity=0.9, base_error=0)) == "0.0"


def test_retrieval_amplification_has_its_limits() -> None:
    """No bias, no amplification; a cold temperature and few wrong ones: up to (W + R) / W times the odds, never overflow."""
    assert amplify_retrieval(0, temperature=0.5, wrong=3, right=7) == pytest.approx(1)
    hot = amplify_retrieval(0.4, temperature=1e6, wrong=3, right=7)
    assert hot == pytest.approx(1, abs=1e-5)
    assert amplify_retrieval(1, temperature=0.01, wrong=3, right=7) == pytest.approx(
        math.exp(100) * (3 * math.exp(-100) + 7) / 10, rel=1e-9
    )
    assert amplify_retrieval(0.4, temperature=0.2, wrong=3, right=7) > amplify_retrieval(0.2, temperature=0.2, wrong=3, right=7)


@given(st.floats(min_value=0, max_value=1), st.floats(min_value=0.05, max_value=10), st.integers(1, 50), st.integers(1, 50))
def test_retrieval_amplification_is_the_papers_formula(bias: float, temperature: float, wrong: int, right: int) -> None:
    """In the form that the paper writes."""
    lift, top = math.exp(bias / temperature), math.exp(1 / temperature)
    papers = lift * (wrong + right * top) / (wrong * lift + right * top)
    assert amplify_retrieval(bias, temperature=temperature, wrong=wrong, right=right) == pytest.approx(papers)


@given(st.integers(1, 50), st.integers(1, 50), st.floats(min_value=0, max_value=1))
def test_retrieval_amplification_lies_between_its_limits(wrong: int, right: int, bias: float) -> None:
    """From 1, where the temperature flattens everything, to what lifts wrong ones past all right ones: (W + R) / W times their share."""
    found = [amplify_retrieval(bias, temperature=t, wrong=wrong, right=right) for t in (1e9, 2.0, 0.5, 0.1)]
    assert found[0] == pytest.approx(1, abs=1e-6)
    assert found == sorted(found) or bias < 1e-6
    # At full bias a wrong one is retrieved like a right one: the share of wrong ones is W / (W + R) and no more.
    share = wrong / (wrong + right * math.exp(1 / 0.5))
    full = amplify_retrieval(1.0, temperature=0.5, wrong=wrong, right=right)
    assert full * share == pytest.approx(wrong / (wrong + right))


def test_transition_amplification_is_the_ratio_of_the_rates() -> None:
    """Without a bias 1; of an acceptance by a threshold it is the paper's leniency over the honest rate; nothing honest passes: infinite."""
    random = Random(3)
    grades = [random.gauss(0.3, 0.2) for _ in range(20_000)]

    def accept(bias: float) -> float:
        return sum(grade + bias >= 0.5 for grade in grades) / len(grades)

    assert amplify_transition(0, rate=accept) == 1
    assert amplify_transition(0.2, rate=accept) == pytest.approx(0.5 / 0.1587, rel=0.06)
    assert amplify_transition(0.4, rate=accept) > amplify_transition(0.2, rate=accept)
    assert amplify_transition(0.4, rate=lambda bias: bias) == math.inf
    assert amplify_transition(0.4, rate=lambda _: 0.0) == 1
