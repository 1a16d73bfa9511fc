"""mem0's history database: three generations, and every trap its table holds."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.formats import mem0_history
from guardian.sources.formats.mem0_history import Mem0HistorySource
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions

SAMPLES = Path(__file__).parents[3] / "data" / "mem0"

H1 = "id TEXT PRIMARY KEY, memory_id TEXT, prev_value TEXT, new_value TEXT, event TEXT, timestamp DATETIME, is_deleted INTEGER"
H2 = (
    "id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, new_value TEXT, event TEXT, "
    "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER"
)
H3 = (
    "id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME, "
    "updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT"
)
MESSAGES = "id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT, created_at DATETIME"


def make(path: Path, tables: dict[str, tuple[str, Sequence[Sequence[Any]]]]) -> Path:
    """Make a database with tables of (columns, rows)."""
    with closing(sqlite3.connect(path)) as database, database:
        for table, (columns, rows) in tables.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
            for row in rows:
                database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    return path


def history(path: Path, *rows: Sequence[Any], columns: str = H3) -> list[Item]:
    """Make a database with these history rows and give its items."""
    return read(make(path, {"history": (columns, rows)}))


def read(*paths: Path, options: SourceOptions | None = None) -> list[Item]:
    """Give the items of databases."""
    return list(Mem0HistorySource().iter_items(paths, options or SourceOptions()))


def event_of(item: Item) -> dict[str, Any]:
    """Give the event of an item that must be one."""
    assert isinstance(item, SourceEvent), item
    assert item.event is not None
    return dict(item.event)


def shape(items: Sequence[Item]) -> list[tuple[str, str, str]]:
    """Give type, time and text of the events."""
    events = [event_of(item) for item in items]
    return [(event["type"], event["time"], event["data"].get("text", "")) for event in events]


def test_the_first_generation_gives_its_golden_events() -> None:
    """Read lower-case events and naive UTC with a blank, and mark the zone as assumed."""
    common = {"specversion": "1.0", "source": "mem0:history", "space": "mem0"}
    origin = {"kind": "unknown", "ref": "mem0:history:m1"}
    marks = {"format": "mem0.history", "tz_assumed": True}
    times = [f"2024-07-{day} 10:20:30.123456" for day in (15, 16, 17)]
    assert [event_of(item) for item in read(SAMPLES / "history_mem0_2024-07_schema.db")] == [
        {
            **common,
            "id": "h1",
            "type": "memory.written",
            "time": "2024-07-15T10:20:30.123456Z",
            "data": {
                "memory_id": "m1",
                "text": "The weekly build runs on Tuesday",
                "source": origin,
                "metadata": {**marks, "mem0_event": "ADD", "time_raw": times[0]},
            },
        },
        {
            **common,
            "id": "h2",
            "type": "memory.written",
            "time": "2024-07-16T10:20:30.123456Z",
            "data": {
                "memory_id": "m1",
                "text": "The weekly build runs on Wednesday",
                "source": origin,
                "metadata": {**marks, "mem0_event": "UPDATE", "time_raw": times[1]},
            },
        },
        {
            **common,
            "id": "h3",
            "type": "memory.deleted",
            "time": "2024-07-17T10:20:30.123456Z",
            "data": {"memory_id": "m1", "metadata": {**marks, "mem0_event": "DELETE", "time_raw": times[2]}},
        },
    ]


def test_the_second_generation_is_read_in_utc_with_a_deletion_dated_by_its_memory() -> None:
    """Turn US-Pacific into UTC; a DELETE without times takes its memory's latest and says so."""
    items = read(SAMPLES / "history_mem0ai_0.1.50.db")
    assert shape(items) == [
        ("memory.written", "2025-02-03T16:00:00.100000Z", "The weekly build runs on Tuesday"),
        ("memory.written", "2025-02-10T17:30:00.200000Z", "The weekly build runs on Wednesday"),
        ("memory.deleted", "2025-02-10T17:30:00.200000Z", ""),
    ]
    assert event_of(items[2])["data"]["metadata"] == {
        "format": "mem0.history",
        "mem0_event": "DELETE",
        "time_inferred": True,
    }


@pytest.mark.parametrize("name", ["history_mem0ai_1.0.0.db", "history_mem0ai_2.2.1.db"])
def test_deletions_follow_their_writes_whatever_the_times_look_like(name: str) -> None:
    """Order by rowid: NULL times and mixed offsets put deletions first when sorted."""
    written: dict[str, str] = {}
    for item in read(SAMPLES / name):
        event = event_of(item)
        memory_id = event["data"]["memory_id"]
        assert (memory_id in written) or event["type"] == "memory.written"
        assert event["time"] >= written.get(memory_id, "")
        written[memory_id] = event["time"]
    assert len(written) == 4


def test_a_back_dated_write_keeps_its_claimed_time_and_offset() -> None:
    """Take `metadata.created_at` of the caller as the time, in UTC, with the claim as it was written."""
    item = read(SAMPLES / "history_mem0ai_2.2.1.db")[3]
    event = event_of(item)
    assert event["time"] == "2024-03-01T00:00:00Z"
    assert event["data"]["metadata"]["time_raw"] == "2024-03-01T09:00:00+09:00"
    assert event["data"]["metadata"]["tz_assumed"] is False


def test_an_update_is_dated_by_the_update_and_keeps_the_creation_time() -> None:
    """Never date a row by `created_at` alone."""
    event = event_of(read(SAMPLES / "history_mem0ai_1.0.0.db")[4])
    assert event["time"] == "2026-11-29T18:14:53.973396Z"
    assert event["data"]["metadata"]["created_at"] == "2026-11-29T10:14:53.962846-08:00"


def test_text_of_the_first_migration_is_found_in_new_value(tmp_path: Path) -> None:
    """Read `new_value` where `new_memory` is empty, and lower-case events in the second generation."""
    items = history(
        tmp_path / "h.db",
        ("1", "m", None, None, "From the old table", "add", "2024-07-15 10:00:00", "2024-07-15 10:00:00", 0),
        columns=H2,
    )
    assert shape(items) == [("memory.written", "2024-07-15T10:00:00Z", "From the old table")]


def test_an_add_names_the_author_of_a_raw_message_and_nothing_else_does(tmp_path: Path) -> None:
    """Map user, assistant and tool; leave all else unknown, also a role that an UPDATE repeats."""
    t = "2026-05-01T08:00:00+00:00"
    items = history(
        tmp_path / "h.db",
        ("1", "a", None, "x", "ADD", t, None, 0, "ann", "user"),
        ("2", "b", None, "x", "ADD", t, None, 0, None, "assistant"),
        ("3", "c", None, "x", "ADD", t, None, 0, None, "tool"),
        ("4", "d", None, "x", "ADD", t, None, 0, None, "system"),
        ("5", "e", None, "x", "ADD", t, None, 0, None, None),
        ("6", "a", "x", "rewritten", "UPDATE", t, t, 0, "ann", "user"),
    )
    origins = [event_of(item)["data"]["source"] for item in items]
    assert [origin["kind"] for origin in origins] == ["user", "agent", "tool", "unknown", "unknown", "unknown"]
    assert [origin.get("actor") for origin in origins] == ["ann", None, None, None, None, None]
    assert origins[0]["ref"] == origins[5]["ref"] == "mem0:history:a"
    assert event_of(items[5])["data"]["metadata"]["role"] == "user"


def test_the_caller_supplies_space_scope_and_kind_where_the_table_has_none(tmp_path: Path) -> None:
    """Put the caller's knowledge on every write, but never over what a row states."""
    t = "2026-05-01T08:00:00+00:00"
    rows = [
        ("1", "a", None, "x", "ADD", t, None, 0, None, "user"),
        ("2", "b", None, "x", "ADD", t, None, 0, None, None),
    ]
    path = make(tmp_path / "h.db", {"history": (H3, rows)})
    options = SourceOptions(space="team", source_kind=SourceKind.AGENT, scope={"user_id": "u1"})
    events = [event_of(item) for item in read(path, options=options)]
    assert [event["space"] for event in events] == ["team", "team"]
    assert [event["data"]["scope"] for event in events] == [{"user_id": "u1"}] * 2
    assert [event["data"]["source"]["kind"] for event in events] == ["user", "agent"]


def test_an_update_that_repeats_the_text_is_skipped_with_its_reason(tmp_path: Path) -> None:
    """Make no revision of a change of metadata; yet its time dates a later deletion."""
    items = history(
        tmp_path / "h.db",
        ("1", "a", None, "x", "ADD", "2026-05-01T08:00:00+00:00", None, 0, None, None),
        ("2", "a", "x", "x", "UPDATE", "2026-05-01T08:00:00+00:00", "2026-05-02T08:00:00+00:00", 0, None, None),
        ("3", "a", "x", None, "DELETE", None, None, 1, None, None),
    )
    assert isinstance(items[1], Skipped)
    assert (items[1].reason, items[1].position) == ("metadata_only", "h.db history row 2")
    assert event_of(items[2])["time"] == "2026-05-02T08:00:00Z"


def test_one_database_may_hold_two_zones_and_the_latest_is_found_by_time_not_by_text(tmp_path: Path) -> None:
    """Compare instants: 07:00 at -08:00 is later than 14:59 UTC."""
    items = history(
        tmp_path / "h.db",
        ("1", "a", None, "x", "ADD", "2026-03-01T07:00:00-08:00", None, 0, None, None),
        ("2", "a", "x", "y", "UPDATE", "2026-03-01T07:00:00-08:00", "2026-03-01T14:59:00+00:00", 0, None, None),
        ("3", "a", "y", None, "DELETE", None, None, 1, None, None),
    )
    assert event_of(items[2])["time"] == "2026-03-01T15:00:00Z"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("1", "a", None, None, "ADD", "2026-05-01", None, 0, None, None), "text_missing"),
        ((None, "a", None, "x", "ADD", "2026-05-01", None, 0, None, None), "id_missing"),
        (("1", None, None, "x", "ADD", "2026-05-01", None, 0, None, None), "id_missing"),
        (("1", "a", None, "x", "NONE", "2026-05-01", None, 0, None, None), "operation_unknown"),
        (("1", "a", None, "x", None, "2026-05-01", None, 0, None, None), "operation_unknown"),
        (("1", "a", None, "x", "ADD", None, None, 0, None, None), "time_missing"),
        (("1", "a", "x", None, "DELETE", None, None, 1, None, None), "time_missing"),
        (("1", "a", None, "x", "ADD", "last week", None, 0, None, None), "time_unreadable"),
        (("1", "a", None, "x", "ADD", "20240301", None, 0, None, None), "time_unreadable"),
        (("1", "a", None, b"\xff\xfe", "ADD", "2026-05-01", None, 0, None, None), "not_utf8"),
    ],
)
def test_a_bad_row_is_broken_with_its_content_and_costs_itself(tmp_path: Path, row: Sequence[Any], reason: str) -> None:
    """Give a dead letter that shows the row, and read on."""
    good = ("2", "b", None, "x", "ADD", "2026-05-01T08:00:00+00:00", None, 0, None, None)
    bad, after = history(tmp_path / "h.db", row, good)
    assert isinstance(bad, Broken)
    assert bad.reason == reason
    assert orjson.loads(bad.raw).keys() >= {"id", "memory_id", "new_text", "created_at"}
    assert isinstance(after, SourceEvent)


def test_tables_that_are_no_history_are_counted_and_explained(tmp_path: Path) -> None:
    """Account for raw messages and for what a cut-off migration left, with what stands only there."""
    t = "2026-05-01T08:00:00+00:00"
    kept = ("1", "a", None, "x", "ADD", t, None, 0, None, None)
    old = [("1", "a", None, "x", None, "ADD", t, None, 0), ("0", "z", None, "lost", None, "ADD", t, None, 0)]
    message = ("k", "user_id=u1", "user", "Hello", None, t)
    tables = {"history": (H3, [kept]), "history_old": (H2, old), "messages": (MESSAGES, [message, ("l", *message[1:])])}
    items = read(make(tmp_path / "h.db", tables))
    notes = [item for item in items if isinstance(item, Skipped)]
    assert [(note.reason, note.rows) for note in notes] == [("leftover_table", 2), ("raw_messages", 2)]
    assert "1 of its 2 rows are not in history" in notes[0].detail
    assert sum(item.rows for item in items) == 5


def test_a_leftover_table_is_read_where_it_is_the_only_history(tmp_path: Path) -> None:
    """Lose nothing to a migration that died between rename and create."""
    path = make(tmp_path / "h.db", {"old_history": (H1, [("1", "a", None, "x", "add", "2024-07-15 10:00:00", 0)])})
    assert Mem0HistorySource().detect(path)
    assert shape(read(path)) == [("memory.written", "2024-07-15T10:00:00Z", "x")]


def test_another_database_with_a_history_table_is_not_taken_for_mem0(tmp_path: Path) -> None:
    """Detect by columns, not by the name of the file or the table."""
    other = make(tmp_path / "history.db", {"history": ("id INTEGER, url TEXT, event TEXT", [])})
    assert not Mem0HistorySource().detect(other)
    (tmp_path / "text.db").write_text("SQLite format 3, they say")
    assert not Mem0HistorySource().detect(tmp_path / "text.db")
    assert not Mem0HistorySource().detect(tmp_path)
    assert Mem0HistorySource().detect(make(tmp_path / "any.name", {"history": (H3, [])}))


def test_a_leftover_beside_a_history_of_unknown_shape_is_not_read_in_its_place(tmp_path: Path) -> None:
    """Old rows are not what the database says now: its history is unknown, and says so."""
    old = ("1", "a", None, "x", "add", "2024-07-15 10:00:00", 0)
    path = make(tmp_path / "h.db", {"history": ("id TEXT, memory TEXT", [("1", "x")]), "history_old": (H1, [old])})
    assert not Mem0HistorySource().detect(path)
    assert [item.reason for item in read(path) if isinstance(item, Broken)] == ["shape_unknown"]


def test_a_view_is_no_history(tmp_path: Path) -> None:
    """A view can go on for ever."""
    path = make(tmp_path / "h.db", {"t": (H3, [])})
    names = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id, role"
    endless = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT {', '.join('i' * 10)} FROM n"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE VIEW history ({names}) AS {endless}")
    assert not Mem0HistorySource().detect(path)
    assert [item.reason for item in read(path) if isinstance(item, Broken)] == ["shape_unknown"]


def test_a_table_whose_name_is_no_text_is_passed_over(tmp_path: Path) -> None:
    """The rows of the history are read whatever stands beside it."""
    path = make(tmp_path / "h.db", {"history": (H3, []), "abcd": ("id TEXT", [])})
    path.write_bytes(path.read_bytes().replace(b"abcd", b"ab\xff\xfe"))
    assert read(path) == []


def test_a_schema_that_is_no_text_is_damage(tmp_path: Path) -> None:
    """SQLite quotes the bytes in its own message; the file is a dead letter all the same."""
    path = make(tmp_path / "h.db", {"history": (H3, [])})
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE TABL\x82"))
    assert not Mem0HistorySource().detect(path)
    assert [item.reason for item in read(path) if isinstance(item, Broken)] == ["file_damaged"]


def test_a_message_does_not_repeat_a_long_cell(tmp_path: Path) -> None:
    """What is wrong is said in a few words; the cell itself is in the dead letter."""
    rows = [
        ("1", "a", None, "x", "x" * 9000, None, None, 0, None, None),
        ("2", "a", None, "x", "ADD", "t" * 9000, None, 0, None, None),
    ]
    items = history(tmp_path / "h.db", *rows)
    assert [len(item.message) < 500 < len(item.raw) for item in items if isinstance(item, Broken)] == [True, True]


def test_unfinished_changes_beside_the_database_are_refused_not_missed(tmp_path: Path) -> None:
    """Name the mend when the last rows stand in a write-ahead log."""
    path = tmp_path / "h.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute(f"CREATE TABLE history ({H3})")
        writer.execute("INSERT INTO history VALUES ('1','a',NULL,'x','ADD','2026-05-01',NULL,0,NULL,NULL)")
        writer.commit()
        with pytest.raises(RecordError, match="backup") as caught:
            read(path)
        assert caught.value.reason == "file_in_use"
    assert len(read(path)) == 1
    assert os.listdir(tmp_path) == ["h.db"]  # noqa: PTH208


def test_a_damaged_database_gives_a_dead_letter_not_a_crash(tmp_path: Path) -> None:
    """Keep what was read, and say that the file is damaged."""
    path = make(
        tmp_path / "h.db",
        {
            "history": (
                H3,
                [(str(n), "a", None, "x" * 3000, "ADD", "2026-05-01", None, 0, None, None) for n in range(40)],
            )
        },
    )
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = os.urandom(len(content) - len(content) // 2)
    path.write_bytes(content)
    items = read(path)
    assert isinstance(items[-1], Broken)
    assert items[-1].reason == "file_damaged"


def test_a_path_with_signs_of_a_uri_is_only_a_path(tmp_path: Path) -> None:
    """Quote the path: `?`, `#` and `%` are letters of a name."""
    folder = tmp_path / "100%?mode=rwc#"
    folder.mkdir()
    row = ("1", "a", None, "x", "ADD", "2026-05-01", None, 0, None, None)
    assert len(history(folder / "h ä.db", row)) == 1


def test_times_are_remembered_no_longer_than_a_deletion_may_need_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the last row without a time nothing is kept, so that a long history takes no more memory than a short one."""
    rows = [
        ("r1", "a", None, "one", "ADD", "2026-01-01T00:00:00+00:00", None, 0, None, None),
        ("r2", "b", None, "two", "ADD", "2026-01-02T00:00:00+00:00", None, 0, None, None),
        ("r3", "a", "one", None, "DELETE", None, None, 1, None, None),
        ("r4", "c", None, "three", "ADD", "2026-01-03T00:00:00+00:00", None, 0, None, None),
        ("r5", "d", None, "four", "ADD", "2026-01-04T00:00:00+00:00", None, 0, None, None),
    ]
    kept: list[list[str]] = []

    def watching(values: Sequence[Any], position: str, times: dict[str, datetime], options: SourceOptions) -> Item:
        kept.append(sorted(times))
        return read_row(values, position, times, options)

    read_row = mem0_history._read_row
    monkeypatch.setattr(mem0_history, "_read_row", watching)
    items = history(tmp_path / "h.db", *rows)
    assert kept == [[], ["a"], ["a", "b"], [], []]
    assert event_of(items[2])["time"] == "2026-01-01T00:00:00Z"
