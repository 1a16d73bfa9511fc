"""Laws of the drift estimates: their intervals cover the truth as they claim, and what cannot be known reads unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardian.core.numbers.attractor import find_attractor, find_collapse, shoot_once
from guardian.trust.estimate import LEAST_SHARE, AuditedEpisode, DriftEstimate, estimate_drift
from guardian.trust.truth import StandIn

PAPER = {"kappa": 0.38, "leniency": 0.76, "sensitivity": 0.90, "base_error": 0.32}


def draw(seed: int, n: int, *, kappa: float, leniency: float, sensitivity: float, base_error: float) -> list[AuditedEpisode]:
    """Draw audited episodes of known parameters; a third of them retrieved clean memories only."""
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(n):
        share = 0.0 if random.random() < 1 / 3 else float(random.integers(0, 6)) / 5
        is_wrong = bool(random.random() < min(1.0, base_error + kappa * share))
        is_accepted = bool(random.random() < (leniency if is_wrong else sensitivity))
        reuse = int(random.poisson(4 if is_accepted else 1))
        drawn.append(
            AuditedEpisode(
                is_wrong=is_wrong,
                is_accepted=is_accepted,
                bias=(0.9 if is_accepted else 0.2) - (0.0 if is_wrong else 1.0),
                corrupted_share=share,
                is_clean=share == 0,
                reuse=reuse,
            )
        )
    return drawn


@pytest.mark.parametrize("parameters", [PAPER, {"kappa": 0.1, "leniency": 0.5, "sensitivity": 0.8, "base_error": 0.2}])
def test_intervals_cover_as_they_claim(parameters: dict[str, float]) -> None:
    """Over 200 simulated windows each 95 % interval holds the truth in 91 to 99 of a hundred: three standard errors of such a count."""
    rates = {name: value for name, value in parameters.items() if name != "kappa"}
    collapse = find_collapse(leniency=rates["leniency"], sensitivity=rates["sensitivity"])
    truth = {
        **parameters,
        "attractor": find_attractor(**parameters),
        "one_shot": shoot_once(**rates),
        "ratio": find_attractor(**parameters) / shoot_once(**rates),
        "collapse": collapse,
        "margin": collapse - parameters["kappa"],
    }
    covered = dict.fromkeys(truth, 0)
    for seed in range(200):
        found = estimate_drift(draw(seed, 500, **parameters), resamples=200)
        for name, value in truth.items():
            estimate = getattr(found, name)
            assert estimate.is_known
            covered[name] += estimate.low <= value <= estimate.high
    assert min(covered.values()) >= 0.91 * 200, covered
    assert max(covered.values()) <= 0.99 * 200, covered


def test_the_slope_of_several_spaces_is_the_one_within_them() -> None:
    """A harder bank that is also more corrupted is no feedback: with kappa 0 in both, none is found in both together."""
    easy = [replace(one, space="easy") for one in draw(1, 400, kappa=0, leniency=0.7, sensitivity=0.9, base_error=0.1)]
    hard = [replace(one, space="hard") for one in draw(2, 400, kappa=0, leniency=0.7, sensitivity=0.9, base_error=0.6)]
    hard = [replace(one, corrupted_share=0.5 + (one.corrupted_share or 0) / 2) for one in hard]
    assert estimate_drift([*easy, *hard]).kappa.low == 0
    assert (estimate_drift([replace(one, space="") for one in (*easy, *hard)]).kappa.low or 0) > 0.2


def test_the_papers_bank_is_recognised() -> None:
    """From a large window: p* near .448, and both conditions of the Echo Gap hold."""
    found = estimate_drift(draw(5, 8_000, **PAPER))
    assert found.attractor.value == pytest.approx(0.448, abs=0.05)
    assert found.ratio.value == pytest.approx(1.6, abs=0.25)
    assert found.bias_of_wrong.low is not None
    assert found.bias_with_reuse.low is not None
    assert found.bias_of_wrong.low > 0
    assert found.bias_with_reuse.low > 0


@pytest.mark.parametrize("n", [0, 1, LEAST_SHARE - 1])
def test_a_small_window_is_unknown(n: int) -> None:
    """Nothing is said, in particular not that all is well."""
    found = estimate_drift(draw(1, n, **PAPER), resamples=50)
    assert found.episodes == n
    assert not any(getattr(found, name).is_known for name in DriftEstimate.__slots__ if name != "episodes")


def test_without_variation_the_feedback_is_unknown() -> None:
    """Nobody knows what corrupted memories do where all were clean; then neither attractor nor margin is known."""
    clean = [one for one in draw(2, 900, **PAPER) if one.is_clean]
    found = estimate_drift(clean, resamples=50)
    assert found.leniency.is_known
    assert found.base_error.is_known
    assert not found.kappa.is_known
    assert not found.attractor.is_known
    assert not found.margin.is_known


def test_the_same_window_gives_the_same_figures() -> None:
    """The resampling is no source of noise between two looks."""
    window = draw(4, 300, **PAPER)
    assert estimate_drift(window, resamples=100) == estimate_drift(list(window), resamples=100)


def screen(episodes: list[AuditedEpisode], stand_in: StandIn, seed: int) -> list[AuditedEpisode]:
    """Replace the truth by what a channel with these errors says of it."""
    random = np.random.default_rng(seed)
    screened = []
    for one in episodes:
        is_hit = random.random() < (stand_in.sensitivity if one.is_wrong else stand_in.specificity)
        says_wrong = one.is_wrong if is_hit else not one.is_wrong
        grade = (one.bias or 0.0) + (0.0 if one.is_wrong else 1.0)
        screened.append(replace(one, is_wrong=says_wrong, is_stand_in=True, bias=grade))
    return screened


def test_a_stand_ins_errors_are_corrected_and_widen_the_intervals() -> None:
    """Over 40 windows the corrected intervals cover the truth as they claim; taken at its word, the same channel misses kappa."""
    stand_in = StandIn(channel="x", sensitivity=0.8, specificity=0.9)
    rates = {name: value for name, value in PAPER.items() if name != "kappa"}
    truth = {
        **PAPER,
        "attractor": find_attractor(**PAPER),
        "one_shot": shoot_once(**rates),
        "bias_of_wrong": 0.9 * 0.76 + 0.2 * 0.24,
    }
    covered, naive = dict.fromkeys(truth, 0), 0
    for seed in range(40):
        window = screen(draw(seed, 800, **PAPER), stand_in, seed)
        found = estimate_drift(window, stand_in=stand_in, resamples=150)
        for name, value in truth.items():
            estimate = getattr(found, name)
            assert estimate.is_known, name
            covered[name] += estimate.low <= value <= estimate.high
        at_its_word = estimate_drift(window, stand_in=StandIn(channel="x", sensitivity=1, specificity=1), resamples=150).kappa
        naive += at_its_word.low <= PAPER["kappa"] <= at_its_word.high
    assert min(covered.values()) >= 0.87 * 40, covered
    assert naive < 0.6 * 40


def test_a_verdict_of_a_stand_in_needs_the_stand_ins_errors() -> None:
    """Nobody takes it for the truth by an oversight."""
    with pytest.raises(ValueError, match="stand-in"):
        estimate_drift(screen(draw(1, 30, **PAPER), StandIn(channel="x", sensitivity=1, specificity=1), 1), resamples=10)
