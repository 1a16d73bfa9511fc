"""Laws of `guardian audit activate`, `deactivate` and `recompute`: what is activated is seen, waits to be recomputed, and can be taken back."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from examples.graded_bank import iter_events
from guardian.cli.main import call
from guardian.core.model import Event
from guardian.stream.broker.embedded import EmbeddedBroker
from tests.builders import as_wire, audited, written
from tests.integration.command import Run
from tests.integration.test_label_command import read_topic
from tests.unit.trust.history import MODEL


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run commands in a folder of their own, with no settings from outside."""
    for name in [name for name in os.environ if name.startswith("GUARDIAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a store of two spaces of the simulated agent, half labelled, and a calibration of it in `cal.json`."""
    folder = tmp_path_factory.mktemp("kept")
    with (folder / "graded.jsonl").open("w") as file:
        for seed, space in ((1, "team-a"), (2, "other")):
            for event in iter_events(MODEL, episodes=120, seed=seed, labelled=0.5, space=space):
                file.write(json.dumps(event) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call(["replay", "graded.jsonl", "--store", "bank"]) == 0
        assert call(["audit", "report", "--store", "bank", "--export", "cal.json", "--html", "cal.html"]) == 0
    return folder


@pytest.fixture
def bank(folder: Path, kept: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Give a copy of that store, and of the calibration."""
    shutil.copytree(kept, folder, dirs_exist_ok=True)
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


def test_beside_a_worker_both_go_to_the_topic(run: Run, tmp_path: Path, embedded_broker: EmbeddedBroker) -> None:
    """The activation, then the wish to rate again, keyed by space; whoever reads them has nothing left to recompute, and sending twice adds nothing."""
    env = {"GUARDIAN_KAFKA__BOOTSTRAP": embedded_broker.bootstrap, "GUARDIAN_KAFKA__TOPIC_PREFIX": "cal."}
    assert run("topics", "apply", env=env).returncode == 0
    history = [written("m", grade=0.9), audited("m", 0.1, channel="x", t=1), written("n", grade=0.9)]
    write_events(tmp_path / "history.jsonl", history)
    assert run("replay", "history.jsonl", "--store", "bank").returncode == 0
    entry = {"id": "ours-1", "spaces": "*", "trusts": {"x": {"alpha": 0.75, "payoff": 0.1, "passes": True}}}
    (tmp_path / "cal.json").write_text(json.dumps({"format": "guardian-calibration/1", "calibrations": [entry]}))
    assert run("audit", "activate", "cal.json", "--space", "s", env=env).returncode == 0
    ((key, activation),) = asyncio.run(read_topic(embedded_broker.bootstrap, "cal.guardian.events", 1))
    assert (key, activation["type"], activation["data"]["channels"]["x"]["alpha"]) == ("s", "space.calibrated", 0.75)
    (tmp_path / "a.jsonl").write_text(json.dumps(activation))
    assert run("replay", "a.jsonl", "--store", "bank").returncode == 0

    sent = [json.loads(run("audit", "recompute", "--store", "bank", "--to-topic", "--json", env=env).stdout) for _ in range(2)]
    assert [one["events"] for one in sent] == [1, 1]
    _, first, again = asyncio.run(read_topic(embedded_broker.bootstrap, "cal.guardian.events", 3))
    assert first[1]["data"] == {"memory_ids": ["m"]}
    assert first[1]["id"] == again[1]["id"]
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(event) for _, event in (first, again)))
    assert run("replay", "b.jsonl", "--store", "bank").returncode == 0
    left = json.loads(run("audit", "recompute", "--store", "bank", "--dry-run", "--json").stdout)
    assert left["before"] == {}
    rows = [json.loads(line) for line in run("export", "--store", "bank").stdout.splitlines()]
    assert {row["memory_id"]: (row["utility"], row["calibration"]) for row in rows} == {"m": (0.3, "ours-1"), "n": (0.9, None)}


def write_events(path: Path, events: list[Event]) -> None:
    """Write events as lines of JSON."""
    path.write_text("\n".join(json.dumps(as_wire(event)) for event in events))
