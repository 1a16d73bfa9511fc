"""Open the SQLite databases of other programs without the right or the means to change anything."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from guardian.errors import RecordError
from guardian.sources.reason import SourceReason

# What reading a damaged database raises; the second where SQLite quotes bytes of it in its message, the third where a length in it is
# out of all proportion, long before memory is short.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError, MemoryError)

_MAGIC = b"SQLite format 3\x00"


def is_sqlite(path: Path) -> bool:
    """Tell a database by its first bytes.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def open_readonly(path: Path) -> sqlite3.Connection:
    """Open without the right or the means to change anything; text comes as bytes, for some of it may not be UTF-8."""
    try:
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error as error:
        raise RecordError(SourceReason.FILE_UNREADABLE, f"{path} cannot be opened as a SQLite database: {error}") from error
    database.text_factory = bytes
    return database


def refuse_unfinished(path: Path) -> None:
    """Refuse a database whose last changes stand in a side file, which an immutable read would silently miss."""
    for suffix in ("-wal", "-journal"):
        side = path.with_name(path.name + suffix)
        if side.exists() and side.stat().st_size > 0:
            raise RecordError(
                SourceReason.FILE_IN_USE,
                f"{path} has unfinished changes in {side.name}. Stop the program that writes it, or import a copy made "
                f'with: sqlite3 {path.name} ".backup copy.db".',
            )
