"""The figures of drift as functions of sums over episodes, for many sums at once. See `estimate` for what they mean.

`sum_columns` lays out what is summed; each figure takes such sums, one row a sample, and gives one number a row, NaN where it is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from guardian.trust.resample import Measure, Table

Sample = NDArray[np.float64]

# A weight, or a spread, below it is nothing.
_NOTHING = 1e-9


class Column(IntEnum):
    """What is summed: y weight as wrong, a accepted, x corrupted share, b bias, n reuse; each over the rows where all of it is known."""

    ACCEPTED_WRONG = 0
    GRADED_WRONG = 1
    ACCEPTED_RIGHT = 2
    GRADED_RIGHT = 3
    CLEAN_WRONG = 4
    CLEAN = 5
    SHARED = 6
    X = 7
    XX = 8
    Y = 9
    XY = 10
    BIASED = 11
    BIAS = 12
    REUSED = 13
    REUSED_BIAS = 14
    REUSE = 15
    BIAS_REUSE = 16
    REACH = 17
    CORRUPTED = 18
    WRONG = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Episodes:
    """Episodes as columns, NaN where something is unknown.

    Attributes:
        wrong: Weight as wrong: 1 and 0 by ground truth.
        accepted: 1 where the self-grade accepts.
        bias: Of the self-grade.
        share: Corrupted share of what was retrieved.
        reach: How far that tells of all that was retrieved; never NaN.
        clean: 1 where all that was retrieved is known to be right; never NaN.
        reuse: How often its record was retrieved.
        group: Number of its space: the slope is taken about each space's own means.
    """

    wrong: Sample
    accepted: Sample
    bias: Sample
    share: Sample
    reach: Sample
    clean: Sample
    reuse: Sample
    group: NDArray[np.intp]

    @property
    def graded(self) -> NDArray[np.bool_]:
        """Those the agent graded."""
        return ~np.isnan(self.accepted)

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Those of whose memories something is known."""
        return ~np.isnan(self.share)

    @property
    def biased(self) -> NDArray[np.bool_]:
        """The wrong ones whose bias is known."""
        return np.asarray((self.wrong != 0) & ~np.isnan(self.bias))

    @property
    def reused(self) -> NDArray[np.bool_]:
        """Those of them whose reuse is known."""
        return self.biased & ~np.isnan(self.reuse)


def sum_columns(episodes: Episodes) -> Table:
    """Lay out episodes so that the figures are functions of the columns' sums."""
    wrong, clean, shared = episodes.wrong, episodes.clean, episodes.shared
    graded, biased, reused = episodes.graded, episodes.biased, episodes.reused
    reach = np.where(shared, episodes.reach, 0.0)
    x = reach * centre(np.where(shared, episodes.share, 0.0), reach, episodes.group)
    y = centre(np.where(shared, wrong, 0.0), shared.astype(np.float64), episodes.group)
    a, b, n = (np.nan_to_num(column) for column in (episodes.accepted, episodes.bias, episodes.reuse))
    columns = {
        Column.ACCEPTED_WRONG: graded * a * wrong,
        Column.GRADED_WRONG: graded * wrong,
        Column.ACCEPTED_RIGHT: graded * a * (1 - wrong),
        Column.GRADED_RIGHT: graded * (1 - wrong),
        Column.CLEAN_WRONG: clean * wrong,
        Column.CLEAN: clean,
        Column.SHARED: shared.astype(np.float64),
        Column.X: x,
        Column.XX: x * x,
        Column.Y: y,
        Column.XY: x * y,
        Column.BIASED: biased * wrong,
        Column.BIAS: biased * wrong * b,
        Column.REUSED: reused * wrong,
        Column.REUSED_BIAS: reused * wrong * b,
        Column.REUSE: reused * wrong * n,
        Column.BIAS_REUSE: reused * wrong * b * n,
        Column.REACH: reach,
        Column.CORRUPTED: reach * np.where(shared, episodes.share, 0.0),
        Column.WRONG: shared * wrong,
    }
    return np.stack([columns[name] for name in Column], axis=1)


def centre(values: Sample, weights: Sample, group: NDArray[np.intp]) -> Sample:
    """Take each group's weighted mean from its values; 0 where there is no weight."""
    counts = np.bincount(group, weights=weights)
    means = np.bincount(group, weights=weights * values) / np.maximum(counts, _NOTHING)
    return np.asarray(np.where(weights > 0, values - means[group], 0.0))


def slope(sums: Table) -> Sample:
    """Give the least-squares slope of error on corrupted share; NaN where the share does not vary."""
    n, x, y = sums[:, Column.SHARED], sums[:, Column.X], sums[:, Column.Y]
    spread = sums[:, Column.XX] - x * x / n
    return np.where(spread > _NOTHING, (sums[:, Column.XY] - x * y / n) / spread, np.nan)


def kappa(sums: Table) -> Sample:
    """Give the slope as the model has it: at least 0."""
    return np.maximum(0.0, slope(sums))


def leniency(sums: Table) -> Sample:
    """Give P(accepted | wrong)."""
    return _clamp(_divide(sums[:, Column.ACCEPTED_WRONG], sums[:, Column.GRADED_WRONG]))


def sensitivity(sums: Table) -> Sample:
    """Give P(accepted | right)."""
    return _clamp(_divide(sums[:, Column.ACCEPTED_RIGHT], sums[:, Column.GRADED_RIGHT]))


def base_error(sums: Table) -> Sample:
    """Give the error rate of episodes with clean memories."""
    return _clamp(_divide(sums[:, Column.CLEAN_WRONG], sums[:, Column.CLEAN]))


def intercept(sums: Table) -> Sample:
    """Give the error rate that the slope leads to where nothing of what was retrieved is wrong."""
    corrupted = _divide(sums[:, Column.CORRUPTED], sums[:, Column.REACH])
    return _clamp(_divide(sums[:, Column.WRONG], sums[:, Column.SHARED]) - kappa(sums) * _clamp(corrupted))


def attractor(sums: Table, *, base: Measure = base_error) -> Sample:
    """Give p*: as `core.numbers.attractor.find_attractor`, for many at once.

    Args:
        sums: One row a sample.
        base: Gives e0.
    """
    return find_attractors(kappa(sums), leniency(sums), sensitivity(sums), base(sums))


def one_shot(sums: Table, *, base: Measure = base_error) -> Sample:
    """Give p0; 0 where nothing is ever accepted."""
    errors = base(sums)
    wrong = errors * leniency(sums)
    accepted = wrong + (1 - errors) * sensitivity(sums)
    return np.where(accepted == 0, 0.0, wrong / accepted)


def ratio(sums: Table, *, base: Measure = base_error) -> Sample:
    """Give p* / p0; NaN where nothing wrong is ever accepted, for then there is nothing to compound."""
    return _divide(attractor(sums, base=base), one_shot(sums, base=base))


def collapse(sums: Table) -> Sample:
    """Give kappa* = s / l; infinite where nothing wrong is accepted."""
    return sensitivity(sums) / leniency(sums)


def margin(sums: Table) -> Sample:
    """Give kappa* - kappa."""
    return collapse(sums) - kappa(sums)


def mean_bias(sums: Table) -> Sample:
    """Give E[b | wrong]."""
    return _divide(sums[:, Column.BIAS], sums[:, Column.BIASED])


def covary_reuse(sums: Table) -> Sample:
    """Give Cov(b, n | wrong)."""
    weight = sums[:, Column.REUSED]
    means = _divide(sums[:, Column.REUSED_BIAS], weight) * _divide(sums[:, Column.REUSE], weight)
    return _divide(sums[:, Column.BIAS_REUSE], weight) - means


def find_attractors(kappas: Sample, leniencies: Sample, sensitivities: Sample, base_errors: Sample) -> Sample:
    """Give p* of many parameters: the smaller root in [0, 1] before the error rate is capped, 1 where there is none, NaN for NaN."""
    a = kappas * (leniencies - sensitivities)
    b = base_errors * (leniencies - sensitivities) + sensitivities - kappas * leniencies
    c = -base_errors * leniencies
    with np.errstate(all="ignore"):
        root = np.sqrt(b * b - 4 * a * c)  # NaN: no root
        q = -(b + np.copysign(root, b)) / 2
        is_line = np.abs(a) < 1e-15
        first = np.where(is_line, np.where(np.abs(b) > 1e-15, -c / b, np.where(np.abs(c) < 1e-15, 0.0, np.nan)), q / a)
        second = np.where(is_line | (q == 0), np.nan, c / q)
        roots = np.stack([first, second])
        is_inside = (roots >= 0) & (roots <= 1) & (base_errors + kappas * roots <= 1 + 1e-12)
    found = np.where(is_inside, roots, np.inf).min(axis=0)
    is_known = ~np.isnan(kappas + leniencies + sensitivities + base_errors)
    return np.where(is_known, np.where(np.isinf(found), 1.0, found), np.nan)


def _divide(part: Sample, whole: Sample) -> Sample:
    """Give a mean; NaN where the weights come to nothing."""
    return np.where(whole > _NOTHING, part / whole, np.nan)


def _clamp(share: Sample) -> Sample:
    """Keep a corrected share in [0, 1]; NaN stays NaN."""
    return np.clip(share, 0.0, 1.0)
