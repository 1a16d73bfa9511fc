"""Which events of a history are replayed: a window of their own times, and some memory banks.

What is left out is skipped and counted, as rows that a source skips are. The envelope alone tells, before the event is
judged, so that a row of another bank costs little and its faults nothing; where it tells no time that can be read, the
decoder does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from guardian.core.model import Event


class LeftOut(StrEnum):
    """Why an event is not replayed."""

    WINDOW = "outside_window"
    SPACE = "outside_space"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is replayed; the default is everything.

    Attributes:
        since: First time that is; aware.
        until: First time that is not any more; aware.
        spaces: Memory banks; None for all.
    """

    since: datetime | None = None
    until: datetime | None = None
    spaces: frozenset[str] | None = None

    @property
    def takes_all(self) -> bool:
        """Tell that nothing is left out."""
        return self == _ALL

    def judge_envelope(self, envelope: Mapping[str, Any]) -> LeftOut | None:
        """Tell why an event is left out as far as its envelope says; None where it is not, or does not say."""
        space, time = envelope.get("space"), envelope.get("time")
        if isinstance(space, str) and not self._takes_space(space):
            return LeftOut.SPACE
        if isinstance(time, str):
            try:
                read = datetime.fromisoformat(time)
            except ValueError:
                return None
            return self._judge_time(read if read.tzinfo is not None else read.replace(tzinfo=UTC))
        return None

    def judge(self, event: Event) -> LeftOut | None:
        """Tell why an event is left out; None where it is not."""
        return self._judge_time(event.ref.time) if self._takes_space(event.space) else LeftOut.SPACE

    def describe(self) -> str:
        """Give what tells this selection from others."""
        return f"{self.since} {self.until} {None if self.spaces is None else sorted(self.spaces)}"

    def _takes_space(self, space: str) -> bool:
        return self.spaces is None or space in self.spaces

    def _judge_time(self, time: datetime) -> LeftOut | None:
        is_early = self.since is not None and time < self.since
        is_late = self.until is not None and time >= self.until
        return LeftOut.WINDOW if is_early or is_late else None


_ALL = Selection()
