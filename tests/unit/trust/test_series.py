"""Laws of the series: a look is read back as it was, idle banks leave no trail, and what is old grows thin but never goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from guardian.core.numbers.interval import Estimate
from guardian.core.point import Point
from guardian.trust.series import Snapshot, build_snapshot_point, is_worth_keeping, load_snapshot, thin
from tests.builders import START

KNOWN = Snapshot(
    space="a",
    at=START,
    episodes=60,
    figures={"kappa": Estimate(0.4, 0.1, 0.7, 60), "attractor": Estimate(None, None, None, 3)},
    stand_in="checker",
    stand_in_episodes=12,
)
MINUTE = timedelta(minutes=1)


def test_a_look_is_read_back_as_it_was() -> None:
    """Of a space, and of all together, which is no space of the name that stands in for it."""
    for snapshot in (KNOWN, replace(KNOWN, space=None), replace(KNOWN, space="*")):
        upsert = build_snapshot_point(snapshot)
        assert load_snapshot(Point(upsert.id, upsert.payload)) == snapshot
    assert replace(KNOWN, space=None).id != replace(KNOWN, space="*").id


def test_a_look_that_says_nothing_new_is_not_kept() -> None:
    """Until a day has passed: then it says that nothing has changed."""
    later = replace(KNOWN, at=START + timedelta(hours=23))
    assert not is_worth_keeping(later, KNOWN)
    assert is_worth_keeping(replace(later, episodes=61), KNOWN)
    assert is_worth_keeping(replace(later, at=START + timedelta(days=1)), KNOWN)


def test_a_bank_of_which_nothing_is_known_leaves_no_trail() -> None:
    """Unless something was known of it before: that it is not any more is news."""
    nothing = replace(KNOWN, figures={"kappa": Estimate(None, None, None, 3)})
    assert not is_worth_keeping(nothing, None)
    assert is_worth_keeping(nothing, KNOWN)


def test_a_series_of_a_year_stays_bounded_and_keeps_its_grain() -> None:
    """Looks every quarter of an hour, thinned at each: all of a day, one an hour of a month, one a day beyond."""
    kept: list[datetime] = []
    for number in range(60 * 24 * 4):
        now = START + number * 15 * MINUTE
        kept = [*kept, now]
        if number % 7 == 0:
            gone = thin(kept, now=now)
            kept = [moment for moment in kept if moment not in gone]
    ages = [kept[-1] - moment for moment in kept]
    assert sum(age < timedelta(days=1) for age in ages) == 96
    assert 24 * 29 <= sum(timedelta(days=1) < age <= timedelta(days=31) for age in ages) <= 24 * 31 + 10
    assert 28 <= sum(age > timedelta(days=31) for age in ages) <= 30


@given(st.lists(st.integers(0, 60 * 24 * 90), max_size=80, unique=True), st.integers(0, 60 * 24 * 90))
def test_thinning_twice_is_thinning_once(minutes: list[int], age: int) -> None:
    """It never takes the oldest, nor any of the latest day, and what it left it leaves again."""
    moments = [START + number * MINUTE for number in minutes]
    now = max([START, *moments]) + age * MINUTE
    gone = thin(moments, now=now)
    left = [moment for moment in moments if moment not in gone]
    assert not thin(left, now=now)
    assert not moments or min(moments) in left
    assert all(now - moment > timedelta(days=1) for moment in gone)
