"""Feedback under repeated looks: is the error rate raised by what was retrieved, when one asks again and again?

An episode's corrupted share x is settled before its error y, so with kappa = 0 the sum S = sum (x - mean x)(y - mean y) wanders without
direction, with variance V = Var(y) sum (x - mean x)^2. A fixed bound on S / sqrt(V) is crossed by chance sooner or later when it is looked at
every quarter of an hour; the bound used here grows with the information gathered, so that it is crossed at any time at all with the
chance that is named (the normal mixture of Robbins 1970, in the asymptotic form of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2021).
It is turned into an interval for kappa = S / sum (x - mean x)^2 that holds at all looks at once.

Evidence of several spaces adds up, each space about its own means: that one bank is harder and also more corrupted than another is no
feedback. Within a space it is a slope, not an experiment: hard questions that draw on wrong memories look the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guardian.core.numbers.interval import Estimate, unknown
from guardian.trust.estimate import LEAST_SLOPE, AuditedEpisode
from guardian.trust.reach import measure_reach
from guardian.trust.truth import StandIn


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackEvidence:
    """What episodes say of kappa, as sums that add up over spaces.

    Attributes:
        n: Episodes whose corrupted share is known.
        score: S, how error and corrupted share go together.
        spread: Sum of the squared distances of the shares from their mean.
        variance: V, of S where kappa is 0.
    """

    n: int = 0
    score: float = 0.0
    spread: float = 0.0
    variance: float = 0.0

    def __add__(self, other: FeedbackEvidence) -> FeedbackEvidence:
        """Add another space's."""
        return FeedbackEvidence(
            n=self.n + other.n,
            score=self.score + other.score,
            spread=self.spread + other.spread,
            variance=self.variance + other.variance,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Kappa at any look.

    Attributes:
        kappa: Its slope, not clamped, with the interval that holds at all looks at once.
        strength: S / sqrt(V): standard errors that kappa lies above 0.
        needed: Those from which it is above 0 for sure; the interval is that many wide to each side.
    """

    kappa: Estimate
    strength: float | None
    needed: float | None

    @property
    def is_proven(self) -> bool:
        """Whether kappa is above 0 for sure."""
        return self.kappa.low is not None and self.kappa.low > 0


def gather_evidence(episodes: Sequence[AuditedEpisode], *, stand_in: StandIn | None = None) -> FeedbackEvidence:
    """Gather what one space's episodes say of kappa, in any order; those whose corrupted share is unknown say nothing.

    Raises:
        ValueError: An episode's truth is a stand-in's, and none is given.
    """
    known = [one for one in episodes if one.corrupted_share is not None]
    if len(known) < 2:
        return FeedbackEvidence(n=len(known))
    share = np.array([one.corrupted_share for one in known], dtype=np.float64)
    wrong = np.array([one.weigh(stand_in) for one in known], dtype=np.float64)
    by_stand_in = np.array([one.is_stand_in for one in known], dtype=bool)
    reach = measure_reach(known, stand_in)
    share = reach * (share - float(share @ reach) / max(float(reach.sum()), 1e-9))
    wrong -= wrong.mean()
    # A stand-in's verdicts scatter more than the truth, so each source has its own variance.
    parts = [rows for rows in (by_stand_in, ~by_stand_in) if rows.any()]
    return FeedbackEvidence(
        n=len(known),
        score=float(share @ wrong),
        spread=float(share @ share),
        # Their own mean was taken from the errors, which makes them look closer to it than they are.
        variance=float(sum((wrong[rows] ** 2).mean() * (share[rows] ** 2).sum() for rows in parts))
        * len(known)
        / (len(known) - 1),
    )


def bound_feedback(evidence: FeedbackEvidence, *, false_alarm: float, typical: float) -> Feedback:
    """Bound kappa so that the interval holds at all looks at once.

    Args:
        evidence: Of one space, or of several added up.
        false_alarm: Chance that kappa = 0 is ever called above 0, in (0, 0.5).
        typical: A kappa worth finding, above 0: the bound is tightest where such a one is told from 0.
    """
    n = evidence.n
    if n < LEAST_SLOPE or evidence.spread <= 1e-9 or evidence.variance <= 1e-12:
        return Feedback(kappa=unknown(n), strength=None, needed=None)
    information = evidence.spread**2 / evidence.variance
    needed = find_bound(information, false_alarm=false_alarm, typical=typical)
    value, error = evidence.score / evidence.spread, 1 / math.sqrt(information)
    kappa = Estimate(value, value - needed * error, value + needed * error, n)
    return Feedback(kappa=kappa, strength=value / error, needed=needed)


def find_bound(information: float, *, false_alarm: float, typical: float) -> float:
    """Give the standard errors that a mean without direction exceeds at any time with the given chance.

    sqrt((I + r) / I (2 log(1 / 2a) + log((I + r) / r))) at information I (one over the squared standard error), r = 1 / typical^2.
    """
    mixed = information + 1 / typical**2
    return math.sqrt(mixed / information * (2 * math.log(1 / (2 * false_alarm)) + math.log(mixed * typical**2)))
