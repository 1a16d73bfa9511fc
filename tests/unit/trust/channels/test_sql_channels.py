"""Laws of the channels that look at queries: what they see is wrong, and they are silent where they see nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from guardian.trust.auditor import check_finding
from guardian.trust.channel import Case
from guardian.trust.channels.degeneracy import Degeneracy
from guardian.trust.channels.execution import Execution
from guardian.trust.channels.literal_grounding import LiteralGrounding
from guardian.trust.sql.sandbox import Limits, Sandbox
from guardian.trust.sql.statement import Dialect


def case(answer: str, task: str = "How long is Ash?", **given: Any) -> Case:
    """Build a case with a query."""
    return Case(space="s", memory_id="e", revision="r", task=task, answer=answer, language="sql", **given)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """Give a small database."""
    path = tmp_path / "music.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE track (name TEXT, ms INTEGER, country TEXT)")
        database.executemany("INSERT INTO track VALUES (?, ?, ?)", [("Ash", 100, "Chile"), ("Birch", None, "Peru")])
        database.commit()
    return Sandbox(dialect=Dialect.SQLITE, database=str(path), limits=Limits(timeout_s=3.0))


@pytest.mark.parametrize(
    ("query", "value", "reason"),
    [
        ("SELECT ms FROM track WHERE name = 'Ash'", 1.0, "runs"),
        ("SELECT ms FROM tracks", 0.0, "failed"),
        ("DELETE FROM track", 0.0, "refused"),
        ("SELECT abs(random()) FROM track", 0.0, "differs_between_runs"),
    ],
)
async def test_execution_sees_what_does_not_run_alike(sandbox: Sandbox, query: str, value: float, reason: str) -> None:
    """Fails, is no read, or gives something else each time."""
    found = await Execution(sandbox).judge(case(query))
    assert found is not None
    assert (found.value, found.reason) == (value, reason)


@pytest.mark.parametrize(
    ("query", "value", "reason"),
    [
        ("SELECT ms FROM track WHERE name = 'Ash'", 1.0, "has_answer"),
        ("SELECT ms FROM track WHERE name = 'Oak'", 0.0, "empty"),
        ("SELECT ms FROM track WHERE name = 'Birch'", 0.0, "all_null"),
    ],
)
async def test_degeneracy_sees_an_answer_that_is_none(sandbox: Sandbox, query: str, value: float, reason: str) -> None:
    """Empty or all NULL under a question that expects an answer."""
    found = await Degeneracy(sandbox).judge(case(query))
    assert found is not None
    assert (found.value, found.reason) == (value, reason)


@pytest.mark.parametrize("task", ["Are there any tracks from Peru?", "Which tracks have no length?", "List artists, if any"])
async def test_degeneracy_is_silent_where_nothing_may_be_the_answer(sandbox: Sandbox, task: str) -> None:
    """An empty list can be right."""
    assert await Degeneracy(sandbox).judge(case("SELECT 1 FROM track WHERE 0", task)) is None


@pytest.mark.parametrize(
    ("query", "task", "value"),
    [
        ("SELECT * FROM t WHERE country = 'Brazil'", "Which customers are from Brazil?", 1.0),
        ("SELECT * FROM t WHERE country = 'Brazil'", "Which customers are from Chile?", 0.0),
        ("SELECT * FROM t WHERE name LIKE '%Black Sabbath%'", "Albums of black sabbath", 1.0),
        ("SELECT * FROM t WHERE genre IN ('Metal', 'Reggae')", "How many metal tracks are there?", 0.0),
        ("SELECT * FROM t WHERE genre = 'Movies'", "Every movie", 1.0),
    ],
)
async def test_a_literal_that_nobody_named_is_seen(query: str, task: str, value: float) -> None:
    """A filter copied from another question."""
    found = await LiteralGrounding().judge(case(query, task))
    assert found is not None
    assert found.value == value


async def test_declared_evidence_grounds_a_literal() -> None:
    """'Rock and roll' may be defined as a genre's name."""
    query = "SELECT * FROM t WHERE genre = 'Rock And Roll'"
    found = await LiteralGrounding().judge(case(query, "Old songs", evidence=("old songs means genre = 'Rock And Roll'",)))
    assert found is not None
    assert found.value == 1.0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM t",
        "SELECT * FROM t WHERE sex = 'F'",
        "SELECT strftime('%Y-%m', d) FROM t WHERE a = 5",
        "not sql",
        "DELETE FROM t",
    ],
)
async def test_literals_that_are_no_entities_say_nothing(query: str) -> None:
    """Short codes, formats, numbers; and what is no read."""
    assert await LiteralGrounding().judge(case(query)) is None


async def test_other_languages_are_none_of_their_business(sandbox: Sandbox) -> None:
    """A text answer is not run."""
    text = Case(space="s", memory_id="e", revision="r", task="Who?", answer="SELECT 1", language="text")
    for channel in (Execution(sandbox), Degeneracy(sandbox), LiteralGrounding()):
        assert await channel.judge(text) is None


async def test_no_row_of_the_database_comes_out_through_an_error(tmp_path: Path) -> None:
    """Databases quote the value that they could not convert; what is told is the error's name."""
    path = tmp_path / "music.duckdb"
    with closing(duckdb.connect(str(path))) as database:
        database.execute("CREATE TABLE track AS SELECT 'a-secret-name' AS name")
    sandbox = Sandbox(dialect=Dialect.DUCKDB, database=str(path), limits=Limits(timeout_s=3.0))
    assert "a-secret-name" in (await sandbox.run("SELECT CAST(name AS INTEGER) FROM track")).detail
    found = await Execution(sandbox).judge(case("SELECT CAST(name AS INTEGER) FROM track"))
    assert found is not None
    assert (found.value, found.reason, found.evidence) == (0.0, "failed", {"detail": "ConversionException"})


async def test_a_literal_of_any_length_is_told_shortly() -> None:
    """Else a long one would make the finding too large to be kept, and the query would go unjudged."""
    found = await LiteralGrounding().judge(
        case("SELECT * FROM t WHERE name IN (" + ", ".join(f"'{n}{'x' * 900}'" for n in range(15)) + ")")
    )
    assert found is not None
    assert check_finding(found).value == 0.0
