"""Take the fields of a row apart: what is read, what is kept beside it, and what is too much to keep.

A row of another program has fields that no canonical field holds. They are kept in an event's metadata as they stand,
within `MAX_KEPT_BYTES`; embeddings (another model's vectors) and what does not fit are left out, and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.reading.framing import HEAD_BYTES, Fault, Row
from guardian.sources.reading.stamp import Stamp, read_time, read_unix_time
from guardian.sources.reason import SourceReason

# Bytes of JSON that one event keeps of its row's other fields: room for a chat turn or a page of attributes, and a
# bound for what a store carries with every memory.
MAX_KEPT_BYTES = 16 * 1024
# A list of so many numbers and of nothing else is an embedding; no list of attributes is.
_EMBEDDING_NUMBERS = 16
# Names of left-out fields that an event shows.
_MAX_NAMES = 20
# Levels of brackets that an event and its dead letter put around a kept field; JSON writers stop at 254.
_WRAPPED_LEVELS = 12


def parse_object(row: Row | Fault) -> dict[str, Any]:
    """Give the JSON object that a row holds.

    Raises:
        RecordError: The row is faulty, no JSON, or another JSON value.
    """
    if isinstance(row, Fault):
        raise RecordError(row.reason, row.message)
    try:
        value = orjson.loads(row.raw)
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_JSON, f"the row is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "the row is no JSON object")
    return value


def keep_rest(fields: Mapping[str, Any], read: Iterable[str] = ()) -> dict[str, Any]:
    """Give `fields`, what is not `read` and fits, and `fields_dropped`, the names of what was left out; both only if any."""
    kept: dict[str, Any] = {}
    dropped: list[str] = []
    room, skipped = MAX_KEPT_BYTES, frozenset(read)
    for name, value in fields.items():
        if name in skipped or value is None or value in ([], {}, ""):
            continue
        encoded = None if is_embedding(value) else _encode(name, value)
        if encoded is None or len(encoded) > room:
            dropped.append(name[:120])
            continue
        room -= len(encoded)
        kept |= orjson.loads(encoded)
    rest: dict[str, Any] = {"fields": kept} if kept else {}
    return {**rest, "fields_dropped": dropped[:_MAX_NAMES]} if dropped else rest


def is_embedding(value: Any) -> bool:
    """Tell a vector by its form: a long list of numbers alone."""
    return (
        isinstance(value, list) and len(value) >= _EMBEDDING_NUMBERS and all(isinstance(number, int | float) for number in value)
    )


def _encode(name: str, value: Any) -> bytes | None:
    """Give the field as JSON; None where it is nested too deep to stand inside an event."""
    wrapped = value
    for _ in range(_WRAPPED_LEVELS):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
        return orjson.dumps({name: value})
    except orjson.JSONEncodeError:
        return None


def read_any_time(value: Any) -> Stamp | None:
    """Read a time of any known form; None where there is none (0 is none too) or it cannot be read."""
    try:
        if isinstance(value, str):
            return read_time(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return read_unix_time(value)
    except RecordError:
        return None
    return None


def find_time(fields: Mapping[str, Any], *keys: str) -> tuple[Stamp, str] | tuple[None, None]:
    """Give the first of the keys that holds a readable time, and which it was."""
    for key in keys:
        if (stamp := read_any_time(fields.get(key))) is not None:
            return stamp, key
    return None, None


def find_text(fields: Mapping[str, Any], *keys: str) -> str | None:
    """Give the first of the keys that holds a text that is not empty; a whole number counts as its digits."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def render(row: Any) -> bytes:
    """Give a row as JSON for the dead letter; of a very long one the head."""
    try:
        return orjson.dumps(row, default=_render_other)[:HEAD_BYTES]
    except orjson.JSONEncodeError:
        return repr(row).encode("utf-8", "backslashreplace")[:HEAD_BYTES]


def _render_other(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else repr(value)
