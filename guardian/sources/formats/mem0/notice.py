"""Turn what mem0 sends or returns about a single operation into an event: webhooks, results of `add`, feedback.

None of these carries a time, so it is of when the record came or the file was made. Webhooks carry no id of an event
either: their event id is made of operation, memory and text, so that a webhook that is delivered twice is one event if
it is read at one time, and otherwise a second revision with the same text. The history, read later, dates it.

Feedback is a user's verdict on a memory: channel `mem0.feedback`, 1 for POSITIVE and 0 for NEGATIVE and VERY_NEGATIVE.
The scale is of words, not of numbers, so no distance is made up; the word itself stays in the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guardian.errors import RecordError
from guardian.sources.formats.mem0.state import DEFAULT_SPACE, Place
from guardian.sources.port import Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.fields import find_text, keep_rest
from guardian.sources.reason import SourceReason

FEEDBACK_CHANNEL = "mem0.feedback"

_AUDITED = "memory.audited"
_VERDICTS = {"POSITIVE": 1.0, "NEGATIVE": 0.0, "VERY_NEGATIVE": 0.0}
_WEBHOOK_KEYS = ("id", "memory_id", "event", "data")
_RESULT_KEYS = ("id", "memory", "event", "role", "actor_id")


@dataclass(frozen=True, slots=True)
class _Notice:
    """One operation as it is told: what was done with which memory, and what it then says."""

    operation: Any
    memory_id: str | None
    text: Any
    rest: Mapping[str, Any]


def read_webhook(row: Mapping[str, Any], place: Place, options: SourceOptions) -> Item:
    """Read a webhook of the Platform; the memory's id is called `id` or `memory_id`.

    Raises:
        RecordError: It names no memory, no known operation, or a write without a text.
    """
    details = row.get("event_details")
    if not isinstance(details, Mapping):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "`event_details` is no object")
    operation = details.get("event")
    if not isinstance(operation, str):
        detail = "a notice of a job at mem0, which names no memory"
        return Skipped(position=place.position, reason=SourceReason.NOT_A_MEMORY, detail=detail)
    if operation == "CATEGORIZE":
        detail = "mem0 sorted the memory into categories; its text is as it was"
        return Skipped(position=place.position, reason=SourceReason.METADATA_ONLY, detail=detail)
    held = details.get("data")
    text = held.get("memory") if isinstance(held, Mapping) else held
    notice = _Notice(operation, find_text(details, "id", "memory_id"), text, keep_rest(details, _WEBHOOK_KEYS))
    return _read_notice(notice, "mem0:webhook", place, options)


def read_result(row: Mapping[str, Any], place: Place, options: SourceOptions) -> Item:
    """Read one result of `add`: what was done with a memory.

    Raises:
        RecordError: As for a webhook.
    """
    operation = row.get("event")
    if operation is None or operation == "NONE":
        detail = "mem0 found nothing new in it"
        return Skipped(position=place.position, reason=SourceReason.UNCHANGED, detail=detail)
    notice = _Notice(operation, find_text(row, "id"), row.get("memory"), keep_rest(row, _RESULT_KEYS))
    return _read_notice(notice, "mem0:add", place, options)


def read_feedback(row: Mapping[str, Any], place: Place, options: SourceOptions) -> Item:
    """Read a user's feedback on a memory as a verdict; null takes it back, and does not say which.

    Raises:
        RecordError: It names no memory, or a word that is no feedback.
    """
    word, memory_id = row.get("feedback"), find_text(row, "memory_id")
    if memory_id is None:
        raise RecordError(SourceReason.ID_MISSING, "the feedback names no memory")
    if word is None:
        detail = "the user took feedback back; the row does not say which"
        return Skipped(position=place.position, reason=SourceReason.VERDICT_WITHDRAWN, detail=detail)
    value = _VERDICTS.get(word) if isinstance(word, str) else None
    if value is None:
        raise RecordError(SourceReason.OPERATION_UNKNOWN, f"feedback {word!r} is none of {', '.join(_VERDICTS)}")
    space, reason = options.space or DEFAULT_SPACE, find_text(row, "feedback_reason")
    evidence = {"feedback": word, "time_from": place.time_from, **({"reason": reason} if reason else {})}
    event = build_event(
        event_id=digest_parts("feedback", space, memory_id, word, reason or ""),
        source="mem0:feedback",
        event_type=_AUDITED,
        time=place.time,
        space=space,
        data={"memory_id": memory_id, "channel": FEEDBACK_CHANNEL, "value": value, "evidence": evidence},
    )
    return SourceEvent(position=place.position, event=event)


def _read_notice(notice: _Notice, event_source: str, place: Place, options: SourceOptions) -> Item:
    if notice.memory_id is None:
        raise RecordError(SourceReason.ID_MISSING, "the row names no memory")
    operation = notice.operation.upper() if isinstance(notice.operation, str) else None
    if operation not in {"ADD", "UPDATE", "DELETE"}:
        raise RecordError(SourceReason.OPERATION_UNKNOWN, f"event {notice.operation!r} is none of ADD, UPDATE, DELETE")
    metadata = {"format": event_source.replace(":", "."), "mem0_event": operation, "time_from": place.time_from}
    data: dict[str, Any] = {"memory_id": notice.memory_id, "metadata": {**metadata, **notice.rest}}
    if operation != "DELETE":
        if not isinstance(notice.text, str):
            raise RecordError(SourceReason.TEXT_MISSING, f"{operation} without a text")
        origin = build_origin(options, kind=None, ref=f"mem0:memory:{notice.memory_id}", actor=None)
        data |= {"text": notice.text, "source": origin, "scope": dict(options.scope)}
    space = options.space or DEFAULT_SPACE
    event = build_event(
        event_id=digest_parts(event_source, space, notice.memory_id, operation, data.get("text", "")),
        source=event_source,
        event_type=DELETED if operation == "DELETE" else WRITTEN,
        time=place.time,
        space=space,
        data=data,
    )
    return SourceEvent(position=place.position, event=event)
