"""Read the fields of one row: parse it, demand what a format needs, and keep what no canonical field holds.

What is kept goes to `metadata.fields`, bounded: a row can hold more than a memory should carry. Embeddings are never
kept: they are another model's, and would be refused by a collection of another size.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import orjson

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.reading.framing import Fault, Row
from guardian.sources.reason import SourceReason

# Bytes of JSON that one memory keeps of fields nobody reads; more would make metadata heavier than any text.
MAX_KEPT_BYTES = 16 * 1024
# Keys under which formats keep vectors, and the shortest list of numbers that is taken for one under any other key.
_VECTOR_KEYS = frozenset({"embedding", "embeddings", "vector", "vectors"})
_VECTOR_LENGTH = 32


def parse_row(row: Row | Fault) -> dict[str, Any]:
    """Give the JSON object of a row.

    Raises:
        RecordError: The row could not be cut out, is no JSON, or no object.
    """
    if isinstance(row, Fault):
        raise RecordError(row.reason, row.message)
    try:
        value = orjson.loads(row.raw)
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_JSON, f"the row is no JSON: {error}") from error
    return require_object(value, "the row")


def require_object(value: Any, what: str) -> dict[str, Any]:
    """Give a value that must be a JSON object.

    Raises:
        RecordError: `shape_unknown`.
    """
    if not isinstance(value, dict):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"{what} is no JSON object")
    return value


def require_text(fields: Mapping[str, Any], key: str) -> str:
    """Give a field that must hold a text.

    Raises:
        RecordError: `shape_unknown`.
    """
    value = fields.get(key)
    if not isinstance(value, str):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"`{key}` is no text", path=key)
    return value


def require_id(fields: Mapping[str, Any], *keys: str) -> str:
    """Give the first of the keys that holds an id, a text or a whole number.

    Raises:
        RecordError: `id_missing`.
    """
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value.strip() and "\x00" not in value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    raise RecordError(SourceReason.ID_MISSING, f"none of {', '.join(f'`{key}`' for key in keys)} holds an id")


def read_texts(value: Any) -> list[str]:
    """Give the texts of a list that are not blank; none for what is no list."""
    return [item for item in value if isinstance(item, str) and item.strip()] if isinstance(value, list) else []


def read_text(value: Any) -> str | None:
    """Give a text that is not blank, or None."""
    return value if isinstance(value, str) and value.strip() else None


def keep_fields(fields: Mapping[str, Any], read: Collection[str] = ()) -> dict[str, Any]:
    """Give `fields` for metadata: what no canonical field holds, as far as it fits, and the names of what does not.

    Args:
        fields: All fields of the row.
        read: Keys that are read elsewhere, or left out on purpose.
    """
    kept: dict[str, Any] = {}
    vectors, left = [], []
    room = MAX_KEPT_BYTES
    for key, value in fields.items():
        if key in read or value is None or value in ("", [], {}):
            continue
        if key in _VECTOR_KEYS or _is_vector(value):
            vectors.append(key)
            continue
        size = _measure(value)
        if size is None or size > room:
            left.append(key)
            continue
        room -= size
        kept[key] = value
    marks = {"fields": kept, "vectors_left_out": vectors[:8], "fields_left_out": left[:8]}
    return {name: value for name, value in marks.items() if value}


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= _VECTOR_LENGTH
        and all(isinstance(number, int | float) and not isinstance(number, bool) for number in value)
    )


def _measure(value: Any) -> int | None:
    """Give the bytes of a value as JSON inside an event; None when it is nested too deep to be written again."""
    try:
        return len(orjson.dumps([[[[[[[[value]]]]]]]]))
    except (orjson.JSONEncodeError, RecursionError):
        return None
