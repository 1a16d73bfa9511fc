"""Admit a query: exactly one statement that only reads, told by a parser, in the dialect of the database it is to run on.

The first of two walls; the second is the sandbox, which holds whatever the parser did not understand. What is refused here: several
statements, anything that writes, defines, attaches, copies, sets or calls a procedure, functions that sleep, read files or reach out, and
locking reads. A statement that cannot be parsed is refused as well.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from enum import StrEnum

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

# The parser underlines what it did not expect, for terminals.
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
# The parser warns of what it does not know in the words of the query, which are an episode's and belong into no log.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
# Longest query looked at, characters.
MAX_CHARACTERS = 20_000


class Dialect(StrEnum):
    """Databases that queries can be run on, by sqlglot's names."""

    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    POSTGRES = "postgres"


class Refusal(StrEnum):
    """Why a query is not run."""

    UNREADABLE = "unreadable"
    TOO_LONG = "too_long"
    SEVERAL_STATEMENTS = "several_statements"
    NOT_A_READ = "not_a_read"
    FUNCTION_FORBIDDEN = "function_forbidden"
    TABLE_FORBIDDEN = "table_forbidden"


@dataclass(frozen=True, slots=True)
class Refused:
    """A query that is not run, and what is wrong with it."""

    refusal: Refusal
    detail: str


_READS = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
# Whatever is not a read, wherever in the tree it stands.
_WRITES = (
    exp.Insert,
    exp.Update,
    exp.Delete,
    exp.Merge,
    exp.Create,
    exp.Drop,
    exp.Alter,
    exp.TruncateTable,
    exp.Command,
    exp.Attach,
    exp.Detach,
    exp.Pragma,
    exp.Set,
    exp.Use,
    exp.Copy,
    exp.Into,
    exp.Lock,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.Grant,
    exp.Kill,
    exp.LoadData,
    exp.Cache,
    exp.Uncache,
    exp.Analyze,
    exp.Describe,
    exp.Show,
    exp.Export,
    exp.Install,
)
# By the beginning of their names, in any dialect: they sleep, read or write files, load code, reach other hosts, or change settings.
_FORBIDDEN = (
    "load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_compileoption", "zeroblob", "randomblob",
    "pg_sleep", "pg_read", "pg_ls", "pg_stat_file", "pg_terminate", "pg_cancel", "pg_reload", "pg_rotate", "pg_advisory", "pg_try_advisory",
    "pg_notify", "pg_create", "pg_drop", "pg_logical", "pg_switch", "pg_backup", "pg_promote", "pg_export", "pg_file", "lo_", "dblink",
    "set_config", "query_to_xml", "table_to_xml", "database_to_xml", "cursor_to_xml", "schema_to_xml", "currval", "nextval", "setval",
    "read_", "glob", "getenv", "sniff_csv", "parquet_", "sqlite_scan", "sqlite_attach", "postgres_", "mysql_", "iceberg_", "delta_",
    "ts_stat", "ts_rewrite", "crosstab", "connectby", "http_", "query", "query_table", "duckdb_secrets", "duckdb_settings", "which_secret", "st_read", "shell", "system",
)  # fmt: skip
# Tables that hold secrets or files rather than data.
_FORBIDDEN_TABLES = ("pg_authid", "pg_shadow", "pg_user_mapping", "pg_hba_file_rules", "pg_file_settings", "pg_largeobject")


def admit(query: str, dialect: Dialect) -> exp.Expr | Refused:
    """Give the query's tree when it is one read, else why not."""
    if len(query) > MAX_CHARACTERS:
        return Refused(Refusal.TOO_LONG, f"{len(query)} characters; at most {MAX_CHARACTERS} are looked at")
    try:
        statements = [tree for tree in sqlglot.parse(query, dialect=dialect.value) if tree is not None]
    except (SqlglotError, RecursionError, ValueError) as error:
        return Refused(Refusal.UNREADABLE, f"it cannot be parsed as {dialect.value}: {_ANSI.sub('', str(error))[:200]}")
    if len(statements) != 1:
        return Refused(Refusal.SEVERAL_STATEMENTS, f"{len(statements)} statements, not one")
    (tree,) = statements
    return _find_fault(tree) or tree


def _find_fault(tree: exp.Expr) -> Refused | None:
    if not isinstance(tree, _READS):
        return Refused(Refusal.NOT_A_READ, f"{type(tree).__name__.lower()} is no read")
    for node in tree.walk():
        if isinstance(node, _WRITES):
            return Refused(Refusal.NOT_A_READ, f"it holds {type(node).__name__.lower()}")
        if isinstance(node, exp.Func) and (name := _name_function(node)).startswith(_FORBIDDEN):
            return Refused(Refusal.FUNCTION_FORBIDDEN, f"the function {name} is not allowed")
        if isinstance(node, exp.Table) and (fault := _find_table_fault(node)) is not None:
            return fault
    return None


def _name_function(node: exp.Func) -> str:
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
    return name.lower()


def _find_table_fault(table: exp.Table) -> Refused | None:
    name = table.name.lower()
    # DuckDB reads a file when its name stands where a table's does.
    if (
        "/" in name
        or "\\" in name
        or name.endswith((".csv", ".parquet", ".json", ".db", ".txt", ".gz", ".xlsx"))
        or "://" in name
    ):
        return Refused(Refusal.TABLE_FORBIDDEN, "a file is no table")
    if name.startswith(_FORBIDDEN_TABLES):
        return Refused(Refusal.TABLE_FORBIDDEN, f"{name} is not for queries of episodes")
    return None
