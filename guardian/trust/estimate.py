"""Estimate from audited episodes where a bank is drifting: its leniency, sensitivity, feedback, and the attractor they lead to.

An *episode* is a self-graded record of which something outside the agent says whether it was right. From a window of them:

- `l = P(self-grade accepts | wrong)`, `s = P(self-grade accepts | right)`: shares with Wilson's interval.
- `e0`: error rate of episodes whose retrieved memories were all known to be clean, with Wilson's interval.
- `kappa`: slope of the error on the corrupted share of what was retrieved, by least squares.
- `p*`, `p0`, ratio, margin to `kappa*`: functions of these. Their intervals, and kappa's, come from resampling episodes (percentile
  bootstrap, Efron 1979, a fixed seed, so the same window gives the same figures).
- the Echo Gap's conditions `E[b | U=0] > 0` and `Cov(b, n | U=0) > 0`, n the reuse of the episode's record.

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
from guardian.core.numbers.interval import Estimate, estimate_share, unknown

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
        is_accepted: The self-grade is at or above the level from which the agent reuses an episode.
        bias: Self-grade less truth, in [-1, 1].
        corrupted_share: Of the retrieved memories whose truth is known; None where none of them is, or nothing was retrieved.
        is_clean: All that it retrieved is known to be right, or it retrieved nothing.
        reuse: How often its record was retrieved since.
    """

    is_wrong: bool
    is_accepted: bool
    bias: float
    corrupted_share: float | None
    is_clean: bool
    reuse: int = 0


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


def estimate_drift(episodes: Sequence[AuditedEpisode], *, resamples: int = RESAMPLES) -> DriftEstimate:
    """Estimate everything that a window of audited episodes can say."""
    table = _tabulate(episodes)
    wrong, accepted = table[:, 0] == 1, table[:, 1] == 1
    kappa = _estimate(table, _slope, resamples, least=LEAST_SLOPE, rows=_has_share(table))
    parts = {
        "leniency": _share(accepted[wrong]),
        "sensitivity": _share(accepted[~wrong]),
        "base_error": _share(wrong[table[:, 4] == 1]),
    }
    # What follows from several figures is known only where all of them are.
    is_known = kappa.is_known and all(part.is_known for part in parts.values())
    n = len(table)

    def follow(measure: Callable[[Sample], float]) -> Estimate:
        return _estimate(table, measure, resamples, least=1, rows=np.ones(n, dtype=bool)) if is_known else unknown(n)

    return DriftEstimate(
        episodes=n,
        **parts,
        kappa=kappa,
        attractor=follow(_attractor),
        one_shot=follow(_one_shot),
        ratio=follow(lambda sample: _attractor(sample) / _one_shot(sample)),
        collapse=follow(_collapse),
        margin=follow(lambda sample: _collapse(sample) - _kappa(sample)),
        bias_of_wrong=_estimate(table, _mean_bias, resamples, least=LEAST_SHARE, rows=wrong),
        bias_with_reuse=_estimate(table, _covary_reuse, resamples, least=LEAST_SLOPE, rows=wrong),
    )


# Columns: wrong, accepted, bias, corrupted share (NaN where unknown), clean, reuse.


def _tabulate(episodes: Sequence[AuditedEpisode]) -> Sample:
    rows = [
        (
            one.is_wrong,
            one.is_accepted,
            one.bias,
            math.nan if one.corrupted_share is None else one.corrupted_share,
            one.is_clean,
            one.reuse,
        )
        for one in episodes
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 6)


def _share(hits: NDArray[np.bool_]) -> Estimate:
    return estimate_share(int(hits.sum()), len(hits), least=LEAST_SHARE)


def _has_share(table: Sample) -> NDArray[np.bool_]:
    return ~np.isnan(table[:, 3])


def _estimate(
    table: Sample, measure: Callable[[Sample], float], resamples: int, *, least: int, rows: NDArray[np.bool_]
) -> Estimate:
    """Estimate a figure of some rows, with the interval of its resamples; unknown where there are too few or it is undefined."""
    sample = table[rows]
    n = len(sample)
    value = measure(sample) if n >= least else math.nan
    if not math.isfinite(value):
        return unknown(n)
    random = np.random.default_rng(_SEED)
    found = np.array([measure(sample[random.integers(0, n, n)]) for _ in range(resamples)])
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
    share = known[:, 3] - known[:, 3].mean()
    spread = float(share @ share)
    return float(share @ known[:, 0]) / spread if spread > 1e-12 else math.nan


def _kappa(sample: Sample) -> float:
    return max(0.0, _slope(sample))


def _mean_of(values: Sample) -> float:
    return float(values.mean()) if len(values) else math.nan


def _rates(sample: Sample) -> dict[str, float]:
    wrong = sample[:, 0] == 1
    return {
        "leniency": _mean_of(sample[wrong, 1]),
        "sensitivity": _mean_of(sample[~wrong, 1]),
        "base_error": _mean_of(sample[sample[:, 4] == 1, 0]),
    }


def _attractor(sample: Sample) -> float:
    rates, kappa = _rates(sample), _kappa(sample)
    return find_attractor(kappa=kappa, **rates) if all(map(math.isfinite, (kappa, *rates.values()))) else math.nan


def _one_shot(sample: Sample) -> float:
    rates = _rates(sample)
    return shoot_once(**rates) if all(map(math.isfinite, rates.values())) else math.nan


def _collapse(sample: Sample) -> float:
    rates = _rates(sample)
    return find_collapse(leniency=rates["leniency"], sensitivity=rates["sensitivity"])


def _mean_bias(sample: Sample) -> float:
    return _mean_of(sample[:, 2])


def _covary_reuse(sample: Sample) -> float:
    if len(sample) < 2 or not sample[:, 5].std():
        return math.nan
    return float(((sample[:, 2] - sample[:, 2].mean()) * (sample[:, 5] - sample[:, 5].mean())).mean())
