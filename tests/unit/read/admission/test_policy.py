"""Laws of what a reader sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from guardian.read import ReadPolicy


def test_a_time_asked_about_is_one_whatever_its_offset() -> None:
    """Stores compare in UTC."""
    at = datetime(2026, 3, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert ReadPolicy(at=at).at == datetime(2026, 3, 1, tzinfo=UTC)
    assert ReadPolicy(at=at) == ReadPolicy(at=datetime(2026, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "at",
    [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))],
    ids=["before year 1", "after year 9999"],
)
def test_a_time_outside_of_the_calendar_is_refused_before_a_store_fails_at_it(at: datetime) -> None:
    """A time that no UTC has is the caller's fault, not a store that is away."""
    with pytest.raises(ValueError, match="1 to 9999"):
        ReadPolicy(at=at)
