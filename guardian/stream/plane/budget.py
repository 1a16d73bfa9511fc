"""The dead-letter budget: a worker that refuses most of what it reads is wrong itself, and stops before it has drained the topic."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from guardian.errors import ConfigError


class DeadLetterBudget:
    """Counts what was taken and refused lately.

    Args:
        ratio: Share of refused records, in (0, 1], at which it is spent; judged once the window is full.
        window: Records the share is taken over.
        run: Refused records in a row at which it is spent.
    """

    def __init__(self, *, ratio: float, window: int, run: int) -> None:
        self._ratio = ratio
        self._run = run
        self._latest: deque[bool] = deque(maxlen=window)
        self._refused = 0
        self._in_a_row = 0

    def note(self, refusals: Iterable[bool], *, topic: str) -> None:
        """Count records in their order: True was refused.

        Raises:
            ConfigError: The budget is spent; nothing of these records may be acknowledged.
        """
        for is_refused in refusals:
            self._count(is_refused)
            if self._in_a_row >= self._run or self._is_ratio_spent():
                raise ConfigError(
                    f"too many dead letters: {self._refused} of the latest {len(self._latest)} records, {self._in_a_row} in a row, "
                    f"the last from {topic}.",
                    setting="GUARDIAN_LIMITS__DEAD_LETTER_RATIO",
                    mend=f"see why with `guardian dead-letters list`: is {topic} a topic of Guardian's events? "
                    "If these refusals are right, raise limits.dead_letter_run and limits.dead_letter_ratio.",
                )

    def _count(self, is_refused: bool) -> None:
        if len(self._latest) == self._latest.maxlen:
            self._refused -= self._latest[0]
        self._latest.append(is_refused)
        self._refused += is_refused
        self._in_a_row = self._in_a_row + 1 if is_refused else 0

    def _is_ratio_spent(self) -> bool:
        is_full = len(self._latest) == self._latest.maxlen
        return is_full and self._refused >= self._ratio * len(self._latest)
