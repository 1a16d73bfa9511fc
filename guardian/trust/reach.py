"""Reach: how far the corrupted share of what is known tells of all that an episode retrieved.

An episode that retrieved five memories, of which two have a label, has a corrupted share of 0, one half or 1; the other three are of the usual
kind, as far as anybody knows. Regressed on as it is, such a share makes kappa too small, by as much as it scatters more than the share of all
five. So its distance from the mean is multiplied by its reach: the known part of what was retrieved, each memory that only a stand-in judged
counted by the stand-in's reliability, Var(truth) / Var(corrected verdict) (regression calibration: Carroll, Ruppert, Stefanski and Crainiceanu
2006). Right where what is known is like what is not, as in a sample drawn at random. Where it is said how many memories a stand-in judged, what
its noise takes is measured from the scatter of the shares themselves: in a bank that changes, memories read together are wrong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from guardian.trust.truth import StandIn

Sample = NDArray[np.float64]

# Part of a share's scatter that is taken for signal at least: with less, kappa would be anything.
_LEAST_SIGNAL = 0.05


class Retrieving(Protocol):
    """An episode, as far as it is asked here."""

    @property
    def corrupted_share(self) -> float | None:
        """Of the retrieved memories whose truth is known."""

    @property
    def known_share(self) -> float:
        """The known part of what was retrieved."""

    @property
    def judged_share(self) -> float:
        """The part that only a stand-in judged."""

    @property
    def judged(self) -> int:
        """How many memories that are; 0 where that is not known."""


def measure_reach(episodes: Sequence[Retrieving], stand_in: StandIn | None) -> Sample:
    """Give the reach of each episode's corrupted share, in [0, 1]."""
    known = np.array([one.known_share for one in episodes], dtype=np.float64)
    if stand_in is None:
        return known
    judged = np.array([one.judged_share for one in episodes], dtype=np.float64)
    shares = np.array([np.nan if one.corrupted_share is None else one.corrupted_share for one in episodes], dtype=np.float64)
    # Retrieved memories whose truth is known weigh alike, however many an episode has of them.
    weights = np.where(np.isnan(shares), 0.0, known)
    total = float(weights.sum())
    usual = float(weights @ np.nan_to_num(shares)) / total if total > 0 else 0.0
    counts = np.array([one.judged for one in episodes], dtype=np.float64)
    if total > 0 and (counts[judged > 0] > 0).all():
        return np.asarray(known * _measure_signal(shares, weights, usual, judged, known, counts, stand_in))
    return known - judged * (1 - measure_reliability(stand_in, usual))


def _measure_signal(
    shares: Sample, weights: Sample, usual: float, judged: Sample, known: Sample, counts: Sample, stand_in: StandIn
) -> Sample:
    """Give the part of each share's distance from the mean that is not the stand-in's noise.

    What the shares scatter beyond that noise is signal: memories read together are wrong together where a bank changes over time, so it is more
    than that of as many memories drawn one by one.
    """
    of_wrong, of_right = (rate * (1 - rate) / stand_in.power**2 for rate in (stand_in.sensitivity, stand_in.specificity))
    corrupted = min(1.0, max(0.0, usual))
    noise = (corrupted * of_wrong + (1 - corrupted) * of_right) * (judged / np.maximum(known, 1e-9)) ** 2 / np.maximum(counts, 1)
    scatter = float(weights @ (np.nan_to_num(shares) - usual) ** 2) / float(weights.sum())
    signal = max(scatter - float(weights @ noise) / float(weights.sum()), _LEAST_SIGNAL * scatter)
    return np.asarray(signal / np.maximum(signal + noise, 1e-12))


def measure_reliability(stand_in: StandIn, corrupted: float) -> float:
    """Give Var(truth) / Var(corrected verdict) of a stand-in where this share is wrong: 1 for the truth itself."""
    share = min(1.0, max(0.0, corrupted))
    says_wrong = share * stand_in.sensitivity + (1 - share) * (1 - stand_in.specificity)
    scatter = says_wrong * (1 - says_wrong)
    return share * (1 - share) * stand_in.power**2 / scatter if scatter > 0 else 1.0
