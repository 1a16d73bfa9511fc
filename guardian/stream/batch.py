"""A batch: records of one partition, read once; what is to be decided, forwarded and refused of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from guardian.core.intake import Disposition
from guardian.core.model import Event
from guardian.errors import RecordError
from guardian.pipeline import BatchReport
from guardian.stream.kafka import Outgoing
from guardian.stream.origin import Record
from guardian.telemetry.metrics import PHASES


class Role(StrEnum):
    """What a topic is to the worker; also the label of its metrics."""

    CANONICAL = "canonical"
    INGRESS = "ingress"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A record that can never succeed, and why."""

    record: Record
    error: RecordError


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """A record that belongs elsewhere, and the message that takes it there."""

    record: Record
    message: Outgoing


@dataclass(slots=True, kw_only=True)
class Batch:
    """What was read from consecutive records of one partition.

    Attributes:
        verdicts: One a record, in order; True was refused.
        events: To be decided here.
        forwards: To be sent on; emptied when they were.
        refused: To become dead letters; emptied when they are acknowledged.
        dead_lettered, forwarded: Numbers of those that are done.
        report: What the pipeline did, if it was asked.
    """

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    verdicts: list[bool] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    forwards: list[Forward] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    naive_times: int = 0
    trust_lowered: int = 0
    misnamed_headers: int = 0
    dead_lettered: int = 0
    forwarded: int = 0
    report: BatchReport | None = None

    @classmethod
    def of(cls, records: Sequence[Record]) -> Batch:
        """Begin the batch of these records; at least one."""
        first = records[0]
        return cls(topic=first.topic, partition=first.partition, first_offset=first.offset, last_offset=records[-1].offset)

    def refuse(self, record: Record, error: RecordError) -> None:
        """Note that a record can never succeed."""
        self.refused.append(Refused(record=record, error=error))

    def describe(self) -> dict[str, object]:
        """Give the fields of the one line that is logged for it."""
        fields: dict[str, object] = {
            "topic": self.topic,
            "partition": self.partition,
            "first_offset": self.first_offset,
            "last_offset": self.last_offset,
            "events": len(self.events),
            "dead_lettered": self.dead_lettered,
            "forwarded": self.forwarded,
        }
        if self.report is not None:
            fields |= {disposition.value: self.report.dispositions[disposition] for disposition in Disposition}
            fields |= {name: getattr(self.report, name) for name in ("records", "felled", "pending")}
            fields |= {f"{phase}_ms": round(getattr(self.report, f"{phase}_ms"), 1) for phase in PHASES}
        return fields


class Work(Protocol):
    """What is done with the records of a data plane."""

    role: Role

    def read(self, records: Sequence[Record], *, partitions: Sequence[int]) -> Batch:
        """Read consecutive records of one partition. Pure.

        Args:
            records: At least one.
            partitions: All partitions of their topic, sorted.
        """

    async def carry_out(self, batch: Batch, *, version: int) -> None:
        """Do all that the batch asks for; when it returns the batch may be acknowledged. Doing it again changes nothing.

        Args:
            batch: What is done of it already is left out.
            version: Of the fence.

        Raises:
            DependencyError: Something is away; the same batch is to be tried again.
        """
