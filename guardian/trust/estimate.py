"""Estimate from audited episodes where a bank is drifting: its leniency, sensitivity, feedback, and the attractor they lead to.

An *episode* is a self-graded record of which something outside the agent says whether it was right. From a window of them:

- `l = P(self-grade accepts | wrong)`, `s = P(self-grade accepts | right)`: shares with Wilson's interval.
- `e0`: error rate of episodes whose retrieved memories were all known to be clean, with Wilson's interval.
- `kappa`: slope of the error on the corrupted share of what was retrieved, by least squares.
- `p*`, `p0`, ratio, margin to `kappa*`: functions of these. Their intervals, and kappa's, come from resampling episodes (percentile
  bootstrap, Efron 1979, a fixed seed, so the same window gives the same figures).
- the Echo Gap's conditions `E[b | U=0] > 0` and `Cov(b, n | U=0) > 0`, n the reuse of the episode's record.

Where a channel stands in for the truth, an episode counts as wrong with the weight that is right on average at the channel's known errors
(Rogan and Gladen 1978): 1 and 0 become (1 - (1 - sp)) / power and -(1 - sp) / power. All figures are made of sums of these weights, so
they are corrected alike; that its errors do not hang on the self-grade is what the error-independence test of `calibrate` is for.

Every estimate has its sample size, and is *unknown* where the sample is too small or does not vary: unknown is never healthy.
Source: "Memory Reward Inflation in Self-Improving LLM Agents".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardian.core.numbers.attractor import find_attractor, find_collapse, shoot_once
from guardian.core.numbers.interval import Estimate, correct_share, estimate_share, pool_shares, unknown
from guardian.trust.truth import StandIn

Sample = NDArray[np.float64]

# Least episodes for a share, and for a slope: below, an interval spans most of what is possible.
LEAST_SHARE = 20
LEAST_SLOPE = 50
# Resamples; the ends of a 95 % interval then vary by about a hundredth of its width.
RESAMPLES = 1_000
_SEED = 20_260_501
_TAIL = 2.5


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
    """

    is_wrong: bool
    is_accepted: bool | None
    bias: float | None
    corrupted_share: float | None
    is_clean: bool
    reuse: int | None = 0
    is_stand_in: bool = False

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
    table = _tabulate(episodes, stand_in)
    kappa = _estimate(table, _slope, resamples, least=LEAST_SLOPE, rows=_has_share(table))
    parts = {
        "leniency": _estimate_accepted(table, resamples, of_wrong=True),
        "sensitivity": _estimate_accepted(table, resamples, of_wrong=False),
        "base_error": _estimate_base_error(episodes, stand_in),
    }
    # What follows from several figures is known only where all of them are.
    is_known = kappa.is_known and all(part.is_known for part in parts.values())
    n = len(table)

    def follow(measure: Callable[[Sample], float]) -> Estimate:
        return _estimate(table, measure, resamples, least=1, rows=np.ones(n, dtype=bool)) if is_known else unknown(n)

    wrong = table[:, _WRONG] != 0
    biased = wrong & ~np.isnan(table[:, _BIAS])
    return DriftEstimate(
        episodes=n,
        **parts,
        kappa=kappa,
        attractor=follow(_attractor),
        one_shot=follow(_one_shot),
        ratio=follow(_ratio),
        collapse=follow(_collapse),
        margin=follow(lambda sample: _collapse(sample) - _kappa(sample)),
        bias_of_wrong=_estimate(
            table, _mean_bias, resamples, least=LEAST_SHARE, rows=biased, count=_count(table[biased, _WRONG])
        ),
        bias_with_reuse=_estimate(
            table,
            _covary_reuse,
            resamples,
            least=LEAST_SLOPE,
            rows=(reused := biased & ~np.isnan(table[:, _REUSE])),
            count=_count(table[reused, _WRONG]),
        ),
    )


# Columns: weight as wrong (1 and 0 by ground truth), accepted, bias, corrupted share, clean, reuse; NaN where unknown.
_WRONG, _ACCEPTED, _BIAS, _CORRUPTED, _CLEAN, _REUSE = range(6)


def _tabulate(episodes: Sequence[AuditedEpisode], stand_in: StandIn | None) -> Sample:
    rows = [
        (
            one.weigh(stand_in),
            math.nan if one.is_accepted is None else one.is_accepted,
            math.nan if one.bias is None else one.bias,
            math.nan if one.corrupted_share is None else one.corrupted_share,
            one.is_clean,
            math.nan if one.reuse is None else one.reuse,
        )
        for one in episodes
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 6)


def _count(weights: Sample) -> int:
    """Count the wrong ones: exactly by ground truth, on average where a channel stands in."""
    return max(0, round(float(weights.sum())))


def _estimate_accepted(table: Sample, resamples: int, *, of_wrong: bool) -> Estimate:
    """Estimate the share that the self-grade accepts, of the wrong or of the right ones."""
    graded = table[~np.isnan(table[:, _ACCEPTED])]
    weights = graded[:, _WRONG] if of_wrong else 1 - graded[:, _WRONG]
    n = _count(weights)
    if np.isin(weights, (0, 1)).all():
        return estimate_share(int((graded[:, _ACCEPTED] * weights).sum()), n, least=LEAST_SHARE)
    measure = _leniency if of_wrong else _sensitivity
    return _estimate(graded, measure, resamples, least=LEAST_SHARE, rows=np.ones(len(graded), dtype=bool), count=n)


def _estimate_base_error(episodes: Sequence[AuditedEpisode], stand_in: StandIn | None) -> Estimate:
    verdicts = [(one.is_wrong, one.is_stand_in) for one in episodes if one.is_clean]
    return estimate_wrong(verdicts, stand_in)


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


def _has_share(table: Sample) -> NDArray[np.bool_]:
    return ~np.isnan(table[:, _CORRUPTED])


def _estimate(
    table: Sample,
    measure: Callable[[Sample], float],
    resamples: int,
    *,
    least: int,
    rows: NDArray[np.bool_],
    count: int | None = None,
) -> Estimate:
    """Estimate a figure of some rows, with the interval of its resamples; unknown where there are too few or it is undefined.

    `count` is how many of the rows the figure rests on, where these are not all.
    """
    sample = table[rows]
    size = len(sample)
    n = size if count is None else count
    value = measure(sample) if size and n >= least else math.nan
    if not math.isfinite(value):
        return unknown(n)
    random = np.random.default_rng(_SEED)
    found = np.array([measure(sample[random.integers(0, size, size)]) for _ in range(resamples)])
    found = found[np.isfinite(found)]
    # A figure that most resamples cannot give is not known, whatever this one sample says.
    if len(found) < 0.9 * resamples:
        return unknown(n)
    low, high = np.percentile(found, [_TAIL, 100 - _TAIL])
    return Estimate(float(value), float(low), float(high), n)


def _slope(sample: Sample) -> float:
    """Give the least-squares slope of error on corrupted share, at least 0 in the model; NaN where the share does not vary."""
    known = sample[_has_share(sample)]
    if len(known) < 2:
        return math.nan
    share = known[:, _CORRUPTED] - known[:, _CORRUPTED].mean()
    spread = float(share @ share)
    return float(share @ known[:, _WRONG]) / spread if spread > 1e-12 else math.nan


def _kappa(sample: Sample) -> float:
    return max(0.0, _slope(sample))


def _average(values: Sample, weights: Sample) -> float:
    """Give a weighted mean; NaN where the weights come to nothing."""
    total = float(weights.sum())
    return float(values @ weights) / total if total > 1e-9 else math.nan


def _clamp(share: float) -> float:
    """Keep a corrected share in [0, 1]; NaN stays NaN."""
    return share if math.isnan(share) else min(1.0, max(0.0, share))


def _leniency(sample: Sample) -> float:
    graded = sample[~np.isnan(sample[:, _ACCEPTED])]
    return _clamp(_average(graded[:, _ACCEPTED], graded[:, _WRONG]))


def _sensitivity(sample: Sample) -> float:
    graded = sample[~np.isnan(sample[:, _ACCEPTED])]
    return _clamp(_average(graded[:, _ACCEPTED], 1 - graded[:, _WRONG]))


def _base_error(sample: Sample) -> float:
    clean = sample[sample[:, _CLEAN] == 1, _WRONG]
    return _clamp(float(clean.mean())) if len(clean) else math.nan


def _rates(sample: Sample) -> dict[str, float]:
    return {"leniency": _leniency(sample), "sensitivity": _sensitivity(sample), "base_error": _base_error(sample)}


def _attractor(sample: Sample) -> float:
    rates, kappa = _rates(sample), _kappa(sample)
    return find_attractor(kappa=kappa, **rates) if all(map(math.isfinite, (kappa, *rates.values()))) else math.nan


def _one_shot(sample: Sample) -> float:
    rates = _rates(sample)
    return shoot_once(**rates) if all(map(math.isfinite, rates.values())) else math.nan


def _ratio(sample: Sample) -> float:
    """Give p* / p0; NaN where nothing wrong is ever accepted, for then there is nothing to compound."""
    one_shot = _one_shot(sample)
    return _attractor(sample) / one_shot if one_shot > 0 else math.nan


def _collapse(sample: Sample) -> float:
    leniency, sensitivity = _leniency(sample), _sensitivity(sample)
    return find_collapse(leniency=leniency, sensitivity=sensitivity) if leniency >= 0 and sensitivity >= 0 else math.nan


def _mean_bias(sample: Sample) -> float:
    return _average(sample[:, _BIAS], sample[:, _WRONG])


def _covary_reuse(sample: Sample) -> float:
    weights, reuse = sample[:, _WRONG], sample[:, _REUSE]
    if len(sample) < 2 or not reuse.std():
        return math.nan
    bias = sample[:, _BIAS] - _average(sample[:, _BIAS], weights)
    return _average(bias * (reuse - _average(reuse, weights)), weights)
