"""Build canonical events: the CloudEvents envelope that every source shares, and ids that derive from content."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from guardian.contracts.reason import Reason
from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import SourceOptions
from guardian.sources.reading.stamp import format_time

WRITTEN = "memory.written"
DELETED = "memory.deleted"
AUDITED = "memory.audited"
READ = "memory.read"


def build_event(
    *, event_id: str, source: str, event_type: str, time: datetime, space: str, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Give a structured CloudEvents mapping; `data` without its empty fields.

    Args:
        event_id: Unique within `source`, derived from the input's own identity.
        source: Constant of the format; never a path.
        event_type: `WRITTEN`, `DELETED`, `AUDITED` or `READ`.
        time: When it happened, aware; it is also the default of the data's `observed_at`.
        space: The memory bank.
        data: As the design's table of events names it; fields that are None or empty mappings are left out.
    """
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": source,
        "type": event_type,
        "time": format_time(time),
        "space": space,
        "data": {name: value for name, value in data.items() if value is not None and value != {}},
    }


def build_origin(options: SourceOptions, *, kind: SourceKind | None, ref: str, actor: str | None) -> dict[str, str]:
    """Give the `source` field of a write; a kind that nobody states is `unknown`, never `user`."""
    stated = kind or options.source_kind or SourceKind.UNKNOWN
    origin = {"kind": stated.value, "ref": ref}
    return origin if actor is None else {**origin, "actor": actor}


def dump_content(value: Any) -> bytes:
    """Write a row's value in its one form, keys sorted, for digests and for what is sent on.

    Raises:
        RecordError: `nested_too_deep`: it could be read, and cannot be written again.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise RecordError(Reason.NESTED_TOO_DEEP, f"the value cannot be written again: {error}") from error


def dump_text(value: Any) -> str:
    """Write a row's value as the JSON text that it was.

    Raises:
        RecordError: `nested_too_deep`.
    """
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise RecordError(Reason.NESTED_TOO_DEEP, f"the value cannot be written again: {error}") from error


# Characters up to which a part is digested on NFC. A longer one is no text that is accepted later, and a long run of combining marks in
# disorder costs its square.
_MAX_NORMAL_CHARS = 32_768


def digest_parts(*parts: str, size: int = 32) -> str:
    """Give the first `size` hex digits of a digest over parts, on NFC but for huge ones; the parts cannot run into one another."""
    normalized = [unicodedata.normalize("NFC", part) if len(part) <= _MAX_NORMAL_CHARS else part for part in parts]
    return hashlib.sha256(orjson.dumps(normalized)).hexdigest()[:size]
