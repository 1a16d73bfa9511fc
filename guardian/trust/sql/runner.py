"""Run one query in a process of its own: the second wall. `python -I runner.py`, a request in JSON on stdin, an answer on stdout.

Before the database is opened the process gives up what it will not need: it may write no file, start no process, and take only so much memory
and processor time; whoever started it kills it when its time is over. The database itself is opened read-only:

- SQLite: `mode=ro`, an authorizer that allows reading, functions and recursion and nothing else (no ATTACH, no PRAGMA), no extensions.
- DuckDB: read-only, no access outside the database, settings locked, memory bounded.
- Postgres: a read-only transaction with a statement timeout, one prepared statement in it, and a role that may not read files of the server,
  write them or run programs there: such a role, a superuser's among them, is refused. Give it one that may only read what audits need.

A database that cannot be opened is no fault of the query, and is told apart.

Rows are counted and digested, never returned: what a query finds is no business of an audit.
"""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "zeroblob", "randomblob"})
# Longest text or blob, and deepest expression, that SQLite may make.
_MAX_VALUE_BYTES = 1_000_000
_MAX_DEPTH = 200
# Read-only transactions bar neither reading the server's files nor COPY to a program.
_TOO_STRONG = """
    SELECT r.rolsuper OR EXISTS (
        SELECT 1 FROM pg_roles p
        WHERE p.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
          AND pg_has_role(r.rolname, p.oid, 'MEMBER')
    ) FROM pg_roles r WHERE r.rolname = session_user
"""
# Address space that an interpreter and an engine take before a query does anything.
_BASE_BYTES = {"sqlite": 256 << 20, "duckdb": 2048 << 20, "postgres": 512 << 20}


def main() -> None:
    """Read a request, answer it."""
    request = json.loads(sys.stdin.read())
    try:
        answer = run(request)
    except Exception as error:  # noqa: BLE001 # whatever a database raises is the query's failure, told to whoever asked
        answer = {"status": "failed", "error": f"{type(error).__name__}: {str(error)[:300]}"}
    sys.stdout.write(json.dumps(answer))


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run the query of a request within its limits.

    Args:
        request: `dialect`, `database`, `query`, `timeout_s`, `memory_bytes`, `max_rows`.
    """
    dialect = request["dialect"]
    try:
        opened = {"sqlite": _open_sqlite, "duckdb": _open_duckdb, "postgres": _open_postgres}[dialect](request)
    except Exception as error:  # noqa: BLE001 # whatever a driver raises here, the query has not been looked at yet
        return {"status": "unopened", "error": f"{type(error).__name__}: {str(error)[:300]}"}
    _give_up(_BASE_BYTES[dialect] + request["memory_bytes"], request["timeout_s"])
    cursor = opened.cursor() if dialect != "duckdb" else opened
    # Postgres takes one statement in a prepared one, and several, with another timeout first, in a plain one.
    cursor.execute(request["query"], **({"prepare": True} if dialect == "postgres" else {}))
    width = len(cursor.description or ())
    return _digest(iter(lambda: cursor.fetchmany(500), []), width, request["max_rows"])


def _digest(pages: Iterable[Sequence[Sequence[Any]]], width: int, max_rows: int) -> dict[str, Any]:
    """Count and digest rows; their order counts, as some queries are about it, and their set beside."""
    ordered, rows, is_null, is_zero = hashlib.sha256(), 0, True, True
    members = 0
    for page in pages:
        for row in page:
            rows += 1
            if rows > max_rows:
                return {"status": "too_many_rows", "rows": rows, "columns": width}
            one = hashlib.sha256(repr(tuple(row)).encode("utf-8", "backslashreplace")).digest()
            ordered.update(one)
            members = (members + int.from_bytes(one[:16], "big")) % (1 << 128)
            is_null = is_null and all(value is None for value in row)
            is_zero = is_zero and all(value is None or value == 0 for value in row)
    return {
        "status": "ok",
        "rows": rows,
        "columns": width,
        "is_null": rows > 0 and is_null,
        "is_zero": rows > 0 and is_zero,
        "ordered": ordered.hexdigest()[:32],
        "members": f"{members:032x}",
    }


def _open_sqlite(request: dict[str, Any]) -> Any:
    path = Path(request["database"]).resolve()
    _require_file(path)
    _require_whole(path)
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, isolation_level=None)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, _MAX_DEPTH)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    # A file that is no database is only found out by reading.
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        raise sqlite3.DatabaseError("there is no table in it")
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    # What is cut off reads as NULL.
    if pages * size > path.stat().st_size:
        raise sqlite3.DatabaseError("the file is shorter than it says: the copy was cut short")
    connection.set_authorizer(_authorize)
    return connection


def _require_file(path: Path) -> None:
    """Refuse a folder in words: the engines speak of a disk error, or of the file's permissions."""
    if path.is_dir():
        raise IsADirectoryError(f"{path.name} is a folder; name the database's file in it")


def _require_whole(path: Path) -> None:
    """Refuse a file that is half of a database: an immutable one is read without its write-ahead log, so what is in there would not be seen."""
    log = path.with_name(path.name + "-wal")
    if log.is_file() and log.stat().st_size:
        raise sqlite3.DatabaseError(f"part of it lies in {log.name}; make the copy with VACUUM INTO")


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or first or "").lower() in _FORBIDDEN_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _open_duckdb(request: dict[str, Any]) -> Any:
    import duckdb  # noqa: PLC0415 # an extra, and only for this dialect

    _require_file(Path(request["database"]))
    config: dict[str, Any] = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "memory_limit": f"{request['memory_bytes'] // (1 << 20)}MB",
        "threads": "1",
        "temp_directory": "",
        "lock_configuration": "true",
    }
    return duckdb.connect(request["database"], read_only=True, config=config)


def _open_postgres(request: dict[str, Any]) -> Any:
    import psycopg  # noqa: PLC0415 # an extra, and only for this dialect

    timeout_ms = int(request["timeout_s"] * 1000)
    options = f"-c default_transaction_read_only=on -c statement_timeout={timeout_ms} -c idle_in_transaction_session_timeout={timeout_ms}"
    connection = psycopg.connect(request["database"], options=options, connect_timeout=max(2, int(request["timeout_s"])))
    connection.read_only = True
    if connection.execute(_TOO_STRONG).fetchone() != (False,):
        raise PermissionError(
            "the role may read or write files of the server, or run programs there; give one that may only read"
        )
    return connection


def _give_up(address_bytes: int, timeout_s: float) -> None:
    """Give up what the query will not need: memory beyond a bound, files, processes, time."""
    seconds = int(timeout_s) + 2
    for name, limit in (
        (resource.RLIMIT_AS, address_bytes),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(name)
        ceiling = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(name, (ceiling, ceiling))
    # Nothing handles the alarm: it ends the process, wherever the engine is.
    signal.setitimer(signal.ITIMER_REAL, timeout_s)


if __name__ == "__main__":
    main()
