"""Laws of the two walls: what an episode's query attempts beyond a read is refused by the parser, and contained by the sandbox without it.

Each attack is tried at each wall alone, on each dialect. Contained is what ends in time without an answer, leaves every file as it was, and
leaves the database as it was.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from guardian.errors import DependencyError
from guardian.trust.channel import Case
from guardian.trust.channels.execution import Execution
from guardian.trust.sql.sandbox import Limits, Sandbox, Status
from guardian.trust.sql.statement import Dialect, Refused, admit
from tests.postgres_server import Postgres

LIMITS = Limits(timeout_s=0.7, memory_bytes=64 << 20, max_rows=1_000)
# Where the folder stands for `{folder}`. In each dialect: writes, attaches, loads code, sleeps, reads and writes files, changes settings.
SQLITE = [
    "INSERT INTO track VALUES (9, 'x', 1)",
    "UPDATE track SET ms = 0",
    "CREATE TABLE more (a INTEGER)",
    "CREATE TEMP TABLE more AS SELECT * FROM track",
    "ATTACH '{folder}/other.db' AS other",
    "ATTACH ':memory:' AS other",
    "PRAGMA writable_schema = ON",
    "PRAGMA temp_store_directory = '{folder}'",
    "SELECT load_extension('{folder}/evil.so')",
    "SELECT readfile('{folder}/secret.csv')",
    "SELECT writefile('{folder}/out.txt', 'x')",
    "SELECT fts3_tokenizer('simple')",
    "VACUUM INTO '{folder}/copy.db'",
    "SELECT length(zeroblob(900000000))",
    "SELECT 1; DROP TABLE track",
]
DUCKDB = [
    "INSERT INTO track VALUES (9, 'x', 1)",
    "DELETE FROM track",
    "ATTACH '{folder}/other.db' AS other",
    "SELECT * FROM read_csv('{folder}/secret.csv')",
    "SELECT * FROM '{folder}/secret.csv'",
    "SELECT * FROM read_text('{folder}/secret.csv')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{folder}/secret.csv')",
    "COPY track TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)",
    "EXPORT DATABASE '{folder}/dump'",
    "INSTALL httpfs",
    "LOAD '{folder}/evil.duckdb_extension'",
    "SET enable_external_access = true",
    "SET memory_limit = '90GB'",
    "PRAGMA temp_directory = '{folder}'",
    "SELECT 1; DROP TABLE track",
]
POSTGRES = [
    "INSERT INTO track VALUES (9, 'x', 1)",
    "WITH gone AS (DELETE FROM track RETURNING *) SELECT * FROM gone",
    "CREATE TABLE more (a integer)",
    "SELECT * INTO more FROM track",
    "SELECT * FROM track FOR UPDATE",
    "SELECT pg_sleep(3600)",
    "SELECT count(*) FROM generate_series(1, 10) WHERE pg_sleep(3600) IS NOT NULL",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('postgresql.conf')",
    "SELECT * FROM pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '{folder}/out.txt')",
    "COPY track TO '{folder}/out.csv'",
    "COPY track TO PROGRAM 'touch {folder}/out.txt'",
    "COPY track FROM '/etc/passwd'",
    "CREATE EXTENSION dblink",
    "LOAD '{folder}/evil.so'",
    "SET statement_timeout = 0; SELECT pg_sleep(3600)",
    "SELECT set_config('statement_timeout', '0', false), pg_sleep(3600)",
    "SET TRANSACTION READ WRITE",
    "COMMIT; DROP TABLE track",
    "DO $$ BEGIN EXECUTE 'SET LOCAL statement_timeout = 0'; PERFORM pg_sleep(3600); END $$",
    "DO $$ BEGIN LOOP END LOOP; END $$",
    "SELECT query_to_xml('select pg_sleep(3600)', true, true, '')",
    "SELECT count(*) FROM ts_stat('select to_tsvector(pg_sleep(3600)::text)')",
    "SELECT rolpassword FROM pg_authid",
    "ALTER ROLE clerk SUPERUSER",
]
# Reads as any other to a parser; only the sandbox ends them.
BOMBS = {
    Dialect.SQLITE: [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "SELECT count(*) FROM track a, track b, track c, track d, track e, track f, track g, track h, track i, track j, track k, "
        "track l, track m, track n, track o, track p, track q, track r, track s",
        "WITH RECURSIVE c(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM c) SELECT length(x) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000) SELECT x FROM c",
    ],
    Dialect.DUCKDB: [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "SELECT max(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b",
        "SELECT sum(length(x)) FROM (SELECT repeat('x', 1000000) || i AS x FROM range(100000) t(i) ORDER BY x)",
        "SELECT * FROM range(2000)",
    ],
    Dialect.POSTGRES: [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b",
        "SELECT repeat('x', 200000000)",
        "SELECT * FROM generate_series(1, 2000)",
    ],
}
ATTACKS = {Dialect.SQLITE: SQLITE, Dialect.DUCKDB: DUCKDB, Dialect.POSTGRES: POSTGRES}
EACH = [
    pytest.param(dialect, query, id=f"{dialect.value}-{n}")
    for dialect, queries in ATTACKS.items()
    for n, query in enumerate(queries)
]
EACH_BOMB = [
    pytest.param(dialect, query, id=f"{dialect.value}-{n}")
    for dialect, queries in BOMBS.items()
    for n, query in enumerate(queries)
]


class Ground:
    """A database of a dialect, and what it and its folder were before."""

    def __init__(self, dialect: Dialect, folder: Path, request: pytest.FixtureRequest) -> None:
        self.folder = folder
        self._server: Postgres | None = request.getfixturevalue("postgres") if dialect is Dialect.POSTGRES else None
        database = folder / "music.db"
        if self._server is None:
            self._connect: Any = sqlite3.connect if dialect is Dialect.SQLITE else duckdb.connect
            with closing(self._connect(str(database))) as opened:
                opened.execute("CREATE TABLE track (id INTEGER, name TEXT, ms INTEGER)")
                opened.executemany("INSERT INTO track VALUES (?, ?, ?)", [(1, "Ash", 100), (2, "Birch", None), (3, "Cedar", 300)])
                opened.commit()
        (folder / "secret.csv").write_text("a,b\n1,2\n", "utf-8")
        if self._server is not None:
            folder.chmod(0o777)  # the server runs as somebody else, and is to fail for better reasons
        name = str(database) if self._server is None else self._server.name("clerk")
        self.sandbox = Sandbox(dialect=dialect, database=name, limits=LIMITS)
        self._before = self._look()

    def is_as_it_was(self) -> bool:
        """Tell whether nothing was written anywhere, and nothing still runs."""
        return self._look() == self._before and not self._count_running()

    def _look(self) -> object:
        files = {path.name: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        if self._server is None:
            return files
        with psycopg.connect(self._server.name("boss")) as admin:
            rows = admin.execute("SELECT * FROM track ORDER BY id").fetchall()
            tables = admin.execute("SELECT relname FROM pg_class WHERE relkind = 'r' ORDER BY 1").fetchall()
            objects = admin.execute("SELECT count(*) FROM pg_largeobject_metadata").fetchall()
            roles = admin.execute("SELECT rolname, rolsuper FROM pg_roles ORDER BY 1").fetchall()
        return files, rows, tables, objects, roles

    def _count_running(self) -> int:
        """Count what still runs on the server a moment after its client is gone."""
        if self._server is None:
            return 0
        running, deadline = 1, time.monotonic() + 60
        with psycopg.connect(self._server.name("boss"), autocommit=True) as admin:
            while running and time.monotonic() < deadline:
                (running,) = admin.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE usename = 'clerk' AND state = 'active'"
                ).fetchone() or (0,)
                time.sleep(0.05 if running else 0)
        return running


@pytest.fixture
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    """Give the database of the attack's dialect."""
    return Ground(request.node.callspec.params["dialect"], tmp_path, request)


@pytest.mark.parametrize(("dialect", "query"), EACH)
def test_the_first_wall_refuses_it(dialect: Dialect, query: str) -> None:
    """The parser, before anything is opened."""
    assert isinstance(admit(query.format(folder="/tmp/x"), dialect), Refused)


@pytest.mark.parametrize(("dialect", "query"), EACH)
async def test_the_second_wall_contains_it_alone(dialect: Dialect, query: str, ground: Ground) -> None:
    """The sandbox, with the parser passed over."""
    found = await ground.sandbox.execute(query.format(folder=ground.folder))
    assert found.status is not Status.OK
    assert ground.is_as_it_was()


@pytest.mark.parametrize(("dialect", "query"), EACH_BOMB)
async def test_what_would_take_all_time_or_memory_is_ended(dialect: Dialect, query: str, ground: Ground) -> None:
    """A parser has nothing against it; the limits do."""
    found = await ground.sandbox.run(query)
    assert found.status in {Status.TIMED_OUT, Status.KILLED, Status.FAILED, Status.TOO_MANY_ROWS}
    assert ground.is_as_it_was()


@pytest.mark.parametrize("dialect", list(Dialect))
async def test_a_plain_read_passes_both(dialect: Dialect, ground: Ground) -> None:
    """Walls without a door would be easy."""
    patient = replace(ground.sandbox, limits=replace(LIMITS, timeout_s=30.0))
    found = await patient.run("SELECT name, ms FROM track ORDER BY id")
    assert (found.status, found.rows, found.columns) == (Status.OK, 3, 2)


@pytest.mark.parametrize("dialect", [Dialect.POSTGRES])
@pytest.mark.parametrize("grant", ["", "pg_read_server_files", "pg_execute_server_program"])
async def test_a_role_that_may_do_more_than_read_is_refused(
    dialect: Dialect, grant: str, ground: Ground, postgres: Postgres
) -> None:
    """A superuser's read-only transaction reads any file of the server and starts programs: no query is run as one."""
    user = "boss"
    if grant:
        user = f"with_{grant}"
        with psycopg.connect(postgres.name("boss"), autocommit=True) as admin:
            admin.execute(f"CREATE ROLE {user} LOGIN IN ROLE {grant}")
    sandbox = Sandbox(dialect=dialect, database=postgres.name(user), limits=LIMITS)
    with pytest.raises(DependencyError, match="may only read"):
        await sandbox.execute("SELECT 1")


@pytest.mark.parametrize("dialect", list(Dialect))
async def test_a_database_that_is_away_is_no_fault_of_the_query(dialect: Dialect, tmp_path: Path) -> None:
    """Else a moved file would find every episode wrong."""
    missing = "host=127.0.0.1 port=1 user=x dbname=y" if dialect is Dialect.POSTGRES else str(tmp_path / "nowhere.db")
    case = Case(space="s", memory_id="e", revision="r", task="Which?", answer="SELECT 1", language="sql")
    with pytest.raises(DependencyError, match="cannot be opened"):
        await Execution(Sandbox(dialect=dialect, database=missing, limits=LIMITS)).judge(case)
    assert not any(tmp_path.iterdir())  # noqa: ASYNC240 # a test's own folder


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    """Here too the query was not looked at."""
    path = tmp_path / "music.db"
    path.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(DependencyError, match="cannot be opened"):
        await Sandbox(dialect=Dialect.SQLITE, database=str(path), limits=LIMITS).run("SELECT 1")
