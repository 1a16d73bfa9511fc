"""Laws of the figures: for many samples at once they are what the formulas of the core give for one."""

from __future__ import annotations

import numpy as np
import pytest

from guardian.core.numbers.attractor import find_attractor
from guardian.trust.figure import find_attractors

# What the formula has corners at: no feedback, a perfect grade, one that accepts all alike, no base error, and beyond collapse.
CORNERS = [
    (0.0, 0.76, 0.9, 0.32),
    (0.38, 0.0, 0.9, 0.32),
    (0.38, 0.8, 0.8, 0.32),
    (0.38, 0.76, 0.0, 0.32),
    (2.5, 0.9, 0.5, 0.0),
    (2.5, 0.9, 0.5, 0.1),
    (0.0, 0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0, 1.0),
    (0.3, 0.5, 0.5, 0.0),
]


def test_many_attractors_are_as_one_by_one() -> None:
    """In the corners and at 2,000 parameters at random."""
    random = np.random.default_rng(7)
    drawn = random.random((2_000, 4)) * np.array([2.0, 1.0, 1.0, 1.0])
    rows = np.concatenate([np.array(CORNERS), drawn])
    one_by_one = [find_attractor(kappa=k, leniency=ln, sensitivity=s, base_error=e) for k, ln, s, e in rows]
    assert find_attractors(*rows.T) == pytest.approx(np.array(one_by_one), abs=1e-9)


def test_what_is_not_known_has_no_attractor() -> None:
    """Not 1, which is what a bank without a root is heading for."""
    assert np.isnan(find_attractors(*np.array([[np.nan, 0.7, 0.9, 0.3]]).T)).all()
