"""Laws of the dead-letter budget."""

from __future__ import annotations

import pytest

from guardian.errors import ConfigError
from guardian.stream.plane.budget import DeadLetterBudget


def test_a_run_of_refusals_spends_it() -> None:
    """The run is counted over batches, and the message names topic and mend."""
    budget = DeadLetterBudget(ratio=1.0, window=1_000, run=5)
    budget.note([True] * 4, topic="t")
    with pytest.raises(ConfigError, match=r"5 in a row, the last from t\..*guardian dead-letters list"):
        budget.note([True], topic="t")


def test_one_good_record_ends_a_run() -> None:
    """Refusals that are not in a row do not add up to a run."""
    budget = DeadLetterBudget(ratio=1.0, window=1_000, run=5)
    budget.note([True, True, True, True, False] * 20, topic="t")


def test_the_share_is_judged_over_a_full_window_only() -> None:
    """One refusal of one record is no share; half of a full window is."""
    budget = DeadLetterBudget(ratio=0.5, window=10, run=100)
    budget.note([True] * 4 + [False] * 5, topic="t")
    with pytest.raises(ConfigError, match="5 of the latest 10"):
        budget.note([True], topic="t")


def test_old_refusals_leave_the_window() -> None:
    """A bad stretch is forgotten once as many good records have passed."""
    budget = DeadLetterBudget(ratio=0.5, window=10, run=100)
    for _ in range(50):
        budget.note([True] * 4 + [False] * 6, topic="t")
