"""Open what lies on an agent's topic: envelope in envelope, until it is Guardian's own event or a row.

The order of looking, on raw bytes: no value at all; CloudEvents by headers; a schema registry's framing; gzip; JSON, and in it Kafka
Connect's envelope, Debezium's, CloudEvents without a header, a flattened row, a row. JSON inside a JSON string is opened once more,
an array or JSON lines are several pieces, each of which can fail alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from guardian.contracts.envelope import Opened, open_envelope, parse_object, read_headers
from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.live import connect, debezium
from guardian.sources.live.arrival import Arrival, Native, Piece
from guardian.sources.live.schema_frame import SchemaDecoder, decode_frame, find_frame
from guardian.sources.port import RowChange, RowOperation, Skipped
from guardian.sources.reading.envelope import digest_parts, dump_content
from guardian.sources.reading.stamp import read_time
from guardian.sources.reason import SourceReason

# Bytes of a record unpacked: four times the largest message that is sent by default.
MAX_UNPACKED_BYTES = 16 * 1024 * 1024
# An envelope in an envelope in an array in a string: more is no honest record.
_MAX_LEVELS = 4
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_OWN_TYPES = "memory."


def open_arrival(arrival: Arrival, *, schemas: SchemaDecoder | None = None) -> Iterator[Piece | RecordError]:
    """Yield the pieces of a record; a piece that cannot be read is its error, and the others are still given.

    Args:
        arrival: The record.
        schemas: Knows the schemas of a registry; None where there is none.
    """
    try:
        yield from _open(arrival, schemas)
    except RecordError as error:
        yield error


def _open(arrival: Arrival, schemas: SchemaDecoder | None) -> Iterator[Piece | RecordError]:
    content_type, attributes, _ = read_headers(arrival.headers)
    if arrival.value is None and not attributes:
        yield _open_nothing(arrival)
        return
    if content_type.startswith("application/cloudevents") or attributes.keys() & {"specversion", "type", "id"}:
        yield from _open_cloudevent(arrival, str(attributes.get("type", "")), schemas)
        return
    if (frame := find_frame(arrival)) is not None:
        yield from _open_value(decode_frame(frame, schemas), arrival, 0, schemas)
        return
    yield from _open_bytes(arrival, schemas)


def _open_nothing(arrival: Arrival) -> Piece:
    if debezium.is_tombstone_of_a_row(arrival):
        return Skipped(position=arrival.position, reason=SourceReason.TOMBSTONE, detail="it follows the deletion of a row")
    return Native(None, arrival.headers)


def _open_cloudevent(arrival: Arrival, stated: str, schemas: SchemaDecoder | None) -> Iterator[Piece | RecordError]:
    """Open a record that its headers call a CloudEvent; of another program it is an envelope around a row."""
    if stated.startswith(_OWN_TYPES):
        yield Native(arrival.value, arrival.headers)
        return
    opened: Opened = open_envelope(arrival.value, arrival.headers)
    kind = opened.attributes.get("type")
    if not isinstance(kind, str) or kind.startswith(_OWN_TYPES):
        yield Native(arrival.value, arrival.headers)  # what lacks is told where events are decoded
    else:
        yield from _open_foreign(opened.attributes, arrival, schemas)


def _open_foreign(
    attributes: Mapping[str, Any], arrival: Arrival, schemas: SchemaDecoder | None
) -> Iterator[Piece | RecordError]:
    """Open the data of a CloudEvent of another program; it has an identity and a time of its own."""
    data, time = attributes.get("data"), arrival.time
    if isinstance(attributes.get("time"), str):
        time = read_time(attributes["time"]).time
    op = attributes.get("iodebeziumop")
    if op is not None and isinstance(data, dict):
        source = {
            name.removeprefix("iodebezium"): value
            for name, value in attributes.items()
            if name.startswith("iodebezium") and name != "iodebeziumop"
        }
        inner = data.get("payload") if connect.is_connect(data) else data
        rows = inner if isinstance(inner, dict) else {}
        source.setdefault("ts_ms", source.get("tsms"))
        yield debezium.read_change(
            {"before": rows.get("before"), "after": rows.get("after"), "op": op, "source": source}, arrival
        )
        return
    identity = digest_parts(str(attributes.get("source")), str(attributes.get("id")))
    yield from _open_value(data, replace(arrival, time=time), 0, schemas, identity=identity)


def _open_bytes(arrival: Arrival, schemas: SchemaDecoder | None) -> Iterator[Piece | RecordError]:
    value = arrival.value or b""
    if value.startswith(_GZIP):
        value = _unpack(value)
    value = value.removeprefix(_BOM)
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        document = _read_lines(value)
        if document is None:
            parse_object(value)  # raises, with the reason that tells most
            raise
    is_whole = value is arrival.value and isinstance(document, dict)
    yield from _open_value(document, arrival, 0, schemas, is_whole=is_whole)


def _open_value(
    value: Any,
    arrival: Arrival,
    level: int,
    schemas: SchemaDecoder | None,
    *,
    is_whole: bool = False,
    identity: str | None = None,
) -> Iterator[Piece | RecordError]:
    """Open a JSON value of a record, or of an envelope in it.

    Args:
        value: Any JSON.
        arrival: The record.
        level: Envelopes around the value.
        schemas: Those of a registry.
        is_whole: The value is the record's own bytes, which can go on as they came.
        identity: Of the envelope around it.
    """
    if level > _MAX_LEVELS:
        raise RecordError(Reason.NESTED_TOO_DEEP, f"more than {_MAX_LEVELS} envelopes lie in one another")
    if isinstance(value, str):
        yield from _open_value(_read_string(value), arrival, level + 1, schemas, identity=identity)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            inner = replace(arrival, position=f"{arrival.position}[{index}]")
            own = None if identity is None else digest_parts(identity, str(index))
            try:
                yield from _open_value(element, inner, level + 1, schemas, identity=own)
            except RecordError as error:
                yield RecordError(error.reason, f"element {index}: {error}", path=f"[{index}].{error.path}".rstrip("."))
    elif value is None:
        yield _open_nothing(replace(arrival, value=None))
    elif not isinstance(value, dict):
        raise RecordError(Reason.NOT_OBJECT, f"the value is a JSON {type(value).__name__}")
    elif connect.is_connect(value):
        yield from _open_value(connect.read_payload(value), arrival, level + 1, schemas, identity=identity)
    else:
        yield from _open_object(value, arrival, schemas, is_whole=is_whole, identity=identity)


def _open_object(
    document: Mapping[str, Any], arrival: Arrival, schemas: SchemaDecoder | None, *, is_whole: bool, identity: str | None
) -> Iterator[Piece | RecordError]:
    if debezium.is_debezium(document):
        yield debezium.read_change(document, arrival)
    elif "specversion" in document:
        if str(document.get("type", "")).startswith(_OWN_TYPES) or "type" not in document:
            yield Native(arrival.value if is_whole else dump_content(document), arrival.headers if is_whole else ())
        else:
            yield from _open_foreign(open_envelope(dump_content(document)).attributes, arrival, schemas)
    elif debezium.is_flattened(document):
        yield debezium.read_flattened(document, arrival)
    else:
        yield RowChange(
            position=arrival.position,
            identity=identity or _read_id_header(arrival) or _digest(document, arrival),
            operation=RowOperation.STATE,
            time=arrival.time,
            after=document,
        )


def _read_id_header(arrival: Arrival) -> str | None:
    """Give the event id that the outbox pattern puts into the header `id`."""
    found = [value for name, value in arrival.headers if name == "id" and value]
    return digest_parts(arrival.topic, found[0].decode("utf-8", "replace")) if found else None


def _digest(document: Mapping[str, Any], arrival: Arrival) -> str:
    """Identify a row that has no identity: what it says, and when its record was made."""
    content = dump_content(document).decode("utf-8", "replace")
    return digest_parts(arrival.topic, arrival.time.isoformat(), arrival.position.rpartition("[")[1], content)


def _read_string(value: str) -> Any:
    """Read JSON that somebody encoded twice."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_OBJECT, "the value is a JSON string that holds no JSON") from error


def _read_lines(value: bytes) -> list[Any] | None:
    """Give the objects of JSON lines, or None when it is something else; a bad line stays a string, to be refused alone."""
    lines = [line for line in value.split(b"\n") if line.strip()]
    if len(lines) < 2:
        return None
    found: list[Any] = []
    for line in lines:
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            found.append(line.decode("utf-8", "replace"))
    return found if any(isinstance(one, dict) for one in found) else None


def _unpack(value: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(value, MAX_UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise RecordError(SourceReason.FILE_DAMAGED, f"the record is no whole gzip: {error}") from error
    if len(unpacked) > MAX_UNPACKED_BYTES:
        raise RecordError(SourceReason.UNPACKED_TOO_LARGE, f"more than {MAX_UNPACKED_BYTES} bytes unpacked")
    if not unpacker.eof:
        raise RecordError(SourceReason.FILE_DAMAGED, "the record ends inside its gzip")
    return unpacked
