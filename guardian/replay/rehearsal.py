"""What a replay would refuse, without a trace: takes the dead letters of a dry run, and keeps the first of each reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from guardian.contracts.letter import DeadLetter
from guardian.core.needs import Key

# Examples kept of one reason.
EXAMPLES = 3


class Rehearsal:
    """Stands where the file of dead letters would.

    Attributes:
        examples: First messages by reason; each names its place in the input.
    """

    def __init__(self) -> None:
        self.examples: dict[str, list[str]] = {}

    def append(self, letters: Sequence[DeadLetter]) -> None:
        """Keep the first messages of each reason."""
        for letter in letters:
            kept = self.examples.setdefault(letter.reason, [])
            if len(kept) < EXAMPLES:
                kept.append(letter.message)

    def erase(self, erased: Mapping[Key, datetime]) -> int:  # noqa: ARG002 # the port's; nothing is written here that could be erased
        """Drop nothing: a dry run erases nothing."""
        return 0
