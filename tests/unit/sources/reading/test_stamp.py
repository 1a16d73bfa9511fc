"""Times: read as their writers meant them, with what was assumed said aloud."""

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from guardian.errors import RecordError
from guardian.sources.reading.stamp import (
    fetch_file_time,
    format_time,
    read_name_time,
    read_time,
    read_unix_time,
    read_written_time,
)


@pytest.mark.parametrize(
    ("raw", "time", "is_zone_assumed"),
    [
        ("2026-05-01T08:00:00.1+00:00", "2026-05-01T08:00:00.100000Z", False),
        ("2026-05-01T08:00:00Z", "2026-05-01T08:00:00Z", False),
        ("2025-02-03T08:00:00.100000-08:00", "2025-02-03T16:00:00.100000Z", False),
        ("2025-07-03T08:00:00-07:00", "2025-07-03T15:00:00Z", False),
        ("2024-03-01T09:00:00+09:00", "2024-03-01T00:00:00Z", False),
        ("2024-07-15 10:20:30.123456", "2024-07-15T10:20:30.123456Z", True),
        ("2024-07-15", "2024-07-15T00:00:00Z", True),
    ],
)
def test_an_iso_time_is_read_with_its_zone_or_as_utc_marked(raw: str, time: str, is_zone_assumed: bool) -> None:
    """Keep the raw text beside the time understood."""
    stamp = read_time(raw)
    assert (stamp.raw, format_time(stamp.time), stamp.is_zone_assumed) == (raw, time, is_zone_assumed)


@pytest.mark.parametrize("raw", ["", "yesterday", "1:56 pm on 8 May, 2023", "0001-01-01T00:00:00+23:00"])
def test_what_is_no_time_is_a_record_error(raw: str) -> None:
    """Never guess, never overflow."""
    with pytest.raises(RecordError) as caught:
        read_time(raw)
    assert caught.value.reason == "time_unreadable"


@pytest.mark.parametrize(
    ("raw", "time"),
    [
        (1768354862, "2026-01-14T01:41:02Z"),
        (1768354862000, "2026-01-14T01:41:02Z"),
        (1768354862.5, "2026-01-14T01:41:02.500000Z"),
    ],
)
def test_a_unix_time_is_seconds_or_milliseconds_by_its_size(raw: float, time: str) -> None:
    """Tell the unit by magnitude."""
    assert format_time(read_unix_time(raw).time) == time


@pytest.mark.parametrize("raw", [1e300, float("nan"), float("inf")])
def test_an_impossible_unix_time_is_a_record_error(raw: float) -> None:
    """Refuse what no calendar holds."""
    with pytest.raises(RecordError):
        read_unix_time(raw)


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("v03_20260110T155908Z_8c24db46.jsonl", datetime(2026, 1, 10, 15, 59, 8, tzinfo=UTC)),
        ("20260110T155908Z", datetime(2026, 1, 10, 15, 59, 8, tzinfo=UTC)),
        ("v03_20261310T155908Z.jsonl", None),
        ("120260110T155908Z.jsonl", None),
        ("memory.jsonl", None),
    ],
)
def test_a_stamp_in_a_file_name_is_found_wherever_it_stands(name: str, time: datetime | None) -> None:
    """Read the UTC stamp, and none that is no date."""
    assert read_name_time(Path(name)) == time


def test_a_file_time_is_exact_to_the_microsecond(tmp_path: Path) -> None:
    """Never round through a float."""
    path = tmp_path / "a"
    path.touch()
    os.utime(path, ns=(0, 1_768_354_862_123_456_789))
    assert format_time(fetch_file_time(path)) == "2026-01-14T01:41:02.123456Z"


def test_times_are_written_in_utc() -> None:
    """End every time in Z."""
    assert format_time(datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=9)))) == "2025-12-31T16:00:00Z"


@pytest.mark.parametrize(
    ("raw", "time", "is_zone_assumed"),
    [
        ("202605011200", "2026-05-01T12:00:00Z", True),
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z", True),
        ("08:51 PM on 13 January, 2026", "2026-01-13T20:51:00Z", True),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00Z", True),
        ("8 May, 2023", "2023-05-08T00:00:00Z", True),
        ("2026-01-13T20:51:42.396309000+00:00", "2026-01-13T20:51:42.396309Z", False),
        ("2025-06-03", "2025-06-03T00:00:00Z", True),
    ],
)
def test_a_time_in_words_is_read_in_its_known_forms(raw: str, time: str, is_zone_assumed: bool) -> None:
    """Read what programs write for people, as UTC where no zone is named, beside ISO 8601."""
    stamp = read_written_time(raw)
    assert (stamp.raw, format_time(stamp.time), stamp.is_zone_assumed) == (raw, time, is_zone_assumed)


@pytest.mark.parametrize("raw", ["", "20260501", "202613011200", "25:00 pm on 8 May, 2023", "8 Mai, 2023", "soon"])
def test_a_time_in_unknown_words_is_a_record_error(raw: str) -> None:
    """Never guess: eight digits alone may be a date or a number."""
    with pytest.raises(RecordError) as caught:
        read_written_time(raw)
    assert caught.value.reason == "time_unreadable"
