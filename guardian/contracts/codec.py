"""Decodes a record into an event of the core, and encodes it again.

The order is: open the envelope, validate its shape with the model of its type, digest the data as received, judge what
depends on settings, map to the core. Every refusal is a `RecordError` with a reason of `REASONS`, so a bad event costs
exactly itself.

An event's digest is taken over the data as received, with unknown fields, nulls and order as they came: two senders
that spell one write differently have sent two events. Hence `decode(encode_event(event))` equals `event` but for the
digest; from the second time on it is equal in everything, since what `encode_event` writes is its own normal form.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from guardian.contracts.admission import DecodePolicy, Reading
from guardian.contracts.envelope import MAX_LEVELS, Headers, Opened, open_envelope
from guardian.contracts.reason import REASONS, Reason, build_record_error
from guardian.contracts.translate import EVENT_TYPES, to_core, to_data
from guardian.contracts.wire import EVENT_MODELS, WireEvent
from guardian.core.model import Event
from guardian.errors import RecordError

__all__ = ["REASONS", "DecodePolicy", "Decoded", "Reason", "decode", "encode_event"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A decoded event, and what was noticed on the way; the notes are for counters.

    Attributes:
        naive_times: Times without an offset, read as UTC.
        trust_lowered: Source or authority claims above their cap, lowered to `agent`.
        misnamed_headers: Headers with HTTP's prefix `ce-` instead of Kafka's `ce_`.
    """

    event: Event
    naive_times: int = 0
    trust_lowered: int = 0
    misnamed_headers: int = 0


def decode(
    value: bytes | None,
    headers: Headers = (),
    *,
    policy: DecodePolicy,
    received_at: datetime,
    ingress: str | None = None,
) -> Decoded:
    """Decode one record into one event.

    Args:
        value: The record's value.
        headers: The record's headers; `ce_` attributes are read from them in binary mode.
        policy: Limits and trust rules.
        received_at: The record's original Kafka timestamp, for files the present; aware.
        ingress: Topic the record entered through; None skips the rules on topics.

    Raises:
        RecordError: This record can never succeed; `reason` and `path` say why.
    """
    opened = open_envelope(value, headers)
    event = _validate(opened)
    digest = _digest(opened.attributes["data"])
    reading = Reading(policy, received_at=received_at, cap=policy.claim_cap(source=event.source, ingress=ingress))
    return Decoded(
        event=to_core(reading, event, digest),
        naive_times=reading.naive_times,
        trust_lowered=reading.trust_lowered,
        misnamed_headers=opened.misnamed_headers,
    )


def encode_event(event: Event) -> bytes:
    """Encode an event as structured CloudEvents JSON, in the one normal form."""
    envelope = {
        "specversion": "1.0",
        "id": event.ref.id,
        "source": event.ref.source,
        "type": EVENT_TYPES[type(event)],
        "time": event.ref.time,
        "space": event.space,
        "data": to_data(event),
    }
    return orjson.dumps(envelope, option=orjson.OPT_UTC_Z)


def _validate(opened: Opened) -> WireEvent:
    """Validate the envelope and data with the model of the event's type."""
    kind = opened.attributes.get("type")
    model = EVENT_MODELS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise _refuse_type(opened, kind)
    try:
        return model.model_validate(opened.attributes)
    except ValidationError as exc:
        raise _refuse(opened, exc) from exc


def _digest(data: dict[str, Any]) -> str:
    """Digest data as received: SHA-256 of its canonical JSON, the first 32 hex digits.

    The data is written four lists deep, so that what passes here can be stored and sent inside other objects.
    """
    try:
        canonical = orjson.dumps([[[[data]]]], option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as exc:
        detail = f"nested deeper than {MAX_LEVELS} levels."
        raise build_record_error(Reason.NESTED_TOO_DEEP, detail, path="data") from exc
    return hashlib.sha256(memoryview(canonical)[4:-4]).hexdigest()[:32]


def _refuse_type(opened: Opened, kind: object) -> RecordError:
    path = "headers.ce_type" if opened.is_binary else "type"
    if kind is None:
        return build_record_error(Reason.MISSING_FIELD, "is missing.", path=path)
    if not isinstance(kind, str):
        return build_record_error(Reason.WRONG_TYPE, f"is a JSON {type(kind).__name__}.", path=path)
    return build_record_error(Reason.TYPE_UNKNOWN, f"{kind[:100]!r} is no event type of Guardian.", path=path)


# What pydantic calls an error, in our words; anything else is a `wrong_type`.
_REASON_OF_ERROR: dict[str, Reason] = {
    "missing": Reason.MISSING_FIELD,
    "model_type": Reason.NOT_OBJECT,
    "dict_type": Reason.NOT_OBJECT,
    "literal_error": Reason.SPECVERSION_UNKNOWN,
    "enum": Reason.ENUM_UNKNOWN,
    "greater_than_equal": Reason.OUT_OF_RANGE,
    "less_than_equal": Reason.OUT_OF_RANGE,
    "string_too_short": Reason.ID_INVALID,
    "string_too_long": Reason.ID_INVALID,
    "string_pattern_mismatch": Reason.ID_INVALID,
    "time_bad": Reason.TIME_BAD,
}


def _refuse(opened: Opened, exc: ValidationError) -> RecordError:
    """Give the first fault of an event in Guardian's words, and how many more there are."""
    faults = exc.errors(include_url=False, include_context=False)
    first = faults[0]
    reason = _REASON_OF_ERROR.get(first["type"], Reason.WRONG_TYPE)
    if first["input"] is None and isinstance(first["loc"][-1], str):
        reason = Reason.MISSING_FIELD  # null means absent; only a required field fails for it
    detail = "is null." if reason is Reason.MISSING_FIELD and first["type"] != "missing" else f"{first['msg']}."
    if len(faults) > 1:
        detail += f" ({len(faults) - 1} more faults.)"
    return build_record_error(reason, detail, path=_path(opened, first))


def _path(opened: Opened, fault: ErrorDetails) -> str:
    """Give the dotted place of a fault; the tag of a replacement's form is no place."""
    parts = [str(part) for part in fault["loc"]]
    if parts[:2] == ["data", "replacement"]:
        del parts[2:3]
    if opened.is_binary and parts[0] != "data":
        return f"headers.ce_{parts[0]}"
    return ".".join(parts)
