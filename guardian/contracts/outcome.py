"""What Guardian publishes: outcome models, their CloudEvents encoding, and requests both ways.

Outcomes are a function of an event and the state it leads to. Their ids are digests, so a redelivered event publishes
the same ids again, and consumers tell duplicates by them. Models forbid unknown fields: what we write is exactly what
the schemas say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self, TypeVar

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from guardian.contracts.envelope import Headers, open_envelope
from guardian.contracts.reason import Reason, build_record_error
from guardian.core.alert import AlertKind, Severity
from guardian.core.model import EventRef, Extent, MemoryKind, Slot, Status

# The CloudEvents source of all outcomes; consumers identify an outcome by it and the id.
OUTCOME_SOURCE = "/guardian"
# The id of a record in a request: spelt as stores spell it, for they take no other, and a request must not stop who reads it.
RecordId = Annotated[str, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


class OutcomeModel(BaseModel):
    """Anything Guardian writes: frozen, and nothing but its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EventId(OutcomeModel):
    """Names an event: CloudEvents' `source` and `id` together."""

    source: str = Field(description="The event's source attribute.")
    id: str = Field(description="The event's id attribute.")

    @classmethod
    def of(cls, ref: EventRef) -> Self:
        """Name the event of a core reference."""
        return cls(source=ref.source, id=ref.id)


class Outcome(OutcomeModel):
    """What all outcomes share.

    Attributes:
        published_to: The topic it is published to.
        event_type: The CloudEvents type.
        identity: Fields that make the id; all of them when empty.
        later: Fields that a later version added; while they say nothing they are no part of the id, so that it stays what it was.
    """

    published_to: ClassVar[str]
    event_type: ClassVar[str]
    identity: ClassVar[frozenset[str]] = frozenset()
    later: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def upcast(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Give today's form of what an earlier version wrote."""
        return data


class SupersessionReason(StrEnum):
    """Why a record is superseded."""

    CORRECTED = "corrected"
    REVISED = "revised"
    DELETED = "deleted"


class StandingReason(OutcomeModel):
    """One of the reasons for which a record is superseded; it is superseded while at least one stands."""

    reason: SupersessionReason = Field(description="Sort of reason.")
    id: str = Field(description="What is behind it: an event as source#id, or the revision that is current.")
    via: str | None = Field(None, description="Memory id of the ancestor that felled it; absent where it fell itself.")
    replacement: str | None = Field(None, description="Memory id of what holds instead.")
    mixed: bool = Field(False, description="Another of the record's roots still stands.")


class EnrichedRecord(Outcome):
    """A record as it now stands."""

    published_to: ClassVar[str] = "guardian.enriched"
    event_type: ClassVar[str] = "guardian.record.enriched"
    later: ClassVar[frozenset[str]] = frozenset({"calibration"})

    space: str = Field(description="The memory bank.")
    memory_id: str = Field(description="The memory.")
    revision: str = Field(description="The revision of the memory.")
    record_id: str = Field(description="UUID of the record in the store.")
    status: Status = Field(description="Its standing.")
    current: bool = Field(description="Whether it is the current record of its memory.")
    reasons: tuple[StandingReason, ...] = Field((), description="Why it is superseded; empty if it is not.")
    roots: tuple[str, ...] = Field(description="Memory ids of its roots, sorted.")
    parents: tuple[str, ...] = Field(description="Memory ids of its parents, sorted.")
    depth: int = Field(ge=0, description="Longest number of derivation steps from a root; 0 for a root.")
    slots: tuple[Slot, ...] = Field(description="Where in a prompt it may stand.")
    utility: float | None = Field(None, ge=0, le=1, description="Deflated utility in [0, 1]; absent without a grade.")
    utility_basis: str | None = Field(None, description="What the utility rests on: unaudited, gold, or a channel.")
    calibration: str | None = Field(
        None, description="Calibration the utility was made by; utilities compare within one. Absent where it hangs on none."
    )
    kind: MemoryKind = Field(description="What sort of thing is remembered.")
    subject: str | None = Field(None, description="What the statement is about.")
    caused_by: EventId = Field(description="The event that led to this state.")


class FelledRecord(OutcomeModel):
    """A record that a correction superseded."""

    memory_id: str = Field(description="The memory.")
    revision: str = Field(description="The revision.")
    record_id: str = Field(description="UUID of the record in the store.")
    via: str | None = Field(None, description="Memory id of the ancestor that felled it; absent for a target itself.")
    mixed: bool = Field(False, description="Another of its roots still stands: listed for revalidation.")


class SupersessionNotice(Outcome):
    """What a correction, or its retraction, did; published once all of it is durable."""

    published_to: ClassVar[str] = "guardian.supersessions"
    event_type: ClassVar[str] = "guardian.correction.applied"

    space: str = Field(description="The memory bank.")
    correction: EventId = Field(description="The correction.")
    targets: tuple[str, ...] = Field(description="Memory ids it names.")
    replacement: str | None = Field(None, description="Memory id of what holds instead.")
    extent: Extent | None = Field(None, description="How far it reaches, after defaults.")
    waiting: bool = Field(description="No target is known yet: it waits, and nothing has fallen.")
    felled: tuple[FelledRecord, ...] = Field((), description="Records it superseded; the first 1,000 of them.")
    felled_count: int = Field(0, ge=0, description="Number of records it superseded.")
    exempt: int = Field(0, ge=0, description="Number of records in its extent that it spares.")


class ReviewKind(StrEnum):
    """What a person is asked to look at."""

    DISPUTE = "dispute"
    WAITING_CORRECTION = "waiting_correction"
    MIXED = "mixed"
    SAME_SUBJECT = "same_subject"
    STALE_DESCENDANTS = "stale_descendants"


class ReviewItem(Outcome):
    """Something only a person or a trusted authority can decide."""

    published_to: ClassVar[str] = "guardian.reviews"
    event_type: ClassVar[str] = "guardian.review.opened"

    space: str = Field(description="The memory bank.")
    kind: ReviewKind = Field(description="What is to be decided.")
    subjects: tuple[str, ...] = Field(description="Memory ids concerned.")
    detail: dict[str, Any] = Field(default_factory=dict, description="What helps to decide, by kind.")
    caused_by: EventId = Field(description="The event that raised the question.")


class AuditRequest(Outcome):
    """A record that evidence channels are to judge, off the write path."""

    published_to: ClassVar[str] = "guardian.audit-requests"
    event_type: ClassVar[str] = "guardian.audit.requested"

    space: str = Field(description="The memory bank.")
    memory_id: str = Field(description="The memory.")
    revision: str = Field(description="The revision of the memory.")
    record_id: RecordId = Field(description="UUID of the record in the store.")


class Figure(OutcomeModel):
    """An estimate with its 95 % interval and the sample it rests on; all but the sample null while unknown."""

    value: float | None = Field(description="The estimate.")
    low: float | None = Field(description="Lower end.")
    high: float | None = Field(description="Upper end.")
    n: int = Field(ge=0, description="Sample size.")


class DriftReport(Outcome):
    """Where a memory bank is heading, as far as audited episodes can say; operational, not a function of the events alone."""

    published_to: ClassVar[str] = "guardian.drift"
    event_type: ClassVar[str] = "guardian.drift.estimated"
    identity: ClassVar[frozenset[str]] = frozenset({"space", "at"})

    space: str | None = Field(None, description="The memory bank; null for all together.")
    at: AwareDatetime = Field(description="When it was estimated, in UTC.")
    episodes: int = Field(ge=0, description="Audited episodes it rests on.")
    stand_in: str | None = Field(None, description="Channel that stands in for the truth where nobody labelled, if any.")
    stand_in_episodes: int = Field(0, ge=0, description="Episodes judged by it, corrected for its known errors.")
    figures: dict[str, Figure] = Field(description="Estimates by name, such as kappa, attractor, one_shot, corrupted.")


class AlertStanding(StrEnum):
    """Whether an alert stands."""

    STANDING = "standing"
    RESOLVED = "resolved"


class AlertNotice(Outcome):
    """Something is wrong with a bank or with Guardian's work, or is no longer; told once when raised, once when resolved."""

    published_to: ClassVar[str] = "guardian.alerts"
    event_type: ClassVar[str] = "guardian.alert.changed"
    identity: ClassVar[frozenset[str]] = frozenset({"key", "status", "since", "until"})

    key: str = Field(description="Deduplication key: one alert, however often it is told.")
    alert: AlertKind = Field(description="What is wrong.")
    space: str | None = Field(None, description="The memory bank; null where it is not about one.")
    severity: Severity = Field(description="How much it matters.")
    status: AlertStanding = Field(description="Whether it stands.")
    since: AwareDatetime = Field(description="When it was raised, in UTC.")
    until: AwareDatetime | None = Field(None, description="When it was resolved, in UTC.")
    reason: str = Field(description="In words, with the figures.")
    figures: dict[str, float | None] = Field(default_factory=dict, description="The figures behind it; null where unknown.")
    runbook: str = Field(description="Where to read what to do.")


class CardRequest(Outcome):
    """Records that a model is to write cards for, off the write path. Their texts are read from the store."""

    published_to: ClassVar[str] = "guardian.card-requests"
    event_type: ClassVar[str] = "guardian.card.requested"
    # Records that one request names at most: few enough to be answered again after a crash, and so many that a request costs its batch little.
    most: ClassVar[int] = 16

    space: str = Field(description="The memory bank.")
    record_ids: Annotated[tuple[RecordId, ...], Field(min_length=1)] = Field(description="UUIDs of the records in the store.")

    @classmethod
    def upcast(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Give today's form of a request that named one record, with its memory and revision."""
        return data if "record_ids" in data or "record_id" not in data else {**data, "record_ids": (data["record_id"],)}


# What agents on side topics are asked; a worker needs such a topic only where one of its roles answers it.
REQUEST_MODELS: tuple[type[Outcome], ...] = (AuditRequest, CardRequest)


def build_outcome_id(outcome: Outcome) -> str:
    """Digest an outcome into its id: 32 hex digits, the same for the same content on every machine."""
    return _digest(outcome, outcome.model_dump(mode="json", include=set(outcome.identity) or None))


def _digest(outcome: Outcome, content: Mapping[str, Any]) -> str:
    said = {name: content[name] for name in outcome.identity or content if name not in outcome.later or content[name] is not None}
    canonical = orjson.dumps([outcome.event_type, said], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()[:32]


def encode_outcome(outcome: Outcome, *, time: datetime) -> bytes:
    """Encode an outcome as structured CloudEvents JSON; see `seal_outcome`."""
    return seal_outcome(outcome, time=time)[1]


def seal_outcome(outcome: Outcome, *, time: datetime) -> tuple[str, bytes]:
    """Give the id of an outcome and its structured CloudEvents JSON; both of one dump, as the write path makes one for every event.

    Args:
        outcome: What happened.
        time: Of the event that caused it (of a dead letter: the record's timestamp), never the wall clock; aware.
    """
    content = outcome.model_dump(mode="json")
    outcome_id = _digest(outcome, content)
    envelope = {
        "specversion": "1.0",
        "id": outcome_id,
        "source": OUTCOME_SOURCE,
        "type": outcome.event_type,
        "time": time,
        "datacontenttype": "application/json",
        "data": content,
    }
    if content["space"] is not None:
        envelope["space"] = content["space"]
    return outcome_id, orjson.dumps(envelope, option=orjson.OPT_UTC_Z)


Request = TypeVar("Request", bound=Outcome)


def read_request(value: bytes | None, headers: Headers, model: type[Request]) -> Request:
    """Read a request back from its topic; fields that a later version added are passed over.

    Raises:
        RecordError: It is no such request.
    """
    document = open_envelope(value, headers).attributes
    data = document.get("data")
    if document.get("type") != model.event_type:
        raise build_record_error(Reason.TYPE_UNKNOWN, f"is no {model.event_type}.", path="type")
    if isinstance(data, dict):
        today = model.upcast(data)
        data = {name: today[name] for name in model.model_fields if name in today}
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        detail = f"is no {model.event_type}: {exc.error_count()} faults."
        raise build_record_error(Reason.WRONG_TYPE, detail, path="data") from exc
