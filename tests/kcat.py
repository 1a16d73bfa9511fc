"""Write records as `kcat -J` does: one JSON object a record, with its place, time, key, headers and value."""

from __future__ import annotations

from collections.abc import Sequence

import orjson


def dump_kcat(
    *,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> bytes:
    """Give the line of a record; key, value and headers must be UTF-8, for kcat writes them as text."""
    line: dict[str, object] = {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "tstype": "create",
        "ts": timestamp_ms,
        "broker": 0,
        "key": _decode(key),
        "payload": _decode(value),
    }
    if headers:
        line["headers"] = [part for name, content in headers for part in (name, _decode(content))]
    return orjson.dumps(line)


def _decode(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode()
