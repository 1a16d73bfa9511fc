"""Estimate from audited episodes where a bank is drifting: its leniency, sensitivity, feedback, and the attractor they lead to.

An *episode* is a self-graded record of which something outside the agent says whether it was right. From a window of them:

- `l = P(self-grade accepts | wrong)`, `s = P(self-grade accepts | right)`: shares with Wilson's interval.
- `e0`: error rate of episodes whose retrieved memories were all known to be clean by more than a stand-in's word, with Wilson's interval; where these
  are too few, the error rate to which kappa's slope leads at a corrupted share of 0, with the bootstrap's.
- `kappa`: slope of the error on the corrupted share of what was retrieved, by least squares within each space. As far as that share is not
  known it is taken for the usual one (`trust.reach`), or kappa would come out too low by the unknown part.
- `p*`, `p0`, ratio, margin to `kappa*`: functions of these. Their intervals, and kappa's, come from resampling episodes (percentile
  bootstrap, a fixed seed, so the same window gives the same figures).
- the Echo Gap's conditions `E[b | U=0] > 0` and `Cov(b, n | U=0) > 0`, n the reuse of the episode's record.
- A_ret and A_tr, see `amplify`.

Where a channel stands in for the truth, an episode counts as wrong with the weight that is right on average at the channel's known errors
(Rogan and Gladen 1978): 1 and 0 become (1 - (1 - sp)) / power and -(1 - sp) / power. All figures are made of sums of these weights, so
they are corrected alike; that its errors do not hang on the self-grade is what the error-independence test of `calibrate` is for.

Every estimate has its sample size, and is *unknown* where the sample is too small or does not vary: unknown is never healthy.
Source: "Memory Reward Inflation in Self-Improving LLM Agents".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from guardian.core.numbers.interval import Estimate, correct_share, estimate_share, pool_shares, unknown
from guardian.trust import figure
from guardian.trust.amplify import estimate_retrieval, estimate_transfer
from guardian.trust.figure import Episodes, Sample, sum_columns
from guardian.trust.reach import measure_reach
from guardian.trust.resample import Measure, Resampled
from guardian.trust.truth import StandIn

# Least episodes for a share, and for a slope: below, an interval spans most of what is possible.
LEAST_SHARE = 20
LEAST_SLOPE = 50
# Resamples; the ends of a 95 % interval then vary by about a hundredth of its width.
RESAMPLES = 1_000
_SEED = 20_260_501


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedEpisode:
    """One episode of the window.

    Attributes:
        is_wrong: By ground truth or a channel that stands in for it.
        is_accepted: The self-grade is at or above the level from which the agent reuses an episode; None without a self-grade.
        bias: Self-grade less truth, in [-1, 1]; of a stand-in's verdict less 0, for it is only used as far as the episode is wrong.
        corrupted_share: Of the retrieved memories whose truth is known; None where none of them is, or nothing was retrieved.
        is_clean: All that it retrieved is known to be right, or it retrieved nothing.
        reuse: How often its record was retrieved since; None where that is not known.
        is_stand_in: The truth is by a channel that errs at known rates.
        space: Where it is from: of several spaces together, kappa is the slope within them.
        grade: Its self-grade in [0, 1]; None without one.
        corrupted_bias: Mean bias of the wrong memories it retrieved whose grade is known; None where there are none.
        known_share: Of what it retrieved, that whose truth is known, which `corrupted_share` speaks of.
        judged_share: Of what it retrieved, that whose truth is a stand-in's word; part of the known.
        judged: How many memories that are; 0 where that is not known.
    """

    is_wrong: bool
    is_accepted: bool | None
    bias: float | None
    corrupted_share: float | None
    is_clean: bool
    reuse: int | None = 0
    is_stand_in: bool = False
    space: str = ""
    grade: float | None = None
    corrupted_bias: float | None = None
    known_share: float = 1.0
    judged_share: float = 0.0
    judged: int = 0

    def weigh(self, stand_in: StandIn | None) -> float:
        """Give its weight as wrong: 1 or 0 by ground truth, by a stand-in what is right on average.

        Raises:
            ValueError: Its truth is a stand-in's, and none is given.
        """
        if not self.is_stand_in:
            return float(self.is_wrong)
        if stand_in is None:
            raise ValueError("the truth of an episode is a stand-in's, and none is given")
        return stand_in.weigh(says_wrong=self.is_wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftEstimate:
    """What a window says; names as in the paper."""

    episodes: int
    leniency: Estimate
    sensitivity: Estimate
    base_error: Estimate
    kappa: Estimate
    attractor: Estimate
    one_shot: Estimate
    ratio: Estimate
    collapse: Estimate
    margin: Estimate
    bias_of_wrong: Estimate
    bias_with_reuse: Estimate
    amplified_retrieval: Estimate
    amplified_transfer: Estimate


def estimate_drift(
    episodes: Sequence[AuditedEpisode], *, stand_in: StandIn | None = None, resamples: int = RESAMPLES
) -> DriftEstimate:
    """Estimate everything that a window of audited episodes can say.

    Args:
        episodes: The window; any order, but the same order for the same intervals.
        stand_in: What gave the truth of those that say so.
        resamples: For intervals.

    Raises:
        ValueError: An episode's truth is a stand-in's, and none is given.
    """
    columns = _tabulate(episodes, stand_in)
    wrong, graded, biased, reused = columns.wrong, columns.graded, columns.biased, columns.reused
    table = Resampled(sum_columns(columns), resamples=resamples, seed=_SEED)
    kappa = table.estimate(figure.kappa, n=int(columns.shared.sum()), least=LEAST_SLOPE)
    base_error, base = _estimate_base_error(episodes, table, kappa, stand_in)
    parts = {
        "leniency": _estimate_accepted(table, figure.leniency, columns.accepted[graded], wrong[graded]),
        "sensitivity": _estimate_accepted(table, figure.sensitivity, columns.accepted[graded], 1 - wrong[graded]),
        "base_error": base_error,
    }
    # What follows from several figures is known only where all of them are.
    is_known = kappa.is_known and all(part.is_known for part in parts.values())
    n = len(episodes)
    followers: dict[str, Measure] = {
        "attractor": partial(figure.attractor, base=base),
        "one_shot": partial(figure.one_shot, base=base),
        "ratio": partial(figure.ratio, base=base),
        "collapse": figure.collapse,
        "margin": figure.margin,
    }
    follows = {name: table.estimate(one, n=n, least=1) if is_known else unknown(n) for name, one in followers.items()}
    return DriftEstimate(
        episodes=n,
        **parts,
        kappa=kappa,
        **follows,
        bias_of_wrong=table.estimate(figure.mean_bias, n=_count(wrong[biased]), least=LEAST_SHARE),
        bias_with_reuse=_estimate_reuse(table, wrong[reused], columns.reuse[reused]),
        amplified_retrieval=_estimate_retrieval(columns, episodes),
        amplified_transfer=_estimate_transfer(columns, episodes, resamples),
    )


def _tabulate(episodes: Sequence[AuditedEpisode], stand_in: StandIn | None) -> Episodes:
    numbers: dict[str, int] = {}
    return Episodes(
        wrong=_read(one.weigh(stand_in) for one in episodes),
        accepted=_read(one.is_accepted for one in episodes),
        bias=_read(one.bias for one in episodes),
        share=_read(one.corrupted_share for one in episodes),
        reach=measure_reach(episodes, stand_in),
        clean=_read(one.is_clean and not one.judged_share for one in episodes),
        reuse=_read(one.reuse for one in episodes),
        group=np.array([numbers.setdefault(one.space, len(numbers)) for one in episodes], dtype=np.intp),
    )


def _read(values: Iterable[float | None]) -> Sample:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _count(weights: Sample) -> int:
    """Count the wrong ones: exactly by ground truth, on average where a channel stands in."""
    return max(0, round(float(weights.sum())))


def _estimate_base_error(
    episodes: Sequence[AuditedEpisode], table: Resampled, kappa: Estimate, stand_in: StandIn | None
) -> tuple[Estimate, Measure]:
    """Estimate e0 from clean episodes, or where too few are known to be clean, from where kappa's slope leads; and say how."""
    clean = [(one.is_wrong, one.is_stand_in) for one in episodes if one.is_clean and not one.judged_share]
    counted = estimate_wrong(clean, stand_in)
    if counted.is_known or not kappa.is_known:
        return counted, figure.base_error
    return table.estimate(figure.intercept, n=kappa.n, least=LEAST_SLOPE), figure.intercept


def _estimate_accepted(table: Resampled, measure: Measure, accepted: Sample, weights: Sample) -> Estimate:
    """Estimate the share that the self-grade accepts, of the wrong or of the right ones as the weights say."""
    n = _count(weights)
    if np.isin(weights, (0, 1)).all():
        return estimate_share(int((accepted * weights).sum()), n, least=LEAST_SHARE)
    return table.estimate(measure, n=n, least=LEAST_SHARE)


def _estimate_reuse(table: Resampled, weights: Sample, reuse: Sample) -> Estimate:
    """Estimate how bias and reuse of the wrong ones go together; unknown where none was reused more than another."""
    n = _count(weights)
    return table.estimate(figure.covary_reuse, n=n, least=LEAST_SLOPE) if len(reuse) and reuse.std() else unknown(n)


def _estimate_retrieval(columns: Episodes, episodes: Sequence[AuditedEpisode]) -> Estimate:
    grade = _read(one.grade for one in episodes)
    rows = ~np.isnan(grade) & ~np.isnan(columns.reuse) & columns.graded
    return estimate_retrieval(
        grade[rows], columns.reuse[rows], wrong=columns.wrong[rows], accepted=columns.accepted[rows], least=LEAST_SLOPE
    )


def _estimate_transfer(columns: Episodes, episodes: Sequence[AuditedEpisode], resamples: int) -> Estimate:
    bias, rows = _read(one.corrupted_bias for one in episodes), columns.shared
    return estimate_transfer(
        columns.share[rows],
        bias[rows],
        wrong=columns.wrong[rows],
        group=columns.group[rows],
        least=LEAST_SHARE,
        resamples=resamples,
        seed=_SEED,
    )


def estimate_wrong(verdicts: Sequence[tuple[bool, bool]], stand_in: StandIn | None, *, least: int = LEAST_SHARE) -> Estimate:
    """Estimate the share of wrong ones, with Wilson's interval, corrected where a channel stands in for the truth.

    Args:
        verdicts: (is wrong, by the stand-in) of each.
        stand_in: The channel.
        least: Verdicts below which the share is unknown.
    """
    gold = [is_wrong for is_wrong, by_stand_in in verdicts if not by_stand_in]
    other = [is_wrong for is_wrong, by_stand_in in verdicts if by_stand_in]
    return pool_wrong((sum(gold), len(gold)), (sum(other), len(other)), stand_in, least=least)


def pool_wrong(gold: tuple[int, int], other: tuple[int, int], stand_in: StandIn | None, *, least: int = LEAST_SHARE) -> Estimate:
    """Do as `estimate_wrong` does from counts: (wrong, all) by ground truth, and by the stand-in."""
    corrected = unknown(0)
    if stand_in is not None and other[1]:
        observed = estimate_share(*other)
        corrected = correct_share(observed, sensitivity=stand_in.sensitivity, specificity=stand_in.specificity)
    return pool_shares(estimate_share(*gold), corrected, least=least)
