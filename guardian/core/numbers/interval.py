"""Intervals of shares: what a sample of successes and failures says of the rate behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Two-sided 95 %.
Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval and the sample it rests on; `value` is None when the sample is too small to say anything."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def is_known(self) -> bool:
        """Tell whether there is a value."""
        return self.value is not None


def unknown(n: int) -> Estimate:
    """Give the estimate of too small a sample: unknown, never healthy."""
    return Estimate(None, None, None, n)


def estimate_share(hits: int, n: int, *, least: int = 1, z: float = Z95) -> Estimate:
    """Give a share with Wilson's score interval (Wilson 1927).

    Args:
        hits: Successes, 0 to n.
        n: Trials.
        least: Trials below which the share is unknown.
        z: Normal quantile of the level.
    """
    if n < max(1, least):
        return unknown(n)
    share, zz = hits / n, z * z / n
    middle = (share + zz / 2) / (1 + zz)
    half = z / (1 + zz) * math.sqrt(share * (1 - share) / n + zz / (4 * n))
    # At the edges the bound is the share itself, which the sums miss by a rounding.
    return Estimate(share, max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < n else 1.0, n)


def correct_share(observed: Estimate, *, sensitivity: float, specificity: float) -> Estimate:
    """Correct a share for the errors of the test it was counted with (Rogan and Gladen 1978): (p + sp - 1) / (se + sp - 1), clamped to [0, 1].

    Unknown where the test tells nothing apart (se + sp <= 1).
    """
    power = sensitivity + specificity - 1
    if observed.value is None or observed.low is None or observed.high is None or power <= 0:
        return unknown(observed.n)
    value, low, high = (
        min(1.0, max(0.0, (share + specificity - 1) / power)) for share in (observed.value, observed.low, observed.high)
    )
    return Estimate(value, low, high, observed.n)


def pool_shares(first: Estimate, second: Estimate, *, least: int = 1) -> Estimate:
    """Pool the shares of two independent samples, each by its size; the half intervals add up as errors do, by their squares.

    A sample of nothing weighs nothing; unknown where the two together are fewer than `least`, or a sample that is not empty is unknown.
    """
    parts = [part for part in (first, second) if part.n]
    n = sum(part.n for part in parts)
    if n < max(1, least):
        return unknown(n)
    value, below, above = 0.0, 0.0, 0.0
    for part in parts:
        if part.value is None or part.low is None or part.high is None:
            return unknown(n)
        weight = part.n / n
        value += weight * part.value
        below += (weight * (part.value - part.low)) ** 2
        above += (weight * (part.high - part.value)) ** 2
    return Estimate(value, max(0.0, value - math.sqrt(below)), min(1.0, value + math.sqrt(above)), n)
