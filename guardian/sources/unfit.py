"""Say what a file is that no format recognises, why nothing is imported from it, and what to do instead.

People try what they have: a benchmark's questions, the database that an agent queried, a table of vectors. An answer
that only lists the known formats leaves them guessing whether the file is damaged; this one says what it is.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from guardian.errors import RecordError
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.object_file import head_of, sniff_document
from guardian.sources.reading.sqlite import is_sqlite, open_readonly

# Names that an answer lists before it says how many more there are.
_SHOWN = 8
_CLOUDEVENTS = "write the memories as JSON lines of CloudEvents (docs/sources.md) and replay those"
_MAP = f"map them as docs/live.md shows (--map NAME), or {_CLOUDEVENTS}"
_SOLUTIONS = "Keep it for evaluation; to import memories, give the log that the agent's memory wrote."
_NO_SOLUTIONS = "it holds questions and reference answers and no memories, and to import answers would be to give away solutions"


@dataclass(frozen=True, slots=True)
class Unfit:
    """What a file is, and what to do instead.

    Attributes:
        what: Goes on after the file's name: `is a table …, so that nothing is imported`.
        mend: A whole sentence.
    """

    what: str
    mend: str


# Files of rows that hold no memories, told by the keys of a row; the first that fits counts.
_ROWS: tuple[tuple[frozenset[str], Unfit], ...] = (
    (frozenset({"question", "db_id", "SQL"}), Unfit(f"is a text-to-SQL question set: {_NO_SOLUTIONS}", _SOLUTIONS)),
    (frozenset({"question", "db_id", "query"}), Unfit(f"is a text-to-SQL question set: {_NO_SOLUTIONS}", _SOLUTIONS)),
    (
        frozenset({"query", "memories", "failure_type"}),
        Unfit(
            "is a benchmark of queries with made-up memories that no agent wrote, without ids, times or sources",
            _SOLUTIONS,
        ),
    ),
    (
        frozenset({"id", "text", "embedding"}),
        Unfit(
            "is a table of embedded texts: which of them are memories, and which only queries, it does not say",
            "Give the file of the memories themselves; Guardian embeds them with the model of its own store.",
        ),
    ),
)
_PICKLE = Unfit(
    "is a Python pickle, which is not opened, because reading one runs whatever code it holds",
    "Load it in the program that wrote it and save the memories as JSON.",
)
# Begins a pickle of protocol 2 to 5.
_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_UTF_16 = Unfit(
    "is text in UTF-16, which no memory format is written in",
    "Write it again in UTF-8, such as with `iconv -f UTF-16 -t UTF-8`.",
)
_UTF_16_STARTS = (b"\xff\xfe", b"\xfe\xff")
_PACKED_SUFFIXES = frozenset({".gz", ".zst", ".bz2", ".xz", ".zip"})
_NOT_PACKED = Unfit(
    "has the name of a compressed file, but cannot be unpacked: it is damaged, or compressed in a way that is not read here",
    "Take it from its source again, or unpack it and give what is in it.",
)
_EMPTY = Unfit("is empty", "Take it from its source again.")
_SCHEMA = Unfit("is a JSON schema: it describes rows and holds none", "Give a file with the rows that it describes.")


def explain_unfit(path: Path) -> Unfit | None:
    """Give what a file is that no format recognised; None where there is nothing to say but that."""
    try:
        if is_sqlite(path):
            return _explain_database(path)
    except (OSError, RecordError, sqlite3.Error):
        return None
    head = head_of(path)
    unfit = _explain_bytes(path, head)
    if unfit is not None:
        return unfit
    if "$schema" in sniff_document(path, b'"$schema"'):
        return _SCHEMA
    rows = list(sniff_objects(path))
    for keys, unfit in _ROWS:
        if any(row.keys() >= keys for row in rows):
            return unfit
    if rows:
        named = _list(sorted({key for row in rows for key in row}))
        return Unfit(f"holds JSON rows with the keys {named}, which are those of no known format", _mend(_MAP))
    return _explain_table(path)


def _explain_bytes(path: Path, head: bytes) -> Unfit | None:
    """Tell what is no text in UTF-8 by its first bytes, unpacked."""
    if not path.stat().st_size:
        return _EMPTY
    if head.startswith(_PICKLE_STARTS):
        return _PICKLE
    if head.startswith(_UTF_16_STARTS):
        return _UTF_16
    is_packed_name = path.suffix.lower() in _PACKED_SUFFIXES
    return _NOT_PACKED if is_packed_name and (not head or "\ufffd" in head[:-4].decode("utf-8", "replace")) else None


def _explain_database(path: Path) -> Unfit:
    with closing(open_readonly(path)) as database:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
        tables = [row[0].decode("utf-8", "backslashreplace") for row in database.execute(query)]
    what = f"is a SQLite database with {'the tables ' + _list(tables) if tables else 'no tables'}: none is a table of memories"
    return Unfit(what, _mend(f"give the database in which the agent's memory keeps its log, or {_CLOUDEVENTS}"))


def _explain_table(path: Path) -> Unfit | None:
    """Tell a table of comma-separated values by a first line of several short names, as many as in the next lines."""
    lines = list(_iter_lines(head_of(path)))
    if len(lines) < 2 or len(lines[0]) < 2 or any(len(line) != len(lines[0]) for line in lines[1:3]):  # a pair
        return None
    columns = [name.strip() for name in lines[0]]
    if {"Question", "Best Answer"} <= set(columns):
        return Unfit(f"is a question set such as TruthfulQA: {_NO_SOLUTIONS}", _SOLUTIONS)
    return Unfit(f"is a table with the columns {_list(columns)}, which is no known format", _mend(_CLOUDEVENTS))


def _iter_lines(head: bytes) -> Iterator[list[str]]:
    """Yield the first rows of a table."""
    text = head.decode("utf-8", "replace")
    try:
        yield from list(csv.reader(text.splitlines()))[:4]
    except csv.Error:
        return


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(name[:60] for name in names[:_SHOWN]) + more


def _mend(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
