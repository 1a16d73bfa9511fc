"""Laws of `guardian audit activate`, `deactivate` and `recompute`: what is activated is seen, waits to be recomputed, and can be taken back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from examples.graded_bank import iter_events
from guardian.cli.main import call
from tests.unit.trust.history import MODEL


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run commands in a folder of their own, with no settings from outside."""
    for name in [name for name in os.environ if name.startswith("GUARDIAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bank(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Give a store with two spaces of the simulated agent, half labelled, and a calibration of it in `cal.json`."""
    with (folder / "graded.jsonl").open("w") as file:
        for seed, space in ((1, "team-a"), (2, "other")):
            for event in iter_events(MODEL, episodes=120, seed=seed, labelled=0.5, space=space):
                file.write(json.dumps(event) + "\n")
    assert call(["replay", "graded.jsonl", "--store", "bank"]) == 0
    assert call(["audit", "report", "--store", "bank", "--export", "cal.json", "--html", "cal.html"]) == 0
    capsys.readouterr()
    return "bank"


def read_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Run a command and give what it printed."""
    capsys.readouterr()
    assert call([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def export(capsys: pytest.CaptureFixture[str], space: str) -> dict[str, Any]:
    """Give the rows of a space by memory."""
    capsys.readouterr()
    assert call(["export", "--store", "bank", "--space", space]) == 0
    return {row["memory_id"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}


def test_a_calibration_goes_round(bank: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Report, activate, see what waits, recompute, take back, recompute: utilities are those of before, and the regrader never demoted."""
    document = json.loads((folder / "cal.json").read_text())
    name = document["calibrations"][0]["id"]
    assert "<svg" in (folder / "cal.html").read_text()
    before = export(capsys, "team-a")

    told = read_json(capsys, "audit", "activate", "cal.json", "--spaces", "team-*", "--as", "human_review:ann", "--store", bank)
    assert told["activated"] == {"team-a": name}
    assert export(capsys, "team-a") == before
    assert read_json(capsys, "audit", "activate", "cal.json", "--spaces", "team-*", "--store", bank)["in_force"] == ["team-a"]

    judged = [row for row in before.values() if row["calibration"] == "default"]
    assert read_json(capsys, "drift", "--store", bank)["of_another_calibration"] == {"team-a": len(judged)}
    assert call(["show", "team-a", judged[0]["memory_id"], "--store", bank]) == 0
    assert f"by calibration default, in force is {name}" in " ".join(capsys.readouterr().out.split())
    call(["doctor", "--store", bank])
    assert f"{len(judged)} with a utility by another calibration" in " ".join(capsys.readouterr().out.split())

    waits = read_json(capsys, "audit", "recompute", "--dry-run", "--store", bank)
    assert (waits["before"], waits["after"]) == ({"team-a": len(judged)}, {"team-a": len(judged)})
    assert read_json(capsys, "audit", "recompute", "--store", bank)["after"] == {}
    after = export(capsys, "team-a")
    assert {after[row["memory_id"]]["calibration"] for row in judged} == {name}
    assert {row["utility_basis"] for row in after.values()} <= {"gold", "checker", "unaudited", None}
    assert any(after[row["memory_id"]]["utility"] != row["utility"] for row in judged)

    assert list(read_json(capsys, "audit", "deactivate", "--store", bank)["taken_back"]) == ["team-a"]
    assert read_json(capsys, "audit", "recompute", "--store", bank)["before"] == {"team-a": len(judged)}
    assert export(capsys, "team-a") == before


def test_wrong_use_names_its_mend(bank: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent's word, a file that is no calibration, a pattern without a space: nothing is sent."""
    (folder / "no.json").write_text("{}")
    for arguments, says in (
        (["cal.json", "--as", "agent"], "activates nothing"),
        (["no.json"], "guardian audit report --export"),
        (["cal.json", "--spaces", "nobody-*"], "--space NAME"),
    ):
        assert call(["audit", "activate", *arguments, "--store", bank]) == 2
        assert says in " ".join(capsys.readouterr().err.split())
    assert read_json(capsys, "audit", "recompute", "--store", bank)["before"] == {}


def test_a_dry_run_and_a_space_that_is_to_come(bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first sends nothing; a named space need not be there."""
    assert read_json(capsys, "audit", "activate", "cal.json", "--dry-run", "--store", bank)["activated"].keys() == {
        "team-a",
        "other",
    }
    assert read_json(capsys, "audit", "recompute", "--store", bank)["before"] == {}
    assert read_json(capsys, "audit", "activate", "cal.json", "--space", "new", "--store", bank)["activated"].keys() == {"new"}
