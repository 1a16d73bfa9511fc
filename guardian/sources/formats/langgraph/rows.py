"""Cut the files that hold a LangGraph store into rows: SQLite, a plain pg_dump, CSV with a header, and JSON.

A row is a mapping of columns, a `Fault` that costs itself, or a `Left`, a table that holds no items. Files are read row
by row. What a row means is not judged here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.reading.document import iter_values, sniff_value
from guardian.sources.reading.fields import render
from guardian.sources.reading.framing import HEAD_BYTES, MAX_ROW_BYTES, UNPACKING_ERRORS, Fault, open_stream
from guardian.sources.reading.sqlite import SQLITE_ERRORS, is_sqlite, open_readonly
from guardian.sources.reason import SourceReason

_COLUMNS = ("prefix", "key", "value", "created_at", "updated_at")
_NEEDED = frozenset({"prefix", "key", "value"})
# The head of a table in a plain pg_dump: schema and table may be quoted.
_COPY = re.compile(rb'^COPY (?:"?[\w$]+"?\.)?"?([\w$]+)"? \(([^)]*)\) FROM stdin;\s*$')
# Stands in the first lines of every plain dump.
_DUMP_TITLE = b"PostgreSQL database dump"
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SNIFFED_BYTES = 256 * 1024


class Form(StrEnum):
    """How a file holds the store."""

    SQLITE = "sqlite"
    PG_DUMP = "pg_dump"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Left:
    """A table beside the store: its name and number of rows."""

    table: str
    rows: int


@dataclass(frozen=True, slots=True)
class Found:
    """A row with its place."""

    position: str
    row: Mapping[str, Any] | Fault | Left


def find_form(path: Path) -> Form | None:
    """Tell by its content how a file holds a store; None for what holds none.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        if is_sqlite(path):
            with closing(open_readonly(path)) as database:
                columns = {row[1].decode("utf-8", "replace") for row in database.execute("PRAGMA table_info(store)")}
            return Form.SQLITE if columns >= set(_COLUMNS) else None
    except (*SQLITE_ERRORS, RecordError):
        return None
    with open_stream(path) as stream:
        try:
            head = stream.read(_SNIFFED_BYTES)
        except UNPACKING_ERRORS:
            return None
    if _DUMP_TITLE in head and _find_store(path):
        return Form.PG_DUMP
    header = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")
    if {name.strip('"') for name in header} >= _NEEDED:
        return Form.CSV
    first = next(iter(list_items(sniff_value(path))), None)
    return Form.JSON if is_item(first) else None


def _find_store(path: Path) -> bool:
    """Tell whether a dump holds the store: read on to it, for the tables of checkpoints come before and may be long."""
    with open_stream(path) as stream:
        try:
            while line := stream.readline(MAX_ROW_BYTES):
                if line.startswith(b"COPY ") and _is_store(*_read_head(line)):
                    return True
        except UNPACKING_ERRORS:
            return False
    return False


def _read_head(line: bytes) -> tuple[str, list[str]]:
    """Give the table and columns that a line of a dump begins; an empty name for any other line."""
    found = _COPY.match(line)
    if found is None:
        return "", []
    columns = found.group(2).decode("utf-8", "replace").split(",")
    return found.group(1).decode("utf-8", "replace"), [name.strip().strip('"') for name in columns]


def _is_store(table: str, columns: list[str]) -> bool:
    return table == "store" and set(columns) >= _NEEDED


def is_item(row: Any) -> bool:
    """Tell a row of the table or an item of the API by its fields."""
    if not isinstance(row, Mapping) or not row.keys() >= {"key", "value"}:
        return False
    return isinstance(row.get("prefix"), str) or isinstance(row.get("namespace"), list | tuple)


def list_items(value: Any) -> list[Any]:
    """Give the items of an answer (`items`) or a list, or a lone one."""
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return list(value["items"])
    return value if isinstance(value, list) else [value]


def iter_found(path: Path, form: Form) -> Iterator[Found]:
    """Yield the rows of a file in its own order; a compressed file that breaks off ends with a fault."""
    readers = {Form.SQLITE: _iter_sqlite, Form.PG_DUMP: _iter_dump, Form.CSV: _iter_csv, Form.JSON: _iter_json}
    try:
        yield from readers[form](path)
    except UNPACKING_ERRORS as error:
        yield Found(path.name, Fault(0, SourceReason.FILE_DAMAGED, f"the compressed file ends or breaks: {error}", b""))


def _iter_sqlite(path: Path) -> Iterator[Found]:
    done = 0
    with closing(open_readonly(path)) as database:
        try:
            columns = {row[1].decode("utf-8", "replace") for row in database.execute("PRAGMA table_info(store)")}
            wanted = [*_COLUMNS, *(["ttl_minutes"] if "ttl_minutes" in columns else [])]
            # Names come from the constants above, never from the input.
            for values in database.execute(f"SELECT {', '.join(wanted)} FROM store ORDER BY rowid"):  # noqa: S608
                done += 1
                yield Found(f"{path.name} store row {done}", _decode_columns(wanted, values, done))
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if b"store_vectors" in tables and (rows := database.execute("SELECT count(*) FROM store_vectors").fetchone()[0]):
                yield Found(f"{path.name} store_vectors", Left("store_vectors", rows))
        except SQLITE_ERRORS as error:
            fault = Fault(done + 1, SourceReason.FILE_DAMAGED, f"the database cannot be read after {done} rows: {error}", b"")
            yield Found(path.name, fault)


def _decode_columns(names: list[str], values: tuple[Any, ...], number: int) -> Mapping[str, Any] | Fault:
    row = dict(zip(names, values, strict=True))
    try:
        return {name: value.decode() if isinstance(value, bytes) and name != "value" else value for name, value in row.items()}
    except UnicodeDecodeError as error:
        return Fault(number, Reason.NOT_UTF8, f"a column is not UTF-8: {error}", render(row))


def _iter_dump(path: Path) -> Iterator[Found]:
    columns: list[str] = []
    table, rows, number = "", 0, 0
    with open_stream(path) as stream:
        while line := stream.readline(MAX_ROW_BYTES + 1):
            number += 1
            position = f"{path.name} line {number}"
            if len(line) > MAX_ROW_BYTES:
                head = line[:HEAD_BYTES]
                while line and not line.endswith(b"\n"):
                    line = stream.readline(HEAD_BYTES)
                yield Found(position, Fault(number, SourceReason.ROW_TOO_LONG, "the line is too long", head))
            elif not table:
                table, columns = _read_head(line)
                rows = 0
            elif line.rstrip(b"\r\n") == b"\\.":
                if rows:
                    yield Found(f"{path.name} {table}", Left(table, rows))
                table = ""
            elif _is_store(table, columns):
                yield Found(position, _read_copied(line, columns, number))
            else:
                rows += 1
    if table:
        yield Found(path.name, Fault(number + 1, SourceReason.FILE_DAMAGED, f"the dump ends inside table {table}", b""))


def _read_copied(line: bytes, columns: list[str], number: int) -> Mapping[str, Any] | Fault:
    """Read a line of COPY's text form: columns between tabs, a mark for null, and escapes."""
    try:
        cells = line.rstrip(b"\r\n").decode().split("\t")
    except UnicodeDecodeError as error:
        return Fault(number, Reason.NOT_UTF8, f"the line is not UTF-8: {error}", line[:HEAD_BYTES])
    if len(cells) != len(columns):
        message = f"the line has {len(cells)} columns, the table {len(columns)}"
        return Fault(number, SourceReason.SHAPE_UNKNOWN, message, line[:HEAD_BYTES])
    values = (None if cell == "\\N" else _ESCAPE.sub(_unescape, cell) for cell in cells)
    return _read_numbers(dict(zip(columns, values, strict=True)))


def _unescape(found: re.Match[str]) -> str:
    octal, hexadecimal, plain = found.groups()
    if plain is not None:
        return _ESCAPED.get(plain, plain)
    return chr(int(octal, 8) if octal else int(hexadecimal, 16))


def _iter_csv(path: Path) -> Iterator[Found]:
    # The limit of a field is one of the process; the reader's own, of 128 KiB, would refuse a long value.
    csv.field_size_limit(MAX_ROW_BYTES)
    number = 0
    with open_stream(path) as stream, TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="") as text:
        try:
            for number, row in enumerate(csv.DictReader(text), start=1):
                yield Found(f"{path.name} row {number}", _check_cells(row, number))
        except csv.Error as error:
            message = f"the file cannot be read after row {number}: {error}"
            yield Found(path.name, Fault(number + 1, SourceReason.FILE_DAMAGED, message, b""))


def _check_cells(row: Mapping[str | None, Any], number: int) -> Mapping[str, Any] | Fault:
    """Give a row without empty cells; one with too many cells, too few, or bytes that are no UTF-8 is at fault."""
    raw = repr(dict(row)).encode("utf-8", "backslashreplace")[:HEAD_BYTES]
    if None in row or None in row.values():
        return Fault(number, SourceReason.SHAPE_UNKNOWN, "the row has not as many cells as the header", raw)
    cells = {str(name): value for name, value in row.items() if value != ""}
    try:
        "".join(cells.values()).encode()
    except UnicodeEncodeError as error:
        return Fault(number, Reason.NOT_UTF8, f"the row is not UTF-8: {error}", raw)
    # An empty cell is null, but a key may be empty.
    return _read_numbers({"prefix": row.get("prefix", ""), "key": row.get("key", ""), **cells})


def _read_numbers(row: dict[str, Any]) -> dict[str, Any]:
    """Give the row with the one column that holds a number as one."""
    try:
        return {**row, "ttl_minutes": float(row["ttl_minutes"])} if row.get("ttl_minutes") else row
    except ValueError:
        return row


def _iter_json(path: Path) -> Iterator[Found]:
    for found in iter_values(path, is_document=lambda head: isinstance(head, dict) and "items" in head):
        position = f"{path.name} line {found.number}"
        if isinstance(found, Fault):
            yield Found(position, found)
            continue
        items = list_items(found.value)
        for number, row in enumerate(items, start=1):
            where = position if len(items) == 1 and row is found.value else f"{position} item {number}"
            if isinstance(row, dict):
                yield Found(where, row)
            else:
                yield Found(where, Fault(number, SourceReason.SHAPE_UNKNOWN, "the item is no JSON object", render(row)))
