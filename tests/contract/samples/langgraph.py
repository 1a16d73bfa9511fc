"""Samples of LangGraph's store. The writer gives the files in order and their number of rows."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

TIME = 1_780_000_000
STORE = (
    "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL, created_at TIMESTAMP, "
    "updated_at TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key))"
)
ROWS: list[tuple[Any, ...]] = [
    (
        "memories.u1",
        "k1",
        {"kind": "Memory", "content": {"content": "Prefers tea"}},
        "2026-05-01 08:00:00",
        "2026-05-02 08:00:00",
    ),
    ("memories.u1", "k2", {"content": "Sits at desk 2"}, "2026-05-01 08:00:00", "2026-05-01 08:00:00"),
    (
        "facts",
        "k3",
        {"kind": "Fact", "content": {"subject": "host-7", "is": "staging"}},
        "2026-05-01 08:00:00",
        "2026-05-01 08:00:00",
    ),
]
DUMP = (
    "--\n-- PostgreSQL database dump\n--\nSET client_encoding = 'UTF8';\n"
    "COPY public.checkpoints (thread_id, checkpoint) FROM stdin;\nt1\t{}\n\\.\n\n"
    "COPY public.store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes) FROM stdin;\n"
    'memories.u1\tk1\t{"kind": "Memory", "content": {"content": "Prefers tea"}}\t2026-05-01 08:00:00+00\t2026-05-02 08:00:00+00'
    "\t\\N\t\\N\n"
    'memories.u1\tk2\t{"content": "Sits at\\\\n\\\\tdesk \\\\"2\\\\""}\t2026-05-01 08:00:00+00\t2026-05-01 08:00:00.5+00\t\\N\t60\n'
    "\\.\n"
)


def write_sqlite(path: Path, rows: list[tuple[Any, ...]], *, time: int = TIME) -> Path:
    """Write the store as SQLite's saver does: values as bytes."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(STORE)
        for prefix, key, value, created, updated in rows:
            values = (prefix, key, orjson.dumps(value), created, updated)
            database.execute("INSERT INTO store (prefix, key, value, created_at, updated_at) VALUES (?, ?, ?, ?, ?)", values)
    os.utime(path, (time, time))
    return path


def write_store(folder: Path) -> tuple[list[Path], int]:
    """Write two states of a database, with an update and a deletion between them."""
    changed = [*ROWS[:1], ("memories.u1", "k2", {"content": "Sits at desk 3"}, "2026-05-03 08:00:00", "2026-05-03 08:00:00")]
    return [write_sqlite(folder / "a.sqlite", ROWS), write_sqlite(folder / "b.sqlite", changed, time=TIME + 1)], 5
