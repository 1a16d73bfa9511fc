"""Other programs' memory through the command line: what a user gets of it, and what is said of files that are none."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.samples import memento, memos, reflexion_trials

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `guardian …` in a folder of its own, with no settings from outside."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}

    def call(*arguments: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "guardian", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT), "COLUMNS": "160"},
            capture_output=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.mark.parametrize(
    ("write", "records", "dead_letters"),
    [
        (memento.write, 4, {"not_json": 1}),
        (memos.write, 5, {"shape_unknown": 2}),
    ],
)
def test_a_format_replays_with_its_faults_and_a_second_time_changes_nothing(
    run: Run, tmp_path: Path, write: Callable[[Path], tuple[list[Path], int]], records: int, dead_letters: dict[str, int]
) -> None:
    """Account for every row, store what is a memory, keep what is broken, and hold under repetition."""
    folder = tmp_path / "sample"
    folder.mkdir()
    paths, rows = write(folder)
    first = run("replay", *paths, "--store", "bank", "--space", "s", "--json")
    assert first.returncode == 1, first.stderr.decode()
    summary = json.loads(first.stdout)
    assert (summary["rows"], summary["records"], summary["dead_letters"]) == (rows, records, dead_letters)
    before = run("export", "--store", "bank").stdout
    second = json.loads(run("replay", *paths, "--store", "bank", "--space", "s", "--json").stdout)
    assert second["records"] == 0
    assert run("export", "--store", "bank").stdout == before


def test_lineage_and_verdicts_of_others_stand_in_the_bank(run: Run, tmp_path: Path) -> None:
    """Show a reflection's attempt as its root, and the environment's verdict on the attempt."""
    folder = tmp_path / "sample"
    folder.mkdir()
    run("replay", *reflexion_trials.write(folder)[0], "--store", "bank", "--space", "s")
    rows = {row["memory_id"]: row for row in map(json.loads, run("export", "--store", "bank").stdout.splitlines())}
    assert rows["reflection:env_1:1"]["parents"] == rows["reflection:env_1:1"]["roots"] == ["attempt:env_1:1"]
    assert b"environment" in run("show", "--store", "bank", "s", "attempt:env_1:2").stdout


def test_a_question_set_is_refused_with_what_it_is_and_the_mend(run: Run, tmp_path: Path) -> None:
    """Exit as wrong use, and import nothing."""
    path = tmp_path / "questions.csv"
    path.write_text("Type,Question,Best Answer\nA,Why?,So\n")
    done = run("replay", path, "--store", "bank")
    assert done.returncode == 2
    assert b"is a question set such as TruthfulQA" in done.stderr
    assert b"Nothing is imported. Mend: " in done.stderr.replace(b"\n", b" ")
