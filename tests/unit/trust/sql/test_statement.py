"""Laws of admission: one statement that only reads passes, whatever else is asked is refused before anything runs."""

from __future__ import annotations

import pytest

from guardian.trust.sql.statement import MAX_CHARACTERS, Dialect, Refusal, Refused, admit

READS = [
    "SELECT count(*) FROM Track",
    "WITH long AS (SELECT * FROM Track WHERE Milliseconds > 1) SELECT Name FROM long ORDER BY 1 LIMIT 3",
    "SELECT 1 UNION ALL SELECT 2",
    "VALUES (1), (2)",
    "(SELECT 1)",
    "SELECT t.Name, row_number() OVER (PARTITION BY AlbumId ORDER BY Name) FROM Track t",
    "SELECT 'insert into x; drop table y' AS text -- and; a comment",
]
WRITES = [
    "INSERT INTO t VALUES (1)",
    "UPDATE t SET a = 1",
    "DELETE FROM t",
    "DROP TABLE t",
    "CREATE TABLE t AS SELECT 1",
    "ALTER TABLE t ADD c int",
    "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
    "SELECT * INTO y FROM x",
    "SELECT * FROM t FOR UPDATE",
    "PRAGMA writable_schema = 1",
    "VACUUM",
    "EXPLAIN ANALYZE DELETE FROM t",
    "SET statement_timeout = 0",
    "BEGIN",
    "COPY t TO '/tmp/x'",
    "CALL p()",
    "GRANT ALL ON t TO x",
]
REACHES = [
    "SELECT load_extension('evil')",
    "SELECT writefile('x', 'y')",
    "SELECT readfile('/etc/passwd')",
    "SELECT pg_sleep(100)",
    'SELECT "pg_sleep"(100)',
    "SELECT pg_catalog.pg_sleep(100)",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT * FROM dblink('host=x', 'select 1')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT set_config('a', 'b', false)",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT getenv('HOME')",
    "SELECT (SELECT load_extension('evil'))",
    "SELECT 1 WHERE EXISTS (SELECT pg_sleep(9))",
]


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("query", READS)
def test_a_single_read_passes(query: str, dialect: Dialect) -> None:
    """Words inside strings and comments do not count."""
    assert not isinstance(admit(query, dialect), Refused)


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("query", WRITES)
def test_whatever_is_no_read_is_refused(query: str, dialect: Dialect) -> None:
    """Also where it hides in a common table expression."""
    found = admit(query, dialect)
    assert isinstance(found, Refused)
    assert found.refusal in {Refusal.NOT_A_READ, Refusal.UNREADABLE}


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("query", REACHES)
def test_functions_that_reach_out_are_refused(query: str, dialect: Dialect) -> None:
    """By name, quoted, qualified, or deep inside."""
    found = admit(query, dialect)
    assert isinstance(found, Refused)
    assert found.refusal in {Refusal.FUNCTION_FORBIDDEN, Refusal.UNREADABLE}


@pytest.mark.parametrize("query", ["SELECT 1; SELECT 2", "SELECT 1; DROP TABLE t", "", ";;", "-- nothing"])
def test_exactly_one_statement_is_looked_at(query: str) -> None:
    """None is as wrong as two."""
    found = admit(query, Dialect.SQLITE)
    assert isinstance(found, Refused)
    assert found.refusal is Refusal.SEVERAL_STATEMENTS


@pytest.mark.parametrize("query", ["SELECT * FROM '/etc/passwd'", "SELECT * FROM 'x.csv'", "SELECT * FROM pg_shadow"])
def test_files_and_secrets_are_no_tables(query: str) -> None:
    """DuckDB would read the file."""
    found = admit(query, Dialect.DUCKDB)
    assert isinstance(found, Refused)
    assert found.refusal is Refusal.TABLE_FORBIDDEN


@pytest.mark.parametrize(
    "query", ["SELEC 1", "SELECT FROM WHERE", "SELECT " + "(" * 3_000 + "1", "x" * (MAX_CHARACTERS + 1), "\x00"]
)
def test_what_cannot_be_read_is_refused(query: str) -> None:
    """Never an exception."""
    assert isinstance(admit(query, Dialect.SQLITE), Refused)
