"""Write the files of samples, as lines, as an array or as one object, and read what a source makes of them."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guardian.sources.port import Item, RowChange, RowOperation, RowSource, Source, SourceEvent, SourceOptions

# Modification time of the first file of a sample; each further one is a second later.
FIRST_TIME = 1_700_000_000


def write_lines(path: Path, *rows: Any) -> Path:
    """Write a row a line; a text stays as it is, for lines that are no JSON."""
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows) + "\n")
    return path


def write_json(path: Path, value: Any, *, indent: int | None = None) -> Path:
    """Write one JSON value."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent))
    return path


def stamp_files(*paths: Path) -> list[Path]:
    """Give the files modification times that rise by a second."""
    for number, path in enumerate(paths):
        os.utime(path, (FIRST_TIME + number, FIRST_TIME + number))
    return list(paths)


def read(source: Source, *paths: Path, **options: Any) -> list[Item]:
    """Give the items of files."""
    return list(source.iter_items(paths, SourceOptions(**options)))


def read_alone(source: RowSource, row: dict[str, Any], operation: RowOperation = RowOperation.CREATE) -> list[Item]:
    """Give the items of a row that arrives by itself."""
    is_deleted = operation is RowOperation.DELETE
    time = datetime(2026, 7, 1, tzinfo=UTC)
    sides = {"before" if is_deleted else "after": row}
    change = RowChange(position="topic/0/7", identity="7", operation=operation, time=time, **sides)
    assert source.matches_row(change)
    return list(source.iter_row(change, SourceOptions()))


def events_of(items: list[Item], kind: str = "") -> list[dict[str, Any]]:
    """Give the events, or those whose type ends so."""
    found = [dict(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None]
    return [event for event in found if event["type"].endswith(kind)]


def data_of(items: list[Item], kind: str = "") -> list[dict[str, Any]]:
    """Give the data of the events, or of those whose type ends so."""
    return [event["data"] for event in events_of(items, kind)]


def reasons_of(items: list[Item]) -> list[str]:
    """Give the reasons of what became no event, in order."""
    return [str(item.reason) for item in items if not isinstance(item, SourceEvent)]
