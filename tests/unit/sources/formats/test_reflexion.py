"""Reflexion: reflections derive from their attempt, and the environment or hidden tests judge, not the agent."""

import os
from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.reflexion import ReflexionTasksSource, ReflexionTrialsSource
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, write_json, write_lines
from tests.contract.samples.reflexion_tasks import task
from tests.contract.samples.reflexion_trials import trial

TRIALS, TASKS = ReflexionTrialsSource(), ReflexionTasksSource()


def test_reflections_derive_from_their_attempt_and_have_its_place(tmp_path: Path) -> None:
    """Tell both by place: agents repeat themselves word for word."""
    items = read(TRIALS, write_json(tmp_path / "t", [trial("env_1", " Again.", " Again.")]))
    assert [(data["memory_id"], data["text"], data.get("parents")) for data in data_of(items, "written")] == [
        ("attempt:env_1:0", "env_1, recorded attempt 1: not solved", None),
        ("reflection:env_1:0", " Again.", ["attempt:env_1:0"]),
        ("attempt:env_1:1", "env_1, recorded attempt 2: not solved", None),
        ("reflection:env_1:1", " Again.", ["attempt:env_1:1"]),
    ]


def test_success_is_the_environments_verdict_on_one_attempt_more(tmp_path: Path) -> None:
    """Judge each attempt once, revise none, and grade no reflection."""
    first = write_json(tmp_path / "a", [trial("env_1", " No.")])
    second = write_json(tmp_path / "b", [trial("env_1", " No.", success=True)])
    items = read(TRIALS, first, second)
    assert [(data["memory_id"], data["channel"], data["value"]) for data in data_of(items, "audited")] == [
        ("attempt:env_1:0", "environment", 0.0),
        ("attempt:env_1:1", "environment", 1.0),
    ]
    assert len({data["memory_id"] for data in data_of(items, "written")}) == len(data_of(items, "written"))
    assert all("self_grade" not in data for data in data_of(items))
    assert not events_of(items, "read")


def test_an_environment_that_was_not_tried_is_no_attempt(tmp_path: Path) -> None:
    """Make up no failure."""
    assert reasons_of(read(TRIALS, write_json(tmp_path / "t", [trial("env_1")]))) == ["empty_row"]


def test_snapshots_are_ordered_by_what_they_hold(tmp_path: Path) -> None:
    """Never trust names or copies' times: trial 10 comes after trial 2."""
    texts = [" One.", " Two.", " Three."]
    paths = [write_json(tmp_path / name, [trial("env_1", *texts[:count])]) for name, count in (("t2", 2), ("t10", 3), ("t0", 1))]
    for number, path in enumerate(paths):
        os.utime(path, (1_700_000_000 - number, 1_700_000_000 - number))
    items = read(TRIALS, *paths)
    assert [data["text"] for data in data_of(items, "written") if data["text"] in texts] == texts
    assert not events_of(items, "deleted")


def test_a_broken_outcome_is_no_verdict(tmp_path: Path) -> None:
    """Write what is known, and say that the outcome cannot be read."""
    items = read(TRIALS, write_json(tmp_path / "t", [{**trial("env_1", "No."), "is_success": "yes"}, trial("env_2", "", "x")]))
    assert reasons_of(items) == ["grade_unknown", "empty_row"]
    assert {data["value"] for data in data_of(items, "audited")} == {0.0}
    task_items = read(TASKS, write_lines(tmp_path / "log", {**task("T/1"), "is_solved": None}))
    assert reasons_of(task_items) == ["grade_unknown"]


def test_hidden_tests_judge_and_are_not_imported(tmp_path: Path) -> None:
    """Carry the task, the agent's solution and the verdict; neither tests nor reference solution."""
    items = read(TASKS, write_lines(tmp_path / "log", task("T/1"), task("T/2", "I halved.", solved=False)))
    assert [(data["channel"], data["value"]) for data in data_of(items, "audited")] == [
        ("hidden_tests", 1.0),
        ("hidden_tests", 0.0),
    ]
    assert "assert f(2)" not in str(items)
    assert "x * 2" not in str(items)
    assert all("self_grade" not in data for data in data_of(items))


def test_a_solution_that_repeats_its_task_is_not_doubled(tmp_path: Path) -> None:
    """Give task and solution once, with the solution's own indentation."""
    rows = [task("T/1"), {**task("T/2"), "solution": "def f_2(x):\n    # Doubles.\n    return 2 * x\n"}]
    texts = [data["text"] for data in data_of(read(TASKS, write_lines(tmp_path / "log", *rows)), "written")]
    assert texts == ["def f_1(x):\n    # Doubles.\n    return x + x", "def f_2(x):\n    # Doubles.\n    return 2 * x\n"]


def test_another_run_of_a_task_is_another_episode(tmp_path: Path) -> None:
    """Tell runs by content; a run appended again is the same."""
    rows = [task("T/1"), {**task("T/1"), "solution": "    return 2 * x\n"}, task("T/1")]
    items = read(TASKS, write_lines(tmp_path / "log", *rows))
    assert len({data["memory_id"] for data in data_of(items, "written")}) == 2
    assert reasons_of(items) == ["unchanged"]


@pytest.mark.parametrize("row", [trial("env_1", " No."), {**trial("env_1", " No."), "skip": True}])
def test_an_environment_that_arrives_is_read_alike(row: dict[str, Any]) -> None:
    """Give attempt, verdict and reflection; keep what newer code adds."""
    events = events_of(read_alone(TRIALS, row))
    assert [event["type"] for event in events] == ["memory.written", "memory.audited", "memory.written"]
    assert events[0]["data"]["metadata"].get("fields", {}) == {key: True for key in ("skip",) if key in row}
    assert len(events_of(read_alone(TASKS, task("T/1")))) == 2
