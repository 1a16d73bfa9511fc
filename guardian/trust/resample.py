"""Resampling (percentile bootstrap, Efron 1979) of figures that are functions of sums over rows, all resamples at once.

A resample weighs each row by how often it was drawn, so its sums are one product of a matrix of counts and the table. With the same table
and seed the same figures come out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guardian.core.numbers.interval import Estimate, unknown

Table = NDArray[np.float64]
# Sums of a table's columns (one row a resample) -> the figure of each; NaN where it is undefined.
Measure = Callable[[Table], Table]

_TAIL = 2.5
# Counts in memory at once: 8 MB.
_CHUNK = 1_000_000
# Share of resamples that must give a figure: what most of them cannot give is not known, whatever this one sample says.
_LEAST_DEFINED = 0.9


class Resampled:
    """The sums of a table, and those of its resamples.

    Args:
        table: Rows are drawn with replacement; columns are summed.
        resamples: How many, at least 1.
        seed: Of the draws.
    """

    def __init__(self, table: Table, *, resamples: int, seed: int) -> None:
        self._sums = table.sum(axis=0, keepdims=True)
        self._resampled = _resample(table, resamples, seed) if len(table) else np.empty((0, table.shape[1]))

    def estimate(self, measure: Measure, *, n: int, least: int) -> Estimate:
        """Estimate a figure with its 95 % interval; unknown where it rests on too few (n < least), or is undefined."""
        if n < least or not len(self._resampled):
            return unknown(n)
        with np.errstate(all="ignore"):
            value, found = float(measure(self._sums)[0]), measure(self._resampled)
        is_defined = np.isfinite(found)
        if not np.isfinite(value) or is_defined.sum() < _LEAST_DEFINED * len(found):
            return unknown(n)
        low, high = np.percentile(found[is_defined], [_TAIL, 100 - _TAIL])
        return Estimate(value, float(low), float(high), n)


def _resample(table: Table, resamples: int, seed: int) -> Table:
    random, size = np.random.default_rng(seed), len(table)
    parts = []
    for start in range(0, resamples, step := max(1, _CHUNK // size)):
        count = min(step, resamples - start)
        drawn = random.integers(0, size, (count, size)) + np.arange(count)[:, None] * size
        counts = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        parts.append(counts.astype(np.float64) @ table)
    return np.concatenate(parts)
