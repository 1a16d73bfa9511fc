"""Keep the events of each memory in the order of their source, whatever its clock says.

Where a source has an order of its own (commits, calls, log lines), two events of one memory may carry one time, or times
that step back. State follows times, so an event that is not after the one before it is put one microsecond behind it and
says so.
"""

from __future__ import annotations

from datetime import datetime, timedelta

_STEP = timedelta(microseconds=1)


class Timeline:
    """Owns the latest time of every memory seen. Memory: one time a memory id."""

    def __init__(self) -> None:
        self._latest: dict[str, datetime] = {}

    def place(self, memory_id: str, time: datetime) -> tuple[datetime, bool]:
        """Give the time of the next event of a memory, and whether it had to be moved."""
        latest = self._latest.get(memory_id)
        is_moved = latest is not None and time <= latest
        placed = latest + _STEP if latest is not None and is_moved else time
        self._latest[memory_id] = placed
        return placed, is_moved
