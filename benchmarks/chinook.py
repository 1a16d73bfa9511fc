"""Questions over the Chinook database with a right query each, and the truth about any other query: by running both."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).parent / "chinook_questions.sql"
# A query that takes longer is wrong: no right one takes a tenth of it.
_MOST_S = 2.0
_MOST_ROWS = 50_000
_STEPS_A_LOOK = 10_000
# Sums of prices differ in their last bits with the order of rows.
_DECIMALS = 6

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question.

    Attributes:
        number: Its place in the file, from 0.
        query: A right query.
        evidence: What an episode would declare to know besides the question.
        is_ordered: The question asks for an order, so rows count in theirs.
    """

    number: int
    text: str
    query: str
    evidence: tuple[str, ...] = ()
    is_ordered: bool = False

    @property
    def is_held_out(self) -> bool:
        """Whether it was kept out of sight while channels were mended: every other one."""
        return self.number % 2 == 1


def load_questions(path: Path = QUESTIONS) -> list[Question]:
    """Load the questions in the order of the file."""
    blocks = [block.splitlines() for block in path.read_text().split("\n\n")[1:]]
    return [_read_block(number, block) for number, block in enumerate(blocks)]


def _read_block(number: int, lines: Sequence[str]) -> Question:
    notes = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    return Question(
        number=number,
        text=notes[0],
        query="\n".join(line for line in lines if not line.startswith("--")).rstrip().removesuffix(";"),
        evidence=tuple(note.removeprefix("evidence: ") for note in notes[1:] if note.startswith("evidence: ")),
        is_ordered="ordered" in notes[1:],
    )


@dataclass(slots=True)
class Chinook:
    """Owns a read-only connection, to find out what queries give."""

    path: Path

    def list_columns(self) -> dict[str, list[str]]:
        """Give the columns of each table."""
        names = self.fetch("SELECT name FROM sqlite_master WHERE type = 'table'") or []
        return {
            str(name): [str(row[1]) for row in self.fetch(f'PRAGMA table_info("{name}")') or []]  # names of the schema
            for (name,) in names
        }

    def fetch(self, query: str) -> Rows | None:
        """Give the rows; None for a query that fails, takes too long or gives too much."""
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro&immutable=1", uri=True)) as connection:
            end = time.monotonic() + _MOST_S
            connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_A_LOOK)
            try:
                rows = connection.execute(query).fetchmany(_MOST_ROWS)
            except sqlite3.Error:
                return None
        return rows if len(rows) < _MOST_ROWS else None

    def is_right(self, question: Question, query: str) -> bool:
        """Tell whether a query answers a question: it gives what the right query gives, in order where the question asks for one."""
        wanted, found = self.fetch(question.query), self.fetch(query)
        if wanted is None or found is None:
            return False
        wanted, found = _round(wanted), _round(found)
        return wanted == found if question.is_ordered else Counter(wanted) == Counter(found)


def _round(rows: Iterable[tuple[Any, ...]]) -> Rows:
    return [tuple(round(value, _DECIMALS) if isinstance(value, float) else value for value in row) for row in rows]
