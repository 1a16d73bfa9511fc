"""A channel as a detector: its flags (V below one half) are believed, and what it does not flag is as if it had said nothing.

Of a flagged record b = r - U, and the flag takes back alpha (r - V) of it; the alpha that leaves the least squared error is
alpha = sum (r - U)(r - V) / sum (r - V)^2, clamped to [0, 1]. Only flags below the grade are in it: one above it would raise the grade, and
the utility rule does not hear it. The payoff is the squared error removed from these, a labelled record, flagged or not.

Independence is not asked for. LUCID asks it of a score because V = 1 confirms the grade; a detector confirms nothing. A re-grader that
echoes the agent may have precise flags, for it flags where the agent doubts itself; there its V is close to r, so it takes back next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardian.core.numbers.interval import Estimate
from guardian.core.policy import WRONG_BELOW
from guardian.trust.gate import Failure, decide_detector
from guardian.trust.resample import Resampled

Sample = NDArray[np.float64]

_SEED = 20_260_502


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What labelled records say of a channel as a detector; the precision of its flags is in its assessment.

    Attributes:
        flags: Labelled records that it flags.
        alpha: How far a flag is to be believed.
        payoff: Mean squared error that its flags remove, over all labelled records that it judged.
        failures: What keeps it from demoting as a detector; empty when it passes.
    """

    flags: int
    alpha: Estimate
    payoff: Estimate
    failures: tuple[Failure, ...]

    @property
    def passes(self) -> bool:
        """Whether it may demote as a detector."""
        return not self.failures


def detect(table: Sample, precision: Estimate, *, required_precision: float, least: int, resamples: int) -> Detection:
    """Assess a channel as a detector.

    Args:
        table: r, V and U of the labelled records that it judged.
        precision: Of its flags.
        required_precision: rho*.
        least: Records below which nothing is estimated.
        resamples: For intervals.
    """
    grade, verdict, truth = table.T
    lowers = ((verdict < WRONG_BELOW) & (verdict < grade)).astype(np.float64)
    bias, gap = grade - truth, grade - verdict
    sums = np.column_stack([np.ones(len(table)), lowers * bias * gap, lowers * gap * gap])
    resampled = Resampled(sums, resamples=resamples, seed=_SEED)
    n = len(table)
    alpha, payoff = (resampled.estimate(figure, n=n, least=least) for figure in (_choose_alpha, _pay_off))
    return Detection(
        flags=precision.n,
        alpha=alpha,
        payoff=payoff,
        failures=decide_detector(n, precision, payoff, required_precision=required_precision),
    )


# Columns of sums: records, bias times gap, gap squared; the last two of flags that lower.


def _choose_alpha(sums: Sample) -> Sample:
    return np.clip(sums[:, 1] / sums[:, 2], 0.0, 1.0)


def _pay_off(sums: Sample) -> Sample:
    """Give the sum of b^2 - (b - alpha gap)^2, a record."""
    alpha = _choose_alpha(sums)
    return (2 * alpha * sums[:, 1] - alpha * alpha * sums[:, 2]) / sums[:, 0] + 0.0  # no minus zero
