"""The two gates of an evidence channel: as a score, all of whose verdicts are believed, and as a detector, of which only flags are.

A score must err by itself at every value: what it calls right moves grades, too. A detector's silence is not believed, so a channel that
calls right whatever the agent calls right may pass as one; all that counts is whether its flags are right.
"""

from __future__ import annotations

from enum import StrEnum

from guardian.core.numbers.interval import Estimate

# Labelled records of a channel below which it is not judged: a correlation's interval is then wider than half its range.
LEAST_LABELLED = 50
# Lower bound of Corr(V, U): with less, a channel explains under a tenth of the truth's variance even where it is at its best.
LEAST_TRUTH = 0.3
# Upper bound of |Corr(nu, b)|: with more, over a quarter of the variance of its errors goes with the agent's own bias. Not lower: a
# binary channel whose errors are all its own has a correlation of 0.2 to 0.4, since both nu and b hold the same U.
MOST_BIAS = 0.5
# Labelled flags below which a detector is not judged; few, since those of a good one are rare, and Wilson's bound asks for more by itself
# where they are less precise. With ten a channel whose flags are right in just rho* = 0.5 passes by chance in 1 of 100 (in 6 of 100 with
# the four that the bound alone would take), for any rho* from 0.3 in at most 6; and alpha no longer hangs on one or two records.
LEAST_FLAGS = 10


class Failure(StrEnum):
    """Why a channel does not pass a gate; the first that holds is the reason."""

    TOO_FEW = "too_few_labelled"
    TRUTH = "says_too_little_of_the_truth"
    BIAS = "errors_follow_the_self_grade"
    NO_FLAGS = "flags_nothing"
    FEW_FLAGS = "too_few_labelled_flags"
    PRECISION = "flags_too_imprecise"
    NO_GAIN = "flags_remove_no_error"


def decide(
    n: int, corr_truth: Estimate, corr_bias: Estimate, precision: Estimate, *, required_precision: float
) -> tuple[Failure, ...]:
    """Tell what keeps a channel from demoting as a score; what is unknown keeps it, too."""
    if n < LEAST_LABELLED:
        return (Failure.TOO_FEW,)
    found = []
    if corr_truth.low is None or corr_truth.low <= LEAST_TRUTH:
        found.append(Failure.TRUTH)
    if corr_bias.low is None or corr_bias.high is None or max(abs(corr_bias.low), abs(corr_bias.high)) >= MOST_BIAS:
        found.append(Failure.BIAS)
    if precision.low is None:
        found.append(Failure.NO_FLAGS)
    elif precision.low <= required_precision:
        found.append(Failure.PRECISION)
    return tuple(found)


def decide_detector(n: int, precision: Estimate, payoff: Estimate, *, required_precision: float) -> tuple[Failure, ...]:
    """Tell what keeps a channel from demoting as a detector; what is unknown keeps it, too."""
    if n < LEAST_LABELLED:
        return (Failure.TOO_FEW,)
    if precision.low is None:
        return (Failure.NO_FLAGS,)
    if precision.n < LEAST_FLAGS:
        return (Failure.FEW_FLAGS,)
    found = []
    if precision.low <= required_precision:
        found.append(Failure.PRECISION)
    if payoff.value is None or payoff.value <= 0:
        found.append(Failure.NO_GAIN)
    return tuple(found)
