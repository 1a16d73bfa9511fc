"""LangGraph's store: every route gives the same event, and what a state cannot prove is not taken from it."""

import gzip
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.errors import RecordError
from guardian.sources.formats.langgraph.store import LanggraphSource
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from tests.contract.samples.langgraph import DUMP, ROWS, TIME, write_sqlite, write_store

T = datetime(2026, 6, 1, tzinfo=UTC)


def read(*paths: Path, options: SourceOptions | None = None) -> list[Item]:
    """Give the items of files."""
    return list(LanggraphSource().iter_items(paths, options or SourceOptions()))


def write(path: Path, content: Any, *, time: int = TIME) -> Path:
    """Write text, bytes, or values as JSON lines."""
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(raw if isinstance(raw, bytes) else b"\n".join(orjson.dumps(value) for value in raw))
    os.utime(path, (time, time))
    return path


def event_of(item: Item) -> dict[str, Any]:
    """Give the event of an item that must be one."""
    assert isinstance(item, SourceEvent), item
    assert item.event is not None
    return dict(item.event)


def shape(items: list[Item]) -> list[str]:
    """Give types of events and reasons of the rest."""
    return [str(event_of(item)["type"]) if isinstance(item, SourceEvent) else item.reason for item in items]


def row(value: Any, /, **more: Any) -> dict[str, Any]:
    """Make a row of the table as a change log holds it: jsonb as a string."""
    time = "2026-05-01T08:00:00Z"
    return {
        "prefix": "memories.u1",
        "key": "k",
        "value": orjson.dumps(value).decode(),
        "created_at": time,
        "updated_at": time,
        **more,
    }


def change(operation: RowOperation, *, before: Any = None, after: Any = None, table: str | None = "store") -> RowChange:
    """Make a change at time T."""
    return RowChange(position="t/0/1", identity="lsn 7", operation=operation, time=T, table=table, before=before, after=after)


def live(made: RowChange) -> Item:
    """Give the one item of a change."""
    assert LanggraphSource().matches_row(made)
    [item] = LanggraphSource().iter_row(made, SourceOptions())
    return item


def test_a_database_gives_its_golden_event(tmp_path: Path) -> None:
    """Read BLOBs and naive UTC; each namespace is a space; no label becomes a user."""
    first, second, third = (event_of(item) for item in read(write_sqlite(tmp_path / "x", ROWS)))
    assert first == {
        "specversion": "1.0",
        "id": first["id"],
        "source": "langgraph:store",
        "type": "memory.written",
        "time": "2026-05-02T08:00:00Z",
        "space": "langgraph:memories.u1",
        "data": {
            "memory_id": "memories.u1/k1",
            "text": "Prefers tea",
            "source": {"kind": "unknown", "ref": "langgraph:store:memories.u1/k1"},
            "metadata": {
                "format": "langgraph.store",
                "time_from": "updated_at",
                "time_raw": "2026-05-02 08:00:00",
                "tz_assumed": True,
                "namespace": ["memories", "u1"],
                "key": "k1",
                "schema": "Memory",
                "created_at": "2026-05-01 08:00:00",
            },
        },
    }
    assert second["data"]["text"] == "Sits at desk 2"
    assert (third["data"]["text"], third["data"]["metadata"]["rendered"]) == ("subject: host-7; is: staging", True)
    assert third["space"] == "langgraph:facts"


def test_two_states_become_an_update_and_a_deletion(tmp_path: Path) -> None:
    """Take `updated_at` of a row whose `created_at` was set anew."""
    paths, _ = write_store(tmp_path)
    items = read(*paths)
    assert shape(items) == ["memory.written"] * 3 + ["unchanged", "memory.written", "memory.deleted"]
    assert event_of(items[4])["time"] == "2026-05-03T08:00:00Z"
    assert event_of(items[5])["data"]["memory_id"] == "facts/k3"
    assert event_of(items[5])["space"] == "langgraph:facts"


def test_every_route_gives_one_id(tmp_path: Path) -> None:
    """Read a value from bytes, JSON, text of a dump, CSV and a change log, and give one event id."""
    value = {"kind": "Memory", "content": {"content": "Prefers tea"}}
    stored = orjson.dumps(value).decode()
    cell = stored.replace('"', '""')
    item = {
        "namespace": ["memories", "u1"],
        "key": "k1",
        "value": value,
        "created_at": None,
        "updated_at": "2026-05-02T08:00:00+00:00",
    }
    paths = [
        write_sqlite(tmp_path / "a", ROWS[:1]),
        write(tmp_path / "b", DUMP),
        write(tmp_path / "c", f'prefix,key,value,created_at,updated_at\nmemories.u1,k1,"{cell}",,2026-05-02 08:00:00+00\n'),
        write(tmp_path / "d", [item]),
        write(tmp_path / "e", [[{**item, "score": 0.5}]]),
        write(tmp_path / "f", [{"items": [item]}]),
        write(tmp_path / "g", [{"prefix": "memories.u1", "key": "k1", "value": value, "updated_at": "2026-05-02T08:00:00"}]),
        write(tmp_path / "h", gzip.compress(DUMP.encode())),
    ]
    ids = {next(event_of(found)["id"] for found in read(path) if isinstance(found, SourceEvent)) for path in paths}
    made = change(RowOperation.CREATE, after=row(value, key="k1", updated_at="2026-05-02T08:00:00Z"))
    assert ids == {event_of(live(made))["id"]}
    assert all(LanggraphSource().detect(path) for path in paths)


def test_a_plain_dump_is_unescaped_and_its_other_tables_are_counted(tmp_path: Path) -> None:
    """Read COPY's escapes once: the JSON inside has its own."""
    left, first, second = read(write(tmp_path / "x", DUMP))
    assert isinstance(left, Skipped)
    assert (left.reason, left.rows) == ("not_a_memory", 1)
    assert event_of(first)["data"]["text"] == "Prefers tea"
    assert event_of(second)["data"]["text"] == 'Sits at\n\tdesk "2"'
    assert event_of(second)["data"]["metadata"]["ttl_minutes"] == 60.0
    assert event_of(second)["time"] == "2026-05-01T08:00:00.500000Z"


def test_another_table_of_that_name_is_not_claimed(tmp_path: Path) -> None:
    """Tell by the columns: shops have a table `store`, too."""
    shop = "-- PostgreSQL database dump\nCOPY public.store (id, city) FROM stdin;\n1\tOslo\n\\.\n"
    assert not LanggraphSource().detect(write(tmp_path / "x", shop))
    [left] = read(write(tmp_path / "y", shop + DUMP.replace("checkpoints", "other").replace("t1\t{}\n", "")))[:1]
    assert isinstance(left, Skipped)
    assert (left.reason, left.rows) == ("not_a_memory", 1)
    assert LanggraphSource().detect(tmp_path / "y")
    path = tmp_path / "z"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE store (id text, city text)")
    database.close()
    assert not LanggraphSource().detect(path)
    assert shape(read(path)) == ["file_damaged"]


def test_a_dump_is_told_however_long_its_other_tables_are(tmp_path: Path) -> None:
    """Read on to the store, which comes after the checkpoints."""
    long = DUMP.replace("t1\t{}\n", f"t1\t{'x' * 1000}\n" * 600)
    assert LanggraphSource().detect(write(tmp_path / "x", long))
    assert [item.rows for item in read(tmp_path / "x")] == [600, 1, 1]


def test_a_dump_that_ends_in_a_table_deletes_nothing(tmp_path: Path) -> None:
    """Take no absence from a dump that was cut."""
    cut = DUMP[: DUMP.index("memories.u1\tk2")]
    items = read(write(tmp_path / "a", DUMP), write(tmp_path / "b", cut, time=TIME + 1))
    assert shape(items)[3:] == ["not_a_memory", "unchanged", "file_damaged", "absence_in_damaged_version"]


def test_answers_of_the_api_prove_no_deletion(tmp_path: Path) -> None:
    """Take a search, which stops at its limit, for what it is."""
    item = {"namespace": ["a"], "key": "k", "value": {"content": "x"}, "updated_at": "2026-05-01"}
    paths = [write(tmp_path / "a", [[item, {**item, "key": "l"}]]), write(tmp_path / "b", [[item]], time=TIME + 1)]
    assert shape(read(*paths)) == ["memory.written", "memory.written", "unchanged"]


def test_a_value_that_changes_twice_in_a_second_is_ordered_by_its_versions(tmp_path: Path) -> None:
    """Step no memory back in time where SQLite knows seconds only."""
    paths = [
        write_sqlite(tmp_path / f"{n}", [("a", "k", {"content": str(n)}, *("2026-05-01 08:00:00",) * 2)], time=TIME + n)
        for n in (1, 2)
    ]
    first, second = (event_of(item) for item in read(*paths))
    assert first["time"] < second["time"]
    assert second["data"]["metadata"]["time_from"] == "mtime"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"content": "a"}, "a"),
        ({"content": {"content": "a"}}, "a"),
        ({"content": {"city": "Oslo", "langs": ["no", "en"]}}, "city: Oslo; langs: no, en"),
        ({"kind": "Note", "content": "a"}, "a"),
        ({"kind": "Note", "content": {"n": 1, "empty": None}}, "n: 1"),
        ({"data": "a", "kind": "x"}, "a"),
        ({"rules": {"a": 1}}, 'rules: {"a":1}'),
        ({"kind": "Note", "content": ["a", "b"]}, "content: a, b"),
    ],
)
def test_the_text_of_a_value(value: dict[str, Any], text: str) -> None:
    """Find LangMem's text with a kind and without, and show all fields of anything else."""
    assert event_of(live(change(RowOperation.CREATE, after=row(value))))["data"]["text"] == text


def test_places_never_share_an_id() -> None:
    """Escape what would make two places one; shorten by digest."""
    places = [("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c"), ("a", "x" * 5000), ("a", "x" * 4999)]
    made = [change(RowOperation.CREATE, after=row({"content": "x"}, prefix=prefix, key=key)) for prefix, key in places]
    ids = [event_of(live(one))["data"]["memory_id"] for one in made]
    assert len(set(ids)) == len(ids)
    assert max(map(len, ids)) < 1024


def test_a_deletion_with_the_default_replica_identity_needs_only_the_key() -> None:
    """Name the item by what is left of it; tell deletions apart by their place in the log."""
    item = event_of(live(change(RowOperation.DELETE, before={"prefix": "memories.u1", "key": "k"})))
    assert (item["type"], item["data"]["memory_id"], item["time"]) == ("memory.deleted", "memories.u1/k", "2026-06-01T00:00:00Z")
    assert item["space"] == "langgraph:memories.u1"


def test_an_update_that_moves_only_the_expiry_is_no_write() -> None:
    """Tell by the value before, or by the mark of a value that was not touched."""
    value = {"content": "x"}
    same = change(RowOperation.UPDATE, before=row(value), after=row(value, expires_at="2026-07-01T00:00:00Z"))
    untouched = change(RowOperation.UPDATE, after=row(value, value="__debezium_unavailable_value"))
    for item in (live(same), live(untouched)):
        assert isinstance(item, Skipped)
        assert item.reason == "metadata_only"


def test_without_the_row_before_a_moved_expiry_repeats_its_event() -> None:
    """Give the very same event, which changes nothing."""
    value = {"content": "x"}
    first = live(change(RowOperation.CREATE, after=row(value, expires_at="2026-06-01T00:00:00Z", ttl_minutes=60)))
    again = live(change(RowOperation.UPDATE, after=row(value, expires_at="2026-07-01T00:00:00Z", ttl_minutes=60)))
    assert first == again


def test_broken_changes_and_values_are_answered(tmp_path: Path) -> None:
    """Name what is wrong with a value, a place, a row."""
    made = [row({}, value=raw) for raw in ("[1]", "{", 7)] + [row({}, value="{}")]
    found = [live(change(RowOperation.CREATE, after=one)) for one in made]
    assert shape(found) == ["shape_unknown", "not_json", "shape_unknown", "not_a_memory"]
    item = {"namespace": ["a", 1], "key": "k", "value": {"content": "x"}}
    assert shape(read(write(tmp_path / "x", [item, 7, {"namespace": ["a"], "key": 1, "value": {}}]))) == [
        "id_missing",
        "shape_unknown",
        "id_missing",
    ]
    lines = b"prefix,key,value\na,k\na,k,\xff\na,k,1,2\n"
    assert shape(read(write(tmp_path / "y", lines))) == ["shape_unknown", "not_utf8", "shape_unknown"]
    damaged = gzip.compress(b"prefix,key,value\n" + os.urandom(9000).hex().encode())[:-3000]
    assert shape(read(write(tmp_path / "z", damaged)))[-1] == "file_damaged"


def test_rows_of_other_tables_are_not_claimed() -> None:
    """Leave embeddings, and rows of tables that are called otherwise."""
    source = LanggraphSource()
    assert not source.matches_row(change(RowOperation.CREATE, after=row({"content": "x"}), table="other"))
    assert not source.matches_row(change(RowOperation.CREATE, after={"prefix": "a", "embedding": [0.1]}, table=None))
    assert source.matches_row(change(RowOperation.CREATE, after=row({"content": "x"}), table=None))


def test_a_database_in_use_is_refused(tmp_path: Path) -> None:
    """Miss nothing silently that a writer has not finished."""
    path = write_sqlite(tmp_path / "x", ROWS)
    path.with_name("x-wal").write_bytes(b"1")
    with pytest.raises(RecordError, match="unfinished"):
        read(path)


def test_embeddings_in_the_database_are_counted(tmp_path: Path) -> None:
    """Account for the table of vectors, which is not read."""
    path = write_sqlite(tmp_path / "x", ROWS[:1])
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE store_vectors (prefix text)")
        database.execute("INSERT INTO store_vectors VALUES ('a')")
    database.close()
    _, left = read(path)
    assert isinstance(left, Skipped)
    assert left.rows == 1
    assert not isinstance(left, Broken)


def test_a_database_that_the_package_wrote_and_what_it_answers_agree() -> None:
    """Read what langgraph-checkpoint-sqlite 3.1.2 stored, and its own search result, as one event."""
    data = Path(__file__).parents[4] / "data" / "langgraph"
    fact, stored = (event_of(item) for item in read(data / "store.sqlite"))
    [answered] = (event_of(item) for item in read(data / "items.json"))
    assert stored["id"] == answered["id"]
    assert stored["data"]["text"] == answered["data"]["text"] == "The weekly build runs on Wednesday"
    assert fact["data"]["text"] == "subject: host-7; predicate: is; object: staging"
    assert fact["data"]["metadata"]["ttl_minutes"] == 60.0
