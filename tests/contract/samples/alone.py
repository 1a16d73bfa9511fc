"""The rows of sample files as they would arrive one by one on a topic."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any


def list_rows(paths: list[Path]) -> list[dict[str, Any]]:
    """Give the objects in files of JSON, the rows of CSV, and those of a database; what is none of these has no rows."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*"))) if file.is_file()]
    return [row for file in files for row in _iter_file(file)]


def _iter_file(path: Path) -> Iterator[dict[str, Any]]:
    raw = path.read_bytes()
    if raw.startswith(b"SQLite format 3\x00"):
        yield from _iter_database(path)
        return
    text = (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw).decode(errors="replace")
    if "\n" in text and "," in text.split("\n")[0] and not text.lstrip().startswith(("{", "[")):
        yield from csv.DictReader(text.splitlines())
        return
    for document in _iter_documents(text):
        yield from _iter_objects(document)


def _iter_documents(text: str) -> Iterator[Any]:
    for part in (text, *text.splitlines()):
        try:
            document = json.loads(part)
        except ValueError:
            continue
        yield document
        if part is text:
            return


def _iter_objects(document: Any) -> Iterator[dict[str, Any]]:
    """Give an object, or the objects of a list; and those in the lists of an object, for pages and dumps."""
    for element in document if isinstance(document, list) else [document]:
        if isinstance(element, dict):
            yield element
            lists = [value for value in element.values() if isinstance(value, list)]
            yield from (row for rows in lists for row in rows if isinstance(row, dict))


def _iter_database(path: Path) -> Iterator[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            rows = (dict(row) for row in database.execute(f'SELECT * FROM "{name}"').fetchall())
            yield from ({key: _to_json(value) for key, value in row.items()} for row in rows)


def _to_json(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
