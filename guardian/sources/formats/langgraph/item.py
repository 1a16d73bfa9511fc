"""Turn one item of LangGraph's store into an event, whatever route it came by.

An item is named by its namespace and key, and its value is any JSON object. Its memory id is `<namespace>/<key>`, the
namespace's labels joined by points as the store joins them. LangMem writes `{"kind", "content"}` (its manager) or
`{"content"}` (its tool); others write what they like. The text is:

- the string under `content`, `memory`, `text` or `data`, in the value or in LangMem's inner object;
- else all the fields as `name: value; name: value`, in their order, marked `rendered`.

A namespace is what is searched together, and what keeps users apart, so by default each is a space of its own
(`langgraph:<namespace>`); `space` puts all into one. No label is taken for a user: which one it is, is the application's
own convention.

An item's time is `updated_at`. SQLite's store sets `created_at` anew at every update. `expires_at` is not kept: it is
when the store may drop the item, not when it stops being true, and every read moves it. `ttl_minutes` is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from guardian.contracts.admission import is_blank
from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.port import SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts, dump_text
from guardian.sources.reading.fields import find_time, keep_rest, read_any_time
from guardian.sources.reading.stamp import Stamp, format_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "langgraph:store"
DEFAULT_SPACE = "langgraph"
# What Debezium sends for a long value that an update did not touch.
UNAVAILABLE = "__debezium_unavailable_value"

# Characters of an id; the wire allows 1,024. What is longer is cut, and a digest over all of it put behind.
_MAX_ID_CHARS = 900
# Keys under which a value holds its text, by how common they are.
_TEXT_KEYS = ("content", "memory", "text", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreItem:
    """One item as it stands in the store.

    Attributes:
        text: What it states; blank where the value states nothing.
        canonical: The value as JSON with sorted keys: Postgres orders keys its own way.
        stamp, time_from: When it was last written, and the field that says so; None where no field does.
        kept: What goes into the metadata beside time and place.
    """

    prefix: str
    key: str
    text: str
    canonical: str
    stamp: Stamp | None
    time_from: str | None
    kept: Mapping[str, Any]

    @property
    def is_blank(self) -> bool:
        """Tell whether it states nothing."""
        return is_blank(self.text)


def read_place(row: Mapping[str, Any]) -> tuple[str, str]:
    """Give prefix and key of a row of the table (`prefix`) or of an item of the API (`namespace`).

    Raises:
        RecordError: `id_missing`.
    """
    namespace, prefix, key = row.get("namespace"), row.get("prefix"), row.get("key")
    if isinstance(namespace, list | tuple) and all(isinstance(label, str) for label in namespace):
        prefix = ".".join(namespace)
    if not isinstance(prefix, str) or not isinstance(key, str):
        raise RecordError(SourceReason.ID_MISSING, "the row has no namespace (or prefix) or no key")
    return prefix, key


def read_item(row: Mapping[str, Any]) -> StoreItem:
    """Read a row of the table or an item of the API.

    Raises:
        RecordError: It has no place, or its value is no JSON object.
    """
    prefix, key = read_place(row)
    value = _decode(row.get("value"))
    schema, inner = _unwrap(value)
    text_key = next((name for name in _TEXT_KEYS if isinstance(inner.get(name), str)), None)
    stamp, time_from = find_time(row, "updated_at", "created_at")
    created = read_any_time(row.get("created_at"))
    kept: dict[str, Any] = {"namespace": prefix.split("."), "key": key}
    kept |= {"schema": schema} if schema is not None else {}
    kept |= {"ttl_minutes": ttl} if isinstance(ttl := row.get("ttl_minutes"), int | float) and math.isfinite(ttl) else {}
    kept |= {"created_at": created.told} if created is not None and stamp is not None and created.told != stamp.told else {}
    kept |= keep_rest(inner, (text_key,)) if text_key is not None else {"rendered": True}
    return StoreItem(
        prefix=prefix,
        key=key,
        text=inner[text_key] if text_key is not None else _render_fields(inner),
        canonical=_dump(value),
        stamp=stamp,
        time_from=time_from,
        kept=kept,
    )


def build_write(item: StoreItem, options: SourceOptions, *, time: datetime, time_from: str) -> dict[str, Any]:
    """Build the write of an item; its id is made of place, time and value, so that every route gives the same."""
    space, memory_id = name_space(item.prefix, options), name_memory(item.prefix, item.key)
    own = {} if item.stamp is None else {"time_raw": item.stamp.told, "tz_assumed": item.stamp.is_zone_assumed}
    return build_event(
        event_id=digest_parts("written", space, memory_id, format_time(time), item.canonical),
        source=EVENT_SOURCE,
        event_type=WRITTEN,
        time=time,
        space=space,
        data={
            "memory_id": memory_id,
            "text": item.text,
            "source": build_origin(options, kind=None, ref=f"{EVENT_SOURCE}:{memory_id}", actor=None),
            "scope": dict(options.scope),
            "metadata": {"format": "langgraph.store", "time_from": time_from, **own, **item.kept},
        },
    )


def build_deletion(
    place: tuple[str, str], options: SourceOptions, *, time: datetime, time_from: str, identity: str
) -> dict[str, Any]:
    """Build the deletion of an item; `identity` tells one deletion of it from another."""
    space, memory_id = name_space(place[0], options), name_memory(*place)
    return build_event(
        event_id=digest_parts("deleted", space, memory_id, identity),
        source=EVENT_SOURCE,
        event_type=DELETED,
        time=time,
        space=space,
        data={"memory_id": memory_id, "metadata": {"format": "langgraph.store", "time_from": time_from}},
    )


def name_space(prefix: str, options: SourceOptions) -> str:
    """Give the space of a namespace: its own, unless the caller puts all into one."""
    return options.space or _shorten(f"{DEFAULT_SPACE}:{prefix}" if prefix else DEFAULT_SPACE)


def name_memory(prefix: str, key: str) -> str:
    """Give the memory id; a slash or per cent sign in the namespace is escaped, so that no two places share an id."""
    return _shorten(f"{prefix.replace('%', '%25').replace('/', '%2F')}/{key}")


def is_same_value(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Tell whether a change left the value alone: it moved only times, as a read does that refreshes the expiry."""
    if after.get("value") == UNAVAILABLE or "value" not in after:
        return True
    if before is None or before.get("value") in (None, UNAVAILABLE):
        return False
    try:
        return _dump(_decode(before["value"])) == _dump(_decode(after["value"]))
    except RecordError:
        return False


def _decode(value: Any) -> dict[str, Any]:
    """Give the value, which databases and change logs hold as JSON text or bytes."""
    try:
        decoded = orjson.loads(value) if isinstance(value, str | bytes) else value
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_JSON, f"the value is no JSON: {error}", path="value") from error
    if not isinstance(decoded, dict):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "the value is no JSON object", path="value")
    return decoded


def _dump(value: dict[str, Any]) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError as error:
        raise RecordError(Reason.NESTED_TOO_DEEP, f"the value cannot be written again: {error}", path="value") from error


def _unwrap(value: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Give the schema that LangMem names, and the object that holds the statement."""
    schema, content = value.get("kind"), value.get("content")
    if isinstance(schema, str) and value.keys() == {"kind", "content"}:
        return schema, content if isinstance(content, dict) else {"content": content}
    if isinstance(content, dict) and value.keys() == {"content"}:
        return None, content
    return None, value


def _render_fields(fields: Mapping[str, Any]) -> str:
    shown = ((name, _render_value(value)) for name, value in fields.items() if value not in (None, "", [], {}))
    return "; ".join(f"{name}: {value}" for name, value in shown)


def _render_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return dump_text(value)


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_ID_CHARS else f"{name[:_MAX_ID_CHARS]}#{digest_parts(name, size=16)}"
