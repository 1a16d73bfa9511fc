"""Kafka Connect's JSON with its schema: `{"schema": …, "payload": …}` becomes the plain value, times and decimals in readable form.

The schema says what a number means: without it `1777622400000000` is no time. What is turned is what Connect and Debezium
name in their schemas (`name` of a field's type); everything else stays as it came. (Kafka Connect `JsonConverter`, Debezium
`io.debezium.time` and `io.debezium.data`.)
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson

from guardian.sources.reading.stamp import format_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Schemas nest no deeper than records do.
_MAX_LEVELS = 100


def is_connect(document: Mapping[str, Any]) -> bool:
    """Tell the envelope: exactly a schema and a payload."""
    return document.keys() == {"schema", "payload"} and isinstance(document["schema"], dict | None)


def read_payload(document: Mapping[str, Any]) -> Any:
    """Give the plain value of an envelope."""
    schema = document["schema"]
    return document["payload"] if schema is None else _read(document["payload"], schema, 0)


def _read(value: Any, schema: Any, level: int) -> Any:
    if value is None or not isinstance(schema, dict) or level > _MAX_LEVELS:
        return value
    name = schema.get("name")
    if isinstance(name, str) and name in _LOGICAL:
        return _convert(_LOGICAL[name], value, schema)
    match schema.get("type"):
        case "struct" if isinstance(value, dict):
            fields = dict(_iter_fields(schema.get("fields")))
            return {key: _read(part, fields.get(key), level + 1) for key, part in value.items()}
        case "array" if isinstance(value, list):
            return [_read(part, schema.get("items"), level + 1) for part in value]
        case "map" if isinstance(value, dict):
            return {key: _read(part, schema.get("values"), level + 1) for key, part in value.items()}
        case _:
            return value


def _iter_fields(fields: Any) -> Iterator[tuple[str, Any]]:
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and isinstance(name := field.get("field"), str):
            yield name, field


def _convert(convert: Callable[[Any, Mapping[str, Any]], Any], value: Any, schema: Mapping[str, Any]) -> Any:
    """Convert, or keep what does not fit its schema: whoever reads the field judges it."""
    try:
        return convert(value, schema)
    except (TypeError, ValueError, OverflowError, ArithmeticError, LookupError, AttributeError, binascii.Error):
        return value


def _build_time(unit: timedelta) -> Callable[[Any, Mapping[str, Any]], str]:
    return lambda value, _: format_time(_EPOCH + value * unit)


def _read_date(value: Any, _: Mapping[str, Any]) -> str:
    return (date(1970, 1, 1) + timedelta(days=value)).isoformat()


def _read_decimal(value: Any, schema: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        return str(value)  # decimal.format=NUMERIC
    unscaled = int.from_bytes(base64.b64decode(value, validate=True), "big", signed=True)
    return str(Decimal(unscaled).scaleb(-int((schema.get("parameters") or {})["scale"])))


def _read_json(value: Any, _: Mapping[str, Any]) -> Any:
    return orjson.loads(value)


_MS, _US = timedelta(milliseconds=1), timedelta(microseconds=1)
_LOGICAL: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "org.apache.kafka.connect.data.Timestamp": _build_time(_MS),
    "org.apache.kafka.connect.data.Date": _read_date,
    "org.apache.kafka.connect.data.Decimal": _read_decimal,
    "io.debezium.time.Timestamp": _build_time(_MS),
    "io.debezium.time.MicroTimestamp": _build_time(_US),
    "io.debezium.time.NanoTimestamp": lambda value, _: format_time(_EPOCH + (value // 1000) * _US),
    "io.debezium.time.Date": _read_date,
    "io.debezium.data.Json": _read_json,
}
