"""The account of a replay: what became of every row, in figures that must add up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from guardian.errors import InvariantError
from guardian.pipeline import BatchReport


@dataclass(slots=True)
class ReplaySummary:
    """What a replay did.

    Attributes:
        rows: Input rows, which are events, skipped or dead letters.
        event_rows, letter_rows: Rows by what became of them; a row can give several events, or a dead letter without a row.
        skipped: Rows by reason.
        dead_letters: Refused items by reason.
        families, superseded: Of the whole store afterwards; None when the events went to a topic, or nowhere.
        resumed_at: Items that an earlier, interrupted run had done.
        naive_times: Times without an offset, read as UTC.
        letters_erased: Dead letters of erased memories: dropped from the file, or never written though counted.
    """

    items: int = 0
    rows: int = 0
    events: int = 0
    event_rows: int = 0
    letter_rows: int = 0
    families: int | None = None
    superseded: int | None = None
    resumed_at: int = 0
    records: int = 0
    felled: int = 0
    born_superseded: int = 0
    inferred: int = 0
    refused_claims: int = 0
    pending: int = 0
    naive_times: int = 0
    letters_erased: int = 0
    dispositions: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)

    def add(self, report: BatchReport) -> None:
        """Count one batch."""
        self.records += report.records
        self.felled += report.felled
        self.born_superseded += report.born_superseded
        self.inferred += report.inferred
        self.refused_claims += report.refused_claims
        self.pending += report.pending
        self.dispositions.update(report.dispositions)

    def reconcile(self) -> str:
        """Give the one line that accounts for every row.

        Raises:
            InvariantError: The figures do not add up.
        """
        parts = (self.event_rows, self.skipped.total(), self.letter_rows)
        line = f"{self.rows:,} rows = {parts[0]:,} with events + {parts[1]:,} skipped + {parts[2]:,} dead letters"
        if sum(parts) != self.rows:
            raise InvariantError(f"the rows of the replay do not add up: {line}")
        if self.dispositions and self.dispositions.total() != self.events:
            raise InvariantError(f"{self.events:,} events were decided {self.dispositions.total():,} times")
        return line

    def copy(self) -> ReplaySummary:
        """Give another one with the same figures."""
        return ReplaySummary(**{item.name: _copied(getattr(self, item.name)) for item in fields(self)})


def _copied(value: Any) -> Any:
    return Counter(value) if isinstance(value, Counter) else value
