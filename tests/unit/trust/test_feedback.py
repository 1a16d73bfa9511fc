"""Laws of feedback under repeated looks: chance does not prove it, what is there is found, and spaces do not pass for each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardian.trust.estimate import AuditedEpisode
from guardian.trust.feedback import FeedbackEvidence, bound_feedback, find_bound, gather_evidence
from guardian.trust.simulated_bank import BankModel, SimulatedBank
from guardian.trust.truth import StandIn

PAPER = {"leniency": 0.76, "sensitivity": 0.90, "base_error": 0.32}


def play(seed: int, steps: int, *, kappa: float) -> list[AuditedEpisode]:
    """Play the paper's bank and audit every episode."""
    run = SimulatedBank(BankModel(kappa=kappa, places=400, **PAPER), seed=seed).run(steps, keep_episodes=True)
    return [
        AuditedEpisode(
            is_wrong=one.is_wrong,
            is_accepted=one.is_accepted,
            bias=None,
            corrupted_share=one.corrupted_share,
            is_clean=not one.corrupted_share,
        )
        for one in run.episodes
    ]


def is_ever_proven(episodes: list[AuditedEpisode]) -> bool:
    """Look after every 50 episodes."""
    evidence = (gather_evidence(episodes[:size]) for size in range(50, len(episodes) + 1, 50))
    return any(bound_feedback(one, false_alarm=0.025, typical=0.35).is_proven for one in evidence)


def test_chance_proves_nothing_however_often_one_looks() -> None:
    """Of 60 banks with kappa 0, looked at 30 times each, hardly one is said to feed back (a fixed bound of 1.96 says so of one in six)."""
    assert sum(is_ever_proven(play(seed, 1_500, kappa=0)) for seed in range(60)) <= 3


def test_feedback_that_is_there_is_proven() -> None:
    """Of 30 banks of the paper all but a few are told from chance within 1,200 episodes, and the interval holds its kappa."""
    windows = [play(seed, 1_200, kappa=0.38) for seed in range(30)]
    assert sum(is_ever_proven(window) for window in windows) >= 28
    found = [bound_feedback(gather_evidence(window), false_alarm=0.025, typical=0.35).kappa for window in windows]
    assert sum(one.low <= 0.38 <= one.high for one in found if one.low is not None and one.high is not None) >= 28


def test_two_spaces_that_differ_are_no_feedback() -> None:
    """A hard bank that is also more corrupted than an easy one raises no slope: each is held against its own means."""
    random = np.random.default_rng(3)

    def draw(error: float, corrupted: float) -> list[AuditedEpisode]:
        wrong, shares = random.random(600) < error, random.binomial(5, corrupted, 600) / 5
        return [
            AuditedEpisode(is_wrong=bool(one), is_accepted=None, bias=None, corrupted_share=float(share), is_clean=False)
            for one, share in zip(wrong, shares, strict=True)
        ]

    easy, hard = draw(0.1, 0.05), draw(0.5, 0.5)
    together = bound_feedback(gather_evidence(easy + hard), false_alarm=0.025, typical=0.35)
    apart = bound_feedback(gather_evidence(easy) + gather_evidence(hard), false_alarm=0.025, typical=0.35)
    assert together.is_proven
    assert not apart.is_proven
    assert apart.kappa.n == 1_200


@pytest.mark.parametrize("size", [0, 1, 49])
def test_too_few_episodes_prove_nothing(size: int) -> None:
    """Unknown, with the number there is."""
    found = bound_feedback(gather_evidence(play(1, 60, kappa=0.38)[:size]), false_alarm=0.025, typical=0.35)
    assert (found.kappa.value, found.kappa.n, found.strength, found.is_proven) == (None, size, None, False)


def test_what_does_not_vary_proves_nothing() -> None:
    """Neither where all memories were clean, nor where every episode was right."""
    window = play(2, 400, kappa=0.38)
    for same in ([replace(one, corrupted_share=0.0) for one in window], [replace(one, is_wrong=False) for one in window]):
        assert bound_feedback(gather_evidence(same), false_alarm=0.025, typical=0.35).strength is None


def test_a_stand_in_proves_less() -> None:
    """Its errors make the same episodes say less, and its own errors must be given."""
    window = [replace(one, is_stand_in=True) for one in play(4, 800, kappa=0.38)]
    sharp, blunt = (
        gather_evidence(window, stand_in=StandIn(channel="x", sensitivity=rate, specificity=rate)) for rate in (1.0, 0.8)
    )
    assert blunt.variance > 2 * sharp.variance
    with pytest.raises(ValueError, match="stand-in"):
        gather_evidence(window)


def test_the_bound_is_tightest_for_a_typical_feedback() -> None:
    """Never below what one look takes, and growing without end: that is the price of looking again."""
    bounds = [find_bound(information, false_alarm=0.025, typical=0.35) for information in (8, 90, 1_000, 1e6, 1e12)]
    assert min(bounds) > 1.96
    assert bounds[-1] > bounds[-2] > bounds[1]


def test_evidence_adds_up() -> None:
    """Nothing plus something is that."""
    some = gather_evidence(play(5, 100, kappa=0.38))
    assert FeedbackEvidence() + some == some
