"""Laws of intervals: they cover what they claim, and small samples are unknown."""

from __future__ import annotations

import random

import pytest

from guardian.core.numbers.interval import Estimate, correct_share, estimate_share, pool_shares, unknown


@pytest.mark.parametrize(("rate", "n"), [(0.05, 60), (0.3, 40), (0.5, 200), (0.9, 50)])
def test_wilsons_interval_covers_as_it_claims(rate: float, n: int) -> None:
    """95 % of samples, within what 4,000 of them can tell."""
    rng = random.Random(11)
    covered = 0
    for _ in range(4_000):
        found = estimate_share(sum(rng.random() < rate for _ in range(n)), n)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= rate <= found.high
    assert 0.92 < covered / 4_000 < 0.985


def test_a_small_sample_is_unknown() -> None:
    """Never healthy."""
    assert estimate_share(0, 0) == unknown(0)
    assert estimate_share(3, 9, least=10) == unknown(9)
    assert estimate_share(3, 10, least=10).is_known


def test_the_edges_stay_in_bounds() -> None:
    """No success at all still leaves room above."""
    none, all_of = estimate_share(0, 20), estimate_share(20, 20)
    assert (none.low, all_of.high) == (0, 1)
    assert none.high == pytest.approx(0.161, abs=1e-3)
    assert all((estimate_share(0, n).low, estimate_share(n, n).high) == (0, 1) for n in range(1, 3_000))


def test_a_share_counted_with_a_faulty_test_is_corrected() -> None:
    """Rogan-Gladen gives the true rate back; a test that tells nothing apart gives unknown."""
    rng = random.Random(3)
    rate, sensitivity, specificity, n = 0.3, 0.8, 0.9, 60_000
    hits = sum((rng.random() < sensitivity) if rng.random() < rate else (rng.random() > specificity) for _ in range(n))
    found = correct_share(estimate_share(hits, n), sensitivity=sensitivity, specificity=specificity)
    assert found.value == pytest.approx(rate, abs=0.01)
    assert not correct_share(estimate_share(hits, n), sensitivity=0.5, specificity=0.5).is_known


def test_pooled_shares_weigh_by_size_and_are_surer_than_either() -> None:
    """Two halves of one sample pool to nearly the whole; an empty one weighs nothing; an unknown one leaves nothing known."""
    first, second = estimate_share(30, 100), estimate_share(60, 300)
    pooled, whole = pool_shares(first, second), estimate_share(90, 400)
    assert (pooled.value, pooled.n) == (pytest.approx(whole.value), 400)
    assert pooled.low == pytest.approx(whole.low, abs=0.01)
    assert pooled.high == pytest.approx(whole.high, abs=0.01)
    assert pool_shares(first, unknown(0)) == Estimate(first.value, pytest.approx(first.low), pytest.approx(first.high), 100)
    assert pool_shares(first, unknown(5)) == unknown(105)
    assert pool_shares(unknown(0), unknown(0)) == unknown(0)
    assert pool_shares(first, unknown(0), least=101) == unknown(100)
