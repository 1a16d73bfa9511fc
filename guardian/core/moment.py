"""Times as the store keeps them: UTC, always with microseconds, so that their text sorts as they do."""

from __future__ import annotations

from datetime import UTC, datetime


def format_time(moment: datetime) -> str:
    """Give `2026-03-14T09:00:00.000000Z` for an aware time."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


def parse_time(text: str) -> datetime:
    """Read what `format_time` gave."""
    return datetime.fromisoformat(text)


def format_optional(moment: datetime | None) -> str | None:
    """Give the text of a time that may be missing."""
    return None if moment is None else format_time(moment)


def parse_optional(text: str | None) -> datetime | None:
    """Read the text of a time that may be missing."""
    return None if text is None else parse_time(text)
