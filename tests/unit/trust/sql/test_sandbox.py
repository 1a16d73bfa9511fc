"""Laws of the sandbox: a query is run within its limits, its rows are digested and not told, and even what the parser let pass does no harm."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from guardian.errors import DependencyError
from guardian.trust.sql import sandbox as sandbox_module
from guardian.trust.sql.sandbox import Limits, Sandbox, Status
from guardian.trust.sql.statement import Dialect

SCHEMA = "CREATE TABLE track (id INTEGER, name TEXT, ms INTEGER)"
# For queries that end by themselves, and for those that must be ended.
PATIENT, SHORT = Limits(timeout_s=30.0, max_rows=1_000), Limits(timeout_s=1.0, max_rows=1_000)
ROWS = [(1, "Ash", 100), (2, "Birch", None), (3, "Cedar", 300)]


@pytest.fixture(params=[Dialect.SQLITE, Dialect.DUCKDB])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox:
    """Give a small database of each embedded kind."""
    path = tmp_path / "music.db"
    opened = sqlite3.connect(path) if request.param is Dialect.SQLITE else duckdb.connect(str(path))
    with closing(opened) as database:
        database.execute(SCHEMA)
        database.executemany("INSERT INTO track VALUES (?, ?, ?)", ROWS)
        database.commit()
    return Sandbox(dialect=request.param, database=str(path), limits=PATIENT)


async def test_a_read_is_run_and_told_in_numbers(sandbox: Sandbox) -> None:
    """Rows and columns; the same rows in another order have the same members."""
    up = await sandbox.run("SELECT name, ms FROM track ORDER BY id")
    down = await sandbox.run("SELECT name, ms FROM track ORDER BY id DESC")
    assert (up.status, up.rows, up.columns, up.is_null) == (Status.OK, 3, 2, False)
    assert up.members == down.members
    assert up.ordered != down.ordered
    assert (await sandbox.run("SELECT name FROM track WHERE id = 9")).rows == 0
    assert (await sandbox.run("SELECT ms FROM track WHERE id = 2")).is_null


async def test_what_fails_is_told(sandbox: Sandbox) -> None:
    """A table that is not there; a write is refused before."""
    assert (await sandbox.run("SELECT * FROM nowhere")).status is Status.FAILED
    assert (await sandbox.run("DELETE FROM track")).status is Status.REFUSED


async def test_time_and_rows_are_bounded(sandbox: Sandbox) -> None:
    """An endless query ends; a huge result is cut off."""
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    assert (await dataclasses.replace(sandbox, limits=SHORT).run(endless)).status in {
        Status.TIMED_OUT,
        Status.FAILED,
        Status.KILLED,
    }
    many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5000) SELECT x FROM c"
    assert (await sandbox.run(many)).status is Status.TOO_MANY_ROWS


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM track",
        "INSERT INTO track VALUES (9, 'x', 1)",
        "DROP TABLE track",
        "CREATE TABLE more (a INTEGER)",
        "ATTACH '{folder}/other.db' AS other",
        "PRAGMA journal_mode = DELETE",
        "SELECT load_extension('evil')",
        "COPY track TO '{folder}/out.csv'",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "VACUUM INTO '{folder}/copy.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
    ],
)
async def test_the_second_wall_holds_alone(sandbox: Sandbox, query: str) -> None:
    """What the parser would have refused fails in the process too, and leaves no trace on the disk."""
    folder = Path(sandbox.database).parent
    (folder / "secret.csv").write_text("a,b\n1,2\n", "utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    found = await sandbox.execute(query.format(folder=folder))
    assert found.status in {Status.FAILED, Status.KILLED} or (
        found.status is Status.OK and query.startswith("PRAGMA") and not found.rows
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


async def test_memory_is_bounded(sandbox: Sandbox) -> None:
    """A value of gigabytes does not come to be."""
    query = {
        Dialect.SQLITE: "SELECT length(printf('%.*c', 2000000000, 'x'))",
        Dialect.DUCKDB: "SELECT sum(length(x)) FROM (SELECT repeat('x', 1000000) || i AS x FROM range(100000) t(i) ORDER BY x)",
    }[sandbox.dialect]
    found = await dataclasses.replace(sandbox, limits=SHORT).execute(query)
    assert found.status in {Status.FAILED, Status.KILLED, Status.TIMED_OUT}


async def test_the_process_sees_no_environment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret of the worker's environment is not there to be read."""
    if sandbox.dialect is not Dialect.DUCKDB:
        return
    monkeypatch.setenv("GUARDIAN_SECRET_OF_THE_TEST", "x")
    found = await sandbox.execute("SELECT getenv('GUARDIAN_SECRET_OF_THE_TEST')")
    assert found.status is not Status.OK or found.is_null


def _cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 + 1)


def _leave_a_log(path: Path) -> None:
    path.with_name(path.name + "-wal").write_bytes(b"rows")


@pytest.mark.parametrize("spoil", [_cut_short, _leave_a_log, lambda path: os.truncate(path, 0)])
async def test_half_a_copy_is_held_against_no_query(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Cut short it would read as NULL, without its log or its tables as if nothing were there: it is away instead."""
    path = tmp_path / "music.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(SCHEMA)
        database.executemany("INSERT INTO track VALUES (?, ?, ?)", ROWS)
        database.commit()
    spoil(path)
    with pytest.raises(DependencyError, match="cannot be opened"):
        await Sandbox(dialect=Dialect.SQLITE, database=str(path)).run("SELECT name FROM track")


async def test_a_folder_is_called_one(sandbox: Sandbox, tmp_path: Path) -> None:
    """Not a disk error, which sends people to their disk."""
    with pytest.raises(DependencyError, match="is a folder"):
        await dataclasses.replace(sandbox, database=str(tmp_path)).execute("SELECT 1")


async def test_a_database_that_does_not_open_in_time_is_held_against_no_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody writes to stands for a disk that does not answer; the query was never begun."""
    path = tmp_path / "music.db"
    os.mkfifo(path)
    monkeypatch.setattr(sandbox_module, "_START_S", 0.3)
    with pytest.raises(DependencyError, match="did not open in time"):
        await Sandbox(dialect=Dialect.SQLITE, database=str(path), limits=Limits(timeout_s=0.2)).run("SELECT name FROM track")


async def test_words_of_a_query_are_in_no_log(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    """The parser warns of what it does not know, and would quote it."""
    await sandbox.run("VACUUM INTO '/tmp/a-name-of-the-episode'")
    assert "episode" not in caplog.text
