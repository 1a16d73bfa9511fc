"""A-MEM: what evaluation did to a note is undone, ranks are no parents, and recall makes no revision."""

from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.amem import AmemSource
from tests.contract.samples.amem import chroma, note
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, write_json, write_lines

SOURCE = AmemSource()


@pytest.mark.parametrize(
    ("content", "text", "restored"),
    [
        ("Tea", "Tea", None),
        (42, "42", True),
        (1.5, "1.5", True),
        ([1], "[1]", True),
        ({"a": 1}, '{"a":1}', True),
        (False, "False", True),
    ],
)
def test_a_content_that_was_evaluated_is_a_text_again(tmp_path: Path, content: Any, text: str, restored: bool | None) -> None:
    """Restore what `literal_eval` made of a text, and say so."""
    (data,) = data_of(read(SOURCE, write_lines(tmp_path / "n", note("a", content))))
    assert (data["text"], data["metadata"].get("text_restored")) == (text, restored)


def test_a_content_that_became_null_is_gone(tmp_path: Path) -> None:
    """Make up no text: the note may have said `None`."""
    assert reasons_of(read(SOURCE, write_lines(tmp_path / "n", note("a", None)))) == ["text_missing"]


def test_in_chroma_a_number_is_still_a_text(tmp_path: Path) -> None:
    """Read the store's own texts as they are, and its lists as lists."""
    (data,) = data_of(read(SOURCE, write_json(tmp_path / "n", chroma(note("a", "42", keywords=["tea", "four"])))))
    assert (data["text"], data["metadata"]["fields"]["keywords"]) == ("42", ["tea", "four"])
    assert "text_restored" not in data["metadata"]


@pytest.mark.parametrize(("stamp", "time"), [("202605011200", "2026-05-01T12:00:00Z"), (202605011200, "2026-05-01T12:00:00Z")])
def test_a_time_may_have_become_a_number(tmp_path: Path, stamp: Any, time: str) -> None:
    """Read local minutes as UTC, marked, in both forms."""
    (event,) = events_of(read(SOURCE, write_lines(tmp_path / "n", note("a", "Tea", timestamp=stamp))))
    assert (event["time"], event["data"]["metadata"]["tz_assumed"]) == (time, True)


@pytest.mark.parametrize("stamp", ["", "soon", None, True, 7])
def test_a_time_that_cannot_be_read_gives_way_to_the_files(tmp_path: Path, stamp: Any) -> None:
    """Keep the note."""
    (data,) = data_of(read(SOURCE, write_lines(tmp_path / "n", note("a", "Tea", timestamp=stamp))))
    assert data["metadata"]["time_from"] == "mtime"


def test_links_are_kept_and_are_no_parents(tmp_path: Path) -> None:
    """Take neither ranks nor ids for derivations: a model suggested them."""
    rows = [note("a", "Tea", links=["0", "1", "b"]), note("b", "Desk")]
    data = data_of(read(SOURCE, write_lines(tmp_path / "n", *rows)))
    assert all("parents" not in entry for entry in data)
    assert data[0]["metadata"]["fields"]["links"] == ["0", "1", "b"]


def test_recall_makes_no_revision_and_evolution_does(tmp_path: Path) -> None:
    """Tell a counter that moved from a note that was filed anew."""
    names = [f"v{day}_2026060{day}T000000Z.json" for day in (1, 2, 3)]
    first = write_lines(tmp_path / names[0], note("a", "Tea"))
    recalled = write_lines(tmp_path / names[1], note("a", "Tea", retrieval_count=3, last_accessed="202606011200"))
    evolved = write_lines(tmp_path / names[2], note("a", "Tea", context="Habits"))
    items = read(SOURCE, first, recalled, evolved)
    assert [event["time"] for event in events_of(items)] == ["2026-05-01T12:00:00Z", "2026-06-03T00:00:00Z"]
    assert reasons_of(items) == ["unchanged"]


def test_all_forms_of_a_note_have_the_same_ids(tmp_path: Path) -> None:
    """Give the same event for a line, a point, a result and a row that arrives."""
    row = note("a", "Tea")
    point = {"id": "a", "document": "Tea", "metadata": chroma(row)["metadatas"][0]}
    line = events_of(read(SOURCE, write_lines(tmp_path / "n", row)))
    assert {event["id"] for event in line} == {event["id"] for event in events_of(read_alone(SOURCE, row))}
    for other in (write_lines(tmp_path / "p", point), write_json(tmp_path / "r", chroma(row))):
        assert [event["data"]["memory_id"] for event in events_of(read(SOURCE, other))] == ["a"]


def test_a_result_with_fewer_ids_than_notes_loses_only_those(tmp_path: Path) -> None:
    """Count a dead letter for each note without an id."""
    result = {**chroma(note("a", "Tea"), note("b", "Desk")), "ids": ["a"]}
    result["metadatas"][1].pop("id")
    items = read(SOURCE, write_json(tmp_path / "r", result))
    assert (len(events_of(items)), reasons_of(items)) == (1, ["id_missing"])
