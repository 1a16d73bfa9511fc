"""Memento: cases and how they ended, judged by a model that knew the answer; retrievals credited to no case."""

from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.memento import MementoSource
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, write_lines
from tests.contract.samples.memento import case, plan, retrieved

SOURCE = MementoSource()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (plan("Look", "Compare"), "1. Look\n2. Compare"),
        ({"plan": [{"id": 1, "description": "Look"}]}, "1. Look"),
        ("ask around", "ask around"),
        ('{"steps": 3}', '{"steps": 3}'),
    ],
)
def test_a_plan_is_json_in_a_text_and_stays_what_it_is_otherwise(tmp_path: Path, given: Any, text: str) -> None:
    """Give the steps for reading, and the plan as it stood in the episode."""
    (data,) = data_of(
        read(SOURCE, write_lines(tmp_path / "m", {"case": "Where?", "plan": given, "case_label": "positive"})), "written"
    )
    assert data["text"] == f"Where?\n{text}"
    assert data["kind"] == "episode"
    assert data["episode"]["outcome"] == "positive"


@pytest.mark.parametrize(
    ("grade", "value"),
    [("positive", 1.0), ("negative", 0.0), (1, 1.0), (0, 0.0), (0.5, 0.5), (2, None), (True, None), ("good", None), (None, None)],
)
def test_a_grade_is_the_judges_verdict_and_no_self_grade(tmp_path: Path, grade: Any, value: float | None) -> None:
    """Normalise to [0, 1]; keep the memory and say so where the grade is off the scale."""
    items = read(SOURCE, write_lines(tmp_path / "m", {"question": "Where?", "plan": "ask", "reward": grade}))
    assert len(data_of(items, "written")) == 1
    assert "self_grade" not in data_of(items, "written")[0]
    assert [(data["channel"], data["value"]) for data in data_of(items, "audited")] == (
        [("answer_judge", value)] if value is not None else []
    )
    assert reasons_of(items) == ([] if value is not None else ["grade_unknown"])


def test_the_same_case_is_one_memory_and_another_grade_another_verdict(tmp_path: Path) -> None:
    """Tell cases by content: a run appends again, and may end otherwise."""
    items = read(SOURCE, write_lines(tmp_path / "m", case("Where?"), case("Where?"), case("Where?", "negative")))
    assert len(data_of(items, "written")) == 1
    assert [data["value"] for data in data_of(items, "audited")] == [1.0, 0.0]
    assert sum(item.rows for item in items) == 3


def test_rows_of_one_query_are_one_read_and_credit_nobody(tmp_path: Path) -> None:
    """Group rows that follow each other; the label of the query is a verdict on no case."""
    rows = [retrieved("Q1", "A"), retrieved("Q1", "B", "negative"), retrieved("Q2", "A", truth=True), retrieved("Q1", "A")]
    items = read(SOURCE, write_lines(tmp_path / "t", *rows))
    reads = data_of(items, "read")
    ids = {data["text"][0]: data["memory_id"] for data in data_of(items, "written")}
    assert [(data["query"], data["retrieved"], data["truth_label"]) for data in reads] == [
        ("Q1", [ids["A"], ids["B"]], False),
        ("Q2", [ids["A"]], True),
        ("Q1", [ids["A"]], False),
    ]
    assert {(data["memory_id"], data["value"]) for data in data_of(items, "audited")} == {(ids["A"], 1.0), (ids["B"], 0.0)}
    assert sum(item.rows for item in items) == 4


def test_labels_of_a_query_that_contradict_each_other_are_nobodys(tmp_path: Path) -> None:
    """Keep no label where the copies differ."""
    rows = [retrieved("Q", "A"), retrieved("Q", "B", truth=True)]
    (data,) = data_of(read(SOURCE, write_lines(tmp_path / "t", *rows)), "read")
    assert "truth_label" not in data


def test_a_broken_row_does_not_split_a_retrieval(tmp_path: Path) -> None:
    """Let it cost itself."""
    items = read(SOURCE, write_lines(tmp_path / "t", retrieved("Q", "A"), '{"query": "Q"', retrieved("Q", "B")))
    assert len(data_of(items, "read")) == 1
    assert reasons_of(items) == ["not_json"]
    assert sum(item.rows for item in items) == 3


def test_a_case_that_arrives_has_the_same_ids(tmp_path: Path) -> None:
    """Give the same memory and verdict value by either route."""
    row = retrieved("Q", "A")
    live, filed = (data_of(items) for items in (read_alone(SOURCE, row), read(SOURCE, write_lines(tmp_path / "t", row))))
    assert [data.get("memory_id") for data in live] == [data.get("memory_id") for data in filed]
    assert len(events_of(read_alone(SOURCE, case("A")))) == 2
