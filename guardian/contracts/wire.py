"""The events Guardian reads, as pydantic models: the contract from which the JSON Schemas are generated.

The envelope is CloudEvents 1.0 with the extension attribute `space`. Models keep fields they do not know (an additive
change must not become a dead letter) and treat null as absent. They check shape only; what depends on settings or on
the clock (sizes, future times, trust) is judged in `admission`. Nothing here converts silently: a number in quotes is
no number.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StrictBool,
    StrictFloat,
    StringConstraints,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from guardian.contracts.wire_card import CardWire, NarrowingWire
from guardian.contracts.wire_model import WireModel
from guardian.core.model import Confidence, Extent, MemoryKind, SourceKind

# RFC 3339 with an optional offset: a naive time is read as UTC. A blank instead of the T is allowed there too.
_RFC3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?")


def parse_time(value: object) -> datetime:
    """Give the instant of an RFC 3339 string: in UTC, or naive when it names no offset.

    Fractions beyond microseconds are cut off.

    Raises:
        PydanticCustomError: `time_bad`.
    """
    if isinstance(value, str) and _RFC3339.fullmatch(value):
        try:
            parsed = datetime.fromisoformat(value.upper())
            return parsed if parsed.tzinfo is None else parsed.astimezone(UTC)
        except (ValueError, OverflowError) as exc:
            raise PydanticCustomError("time_bad", "is no instant of the calendar") from exc
    raise PydanticCustomError("time_bad", "is not an RFC 3339 time")


Id = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[^\x00]+$")]
# A long list of nonsense stops at the first fault: describing each of 200,000 would take half a second.
Ids = Annotated[tuple[Id, ...], Field(fail_fast=True)]
Vector = Annotated[tuple[StrictFloat, ...], Field(fail_fast=True)]
Time = Annotated[datetime, PlainValidator(parse_time), WithJsonSchema({"type": "string", "format": "date-time"})]
Share = Annotated[StrictFloat, Field(ge=0, le=1)]


class SourceWire(WireModel):
    """Where a statement comes from; as `authority`, on whose word a change is made."""

    kind: SourceKind | None = Field(None, description="Kind of the origin; absent means unknown, never user.")
    ref: str | None = Field(None, description="What in the origin: a document, message or tool call id.")
    actor: str | None = Field(None, description="Who: a person, an agent or a system.")


class ScopeWire(WireModel):
    """For whom and where a memory holds."""

    user_id: str | None = Field(None, description="The user it concerns.")
    agent_id: str | None = Field(None, description="The agent it concerns.")
    project_id: str | None = Field(None, description="The project it concerns.")
    session_id: str | None = Field(None, description="The session it was written in, as reads name it.")
    domain: str | None = Field(None, description="Field of knowledge.")
    task_type: str | None = Field(None, description="Sort of task.")


class EpisodeWire(WireModel):
    """One task an agent did."""

    task: str | None = Field(None, description="What was asked.")
    answer: str | None = Field(None, description="What the agent answered.")
    language: str | None = Field(None, description="Language of the answer, such as sql, python or en.")
    retrieved: Ids | None = Field(None, description="Memory ids that were retrieved for the task.")
    outcome: str | None = Field(None, description="What came of it, in the agent's words.")


class WrittenData(WireModel):
    """Data of `memory.written`, also of an inline replacement."""

    memory_id: Id = Field(description="Names the memory; unique in its space.")
    text: str = Field(
        description="The memory's text, at most 32 KiB of UTF-8 (setting), not blank, without NUL.",
        json_schema_extra={"minLength": 1},
    )
    kind: MemoryKind | None = Field(None, description="What sort of thing is remembered.")
    source: SourceWire | None = Field(None, description="Where the statement comes from; absent means unknown.")
    parents: Ids | None = Field(
        None,
        description="Memory ids it was derived from; [] says none, absent keeps the earlier revision's.",
    )
    observed_at: Time | None = Field(None, description="When it was observed; default: the envelope's time.")
    valid_from: Time | None = Field(None, description="When the statement begins to hold.")
    valid_until: Time | None = Field(None, description="When the statement stops holding.")
    scope: ScopeWire | None = Field(None, description="For whom and where it holds.")
    subject: str | None = Field(None, description="What the statement is about, as a stable key.")
    verified: StrictBool | None = Field(None, description="A claim; believed only from a trusted source.")
    supersedes: Ids | None = Field(None, description="Memory ids this write replaces, if it is verified.")
    confidence: Confidence | None = Field(None, description="How the writer came by the statement.")
    self_grade: Share | None = Field(None, description="Utility in [0, 1] the agent gave its own episode.")
    episode: EpisodeWire | None = Field(None, description="The task this memory recounts.")
    vector: Vector | None = Field(None, description="Dense embedding of the text, of the collection's size, finite and non-zero.")
    metadata: dict[str, Any] | None = Field(None, description="The writer's own mapping; kept nested, read by no rule.")


class ReadData(WireModel):
    """Data of `memory.read`."""

    retrieved: Ids = Field(description="Memory ids that were retrieved, best first.")
    used: Ids | None = Field(None, description="Memory ids that went into the answer.")
    session_id: str | None = Field(None, description="Session of the read; links it to later writes of that session.")
    task_id: str | None = Field(None, description="Task the read served.")
    query: str | None = Field(None, description="What was searched for.")


def _replacement_form(value: object) -> str:
    """Give which form a replacement has: everything but a string must be inline."""
    return "id" if isinstance(value, str) else "inline"


Replacement = Annotated[Annotated[Id, Tag("id")] | Annotated[WrittenData, Tag("inline")], Discriminator(_replacement_form)]


class CorrectedData(WireModel):
    """Data of `memory.corrected`; needs targets or a subject."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["targets"]}, {"required": ["subject"]}]})

    targets: Ids | None = Field(None, description="Memory ids that are wrong, in all their revisions.")
    subject: str | None = Field(None, description="Subject whose records, observed up to effective_at, are wrong.")
    replacement: Replacement | None = Field(
        None, description="What holds instead: a memory id, or the data of a memory.written; absent means nothing does."
    )
    extent: Extent | None = Field(None, description="How far the correction reaches; absent: by the target's kind.")
    authority: SourceWire | None = Field(None, description="On whose word; without trusted authority it is a dispute.")
    effective_at: Time | None = Field(None, description="From when it holds; default: the envelope's time, and never after it.")
    reason: str | None = Field(None, description="Why, for people.")


class AuditedData(WireModel):
    """Data of `memory.audited`."""

    memory_id: Id = Field(description="The memory that was judged.")
    channel: Id = Field(description="The evidence channel; `gold` is ground truth, `self` a grade given per use.")
    value: Share = Field(description="The verdict, in [0, 1]; 1 is right.")
    revision: Id | None = Field(None, description="The revision that was judged; absent: the one in force at the time.")
    evidence: dict[str, Any] | None = Field(None, description="What the verdict rests on.")


class EventIdWire(WireModel):
    """Names an event: CloudEvents' `source` and `id` together."""

    source: Id = Field(description="The event's source attribute.")
    id: Id = Field(description="The event's id attribute.")


class RetractedData(WireModel):
    """Data of `memory.retracted`."""

    event: EventIdWire = Field(description="The correction, verdict or calibration that is withdrawn.")
    authority: SourceWire | None = Field(None, description="On whose word.")
    reason: str | None = Field(None, description="Why, for people.")


class DeletedData(WireModel):
    """Data of `memory.deleted`."""

    memory_id: Id = Field(description="The memory the agent deleted.")
    observed_at: Time | None = Field(None, description="When; default: the envelope's time. Later revisions live.")


class LinkedData(WireModel):
    """Data of `memory.linked`."""

    memory_id: Id = Field(description="The memory whose parents are set.")
    add: Ids | None = Field(None, description="Memory ids that become parents.")
    remove: Ids | None = Field(None, description="Memory ids that stop being parents.")
    authority: SourceWire | None = Field(None, description="On whose word.")
    reason: str | None = Field(None, description="Why, for people.")


class ErasedData(WireModel):
    """Data of `memory.erased`."""

    memory_id: Id = Field(description="The memory whose content is destroyed.")
    cascade: StrictBool | None = Field(None, description="Also erase what declares it as a parent, and so on.")
    authority: SourceWire | None = Field(None, description="On whose word.")
    observed_at: Time | None = Field(None, description="Revisions observed up to here are erased; default: the envelope's time.")


class InducedData(WireModel):
    """Data of `memory.induced`; believed from Guardian's own inducer only."""

    memory_id: Id = Field(description="The memory.")
    revision: Id = Field(description="The revision whose text was shown to the model.")
    observed_at: Time = Field(description="When that revision was observed; an erasure covers the card by it.")
    digest: Id = Field(description="Of the content that was shown; a record that says something else keeps its card.")
    inducer: Id = Field(description="The model.")
    version: Id = Field(description="Version of what the model was asked.")
    confidence: Share = Field(description="Agreement of its samples, in [0, 1].")
    card: CardWire | None = Field(None, description="The card; absent leaves the card that rules made.")
    narrowing: NarrowingWire | None = Field(None, description="What the permission loses.")
    authority: SourceWire | None = Field(None, description="On whose word; a tool, as far as the event's origin may claim that.")


class ChannelTrustWire(WireModel):
    """What a calibration says of an evidence channel, or of the mean of several."""

    alpha: Share = Field(description="How far it is believed, in [0, 1].")
    payoff: Share = Field(
        description="Variance of the bias that it removes, or squared error as a detector; of several channels the largest is used."
    )
    passes: StrictBool = Field(description="Whether it may demote; one that fails demotes nothing.")
    members: Ids | None = Field(None, description="Channels whose mean it is; absent: the channel of its own name.")
    detects: StrictBool = Field(
        False, description="Whether it counts as a detector: only verdicts below one half are heard, and they only lower."
    )


class CalibratedData(WireModel):
    """Data of `space.calibrated`."""

    calibration: Id = Field(description="The calibration's id; `default` gives the space back to the settings.")
    channels: dict[Id, ChannelTrustWire] = Field(description="What it says of each channel; one not named demotes nothing.")
    authority: SourceWire | None = Field(None, description="On whose word; without trusted authority it is a dispute.")
    effective_at: Time | None = Field(
        None, description="From when it holds; default: the envelope's time, and never after it. The latest of a space holds."
    )
    reason: str | None = Field(None, description="Why, for people.")


class RatedData(WireModel):
    """Data of `memory.rated`."""

    memory_ids: Ids = Field(description="Memories whose utilities are to be those of the calibration in force.")


class Envelope(WireModel):
    """CloudEvents 1.0 with the extension attribute `space`."""

    specversion: Literal["1.0"] = Field(description="Version of CloudEvents.")
    id: Id = Field(description="Identifies the event together with source.")
    source: Id = Field(description="Who sends: a URI reference such as /coffee-shop/notes.")
    time: Time = Field(description="When it happened; RFC 3339, without offset read as UTC and counted.")
    space: Id = Field(description="The memory bank; the partition key.")


class WrittenEvent(Envelope):
    """An agent, a user, a tool or a document put a text into memory."""

    type: Literal["memory.written"] = Field(description="Event type.")
    data: WrittenData = Field(description="What happened.")


class ReadEvent(Envelope):
    """An agent retrieved memories."""

    type: Literal["memory.read"] = Field(description="Event type.")
    data: ReadData = Field(description="What happened.")


class CorrectedEvent(Envelope):
    """An authority states that memories are wrong, and what holds instead."""

    type: Literal["memory.corrected"] = Field(description="Event type.")
    data: CorrectedData = Field(description="What happened.")


class AuditedEvent(Envelope):
    """A channel that is not the agent judged a memory."""

    type: Literal["memory.audited"] = Field(description="Event type.")
    data: AuditedData = Field(description="What happened.")


class RetractedEvent(Envelope):
    """A correction or a verdict is withdrawn."""

    type: Literal["memory.retracted"] = Field(description="Event type.")
    data: RetractedData = Field(description="What happened.")


class DeletedEvent(Envelope):
    """The agent deleted a memory; it is kept for audit and barred from answers."""

    type: Literal["memory.deleted"] = Field(description="Event type.")
    data: DeletedData = Field(description="What happened.")


class LinkedEvent(Envelope):
    """Lineage is set by hand."""

    type: Literal["memory.linked"] = Field(description="Event type.")
    data: LinkedData = Field(description="What happened.")


class ErasedEvent(Envelope):
    """The data subject's right: content is destroyed, a tombstone stays."""

    type: Literal["memory.erased"] = Field(description="Event type.")
    data: ErasedData = Field(description="What happened.")


class InducedEvent(Envelope):
    """Guardian's inducer: a model said under which conditions a revision may be used."""

    type: Literal["memory.induced"] = Field(description="Event type.")
    data: InducedData = Field(description="What happened.")


class CalibratedEvent(Envelope):
    """An authority activates a calibration: which evidence channels may demote in the space, and how far each is believed."""

    type: Literal["space.calibrated"] = Field(description="Event type.")
    data: CalibratedData = Field(description="What happened.")


class RatedEvent(Envelope):
    """Utilities are to be worked out again under the calibration in force; nothing new is said of the memories."""

    type: Literal["memory.rated"] = Field(description="Event type.")
    data: RatedData = Field(description="What happened.")


WireEvent = (
    WrittenEvent
    | ReadEvent
    | CorrectedEvent
    | AuditedEvent
    | RetractedEvent
    | DeletedEvent
    | LinkedEvent
    | ErasedEvent
    | InducedEvent
    | CalibratedEvent
    | RatedEvent
)

EVENT_MODELS: dict[str, type[WireEvent]] = {
    "memory.written": WrittenEvent,
    "memory.read": ReadEvent,
    "memory.corrected": CorrectedEvent,
    "memory.audited": AuditedEvent,
    "memory.retracted": RetractedEvent,
    "memory.deleted": DeletedEvent,
    "memory.linked": LinkedEvent,
    "memory.erased": ErasedEvent,
    "memory.induced": InducedEvent,
    "space.calibrated": CalibratedEvent,
    "memory.rated": RatedEvent,
}
