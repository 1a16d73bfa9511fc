"""Read files that are one JSON object, whole: some formats cannot be cut into rows before they are parsed.

Their size is bounded, and so is the memory of an import. JSON lines and arrays go through `framing` instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.reading.framing import HEAD_BYTES, UNPACKING_ERRORS, open_stream
from guardian.sources.reading.row_fields import require_object
from guardian.sources.reason import SourceReason

# Bytes of a file that is one object. Parsed, it takes about eight times as much memory; formats of this kind are
# rewritten whole at every change by the programs that own them, which stop being usable long before this size.
MAX_DOCUMENT_BYTES = 512 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


def load_document(path: Path) -> dict[str, Any]:
    """Give the JSON object that a file holds.

    Raises:
        RecordError: It is too large (`document_too_large`), damaged, no JSON, or no object.
        OSError: It cannot be opened.
    """
    raw = _read(path, MAX_DOCUMENT_BYTES + 1)
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise RecordError(SourceReason.DOCUMENT_TOO_LARGE, f"the file is one object of more than {MAX_DOCUMENT_BYTES} bytes")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_JSON, f"the file is not one JSON object: {error}") from error
    return require_object(value, "the file")


def sniff_document(path: Path, *marks: bytes) -> dict[str, Any]:
    """Give the object that a file holds, to tell its format; empty for what cannot be read or lacks a mark near its start.

    Args:
        path: The file.
        marks: Bytes that stand in the first 64 KiB of every file of the format, so that others are not parsed for nothing.
    """
    try:
        head = _read(path, HEAD_BYTES).lstrip()
        if not head.startswith(b"{") or not all(mark in head for mark in marks):
            return {}
        return load_document(path)
    except (OSError, RecordError):
        return {}


def head_of(path: Path) -> bytes:
    """Give the first bytes of a file for its dead letter; none when it cannot be read."""
    try:
        return _read(path, HEAD_BYTES)
    except (OSError, RecordError):
        return b""


def _read(path: Path, size: int) -> bytes:
    """Give the first bytes of a file, unpacked.

    Raises:
        RecordError: `file_damaged`.
        OSError: It cannot be opened.
    """
    with open_stream(path) as stream:
        try:
            return stream.read(size).removeprefix(_BOM)
        except UNPACKING_ERRORS as error:
            raise RecordError(SourceReason.FILE_DAMAGED, f"the compressed file ends or breaks: {error}") from error
