"""LightMem: a summary's covered entries are its parents, times are synthetic, updates come without a time."""

from pathlib import Path

from guardian.sources.formats.lightmem import LightMemSource
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, stamp_files, write_json, write_lines
from tests.contract.samples.lightmem import entry, summary

SOURCE = LightMemSource()


def test_covered_entries_are_the_parents_of_a_summary(tmp_path: Path) -> None:
    """Take the explicit derivation, each once; seeds are among the covered."""
    entries = write_json(tmp_path / "e", [entry("a", "Desk 2"), entry("b", "Floor 1")])
    summaries = write_json(tmp_path / "s", [summary("Ann moved", "a", "b", "a")])
    *_, made = data_of(read(SOURCE, *stamp_files(summaries, entries)))
    assert (made["kind"], made["parents"], made["source"]["kind"]) == ("summary", ["a", "b"], "agent")


def test_files_of_the_two_kinds_do_not_delete_each_other(tmp_path: Path) -> None:
    """Take entries and summaries for two collections, whatever their times."""
    entries = write_json(tmp_path / "e", [entry("a", "Desk 2")])
    summaries = write_json(tmp_path / "s", [summary("Ann moved", "a")])
    assert not events_of(read(SOURCE, *stamp_files(entries, summaries)), "deleted")
    assert not events_of(read(SOURCE, *stamp_files(summaries, entries)), "deleted")


def test_an_update_in_place_is_a_revision_at_the_versions_time(tmp_path: Path) -> None:
    """Never date new words by the old synthetic time; an absent entry is deleted."""
    first = write_json(tmp_path / "e_20260601T000000Z", [entry("a", "Desk 2"), entry("b", "Floor 1")])
    second = write_json(tmp_path / "e_20260602T000000Z", [entry("a", "Desk 3", vector=[0.1] * 40)])
    events = events_of(read(SOURCE, first, second))
    assert [(event["type"], event["time"]) for event in events[2:]] == [
        ("memory.written", "2026-06-02T00:00:00Z"),
        ("memory.deleted", "2026-06-02T00:00:00Z"),
    ]
    assert events[2]["data"]["metadata"]["vectors_left_out"] == ["vector"]


def test_times_are_marked_as_synthetic_and_the_float_is_not_read(tmp_path: Path) -> None:
    """Say that the clock is made up; a float of a naive time depends on a machine."""
    (data,) = data_of(read(SOURCE, write_json(tmp_path / "e", [entry("a", "Desk 2", float_time_stamp=1.0)])))
    assert data["metadata"]["time_synthetic"] is True
    assert data["metadata"]["tz_assumed"] is True
    assert "float_time_stamp" not in data["metadata"]["fields"]
    assert data["metadata"]["fields"]["original_memory"] == "I said: Desk 2"
    assert data["source"] == {"kind": "unknown", "ref": "lightmem:memory:a", "actor": "Ann"}


def test_a_summary_without_an_id_is_told_by_what_it_says(tmp_path: Path) -> None:
    """Give the same id whatever the order of what it covers."""
    rows = [summary("Ann moved", "a", "b"), summary("Ann moved", "b", "a"), summary("Ann moved", "a")]
    items = read(SOURCE, write_lines(tmp_path / "s", *rows))
    assert len({data["memory_id"] for data in data_of(items)}) == 2
    assert reasons_of(items) == ["unchanged"]


def test_points_and_rows_that_arrive_have_the_same_ids(tmp_path: Path) -> None:
    """Give the same event for an entry, its point, and a row."""
    row = entry("a", "Desk 2")
    payload = {key: value for key, value in row.items() if key != "id"}
    point = {"id": "a", "payload": payload, "vector": [0.1] * 40}
    ids = {event["id"] for event in events_of(read(SOURCE, write_json(tmp_path / "e", [row])))}
    assert {event["id"] for event in events_of(read(SOURCE, write_lines(tmp_path / "p", point)))} == ids
    assert {event["id"] for event in events_of(read_alone(SOURCE, row))} == ids


def test_a_broken_row_costs_itself(tmp_path: Path) -> None:
    """Refuse entries without an id or a text."""
    rows = [{**entry("a", "x"), "id": None}, {**entry("b", "x"), "memory": 3}, entry("c", "Tea", time_stamp="later")]
    items = read(SOURCE, write_json(tmp_path / "e", rows))
    assert reasons_of(items) == ["id_missing", "shape_unknown"]
    assert data_of(items)[0]["metadata"]["time_from"] == "mtime"
