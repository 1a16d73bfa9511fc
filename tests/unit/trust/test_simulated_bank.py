"""Laws of the simulated bank: it goes where the theorems say, and a stronger judge of the same family does not help."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from guardian.core.numbers.attractor import find_attractor, shoot_once
from guardian.core.numbers.lucid import require_precision
from guardian.trust.simulated_bank import BankModel, Countermeasure, SimulatedBank

PAPER = {"kappa": 0.38, "leniency": 0.76, "sensitivity": 0.90, "base_error": 0.32}


def settle(model: BankModel, *, seeds: int = 4, steps: int = 4_000) -> float:
    """Give the mean corrupted share after the bank has settled."""
    tails = [SimulatedBank(model, seed=seed).run(steps).shares[steps // 2 :] for seed in range(seeds)]
    return statistics.fmean(share for tail in tails for share in tail)


@pytest.mark.parametrize(
    "parameters",
    [
        PAPER,
        {"kappa": 0.0, "leniency": 0.76, "sensitivity": 0.90, "base_error": 0.32},
        {"kappa": 0.6, "leniency": 0.5, "sensitivity": 0.9, "base_error": 0.2},
        {"kappa": 0.2, "leniency": 0.9, "sensitivity": 0.7, "base_error": 0.4},
    ],
)
def test_the_bank_settles_at_the_attractor(parameters: dict[str, float]) -> None:
    """Theorem 2: p* of the parameters; without feedback that is p0."""
    expected = find_attractor(**parameters)
    assert settle(BankModel(**parameters)) == pytest.approx(expected, abs=0.035)
    if not parameters["kappa"]:
        without_feedback = {name: value for name, value in parameters.items() if name != "kappa"}
        assert expected == pytest.approx(shoot_once(**without_feedback))


def test_a_run_is_its_seed() -> None:
    """Same seed, same run; another seed, another."""
    model = BankModel(**PAPER)
    first, same, other = (SimulatedBank(model, seed=seed).run(300).shares for seed in (1, 1, 2))
    assert first == same != other


def test_demoting_by_a_channel_lowers_the_attractor() -> None:
    """A channel with independent errors is worth much; a detector that flags right ones as often as wrong ones nothing."""
    plain = settle(BankModel(**PAPER))
    good = settle(BankModel(**PAPER, countermeasure=Countermeasure.DEMOTE, catch=0.7, false_alarm=0.05))
    blind = settle(BankModel(**PAPER, countermeasure=Countermeasure.DEMOTE, catch=0.3, false_alarm=0.3))
    assert good < plain - 0.15
    assert blind == pytest.approx(plain, abs=0.05)


@pytest.mark.parametrize(("catch", "false_alarm"), [(0.6, 0.05), (0.6, 0.3), (0.2, 0.4)])
def test_demoting_below_the_required_precision_makes_things_worse(catch: float, false_alarm: float) -> None:
    """Of the bank's own episodes: what a detector's flags gain and harm is positive just where their precision is above rho*."""
    gain, harm = 1.0, 2.0
    random = np.random.default_rng(5)
    accepted = [
        one for one in SimulatedBank(BankModel(**PAPER), seed=5).run(6_000, keep_episodes=True).episodes if one.is_accepted
    ]
    flagged = [one.is_wrong for one in accepted if random.random() < (catch if one.is_wrong else false_alarm)]
    worth = gain * sum(flagged) - harm * (len(flagged) - sum(flagged))
    precision, required = statistics.fmean(flagged), require_precision(gain=gain, harm=harm)
    assert (worth > 0) == (precision > required)
    assert (worth > 0) == (false_alarm < 0.1)


def test_a_detector_that_flags_the_right_ones_corrupts_the_bank() -> None:
    """Demoting by flags less precise than the bank itself leaves a larger share of wrong ones to retrieve."""
    plain = settle(BankModel(**PAPER))
    perverse = settle(BankModel(**PAPER, countermeasure=Countermeasure.DEMOTE, catch=0.1, false_alarm=0.5))
    assert perverse > plain + 0.1


def test_superseding_lowers_the_share() -> None:
    """Verified corrections that carry to descendants."""
    plain = settle(BankModel(**PAPER))
    corrected = settle(BankModel(**PAPER, countermeasure=Countermeasure.SUPERSEDE, catch=0.2))
    assert corrected < plain - 0.1


def test_a_stronger_judge_of_the_same_family_does_not_help() -> None:
    """It raises s and leaves l, which its bias decides: the attractor stays where it was."""
    plain = find_attractor(**PAPER)
    stronger = find_attractor(**{**PAPER, "sensitivity": 0.99})
    independent = find_attractor(**{**PAPER, "leniency": 0.2})
    assert plain - stronger < 0.06
    assert independent < plain / 2
