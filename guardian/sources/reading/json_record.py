"""Read files that are one JSON document, and rows of files that are either that or JSON lines or an array.

A document is held whole, so it is bounded. One that is a JSON text inside a JSON text (some exporters encode twice) is
opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.reading.framing import SNIFFED_ROWS, UNPACKING_ERRORS, Fault, Readable, Row, iter_rows, open_stream
from guardian.sources.reason import SourceReason

# Bytes of one document. Parsed, it takes several times that; 512 MiB is beyond every export seen.
MAX_DOCUMENT_BYTES = 512 * 1024 * 1024


def read_document(path: Readable) -> Any:
    """Give the value of a file that is one JSON document, encoded once or twice.

    Raises:
        RecordError: It is too large, is no JSON, or cannot be read.
    """
    value = parse_json(_read_bytes(path), f"{path.name} is no JSON document")
    return parse_json(value.encode(), f"{path.name} holds a text that is no JSON") if isinstance(value, str) else value


def parse_json(raw: bytes, what: str) -> Any:
    """Give the value of a JSON text.

    Raises:
        RecordError: `not_json`.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_JSON, f"{what}: {error}") from error
    except UnicodeEncodeError as error:
        raise RecordError(Reason.NOT_JSON, f"{what}: lone surrogates") from error


def iter_records(path: Readable) -> Iterator[Row | Fault]:
    """Yield the rows of a file; one that is a single object over several lines is one row."""
    rows = iter_rows(path)
    first = next(rows, None)
    if isinstance(first, Row) and first.raw.startswith(b"{") and not _is_json(first.raw):
        try:
            raw = _read_bytes(path)
        except RecordError:
            raw = b""
        if _is_json(raw):
            yield Row(1, raw)
            return
    if first is not None:
        yield first
        yield from rows


def sniff_records(path: Readable) -> list[dict[str, Any]]:
    """Give the JSON objects among the first rows of a file; nothing for what cannot be read."""
    try:
        rows = [row.raw for row in islice(iter_records(path), SNIFFED_ROWS) if isinstance(row, Row) and _is_json(row.raw)]
    except OSError:
        return []
    return [value for raw in rows if isinstance(value := orjson.loads(raw), dict)]


def scan_document(path: Readable, *words: bytes) -> bool:
    """Tell whether a file's bytes hold all words: a cheap look before a whole document is parsed to tell its format."""
    try:
        raw = _read_bytes(path)
    except RecordError:
        return False
    return raw.lstrip()[:1] in {b"{", b'"'} and all(word in raw for word in words)


def _read_bytes(path: Readable) -> bytes:
    try:
        with open_stream(path) as stream:
            raw = stream.read(MAX_DOCUMENT_BYTES + 1)
    except (OSError, *UNPACKING_ERRORS) as error:
        raise RecordError(SourceReason.FILE_UNREADABLE, f"{path.name} cannot be read: {error}") from error
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise RecordError(SourceReason.FILE_TOO_LARGE, f"{path.name} is one document of more than {MAX_DOCUMENT_BYTES} bytes")
    return raw.removeprefix(b"\xef\xbb\xbf")


def _is_json(raw: bytes) -> bool:
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    return True
