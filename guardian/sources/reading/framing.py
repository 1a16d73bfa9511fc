"""Cut a file into rows of JSON, without parsing them: JSON lines or one JSON array, plain, gzip or zstd.

Rows are found by structure alone (line ends; commas at depth one outside strings), so a row with a fault inside costs
itself and not its neighbours. A file is never held whole: at most one row of `MAX_ROW_BYTES` is in memory.
Blank lines are no rows. Whether a file is compressed or an array is told by its first bytes, never by its name.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, Literal, Protocol, cast

import orjson
import zstandard

from guardian.sources.reading.position import followed
from guardian.sources.reason import SourceReason

# Bytes of one row. 16 MiB is 500 times the longest text that is accepted later; a row beyond it is no memory, and
# bounding it bounds the memory of an import.
MAX_ROW_BYTES = 16 * 1024 * 1024
# Bytes of an over-long row that are kept for the dead letter.
HEAD_BYTES = 64 * 1024
# Rows looked at to tell a format: enough to pass some broken first lines, few enough to cost nothing.
SNIFFED_ROWS = 20

# What reading a compressed file raises when it breaks off or is damaged.
UNPACKING_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)

_CHUNK_BYTES = 64 * 1024
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BOM = b"\xef\xbb\xbf"
STRUCTURE = re.compile(rb'[\[\]{},"\\]')


class Readable(Protocol):
    """What rows are read from: a path, or content that stands elsewhere (in an archive, in a repository)."""

    @property
    def name(self) -> str:
        """Give its name, for people and for a time in it."""
        ...

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open it for reading from the beginning; what is given can seek."""
        ...


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number from 1 (line, or element of the array) and its bytes without the line end."""

    number: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """A row that cannot be cut out; after `file_damaged`, `array_cut` and `array_followed` nothing follows."""

    number: int
    reason: str
    message: str
    raw: bytes


def iter_rows(path: Readable) -> Iterator[Row | Fault]:
    """Yield the rows of a file in order.

    Raises:
        OSError: The file cannot be opened.
    """
    number = 0
    with open_stream(path) as stream:
        try:
            rows = _iter_elements(stream) if _is_array(stream) else _iter_lines(stream)
            for row in rows:
                number = row.number
                yield row
        except UNPACKING_ERRORS as error:
            yield Fault(
                number + 1,
                SourceReason.FILE_DAMAGED,
                f"the compressed file ends or breaks after row {number}: {error}",
                b"",
            )


def sniff_objects(path: Readable) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among the first rows of a file, to tell its format; nothing for what cannot be read."""
    try:
        for row in islice(iter_rows(path), SNIFFED_ROWS):
            if isinstance(row, Fault):
                continue
            try:
                value = orjson.loads(row.raw)
            except orjson.JSONDecodeError:
                continue
            if isinstance(value, dict):
                yield value
    except OSError:
        return


@contextmanager
def open_stream(path: Readable) -> Iterator[IO[bytes]]:
    """Open for reading, through gzip or zstd when the first bytes say so; what is given can be rewound to its beginning.

    Reading raises `UNPACKING_ERRORS` where a compressed file breaks off or is damaged.
    """
    with path.open("rb") as file, followed(path, file):
        head = file.read(len(_ZSTD))
        file.seek(0)
        if head.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
                yield cast(IO[bytes], unpacked)
        elif head == _ZSTD:
            with io.BufferedReader(_Zstd(file)) as unpacked:
                yield cast(IO[bytes], unpacked)
        else:
            yield file


class _Zstd(io.RawIOBase):
    """A zstd stream that can be rewound, as every reader looks at the beginning first."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._unpacked = self._packed = b""
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can be rewound."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read unpacked bytes.

        Raises:
            EOFError: The file ends inside a frame.
        """
        while not self._unpacked:
            packed = self._packed or self._file.read(_CHUNK_BYTES)
            self._packed = b""
            if not packed:
                if self._frame is not None:
                    raise EOFError("the file ends inside a zstd frame")
                return 0
            frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            self._unpacked = frame.decompress(packed)
            self._packed, self._frame = (frame.unused_data, None) if frame.eof else (b"", frame)
        part = self._unpacked[: len(buffer)]
        self._unpacked = self._unpacked[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Rewind; nothing else is needed."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("a compressed file can only be rewound")
        self._file.seek(0)
        self._unpacked = self._packed = b""
        self._frame = None
        return 0


def _is_array(stream: IO[bytes]) -> bool:
    """Tell an array of objects (or of nothing) by its first two bytes that are not blank, and rewind."""
    head = stream.read(_CHUNK_BYTES).removeprefix(BOM).lstrip()
    stream.seek(0)
    return head.startswith(b"[") and head[1:].lstrip()[:1] in {b"{", b"]"}


def _iter_lines(stream: IO[bytes]) -> Iterator[Row | Fault]:
    number = 0
    while line := stream.readline(MAX_ROW_BYTES + 1):
        number += 1
        if len(line) > MAX_ROW_BYTES:
            head = line[:HEAD_BYTES]
            while line and not line.endswith(b"\n"):
                line = stream.readline(_CHUNK_BYTES)
            yield _too_long(number, head)
            continue
        raw = (line.removeprefix(BOM) if number == 1 else line).strip(b" \t\r\n")
        if raw:
            yield Row(number, raw)


def _iter_elements(stream: IO[bytes]) -> Iterator[Row | Fault]:
    """Yield the elements of a top-level array: depth and strings are followed, contents are not judged."""
    number, depth, offset, escaped = 0, 0, 0, -1
    in_string = False
    element = bytearray()
    while chunk := stream.read(_CHUNK_BYTES):
        start = 0
        for token in STRUCTURE.finditer(chunk):
            at, byte = token.start(), token.group()
            if offset + at == escaped:
                continue
            if in_string or byte == b'"':
                if byte == b"\\":
                    escaped = offset + at + 1
                elif byte == b'"':
                    in_string = not in_string
                continue
            depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(byte, 0)
            is_opening = depth == 1 and byte == b"[" and number == 0 and not element.strip()
            is_cut = (depth == 1 and byte == b",") or (depth == 0 and byte == b"]")
            if is_cut:
                _extend(element, chunk[start:at])
                if element.strip():
                    number += 1
                    yield _cut(number, element)
                element.clear()
            if is_cut or is_opening:
                start = at + 1
            if depth == 0 and byte == b"]":
                yield from _check_end(number, chunk[start:] + stream.read(HEAD_BYTES))
                return
        _extend(element, chunk[start:])
        offset += len(chunk)
    yield Fault(
        number + 1,
        SourceReason.ARRAY_CUT,
        f"the JSON array ends inside element {number + 1}",
        bytes(element[:HEAD_BYTES]),
    )


def _check_end(number: int, rest: bytes) -> Iterator[Fault]:
    """Report what follows the end of the array, which is no row of it."""
    if rest.strip():
        yield Fault(number + 1, SourceReason.ARRAY_FOLLOWED, "something follows the end of the JSON array", rest[:HEAD_BYTES])


def _extend(element: bytearray, part: bytes) -> None:
    """Grow the element, but never beyond what shows that it is too long."""
    element += part[: MAX_ROW_BYTES + 1 - len(element)]


def _cut(number: int, element: bytearray) -> Row | Fault:
    if len(element) > MAX_ROW_BYTES:
        return _too_long(number, bytes(element[:HEAD_BYTES]))
    return Row(number, bytes(element).strip(b" \t\r\n"))


def _too_long(number: int, head: bytes) -> Fault:
    return Fault(number, SourceReason.ROW_TOO_LONG, f"row {number} is longer than {MAX_ROW_BYTES} bytes", head)
