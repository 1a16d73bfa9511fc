"""mem0's API answers: one form for every route, and what its shapes hide."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.sources.formats.mem0.api import Mem0ApiSource
from guardian.sources.formats.mem0.points import Mem0PointsSource
from guardian.sources.formats.mem0_history import Mem0HistorySource
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions

SAMPLES = Path(__file__).parents[4] / "data" / "mem0"
T = datetime(2026, 6, 1, tzinfo=UTC)


def read(path: Path, *values: Any, options: SourceOptions | None = None) -> list[Item]:
    """Write values as lines of a file of time T, and give its items."""
    path.write_bytes(b"\n".join(orjson.dumps(value) for value in values))
    os.utime(path, (T.timestamp(), T.timestamp()))
    return list(Mem0ApiSource().iter_items([path], options or SourceOptions()))


def event_of(item: Item) -> dict[str, Any]:
    """Give the event of an item that must be one."""
    assert isinstance(item, SourceEvent), item
    assert item.event is not None
    return dict(item.event)


def change(after: Any, *, operation: RowOperation = RowOperation.STATE, before: Any = None) -> RowChange:
    """Make a record that arrives by itself at time T."""
    return RowChange(position="t/0/1", identity="t/0/1", operation=operation, time=T, before=before, after=after)


def live(after: Any, **more: Any) -> list[Item]:
    """Give the items of one record."""
    assert Mem0ApiSource().matches_row(change(after, **more))
    return list(Mem0ApiSource().iter_row(change(after, **more), SourceOptions()))


@pytest.mark.parametrize("version", ["1.0.0", "2.2.1"])
def test_a_collection_and_the_answers_about_it_give_equal_events(version: str) -> None:
    """Bring get_all, search and the points themselves to one form: same ids, same data."""
    api, points = Mem0ApiSource(), Mem0PointsSource()
    routes = [
        list(api.iter_items([SAMPLES / f"get_all_mem0ai_{version}.json"], SourceOptions())),
        list(api.iter_items([SAMPLES / f"search_mem0ai_{version}.json"], SourceOptions())),
        list(points.iter_items([SAMPLES / f"qdrant_points_mem0ai_{version}.jsonl"], SourceOptions())),
    ]
    first, *others = [sorted((event_of(item) for item in items), key=lambda event: event["id"]) for items in routes]
    assert len(first) == 2
    assert all(other == first for other in others)


@pytest.mark.parametrize("version", ["1.0.0", "2.2.1"])
def test_the_history_that_is_asked_for_equals_the_table(version: str) -> None:
    """Give the events of the database, also for deletions that come before their writes and have no time."""
    table = Mem0HistorySource().iter_items([SAMPLES / f"history_mem0ai_{version}.db"], SourceOptions())
    from_table = {event["id"]: event for event in (event_of(item) for item in table if isinstance(item, SourceEvent))}
    asked = Mem0ApiSource().iter_items([SAMPLES / f"history_api_mem0ai_{version}.json"], SourceOptions())
    events = [event_of(item) for item in asked]
    assert len(events) == 7
    assert all(event == from_table[event["id"]] for event in events)


def test_a_state_equals_the_last_row_of_its_history() -> None:
    """Name the same memory, text and time, so that both make one record; the state's source sorts first."""
    history = [event_of(i) for i in Mem0ApiSource().iter_items([SAMPLES / "history_api_mem0ai_1.0.0.json"], SourceOptions())]
    states = [event_of(i) for i in Mem0ApiSource().iter_items([SAMPLES / "get_all_mem0ai_1.0.0.json"], SourceOptions())]
    rows = {(event["data"]["memory_id"], event["data"].get("text"), event["time"]) for event in history}
    updated = states[0]
    assert (updated["data"]["memory_id"], updated["data"]["text"], updated["time"]) in rows
    assert all(state["source"] < history[0]["source"] for state in states)


def test_a_page_of_the_platform_gives_its_golden_events(tmp_path: Path) -> None:
    """Read scope, expiry, derivation and replacement; an agent's word makes the correction."""
    page = {
        "count": 2,
        "next": None,
        "previous": None,
        "results": [
            {
                "id": "p1",
                "memory": "Desk 2",
                "user_id": "u",
                "session_id": "s",
                "app_id": "web",
                "categories": ["office"],
                "replaced_by": "p2",
                "expiration_date": "2026-05-31",
                "created_at": "2026-05-01T00:00:00-07:00",
                "updated_at": "2026-05-02T00:00:00-07:00",
            },
            {"id": "p2", "memory": "Desk 3", "synthesized": True, "embedding": [0.1] * 20, "created_at": "2026-05-03T00:00:00Z"},
        ],
    }
    first, correction, second = (event_of(item) for item in read(tmp_path / "page", page))
    assert first == {
        "specversion": "1.0",
        "id": first["id"],
        "source": "mem0:collection",
        "type": "memory.written",
        "time": "2026-05-02T07:00:00Z",
        "space": "mem0",
        "data": {
            "memory_id": "p1",
            "text": "Desk 2",
            "source": {"kind": "unknown", "ref": "mem0:memory:p1"},
            "scope": {"user_id": "u", "session_id": "s"},
            "valid_until": "2026-06-01T00:00:00Z",
            "metadata": {
                "format": "mem0.collection",
                "time_from": "updated_at",
                "time_raw": "2026-05-02T00:00:00-07:00",
                "tz_assumed": False,
                "created_at": "2026-05-01T00:00:00-07:00",
                "app_id": "web",
                "expiration_date": "2026-05-31",
                "replaced_by": "p2",
                "fields": {"categories": ["office"]},
            },
        },
    }
    assert correction["type"] == "memory.corrected"
    assert correction["data"]["targets"] == ["p1"]
    assert correction["data"]["replacement"] == "p2"
    assert correction["data"]["authority"]["kind"] == "agent"
    assert second["data"]["confidence"] == "inferred"
    assert second["data"]["metadata"]["fields_dropped"] == ["embedding"]
    assert "parents" not in second["data"]


def test_history_of_the_platform_brings_scope_and_the_chat_it_read(tmp_path: Path) -> None:
    """Keep `input` as evidence; leave embeddings out; make no parent of it."""
    row = {
        "id": "h1",
        "memory_id": "p1",
        "input": [{"role": "user", "content": "I sit at desk 3"}],
        "old_memory": None,
        "new_memory": "Sits at desk 3",
        "user_id": "u",
        "event": "ADD",
        "embedding_qwen": [0.1] * 1024,
        "categories": ["office"],
        "metadata": {"team": "x"},
        "created_at": "2026-05-01T00:00:00-07:00",
        "updated_at": "2026-05-01T00:00:00-07:00",
    }
    [item] = read(tmp_path / "x", {"count": 1, "results": [row]})
    event = event_of(item)
    assert (event["source"], event["id"], event["time"]) == ("mem0:platform", "h1", "2026-05-01T07:00:00Z")
    assert event["data"]["scope"] == {"user_id": "u"}
    assert event["data"]["metadata"]["fields"] == {"input": row["input"], "categories": ["office"], "team": "x"}
    assert event["data"]["metadata"]["fields_dropped"] == ["embedding_qwen"]
    assert [event] == [event_of(item) for item in live(row)]


def test_the_author_counts_only_where_nothing_was_updated(tmp_path: Path) -> None:
    """Take role and actor of a memory that still has its first text, and of no other."""
    row = {"id": "m", "memory": "x", "hash": "h", "role": "assistant", "actor_id": "bob", "created_at": "2026-05-01T00:00:00Z"}
    first, same, updated = (
        event_of(item)["data"]["source"]
        for item in read(
            tmp_path / "x",
            row,
            {**row, "updated_at": row["created_at"], "user_id": "u"},
            {**row, "updated_at": "2026-05-02T00:00:00Z"},
        )
    )
    assert first == same == {"kind": "agent", "ref": "mem0:memory:m", "actor": "bob"}
    assert updated == {"kind": "unknown", "ref": "mem0:memory:m"}


def test_names_of_the_typescript_sdk_mean_the_same(tmp_path: Path) -> None:
    """Read createdAt and updatedAt."""
    named = {"id": "m", "memory": "x", "hash": "h", "createdAt": "2026-05-01T00:00:00Z", "updatedAt": "2026-05-02T00:00:00Z"}
    other = {"id": "m", "memory": "x", "created_at": "2026-05-01T00:00:00Z", "updated_at": "2026-05-02T00:00:00Z"}
    assert read(tmp_path / "x", named)[0].event == read(tmp_path / "x", other)[0].event  # type: ignore[union-attr]


def test_webhooks_are_of_the_time_they_came_and_named_by_what_they_say() -> None:
    """Read both keys of the id; give one id to a webhook that is delivered twice; make no event of a category."""
    added = {"event_details": {"id": "m", "data": {"memory": "Desk 3"}, "event": "ADD"}}
    [first], [again] = live(added), live(added)
    assert first == again
    assert event_of(first)["time"] == "2026-06-01T00:00:00Z"
    assert event_of(first)["data"]["text"] == "Desk 3"
    [deleted] = live({"event_details": {"memory_id": "m", "event": "DELETE"}})
    assert (event_of(deleted)["type"], event_of(deleted)["data"]["memory_id"]) == ("memory.deleted", "m")
    [sorted_in] = live({"event_details": {"event": "CATEGORIZE", "memory_id": "m", "categories": ["office"]}})
    assert isinstance(sorted_in, Skipped)
    assert sorted_in.reason == "metadata_only"
    [job] = live({"event_details": {"job_id": "j", "status": "completed"}})
    assert isinstance(job, Skipped)
    assert job.reason == "not_a_memory"


def test_feedback_is_a_verdict_without_a_made_up_distance(tmp_path: Path) -> None:
    """Give 1 or 0 on a channel of its own, keep the word, and take nothing from a null."""
    rows = [{"memory_id": "m", "feedback": word} for word in ("POSITIVE", "NEGATIVE", "VERY_NEGATIVE", None, "MAYBE")]
    *verdicts, withdrawn, odd = read(tmp_path / "x", *rows)
    assert [event_of(item)["data"]["value"] for item in verdicts] == [1.0, 0.0, 0.0]
    assert {event_of(item)["data"]["channel"] for item in verdicts} == {"mem0.feedback"}
    assert event_of(verdicts[2])["data"]["evidence"]["feedback"] == "VERY_NEGATIVE"
    assert isinstance(withdrawn, Skipped)
    assert isinstance(odd, Broken)


def test_results_of_add_are_of_the_time_of_the_file(tmp_path: Path) -> None:
    """Write, delete, or say that nothing was new; leave out the relations of the graph."""
    answer = {
        "results": [
            {"id": "a", "memory": "Desk 2", "event": "ADD"},
            {"id": "b", "memory": "Desk 3", "event": "UPDATE", "previous_memory": "Desk 2"},
            {"id": "c", "memory": "Desk 4", "event": "DELETE"},
            {"id": "d", "memory": "Desk 5", "event": "NONE"},
        ],
        "relations": {"deleted_entities": [], "added_entities": [[{"source": "a", "relationship": "r", "target": "b"}]]},
    }
    written, updated, deleted, none, relation = read(tmp_path / "x", answer)
    assert event_of(written)["time"] == "2026-06-01T00:00:00Z"
    assert event_of(written)["data"]["metadata"]["time_from"] == "mtime"
    assert event_of(updated)["data"]["metadata"]["fields"] == {"previous_memory": "Desk 2"}
    assert event_of(deleted)["type"] == "memory.deleted"
    assert [item.reason for item in (none, relation) if isinstance(item, Skipped)] == ["unchanged", "not_a_memory"]


def test_a_timeless_deletion_waits_for_its_memory(tmp_path: Path) -> None:
    """Date it by the latest row of its memory wherever that stands; without any it is broken."""
    deletion = {"id": "h2", "memory_id": "m", "old_memory": "x", "new_memory": None, "event": "DELETE"}
    added = {"id": "h1", "memory_id": "m", "old_memory": None, "new_memory": "x", "event": "ADD", "created_at": "2026-05-01"}
    first, second = read(tmp_path / "x", deletion, added)
    assert [event_of(item)["id"] for item in (first, second)] == ["h1", "h2"]
    assert event_of(second)["time"] == "2026-05-01T00:00:00Z"
    [alone] = read(tmp_path / "y", deletion)
    assert isinstance(alone, Broken)
    assert alone.reason == "time_missing"
    [arrived] = live(deletion)
    assert event_of(arrived)["time"] == "2026-06-01T00:00:00Z"


def test_nothing_is_deleted_because_an_answer_lacks_it(tmp_path: Path) -> None:
    """Take a short answer for what it is: get_all cuts silently, and a search selects."""
    row = {"memory": "x", "hash": "h", "created_at": "2026-05-01T00:00:00Z"}
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, names in zip(paths, ["12", "1"], strict=True):
        path.write_bytes(orjson.dumps({"results": [{**row, "id": name} for name in names]}))
    items = list(Mem0ApiSource().iter_items(paths, SourceOptions(default_time=T)))
    assert [event_of(item)["type"] for item in items] == ["memory.written"] * 3


@pytest.mark.parametrize(
    "row",
    [
        {"id": "x", "memory": "text", "time_stamp": "2026-05-01", "hash": "h"},
        {"event_id": "e", "status": "PENDING"},
        {"id": "x", "memory": "text"},
        {"specversion": "1.0", "event_details": {}},
    ],
)
def test_rows_of_others_are_not_claimed(row: dict[str, Any], tmp_path: Path) -> None:
    """Leave what other programs write as well."""
    path = tmp_path / "x"
    path.write_bytes(orjson.dumps(row))
    assert not Mem0ApiSource().detect(path)
    assert not Mem0ApiSource().matches_row(change(row))


def test_a_deleted_row_deletes_its_memory() -> None:
    """Read a deletion by what the row was."""
    row = {"id": "m", "memory": "x", "created_at": "2026-05-01T00:00:00Z"}
    [item] = live(None, operation=RowOperation.DELETE, before=row)
    assert (event_of(item)["type"], event_of(item)["time"]) == ("memory.deleted", "2026-06-01T00:00:00Z")


def test_copied_files_are_the_same(tmp_path: Path) -> None:
    """Let no name of a file into an event."""
    name = "get_all_mem0ai_2.2.1.json"
    copy = Path(shutil.copy(SAMPLES / name, tmp_path / "other"))
    one, two = ([event_of(i) for i in Mem0ApiSource().iter_items([path], SourceOptions())] for path in (SAMPLES / name, copy))
    assert one == two


def test_columns_of_other_types_are_refused_or_unknown(tmp_path: Path) -> None:
    """Take JSON where a table has text for what it is: no id, no time, no role."""
    row = {"id": "h", "memory_id": "m", "old_memory": None, "new_memory": "x", "event": "ADD", "created_at": "2026-05-01"}
    items = read(
        tmp_path / "x", {**row, "role": ["user"]}, {**row, "id": 7}, {**row, "created_at": [1]}, {**row, "new_memory": {}}
    )
    assert event_of(items[0])["data"]["source"]["kind"] == "unknown"
    assert [item.reason for item in items[1:] if isinstance(item, Broken)] == ["id_missing", "time_unreadable", "text_missing"]
