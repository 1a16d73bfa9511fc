"""CloudEvents in both modes, and the slips that producers make."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from guardian.contracts.codec import Decoded, DecodePolicy, decode
from guardian.contracts.envelope import Headers
from guardian.errors import RecordError
from tests import builders as build

WIRE = build.envelope("memory.written", {"memory_id": "m", "text": "é"}, space="café")
STRUCTURED = orjson.dumps(WIRE)
DATA = orjson.dumps(WIRE["data"])


def headers(prefix: str = "ce_", **more: bytes | None) -> list[tuple[str, bytes | None]]:
    """Give the attributes of `WIRE` as headers."""
    attributes = {f"{prefix}{name}": str(value).encode() for name, value in WIRE.items() if name != "data"}
    return [*attributes.items(), *more.items()]


def open_(value: bytes, given: Headers = ()) -> Decoded:
    """Decode with the default policy."""
    return decode(value, given, policy=DecodePolicy(), received_at=build.RECEIVED_AT)


EXPECTED = open_(STRUCTURED)


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (DATA, headers()),
        (DATA, [*headers(), ("content-type", b"application/json; charset=utf-8")]),
        (DATA, [*headers(), ("trace", b"\xff"), ("ce_partitionkey", None), ("other", None)]),
        (DATA, [(name.upper(), content) for name, content in headers()]),
        (STRUCTURED, [("content-type", b"application/cloudevents+json; charset=UTF-8")]),
        (STRUCTURED, [("Content-Type", b"Application/CloudEvents+JSON"), ("ce_id", b"other")]),
        (STRUCTURED, headers()),
        (STRUCTURED, [("trace", b"x")]),
        (b"\xef\xbb\xbf" + STRUCTURED, ()),
        (orjson.dumps({**WIRE, "data": None, "data_base64": base64.b64encode(DATA).decode()}), ()),
        (orjson.dumps({**WIRE, "subject": "m", "datacontenttype": "application/json", "partitionkey": None}), ()),
    ],
)
def test_both_modes_give_the_same_event(value: bytes, given: Headers) -> None:
    """However CloudEvents are carried, event and digest are equal."""
    assert open_(value, given) == EXPECTED


def test_the_prefix_of_http_is_read_and_counted() -> None:
    """`ce-` is wrong on Kafka, and common."""
    decoded = open_(DATA, headers("ce-"))
    assert decoded.event == EXPECTED.event
    assert decoded.misnamed_headers == 6


@pytest.mark.parametrize(
    ("value", "given", "reason", "path"),
    [
        (DATA, headers()[1:], "missing_field", "headers.ce_specversion"),
        (DATA, [header for header in headers() if header[0] != "ce_type"], "missing_field", "headers.ce_type"),
        (DATA, [*headers(), ("ce_time", b"now")], "time_bad", "headers.ce_time"),
        (DATA, [*headers(), ("ce_id", b"\xff")], "not_utf8", "headers.ce_id"),
        (b"{}", headers(), "missing_field", "data.memory_id"),
        (b"null", headers(), "null_value", ""),
        (b'"text"', headers(), "not_object", ""),
        (b"[]", [("content-type", b"application/cloudevents-batch+json")], "not_object", ""),
        (orjson.dumps({**WIRE, "data": None, "data_base64": "!"}), (), "not_json", "data_base64"),
        (orjson.dumps({**WIRE, "data": None, "data_base64": 5}), (), "not_json", "data_base64"),
        (orjson.dumps({**WIRE, "data": None, "data_base64": "W10="}), (), "not_object", "data_base64"),
    ],
)
def test_a_broken_envelope_is_refused_where_it_is_broken(value: bytes, given: Any, reason: str, path: str) -> None:
    """In binary mode the place is the header."""
    with pytest.raises(RecordError) as caught:
        open_(value, given)
    assert (caught.value.reason, caught.value.path) == (reason, path)
