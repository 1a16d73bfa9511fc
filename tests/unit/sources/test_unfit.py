"""Files that are no memory logs: what they are is said, and what to do instead."""

import gzip
import json
import os
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from guardian.errors import ConfigError
from guardian.sources.registry import detect
from guardian.sources.unfit import explain_unfit

REAL_DATA = os.environ.get("GUARDIAN_REAL_DATA")


def answer_to(path: Path) -> str:
    """Give what a user is told who replays the file."""
    with pytest.raises(ConfigError) as caught:
        detect(path)
    return str(caught.value)


def test_a_database_without_memories_names_its_tables(tmp_path: Path) -> None:
    """Say what is in it, so that nobody takes it for a damaged log."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("".join(f"CREATE TABLE t{number} (a);" for number in range(10)))
    answer = answer_to(path)
    assert "SQLite database with the tables t0, t1, t2, t3, t4, t5, t6, t7 and 2 more: none is a table of memories" in answer
    assert "Nothing is imported. Mend: Give the database in which the agent's memory keeps its log" in answer
    empty = tmp_path / "empty.db"
    with closing(sqlite3.connect(empty)) as database:
        database.execute("PRAGMA user_version = 1")
    assert "with no tables" in answer_to(empty)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("Type,Question,Best Answer\nA,Why?,So\n", "is a question set such as TruthfulQA"),
        ('name,"what, exactly"\na,b\n', "is a table with the columns name, what, exactly, which is no known format"),
        (json.dumps({"question": "?", "db_id": "d", "SQL": "SELECT 1"}), "is a text-to-SQL question set"),
        (json.dumps([{"question": "?", "db_id": "d", "query": "SELECT 1"}]), "is a text-to-SQL question set"),
        (json.dumps({"query": "?", "memories": ["m"], "failure_type": "f"}), "no agent wrote"),
        (json.dumps({"id": "1", "text": "t", "embedding": [0.1]}), "is a table of embedded texts"),
        (json.dumps({"$schema": "x", "type": "object"}, indent=2), "is a JSON schema"),
        (json.dumps({"timestamp": 1, "content": "c"}), "holds JSON rows with the keys content, timestamp"),
    ],
)
def test_a_file_that_is_no_log_is_called_what_it_is(tmp_path: Path, content: str, told: str) -> None:
    """Say what it is, that nothing is imported, and the mend with the known formats."""
    path = tmp_path / "file"
    path.write_text(content)
    answer = answer_to(path)
    assert told in answer
    assert "Nothing is imported. Mend: " in answer
    assert "mem0" in answer


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_never_opened(tmp_path: Path, protocol: int) -> None:
    """Refuse by the first bytes what some research versions of A-MEM write."""
    path = tmp_path / "memory.pkl"
    path.write_bytes(pickle.dumps({"id": "1"}, protocol=protocol))
    assert "is a Python pickle, which is not opened" in answer_to(path)


@pytest.mark.parametrize("content", [b"hello", b"hello, world\nthis is prose\n", b"\x00\x01", b"SQLite format 3\x00 cut"])
def test_there_is_not_always_something_to_say(tmp_path: Path, content: bytes) -> None:
    """Fall back to the list of formats."""
    path = tmp_path / "file"
    path.write_bytes(content)
    assert explain_unfit(path) is None
    assert "Known formats" in answer_to(path)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("memories.jsonl", b"", "is empty"),
        ("memories.json", '{"memory": "m"}'.encode("utf-16"), "is text in UTF-16"),
        ("memories.jsonl.gz", bytes(range(128, 256)), "cannot be unpacked"),
        ("memories.jsonl.gz", gzip.compress(b'{"memory": "m"}')[:12], "cannot be unpacked"),
    ],
)
def test_a_file_that_cannot_be_read_as_text_is_called_what_it_is(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    """Name the damage, not all formats that it might have been."""
    path = tmp_path / name
    path.write_bytes(content)
    assert told in answer_to(path)


@pytest.mark.skipif(not REAL_DATA, reason="GUARDIAN_REAL_DATA names no folder of real files")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("chinook/Chinook_Sqlite.sqlite", "with the tables Album, Artist, Customer, Employee"),
        ("truthfulqa/tqa_K650.csv", "is a question set such as TruthfulQA"),
        ("memsyco-bench/schema.json", "is a JSON schema"),
    ],
)
def test_real_files_that_are_no_logs_are_called_what_they_are(name: str, told: str) -> None:
    """Answer for what people have at hand."""
    assert told in answer_to(Path(REAL_DATA or "") / name)
