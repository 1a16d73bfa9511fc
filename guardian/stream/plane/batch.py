"""A batch: records of some partitions, read once; what is to be decided, forwarded and refused of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from guardian.core.intake import Disposition
from guardian.core.model import Event
from guardian.errors import RecordError
from guardian.pipeline import BatchReport
from guardian.stream.broker.kafka import Outgoing
from guardian.stream.plane.origin import Record
from guardian.telemetry.metrics import PHASES


class Role(StrEnum):
    """What a topic is to the worker; also the label of its metrics."""

    CANONICAL = "canonical"
    INGRESS = "ingress"
    AUDIT = "audit"
    INDUCE = "induce"

    @property
    def is_side(self) -> bool:
        """Tell whether it is off the write path: what is away for it makes no worker unready."""
        return self not in {Role.CANONICAL, Role.INGRESS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A record that can never succeed, and why.

    Attributes:
        is_erased: Its text was erased: nothing of it may be kept.
    """

    record: Record
    error: RecordError
    is_erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """A record that belongs elsewhere, and the message that takes it there."""

    record: Record
    message: Outgoing


@dataclass(slots=True, kw_only=True)
class Batch:
    """What was read from records of some partitions, consecutive in each.

    Attributes:
        count: Number of records.
        verdicts: One a record, in order; True was refused.
        events: To be decided here.
        forwards: To be sent on; emptied when they were.
        refused: To become dead letters; emptied when they are acknowledged.
        skipped: Rows that deliberately become no event, by reason; emptied when they are counted.
        dead_lettered, forwarded: Numbers of those that are done.
        report: What the pipeline did, if it was asked.
    """

    count: int = 0
    verdicts: list[bool] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    forwards: list[Forward] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    naive_times: int = 0
    trust_lowered: int = 0
    misnamed_headers: int = 0
    dead_lettered: int = 0
    forwarded: int = 0
    requests: list[Any] = field(default_factory=list)
    answered: int = 0
    report: BatchReport | None = None
    note_progress: Callable[[], None] = lambda: None

    def refuse(self, record: Record, error: RecordError) -> None:
        """Note that a record can never succeed."""
        self.refused.append(Refused(record=record, error=error))

    def note(self, *, is_refused: bool) -> None:
        """Note the verdict on the next record."""
        self.count += 1
        self.verdicts.append(is_refused)

    def describe(self) -> dict[str, object]:
        """Give the fields of the one line that is logged for it."""
        fields: dict[str, object] = {
            "records_read": self.count,
            "events": len(self.events),
            "dead_lettered": self.dead_lettered,
            "forwarded": self.forwarded,
        }
        if self.answered or self.requests:
            fields["answered"] = self.answered
        if self.report is not None:
            fields |= {disposition.value: self.report.dispositions[disposition] for disposition in Disposition}
            fields |= {name: getattr(self.report, name) for name in ("records", "felled", "pending")}
            fields |= {f"{phase}_ms": round(getattr(self.report, f"{phase}_ms"), 1) for phase in PHASES}
        return fields


class Work(Protocol):
    """What is done with the records of a data plane.

    Attributes:
        gives_way: A batch of it may be cut short, uncommitted, when the partitions are to leave or the worker is to end: it may take
            minutes, and doing it again changes nothing. Others are waited for.
    """

    role: Role
    gives_way: bool

    def read(self, records: Iterable[Record], *, partitions: Mapping[str, Sequence[int]]) -> Batch:
        """Read records. Pure.

        Args:
            records: Of any partitions, in their order in each.
            partitions: All partitions of their topics, sorted.
        """

    async def prepare(self, records: Sequence[Record]) -> None:
        """Fetch what is needed to read these records.

        Raises:
            DependencyError: Something is away; the same is to be tried again.
        """

    async def carry_out(self, batch: Batch, *, version: int) -> None:
        """Do all that the batch asks for; when it returns the batch may be acknowledged. Doing it again changes nothing.

        Args:
            batch: What is done of it already is left out.
            version: Of the fence.

        Raises:
            DependencyError: Something is away; the same batch is to be tried again.
        """
