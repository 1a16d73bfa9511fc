"""Write what is no plain file as bytes, so that a fuzzer can change it: records with their headers, and databases.

Any bytes can be read back: what cannot be understood is left out, so that no input is lost on the frame.

A record is written like a letter of HTTP, its headers as Kafka has them; without a blank line it has no value:

```
topic agent.notes
timestamp 1772323200000
header ce_id: e1
header ce_time

{"memory_id": "m1"}
```

A database is a JSON description that becomes a SQLite file, and then may be damaged:

```
{"tables": [{"name": "history", "columns": ["id TEXT"], "rows": [["a"]]}], "sql": [], "patches": [[100, 255]], "cut": 4096}
```
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing, suppress
from typing import Any

from guardian.stream.plane.origin import Header, Record

_INT64 = 2**63
# What no name of a topic has; longer than 249 characters is none.
_NO_TOPIC = re.compile(r"[^A-Za-z0-9._-]")


def pack_record(record: Record) -> bytes:
    """Write a record; line ends in headers are lost."""
    lines = [
        f"topic {record.topic}",
        f"partition {record.partition}",
        f"offset {record.offset}",
        f"timestamp {record.timestamp_ms}",
    ]
    lines += [] if record.key is None else [f"key {record.key.decode()}"]
    lines += [f"header {name}" if value is None else f"header {name}: {value.decode()}" for name, value in record.headers]
    head = "\n".join(lines).encode()
    return head if record.value is None else head + b"\n\n" + record.value


def unpack_record(data: bytes) -> Record:
    """Read a record; topics and numbers are kept within what Kafka has, and header names are text as the consumer gives them."""
    head, gap, value = data.partition(b"\n\n")
    fields: dict[str, str] = {}
    headers: list[Header] = []
    for line in head.split(b"\n"):
        word, _, rest = line.partition(b" ")
        if word == b"header":
            name, colon, content = rest.partition(b": ")
            headers.append((name.decode(errors="backslashreplace"), content if colon else None))
        else:
            fields[word.decode(errors="replace")] = rest.decode(errors="replace")
    return Record(
        topic=_NO_TOPIC.sub("", fields.get("topic", ""))[:249] or "guardian.events",
        partition=abs(_read_number(fields.get("partition"), 0)) % 2**31,
        offset=abs(_read_number(fields.get("offset"), 0)) % _INT64,
        timestamp_ms=max(-_INT64, min(_INT64 - 1, _read_number(fields.get("timestamp"), 1_800_000_000_000))),
        key=fields["key"].encode() if "key" in fields else None,
        value=value if gap else None,
        headers=tuple(headers),
    )


def _read_number(text: str | None, default: int) -> int:
    try:
        return int(text) if text is not None and len(text) < 25 else default
    except ValueError:
        return default


def build_database(data: bytes) -> tuple[bytes, dict[str, int]] | None:
    """Build the bytes of a SQLite file, and how many rows each table took; None for a description that builds none.

    The counts are empty when the file was damaged afterwards or statements of its own were run.
    """
    try:
        description = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(description, dict):
        return None
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.execute("PRAGMA page_size = 512")
        with suppress(sqlite3.Error):
            if description.get("encoding") in ("UTF-16le", "UTF-16be"):
                database.execute(f"PRAGMA encoding = '{description['encoding']}'")
        counts: dict[str, int] = {}
        for table in _list(description.get("tables")):
            if isinstance(table, dict) and isinstance(name := table.get("name"), str):
                counts[name.lower()] = counts.get(name.lower(), 0) + _fill_table(database, name, table)
        for statement in _list(description.get("sql"))[:8]:
            counts = {}
            with suppress(sqlite3.Error, sqlite3.Warning, TypeError, ValueError):
                database.execute(statement)
        try:
            raw = bytearray(database.serialize())
        except sqlite3.Error:  # an empty database
            return None
    return _damage(raw, description, counts)


def _fill_table(database: sqlite3.Connection, name: str, table: dict[str, Any]) -> int:
    """Make a table and put rows into it; gives how many it took."""
    columns = [str(column) for column in _list(table.get("columns"))]
    with suppress(sqlite3.Error, sqlite3.Warning, ValueError):
        database.execute(f"CREATE TABLE {_quote(name)} ({', '.join(columns)})")
    taken = 0
    for row in _list(table.get("rows"))[:200]:
        values = [_read_value(value) for value in _list(row)]
        marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, bytearray) else "?" for value in values)
        with suppress(sqlite3.Error, sqlite3.Warning, OverflowError, ValueError, UnicodeError):
            database.execute(f"INSERT INTO {_quote(name)} VALUES ({marks})", values)
            taken += 1
    return taken


def _read_value(value: Any) -> Any:
    """Give the value of a cell; `{"text": hex}` is text of these bytes, `{"blob": hex}` a blob."""
    if isinstance(value, dict):
        with suppress(KeyError, ValueError, TypeError):
            return bytearray.fromhex(value["text"])
        with suppress(KeyError, ValueError, TypeError):
            return bytes.fromhex(value["blob"])
    return json.dumps(value) if isinstance(value, dict | list) else value


def _damage(raw: bytearray, description: dict[str, Any], counts: dict[str, int]) -> tuple[bytes, dict[str, int]]:
    for patch in _list(description.get("patches")):
        if isinstance(patch, list) and len(patch) == 2 and all(type(number) is int for number in patch):
            raw[patch[0] % len(raw)] = patch[1] % 256
            counts = {}
    cut = description.get("cut")
    if type(cut) is int:
        del raw[cut % len(raw) :]
        counts = {}
    return bytes(raw), counts


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
