"""MemoryBank: dialogs are their content and not their place; what was made of a day derives from it."""

from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.memory_bank import MemoryBankSource
from tests.contract.samples.files import data_of, events_of, read, reasons_of, stamp_files, write_json
from tests.contract.samples.memory_bank import dialog, user

SOURCE = MemoryBankSource()
DAY = "2023-05-01"


def test_forgetting_moves_places_and_no_ids(tmp_path: Path) -> None:
    """Delete the forgotten dialog alone, though the next one has its place now."""
    before = [dialog("Tea", memory_id=f"Ann_{DAY}_0"), dialog("Desk", memory_id=f"Ann_{DAY}_1")]
    after = [dialog("Desk", memory_id=f"Ann_{DAY}_0", memory_strength=2)]
    paths = [write_json(tmp_path / name, {"Ann": user({DAY: rows})}) for name, rows in (("a", before), ("b", after))]
    events = events_of(read(SOURCE, *stamp_files(*paths)))
    assert [(event["type"], event["data"]["memory_id"]) for event in events[2:]] == [
        ("memory.deleted", events[0]["data"]["memory_id"])
    ]


def test_recall_makes_no_revision(tmp_path: Path) -> None:
    """Keep strengths and recall dates as they stand, and take them for nothing new."""
    rows = [dialog("Tea", memory_strength=1, last_recall_date=DAY), dialog("Tea", memory_strength=5)]
    paths = [write_json(tmp_path / str(number), {"Ann": user({DAY: [row]})}) for number, row in enumerate(rows)]
    items = read(SOURCE, *stamp_files(*paths))
    assert (len(events_of(items)), reasons_of(items)) == (1, ["unchanged"])
    assert data_of(items)[0]["metadata"]["fields"] == {"memory_strength": 1, "last_recall_date": DAY}


def test_what_is_made_of_a_day_derives_from_it(tmp_path: Path) -> None:
    """Give summaries and personalities the dialogs of their date, and the overall ones those."""
    history = {DAY: [dialog("Tea")], "2023-05-02": [dialog("Desk")]}
    parts: dict[str, Any] = {"summary": {DAY: "Tea.", "2023-05-02": {"content": "Desk."}}, "personality": {DAY: "calm"}}
    path = write_json(tmp_path / "m", {"Ann": user(history, **parts, overall_history="All.", overall_personality="Calm.")})
    by_id = {data["memory_id"]: data for data in data_of(read(SOURCE, path))}
    tea, desk = (memory_id for memory_id in by_id if memory_id.startswith("dialog:"))
    assert {memory_id: data["parents"] for memory_id, data in by_id.items() if "parents" in data} == {
        f"summary:Ann:{DAY}": [tea],
        "summary:Ann:2023-05-02": [desk],
        "overall_history:Ann": [f"summary:Ann:{DAY}", "summary:Ann:2023-05-02"],
        f"personality:Ann:{DAY}": [tea],
        "overall_personality:Ann": [f"personality:Ann:{DAY}"],
    }
    assert by_id["overall_personality:Ann"]["kind"] == "profile"


def test_a_summary_of_forgotten_dialogs_has_unknown_parents(tmp_path: Path) -> None:
    """Say nothing rather than that it has none."""
    (data,) = data_of(read(SOURCE, write_json(tmp_path / "m", {"Ann": user({}, summary={DAY: "Tea."})})))
    assert "parents" not in data


@pytest.mark.parametrize("empty", [[], {}])
def test_containers_that_were_never_filled_are_lists_or_objects(tmp_path: Path, empty: Any) -> None:
    """Account for a user of whom nothing is remembered."""
    path = write_json(tmp_path / "m", {"Ann": user(empty, summary=empty, personality=empty)})
    assert SOURCE.detect(path)
    assert reasons_of(read(SOURCE, path)) == ["empty_row"]


def test_times_are_dates_read_as_utc(tmp_path: Path) -> None:
    """Mark the zone as assumed, and fall back to the file's time."""
    items = read(SOURCE, write_json(tmp_path / "m", {"Ann": user({DAY: [dialog("Tea")], "a day": [dialog("Desk")]})}))
    assert events_of(items)[0]["time"] == "2023-05-01T00:00:00Z"
    assert [data["metadata"]["time_from"] for data in data_of(items)] == ["date", "mtime"]


def test_the_same_words_on_a_day_are_one_memory_and_on_two_days_two(tmp_path: Path) -> None:
    """Tell dialogs by user, date and words."""
    history = {DAY: [dialog("Tea"), dialog("Tea")], "2023-05-02": [dialog("Tea")]}
    items = read(SOURCE, write_json(tmp_path / "m", {"Ann": user(history), "Bo": user({DAY: [dialog("Tea")]})}))
    assert (len({data["memory_id"] for data in data_of(items)}), reasons_of(items)) == (3, ["unchanged"])


def test_a_broken_part_costs_itself(tmp_path: Path) -> None:
    """Refuse users, dialogs and summaries of another shape; a summary that is not made yet is none."""
    broken = user({DAY: [7, {"query": "x"}, dialog("Tea")]}, summary={DAY: 5, "2023-05-02": "", "2023-05-03": {"content": ""}})
    items = read(SOURCE, write_json(tmp_path / "m", {"Ann": broken, "Bo": 1}))
    assert reasons_of(items) == ["shape_unknown", "shape_unknown", "text_missing", "empty_row", "empty_row", "shape_unknown"]
    assert sum(item.rows for item in items) == 7


def test_a_pair_of_older_versions_is_the_same_dialog(tmp_path: Path) -> None:
    """Give one memory for an object and for a pair of the same words."""
    pair = [dialog("Tea")["query"], dialog("Tea")["response"]]
    items = read(SOURCE, write_json(tmp_path / "m", {"Ann": user({DAY: [dialog("Tea"), pair, ["odd"]]})}))
    assert (len(events_of(items)), reasons_of(items)) == (1, ["unchanged", "shape_unknown"])
