"""Read files that hold one JSON document instead of rows: pages of an API, exports, dumps; plain or gzip.

A document is held whole, because its lists may stand in any order, so its size is bounded. What a file holds is told
by its head alone, so that telling a format costs the same for a large file as for a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from guardian.contracts.reason import Reason
from guardian.sources.reading.framing import (
    BOM,
    HEAD_BYTES,
    STRUCTURE,
    UNPACKING_ERRORS,
    Fault,
    Row,
    iter_rows,
    open_stream,
    sniff_objects,
)
from guardian.sources.reason import SourceReason

# Bytes of a document that is read whole. Parsed it takes some five times as much memory: 512 MiB need a machine of 4 GiB.
MAX_DOCUMENT_BYTES = 512 * 1024 * 1024
# Bytes looked at to tell what a document is: enough to pass one embedding of the largest models.
_SNIFFED_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value of a file: its number from 1 (line, element, or 1 for a document), and what it is."""

    number: int
    value: Any
    is_document: bool = False


def sniff_value(path: Path) -> Any:
    """Give the beginning of the first JSON value in a file, cut to what its first bytes hold; None for what is no JSON.

    Lists and objects that are cut end early: the keys and elements that are there are true, and more may follow.
    """
    try:
        with open_stream(path) as stream:
            head = stream.read(_SNIFFED_BYTES).removeprefix(BOM).lstrip()
    except (OSError, *UNPACKING_ERRORS):
        return None
    end, cut, closers = _measure(head)
    try:
        return orjson.loads(head[:end] if end else head[:cut] + closers)
    except orjson.JSONDecodeError:
        return None


def _measure(head: bytes) -> tuple[int, int, bytes]:
    """Give where the first value ends (0 if it does not), and else where it may be cut and what closes it there."""
    if head[:1] not in (b"{", b"["):
        return 0, 0, b""
    open_brackets: list[bytes] = []
    in_string, escaped, cut, closers = False, -1, 0, b""
    for token in STRUCTURE.finditer(head):
        at, byte = token.start(), token.group()
        if at == escaped:
            continue
        if byte == b"\\":
            escaped = at + 1
        elif byte == b'"':
            in_string = not in_string
        elif in_string:
            continue
        elif byte in b"[{":
            open_brackets.append(b"]" if byte == b"[" else b"}")
        elif byte in b"]}":
            open_brackets.pop()
            if not open_brackets:
                return at + 1, 0, b""
        else:
            cut, closers = at, b"".join(reversed(open_brackets))
    return 0, cut, closers


def iter_values(path: Path, *, is_document: Callable[[Any], bool]) -> Iterator[Value | Fault]:
    """Yield the JSON values of a file: one whole document where its head says so, else its rows.

    Args:
        path: The file.
        is_document: Tells by the head (`sniff_value`) that the file is one document, not lines of such.

    Raises:
        OSError: The file cannot be opened.
    """
    if is_document(sniff_value(path)) and not _is_line(path):
        found = _load(path)
        # Lines whose first is broken look like a document that is.
        if isinstance(found, Value) or next(sniff_objects(path), None) is None:
            yield found
            return
    for row in iter_rows(path):
        if isinstance(row, Fault):
            yield row
            continue
        try:
            yield Value(row.number, orjson.loads(row.raw))
        except orjson.JSONDecodeError as error:
            yield Fault(row.number, Reason.NOT_JSON, f"the row is no JSON: {error}", row.raw[:HEAD_BYTES])


def _is_line(path: Path) -> bool:
    """Tell lines of documents from one document: the first line is a whole value by itself.

    A document of one line is read as a line, if it is not too long for one.
    """
    first = next(iter_rows(path), None)
    if not isinstance(first, Row):
        return False
    try:
        orjson.loads(first.raw)
    except orjson.JSONDecodeError:
        return False
    return True


def _load(path: Path) -> Value | Fault:
    """Give the whole document."""
    try:
        with open_stream(path) as stream:
            content = stream.read(MAX_DOCUMENT_BYTES + 1)
    except UNPACKING_ERRORS as error:
        return Fault(1, SourceReason.FILE_DAMAGED, f"the compressed file ends or breaks: {error}", b"")
    if len(content) > MAX_DOCUMENT_BYTES:
        message = f"one JSON document of more than {MAX_DOCUMENT_BYTES} bytes"
        return Fault(1, SourceReason.DOCUMENT_TOO_LARGE, message, content[:HEAD_BYTES])
    content = content.removeprefix(BOM)
    try:
        return Value(1, orjson.loads(content), is_document=True)
    except orjson.JSONDecodeError as error:
        return Fault(1, Reason.NOT_JSON, f"the document is no JSON: {error}", content[:HEAD_BYTES])
