"""Laws of reach: a share of a part tells of the whole as far as the part goes, so kappa comes out right with labels on some memories."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from guardian.trust.estimate import AuditedEpisode, estimate_drift
from guardian.trust.feedback import gather_evidence
from guardian.trust.reach import measure_reach, measure_reliability
from guardian.trust.truth import StandIn

CHECKER = StandIn(channel="checker", sensitivity=0.85, specificity=0.92)
KAPPA, BASE, CORRUPTED, RETRIEVED = 0.5, 0.25, 0.4, 5


def iter_episodes(seed: int, count: int, *, labelled: float, stand_in: StandIn | None = None) -> Iterator[AuditedEpisode]:
    """Give episodes on five memories, of which only the labelled ones, and those a stand-in judged, are known."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        wrong = random.random(RETRIEVED) < CORRUPTED
        gold = random.random(RETRIEVED) < labelled
        is_wrong = bool(random.random() < BASE + KAPPA * wrong.mean())
        weights = [float(one) for one in wrong[gold]]
        if stand_in is not None:
            for one in wrong[~gold]:
                says = random.random() < (stand_in.sensitivity if one else 1 - stand_in.specificity)
                weights.append(stand_in.weigh(says_wrong=says))
        yield AuditedEpisode(
            is_wrong=is_wrong,
            is_accepted=True,
            bias=0.5,
            corrupted_share=statistics.fmean(weights) if weights else None,
            is_clean=False,
            known_share=len(weights) / RETRIEVED,
            judged_share=0.0 if stand_in is None else float((~gold).mean()),
        )


@pytest.mark.parametrize(("labelled", "stand_in"), [(1.0, None), (0.5, None), (0.25, None), (0.0, CHECKER), (0.4, CHECKER)])
def test_kappa_comes_out_right_however_little_of_what_was_retrieved_is_known(labelled, stand_in):
    """Without reach it would come out at a quarter to a half of what it is."""
    episodes = list(iter_episodes(1, 12_000, labelled=labelled, stand_in=stand_in))
    found = estimate_drift(episodes, stand_in=stand_in, resamples=100).kappa
    assert found.low <= KAPPA <= found.high
    assert found.value == pytest.approx(KAPPA, abs=0.15)
    evidence = gather_evidence(episodes, stand_in=stand_in)
    assert evidence.score / evidence.spread == pytest.approx(found.value, abs=0.02)


def test_the_reach_is_what_is_known_and_a_stand_in_counts_by_its_reliability():
    """All known by labels: all of it; nothing said beyond."""
    episodes = list(iter_episodes(2, 400, labelled=0.4, stand_in=CHECKER))
    share = statistics.fmean(one.corrupted_share or 0.0 for one in episodes)
    reach = measure_reach(episodes, CHECKER)
    reliability = measure_reliability(CHECKER, share)
    assert 0.5 < reliability < 0.65
    for one, found in zip(episodes, reach, strict=True):
        assert found == pytest.approx(1 - one.judged_share * (1 - reliability), abs=1e-9)
    assert measure_reach([], None).shape == (0,)


@pytest.mark.parametrize("corrupted", [0.0, 0.1, 0.5, 1.0])
def test_the_truth_is_wholly_reliable(corrupted):
    """A stand-in that never errs counts as a label."""
    assert measure_reliability(StandIn(channel="c", sensitivity=1.0, specificity=1.0), corrupted) == pytest.approx(1.0)


@pytest.mark.parametrize(("labelled", "stand_in"), [(0.4, None), (0.0, CHECKER)])
def test_the_base_error_is_where_the_slope_leads_when_clean_episodes_are_few(labelled, stand_in):
    """A stand-in's word makes none clean; the intercept is held to the truth, and what follows is known."""
    episodes = list(iter_episodes(3, 8_000, labelled=labelled, stand_in=stand_in))
    assert not any(one.is_clean for one in episodes)
    found = estimate_drift(episodes, stand_in=stand_in, resamples=100)
    assert found.base_error.low <= BASE <= found.base_error.high
    assert found.base_error.high - found.base_error.low < 0.2


def test_clean_episodes_are_counted_where_there_are_enough():
    """Twenty of them say more than a line through the others."""
    episodes = list(iter_episodes(4, 500, labelled=1.0))
    clean = [
        AuditedEpisode(is_wrong=number < 5, is_accepted=True, bias=0.5, corrupted_share=0.0, is_clean=True)
        for number in range(20)
    ]
    assert estimate_drift([*episodes, *clean], resamples=50).base_error.value == pytest.approx(0.25)
    assert estimate_drift([*episodes, *clean[:19]], resamples=50).base_error.n == 519


def test_memories_that_are_wrong_together_are_told_from_a_stand_ins_noise():
    """In a bank whose corruption grows the shares scatter beyond the noise; taken for the scatter of single memories kappa comes out too large."""
    found = {True: [], False: []}
    for seed in range(12):
        random = np.random.default_rng(seed)
        episodes = []
        for place in range(1_500):
            wrong = random.random(RETRIEVED) < 0.1 + 0.6 * place / 1_500
            is_wrong = bool(random.random() < 0.2 + KAPPA * wrong.mean())
            says = np.where(
                wrong, random.random(RETRIEVED) < CHECKER.sensitivity, random.random(RETRIEVED) >= CHECKER.specificity
            )
            share = statistics.fmean(CHECKER.weigh(says_wrong=bool(one)) for one in says)
            episodes.append(
                AuditedEpisode(
                    is_wrong=is_wrong,
                    is_accepted=True,
                    bias=0.5,
                    corrupted_share=share,
                    is_clean=False,
                    judged_share=1.0,
                    judged=RETRIEVED,
                )
            )
        for is_counted, kappas in found.items():
            window = episodes if is_counted else [replace(one, judged=0) for one in episodes]
            kappas.append(estimate_drift(window, stand_in=CHECKER, resamples=10).kappa.value)
    assert statistics.fmean(found[True]) == pytest.approx(KAPPA, abs=0.04)
    assert statistics.fmean(found[False]) > statistics.fmean(found[True]) + 0.03
