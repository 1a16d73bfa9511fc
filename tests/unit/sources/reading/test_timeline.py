"""Times of one memory never step back, and those of another are left alone."""

from datetime import UTC, datetime, timedelta

from guardian.sources.reading.timeline import Timeline

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_an_event_that_is_not_later_is_put_behind() -> None:
    """Move by one microsecond, and say so."""
    timeline, step = Timeline(), timedelta(microseconds=1)
    assert timeline.place("a", NOON) == (NOON, False)
    assert timeline.place("a", NOON) == (NOON + step, True)
    assert timeline.place("a", NOON - timedelta(days=1)) == (NOON + 2 * step, True)
    assert timeline.place("b", NOON) == (NOON, False)
    assert timeline.place("a", NOON + timedelta(days=1)) == (NOON + timedelta(days=1), False)
