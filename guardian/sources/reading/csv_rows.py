"""Cut a CSV file with a header into rows, as a database writes it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from guardian.contracts.reason import Reason
from guardian.sources.port import Broken
from guardian.sources.reading.framing import HEAD_BYTES, MAX_ROW_BYTES, UNPACKING_ERRORS, Readable, open_stream
from guardian.sources.reason import SourceReason

# Columns of a table; a line with more is no header.
_MAX_COLUMNS = 500


def sniff_header(path: Readable) -> frozenset[str]:
    """Give the names in the first line; nothing for what cannot be read, or is no CSV with a header."""
    try:
        with open_stream(path) as stream:
            line = stream.readline(HEAD_BYTES).decode("utf-8-sig")
        names = next(csv.reader([line]), [])
    except (OSError, *UNPACKING_ERRORS, UnicodeDecodeError, csv.Error):
        return frozenset()
    return frozenset(names) if 1 < len(names) <= _MAX_COLUMNS else frozenset()


def iter_csv_rows(path: Readable) -> Iterator[tuple[int, dict[str, str] | Broken]]:
    """Yield number (from 1, the header is none) and columns of each row; a row that is none costs itself.

    Raises:
        OSError: The file cannot be opened.
    """
    # The limit holds for the process; the embeddings that databases export are longer than its default.
    csv.field_size_limit(MAX_ROW_BYTES)
    number = 0
    with open_stream(path) as stream:
        reader = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline=""))
        header: list[str] | None = None
        while True:
            try:
                values = next(reader, None)
            except (csv.Error, *UNPACKING_ERRORS) as error:
                yield (
                    number + 1,
                    Broken(position="", reason=SourceReason.FILE_DAMAGED, message=f"the CSV breaks off: {error}", raw=b""),
                )
                return
            if values is None:
                return
            if header is None:
                header = values
            elif values:
                number += 1
                yield number, _read_row(header, values)


def _read_row(header: list[str], values: list[str]) -> dict[str, str] | Broken:
    raw = ",".join(values).encode("utf-8", "surrogateescape")[:HEAD_BYTES]
    if len(values) != len(header):
        message = f"the row has {len(values)} columns, the header {len(header)}"
        return Broken(position="", reason=SourceReason.SHAPE_UNKNOWN, message=message, raw=raw)
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return Broken(position="", reason=Reason.NOT_UTF8, message="the row is not UTF-8", raw=raw)
    return dict(zip(header, values, strict=True))
