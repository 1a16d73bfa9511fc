"""Read the times that other programs wrote, and keep what they said beside what was understood.

Formats disagree: aware UTC, aware US-Pacific, naive UTC, Unix seconds. A naive time is read as UTC and says so
(`is_zone_assumed`); the raw form is always kept. Never compare times as text: mixed offsets sort wrongly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from guardian.errors import RecordError
from guardian.sources.reason import SourceReason

# Unix times from these on are in the finer unit: as seconds 10^11 is the year 5138, as milliseconds it is 1973; and so on.
_UNITS: tuple[tuple[int, timedelta, int], ...] = (
    (10**17, timedelta(microseconds=1), 1_000),
    (10**14, timedelta(microseconds=1), 1),
    (10**11, timedelta(milliseconds=1), 1),
    (0, timedelta(seconds=1), 1),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Forms without a zone that programs write for people; English names, as Python gives them without a locale.
_WRITTEN = ("%Y%m%d%H%M", "%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M", "%d %B, %Y")
# `v03_20260110T155908Z_8c24db46.jsonl`: a UTC stamp anywhere in a file name.
_NAME_STAMP = re.compile(r"(?<!\d)\d{8}T\d{6}Z")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time as it was written and as it was understood.

    Attributes:
        raw: What the input holds.
        time: Aware, UTC.
        is_zone_assumed: The input named no zone and was read as UTC.
    """

    raw: str | int | float
    time: datetime
    is_zone_assumed: bool = False

    @property
    def told(self) -> str | int | float:
        """Give what the input says beyond the time: its raw form, if that names no zone; else the time itself.

        A table's dump, its CSV and its change log spell one instant in three ways, and must give one event.
        """
        return self.raw if self.is_zone_assumed else format_time(self.time)


def read_time(value: str) -> Stamp:
    """Read an ISO 8601 time, with `T` or a blank between date and clock; a date alone is its midnight.

    Raises:
        RecordError: `time_unreadable`.
    """
    try:
        parsed = datetime.fromisoformat(value.strip())
        if parsed.tzinfo is None:
            return Stamp(value, parsed.replace(tzinfo=UTC), is_zone_assumed=True)
        return Stamp(value, parsed.astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise RecordError(SourceReason.TIME_UNREADABLE, f"{value!r:.80} is no ISO 8601 time") from error


def read_written_time(value: str) -> Stamp:
    """Read ISO 8601 or one of the forms that programs write for people; without a zone it is read as UTC.

    `202605011200`, `1:56 pm on 8 May, 2023`, `2023/05/20 (Sat) 02:21`, `8 May, 2023`.

    Raises:
        RecordError: `time_unreadable`.
    """
    try:
        if not value.strip().isdecimal():
            return read_time(value)
    except RecordError:
        pass
    for pattern in _WRITTEN:
        try:
            return Stamp(value, datetime.strptime(value.strip(), pattern).replace(tzinfo=UTC), is_zone_assumed=True)
        except ValueError:
            continue
    raise RecordError(SourceReason.TIME_UNREADABLE, f"{value!r} is in no known form of a time")


def read_unix_time(value: int | float) -> Stamp:
    """Read a count of seconds since 1970, or of milli-, micro- or nanoseconds when it is too large for the coarser unit.

    Raises:
        RecordError: `time_unreadable`.
    """
    try:
        unit, divisor = next((unit, divisor) for first, unit, divisor in _UNITS if abs(value) >= first)
        return Stamp(value, _EPOCH + (value if divisor == 1 else value // divisor) * unit)
    except (ValueError, OverflowError, StopIteration) as error:
        raise RecordError(SourceReason.TIME_UNREADABLE, f"{value!r} is no Unix time") from error


def read_name_time(path: Path) -> datetime | None:
    """Give the UTC stamp `YYYYMMDDTHHMMSSZ` in a file's name, or None."""
    match = _NAME_STAMP.search(path.name)
    if match is None:
        return None
    try:
        return datetime.strptime(match.group(), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def fetch_file_time(path: Path) -> datetime:
    """Give a file's modification time, in UTC, to the microsecond."""
    return _EPOCH + timedelta(microseconds=path.stat().st_mtime_ns // 1000)


def format_time(time: datetime) -> str:
    """Write an aware time as RFC 3339 in UTC, ending in `Z`."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
