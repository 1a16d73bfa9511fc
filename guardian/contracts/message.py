"""Messages: what the core decided, in the words of the outcome topics.

Every message of a redelivered event is the same to the byte as long as the state is: ids are digests of content, times are the
event's own. Consumers and compacted topics tell duplicates by id.
"""

from __future__ import annotations

from collections.abc import Iterator

from guardian.contracts.outcome import (
    EnrichedRecord,
    EventId,
    FelledRecord,
    ReviewItem,
    ReviewKind,
    StandingReason,
    SupersessionNotice,
    SupersessionReason,
    seal_outcome,
)
from guardian.contracts.outcome import Outcome as OutcomeModel
from guardian.core.model import Event
from guardian.core.plan import CorrectionView, Outcome, Question, RecordView
from guardian.ports import OutcomeMessage

# Felled records listed in one notice; a message of a family of 100,000 would not fit a broker. The count is always whole.
MAX_FELLED = 1_000


def build_messages(outcome: Outcome) -> list[OutcomeMessage]:
    """Build the messages of one event's outcome: the record as it stands, the correction's notice, the questions."""
    return [_pack(model, outcome.event, key) for model, key in _iter_models(outcome)]


def build_tombstone(record_id: str) -> OutcomeMessage:
    """Build the message that takes a record back which is there no more; compaction then drops what was said about it."""
    return OutcomeMessage(topic=EnrichedRecord.published_to, key=record_id, value=None, id=f"{record_id}-gone")


def _iter_models(outcome: Outcome) -> Iterator[tuple[OutcomeModel, str | None]]:
    cause = EventId.of(outcome.event.ref)
    if outcome.record is not None:
        yield _build_record(outcome.record, cause), outcome.record.record_id
    if outcome.correction is not None:
        yield _build_notice(outcome.correction), outcome.event.space
    for question in outcome.questions:
        yield _build_item(question, outcome.event.space, cause), None


def _build_record(view: RecordView, cause: EventId) -> EnrichedRecord:
    return EnrichedRecord(
        space=view.space,
        memory_id=view.memory_id,
        revision=view.revision,
        record_id=view.record_id,
        status=view.status,
        current=view.is_current,
        reasons=tuple(_build_reason(dict(reason)) for reason in view.reasons),
        roots=view.roots,
        parents=view.parents,
        depth=view.depth,
        slots=view.slots,
        utility=view.utility,
        utility_basis=view.utility_basis,
        calibration=view.calibration,
        kind=view.kind,
        subject=view.subject,
        caused_by=cause,
    )


def _build_reason(reason: dict[str, object]) -> StandingReason:
    via, replacement = reason.get("via"), reason.get("replacement")
    return StandingReason(
        reason=SupersessionReason(str(reason["reason"])),
        id=str(reason["id"]),
        via=None if via is None else str(via),
        replacement=None if replacement is None else str(replacement),
        mixed=bool(reason.get("mixed", False)),
    )


def _build_notice(view: CorrectionView) -> SupersessionNotice:
    listed = view.felled[:MAX_FELLED]
    return SupersessionNotice(
        space=view.space,
        correction=EventId.of(view.ref),
        targets=view.targets,
        replacement=view.replacement,
        extent=view.extent,
        waiting=view.is_waiting,
        felled=tuple(
            FelledRecord(
                memory_id=felled.memory_id,
                revision=felled.revision,
                record_id=felled.record_id,
                via=felled.via,
                mixed=felled.is_mixed,
            )
            for felled in listed
        ),
        felled_count=len(view.felled),
        exempt=view.exempt,
    )


def _build_item(question: Question, space: str, cause: EventId) -> ReviewItem:
    return ReviewItem(
        space=space,
        kind=ReviewKind(question.kind),
        subjects=question.subjects,
        detail=dict(question.detail),
        caused_by=cause,
    )


def _pack(model: OutcomeModel, event: Event, key: str | None) -> OutcomeMessage:
    outcome_id, value = seal_outcome(model, time=event.ref.time)
    return OutcomeMessage(topic=model.published_to, key=key or outcome_id, value=value, id=outcome_id)
