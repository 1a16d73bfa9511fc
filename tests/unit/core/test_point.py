"""Ids of points, and times as they are stored."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from guardian.core.moment import format_time, parse_time
from guardian.core.point import NAMESPACE, build_point_id

words = st.text(max_size=12).filter(lambda text: text.isprintable())
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(min_value=datetime(1900, 1, 2), max_value=datetime(2200, 1, 1), timezones=offsets)  # noqa: DTZ001


@given(words, st.lists(words, max_size=4))
def test_an_id_is_the_uuid_of_its_name(space: str, parts: list[str]) -> None:
    """The id is what the standard library makes of the length-prefixed name."""
    name = "".join(f"{len(part)}:{part}" for part in (space, *parts))
    assert build_point_id(space, *parts) == str(uuid.uuid5(NAMESPACE, name))


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, min_size=1, max_size=4))
def test_two_names_have_two_ids(one: list[str], other: list[str]) -> None:
    """Parts that join to the same text are still told apart."""
    assert (build_point_id(*one) == build_point_id(*other)) == (one == other)


@given(moments, moments)
def test_times_sort_as_their_text(one: datetime, other: datetime) -> None:
    """Stored times order like the instants, and read back as the same instant in UTC."""
    assert (format_time(one) < format_time(other)) == (one < other)
    assert parse_time(format_time(one)) == one
    assert parse_time(format_time(one)).utcoffset() == timedelta(0)


def test_a_time_has_one_spelling() -> None:
    """Microseconds are always written, and UTC is `Z`."""
    assert format_time(datetime(2026, 3, 14, 9, tzinfo=UTC)) == "2026-03-14T09:00:00.000000Z"
    assert format_time(datetime(2026, 3, 14, 9, tzinfo=timezone(timedelta(hours=9)))) == "2026-03-14T00:00:00.000000Z"
