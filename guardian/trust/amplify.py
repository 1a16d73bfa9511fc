"""Amplification: how much more often a wrong memory is retrieved for its inflated grade, and how much more often it passes its error on.

- *A_ret* = e^(b/T) (W + R e^(1/T)) / (W e^(b/T) + R e^(1/T)) for a choice by softmax over grades. b is the mean bias of the wrong accepted
  episodes, W and R count the wrong and the right accepted ones. 1 / T is the slope of the logarithm of reuse on the grade (Poisson regression
  with an interval that allows for any scatter), taken over records of all ages alike. A_ret rises with 1 / T, so its interval follows.
- *A_tr* = tau(b) / tau(0), tau(b) the rise of the error rate with wrong memories of bias b: error = e0 + x (k0 + k1 b) by least squares, x the
  corrupted share of what was retrieved and b the mean bias of the wrong ones. A bank that keeps only what its grade accepts has no wrong
  memory of small bias; tau(0) would be a guess beyond the data, and A_tr is unknown.

Source: "Memory Reward Inflation in Self-Improving LLM Agents".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guardian.core.numbers.attractor import amplify_retrieval
from guardian.core.numbers.interval import Z95, Estimate, unknown
from guardian.trust.figure import centre
from guardian.trust.resample import Resampled, Table

Sample = NDArray[np.float64]

# Bias up to which a wrong memory says something of tau(0).
_SMALL_BIAS = 0.25
# Beyond it a softmax chooses the best grade alone, and e^(1/T) overflows in time.
_MOST_SLOPE = 50.0
_STEPS = 30


def estimate_retrieval(grade: Sample, reuse: Sample, *, wrong: Sample, accepted: Sample, least: int) -> Estimate:
    """Estimate A_ret from records whose grade, reuse and truth are known.

    Args:
        grade: Of each, in [0, 1].
        reuse: How often each was retrieved.
        wrong: Weight of each as wrong.
        accepted: 1 where the grade accepts.
        least: Records below which it is unknown.
    """
    n = len(grade)
    bad, good = float((wrong * accepted).sum()), float(((1 - wrong) * accepted).sum())
    if n < least or bad <= 0 or good <= 0 or not reuse.any() or not grade.std():
        return unknown(n)
    found = _fit_slope(grade, reuse)
    if found is None:
        return unknown(n)
    bias = min(1.0, max(0.0, float((wrong * accepted * grade).sum()) / bad))
    slope, error = found
    value, low, high = (_amplify(rate, bias, bad, good) for rate in (slope, slope - Z95 * error, slope + Z95 * error))
    return Estimate(value, low, high, n)


def _amplify(slope: float, bias: float, wrong: float, right: float) -> float:
    rate = max(-_MOST_SLOPE, min(_MOST_SLOPE, slope))
    if abs(rate) < 1e-9:
        return 1.0
    if rate > 0:
        return amplify_retrieval(bias, temperature=1 / rate, wrong=wrong, right=right)
    # Retrieval that shuns good grades: the same formula at a negative temperature.
    lift, top = np.exp(rate * bias), np.exp(rate)
    return float(lift * (wrong + right * top) / (wrong * lift + right * top))


def _fit_slope(grade: Sample, reuse: Sample) -> tuple[float, float] | None:
    """Fit log E[reuse] = a + slope grade by Newton's method; gives the slope and its standard error, None where it runs away."""
    design = np.stack([np.ones_like(grade), grade - grade.mean()], axis=1)
    weights = np.array([np.log(reuse.mean()), 0.0])
    for _ in range(_STEPS):
        mean = np.exp(np.clip(design @ weights, -_MOST_SLOPE, _MOST_SLOPE))
        bread = design.T @ (design * mean[:, None])
        if np.linalg.cond(bread) > 1e12:
            return None
        step = np.linalg.solve(bread, design.T @ (reuse - mean))
        weights = weights + step
        if abs(weights[1]) > _MOST_SLOPE:
            return None
        if np.abs(step).max() < 1e-10:
            break
    mean = np.exp(design @ weights)
    meat = design.T @ (design * ((reuse - mean) ** 2)[:, None])
    inverse = np.linalg.inv(design.T @ (design * mean[:, None]))
    return float(weights[1]), float(np.sqrt((inverse @ meat @ inverse)[1, 1]))


def estimate_transfer(
    share: Sample, bias: Sample, *, wrong: Sample, group: NDArray[np.intp], least: int, resamples: int, seed: int
) -> Estimate:
    """Estimate A_tr from episodes of whose memories something is known.

    Args:
        share: Corrupted share of what each retrieved.
        bias: Mean bias of the wrong memories each retrieved; NaN where that is unknown, or there are none.
        wrong: Weight of each as wrong.
        group: Number of its space.
        least: Episodes that must have retrieved wrong memories of small bias.
        resamples: For the interval.
        seed: Of the draws.
    """
    rows = (share == 0) | ~np.isnan(bias)
    x, b = share[rows], np.nan_to_num(bias[rows])
    n, corrupted = int(rows.sum()), x > 0
    if (corrupted & (b <= _SMALL_BIAS)).sum() < least or (corrupted & (b > _SMALL_BIAS)).sum() < least:
        return unknown(n)
    mean_bias = float((x * b).sum() / x.sum())
    every = np.ones(n)
    first, second, error = (centre(column, every, group[rows]) for column in (x, x * b, wrong[rows]))
    pairs = (np.ones(n), first, second, error, first**2, first * second, second**2, first * error, second * error)

    def measure(sums: Table) -> Sample:
        count, x_sum, z_sum, y_sum, xx, xz, zz, xy, zy = sums.T
        xx, xz, zz = xx - x_sum**2 / count, xz - x_sum * z_sum / count, zz - z_sum**2 / count
        xy, zy = xy - x_sum * y_sum / count, zy - z_sum * y_sum / count
        spread = xx * zz - xz**2
        at_none = (xy * zz - zy * xz) / spread
        with_bias = (zy * xx - xy * xz) / spread
        return np.where((spread > 1e-9) & (at_none > 1e-6), (at_none + with_bias * mean_bias) / at_none, np.nan)

    return Resampled(np.stack(pairs, axis=1), resamples=resamples, seed=seed).estimate(measure, n=n, least=least)
