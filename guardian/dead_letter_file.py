"""Dead letters of replays: a file beside the store, one JSON line a letter, with a way back into the store.

A letter is written once, whatever its message says at the next import. A line that a crash or a full disk has torn costs itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.contracts.letter import DeadLetter, is_erased, read_dead_letter, read_letter_names
from guardian.contracts.outcome import build_outcome_id, encode_outcome
from guardian.core.model import Event
from guardian.core.needs import Key
from guardian.errors import RecordError
from guardian.pipeline import Pipeline
from guardian.ports import Fence

FILE_NAME = "dead-letters.jsonl"


class DeadLetterFile:
    """The letters of one store, appended and flushed before their batch counts as done.

    Attributes:
        torn: Numbers of lines that the last reading passed over, from 1.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn: list[int] = []
        self._known: set[str] = set()
        self._known_at: tuple[int, int] | None = None  # size and time of change of the file when `_known` was all of it

    def append(self, letters: Sequence[DeadLetter]) -> None:
        """Write letters that are not there yet; a second import repeats none."""
        known = self._read_known() if letters else set()
        fresh = {build_outcome_id(letter): letter for letter in letters}
        lines = [encode_outcome(letter, time=letter.timestamp) for key, letter in fresh.items() if key not in known]
        if not lines:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            file.write((b"" if self._ends_whole() else b"\n") + b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        known.update(fresh)
        self._known_at = self._look()

    def iter_letters(self) -> Iterator[tuple[bytes, DeadLetter]]:
        """Give each letter with its line; torn lines are passed over and their numbers noted."""
        self.torn = []
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    letter = read_dead_letter(line.rstrip(b"\n"))
                except RecordError:
                    self.torn.append(number)
                else:
                    yield line.rstrip(b"\n"), letter

    def erase(self, erased: Mapping[Key, datetime]) -> int:
        """Drop the letters that erasures cover; gives their number.

        A torn line goes too when any letter does: nobody can read whose text it holds.

        Args:
            erased: (space, memory id) and the time up to which it is erased.
        """
        if not erased:
            return 0
        self.path.with_suffix(".new").unlink(missing_ok=True)  # what a crash left of an earlier replacement
        letters = list(self.iter_letters())
        kept = [line for line, letter in letters if not is_erased(read_letter_names(letter), erased)]
        if len(kept) < len(letters):
            self.replace(kept)
        return len(letters) - len(kept)

    def replace(self, lines: Sequence[bytes]) -> None:
        """Keep only these lines; the file is replaced whole, and durably: what was dropped must not come back with a crash."""
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.path)  # noqa: PTH105 # atomic on one file system

    def _read_known(self) -> set[str]:
        """Give the ids in the file; read again only when someone else changed it, or a bad input costs its square."""
        seen_at = self._look()
        if seen_at is None or seen_at != self._known_at:
            self._known = {build_outcome_id(letter) for _, letter in self.iter_letters()}
            self._known_at = seen_at
        return self._known

    def _look(self) -> tuple[int, int] | None:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_size, stat.st_mtime_ns

    def _ends_whole(self) -> bool:
        if not self.path.stat().st_size:
            return True
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


async def redrive_file(
    file: DeadLetterFile,
    pipeline: Pipeline,
    policy: DecodePolicy,
    *,
    received_at: datetime,
    selects: Callable[[DeadLetter], bool],
) -> tuple[int, int]:
    """Take the selected dead letters of a file through the pipeline; what is refused again stays in it.

    Returns:
        How many were driven, and how many of the selected stay.
    """
    events: list[Event] = []
    kept: list[bytes] = []
    left = 0
    for line, letter in file.iter_letters():
        if selects(letter):
            try:
                events.append(decode(letter.value, policy=policy, received_at=received_at).event)
            except RecordError:
                left += 1
            else:
                continue
        kept.append(line)
    if events:
        report = await pipeline.process(events, fence=Fence())
        file.replace(kept)
        file.erase(report.erased)
    return len(events), left
