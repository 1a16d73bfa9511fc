"""Opens a Kafka record: bytes and headers become one CloudEvents mapping, in structured or binary mode.

Only JSON is read. Nothing here knows event types or settings. A refused input gets the most telling reason: the fast
parser says only that it failed, so a failed document is looked at again, slowly, by `_diagnose`.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from guardian.contracts.reason import Reason, build_record_error
from guardian.errors import RecordError

Headers = Sequence[tuple[str, bytes | None]]

# CloudEvents' prefix on Kafka, and the one of HTTP, which many producers send by mistake.
_PREFIX = "ce_"
_WRONG_PREFIX = "ce-"
# Levels of nesting an event's data may have: the JSON writer stops at 254, and stored or sent again the data stands
# up to 4 levels deeper.
MAX_LEVELS = 250

# Possessive, and content with a missing end quote: else a soup of quotes costs quadratic time.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


class Opened(NamedTuple):
    """An opened record.

    Attributes:
        attributes: The envelope as one mapping, `data` included.
        is_binary: The attributes came from headers.
        misnamed_headers: Number of headers with the prefix `ce-`.
    """

    attributes: dict[str, Any]
    is_binary: bool = False
    misnamed_headers: int = 0


def open_envelope(value: bytes | None, headers: Headers = ()) -> Opened:
    """Give the CloudEvents attributes and data of a record, whichever mode it is in.

    Raises:
        RecordError: The record is no CloudEvent in JSON.
    """
    if not headers:
        return Opened(_open_structured(parse_object(value)))
    content_type, attributes, misnamed = read_headers(headers)
    document = parse_object(value)
    is_structured = (
        content_type.startswith("application/cloudevents")
        or not attributes.keys() & {"specversion", "type", "id"}
        or ("specversion" in document and "type" in document)  # structured messages may repeat their attributes as headers
    )
    if is_structured:
        return Opened(_open_structured(document), misnamed_headers=misnamed)
    attributes["data"] = document
    return Opened(attributes, is_binary=True, misnamed_headers=misnamed)


def read_headers(headers: Headers) -> tuple[str, dict[str, Any], int]:
    """Give the content type in lower case, the CloudEvents attributes, and how many had the wrong prefix."""
    content_type, attributes, misnamed = "", {}, 0
    for name, raw in headers:
        key = name.lower()
        if raw is None or not (key == "content-type" or key.startswith((_PREFIX, _WRONG_PREFIX))):
            continue
        try:
            text = raw.decode()
        except UnicodeDecodeError as exc:
            raise build_record_error(Reason.NOT_UTF8, "the header is not UTF-8.", path=f"headers.{name}") from exc
        if key == "content-type":
            content_type = text.strip().lower()
        else:
            misnamed += key.startswith(_WRONG_PREFIX)
            attributes[key[len(_PREFIX) :]] = text
    return content_type, attributes, misnamed


def _open_structured(document: dict[str, Any]) -> dict[str, Any]:
    """Give the document with its `data`, which may have come as `data_base64`."""
    encoded = document.get("data_base64")
    if encoded is None or document.get("data") is not None:
        return document
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (TypeError, ValueError, binascii.Error) as exc:
        raise build_record_error(Reason.NOT_JSON, "is not base64.", path="data_base64") from exc
    return {**document, "data": parse_object(raw, path="data_base64")}


def parse_object(value: bytes | None, *, path: str = "") -> dict[str, Any]:
    """Parse one JSON object; a byte order mark before it is ignored.

    Raises:
        RecordError: With the reason that tells most about what is wrong.
    """
    if value is None:
        raise build_record_error(Reason.NULL_VALUE, "the record has no value.", path=path)
    try:
        parsed = orjson.loads(value.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as exc:
        raise _diagnose(value, exc, path) from exc
    if type(parsed) is dict:
        return parsed
    if parsed is None:
        raise build_record_error(Reason.NULL_VALUE, "the value is JSON null.", path=path)
    raise build_record_error(Reason.NOT_OBJECT, f"the value is a JSON {type(parsed).__name__}.", path=path)


def _diagnose(value: bytes, cause: orjson.JSONDecodeError, path: str) -> RecordError:
    """Find out why a document did not parse. Linear in its size, never recursive."""
    try:
        text = value.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        return build_record_error(Reason.NOT_UTF8, f"byte {exc.start} begins no UTF-8 character.", path=path)
    skeleton = _STRING.sub('""', text)  # brackets and words inside strings must not count
    depth = _depth(skeleton)
    if depth > MAX_LEVELS:
        return build_record_error(Reason.NESTED_TOO_DEEP, f"nested {depth} levels deep.", path=path)
    if any(_has_lone_surrogate(match.group()) for match in _STRING.finditer(text)):
        return build_record_error(Reason.LONE_SURROGATE, "a string holds a lone surrogate escape.", path=path)
    if _has_infinite_number(skeleton):
        return build_record_error(Reason.NUMBER_NOT_FINITE, "a number is not finite.", path=path)
    return build_record_error(Reason.NOT_JSON, f"{cause.msg} at character {cause.pos}.", path=path)


def _has_infinite_number(skeleton: str) -> bool:
    """Tell whether a document is JSON but for NaN, Infinity or numbers too large, which the standard library reads."""
    numbers: list[float] = []

    def note(literal: str) -> None:
        numbers.append(float(literal))

    try:
        json.loads(skeleton, parse_float=note, parse_int=note, parse_constant=note)
    except (ValueError, RecursionError):
        return False
    return not all(map(math.isfinite, numbers))


def _depth(skeleton: str) -> int:
    """Give the greatest number of brackets open at once."""
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", skeleton):
        depth += 1 if bracket.group() in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _has_lone_surrogate(literal: str) -> bool:
    r"""Tell whether a JSON string literal escapes half a surrogate pair, as in `"\ud800"`."""
    awaits_low = False
    end = 0
    for match in _ESCAPE.finditer(literal):
        unit = int(match.group(1), 16) if match.group(1) else 0
        is_low = 0xDC00 <= unit <= 0xDFFF
        if awaits_low != is_low or (awaits_low and match.start() != end):
            return True
        awaits_low, end = 0xD800 <= unit <= 0xDBFF, match.end()
    return awaits_low
