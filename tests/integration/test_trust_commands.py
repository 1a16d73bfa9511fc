"""Laws of `guardian simulate`, `drift` and `audit`: what they print is what was found, files go round, and wrong use names its mend."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from examples.graded_bank import iter_events
from guardian.cli.main import call
from guardian.cli.opening import opened_store
from guardian.core.fact import load_verdict
from guardian.core.point import PointKind
from guardian.settings import load_settings
from guardian.trust.simulated_bank import SimulatedBank
from tests.unit.trust.history import MODEL

EPISODES = 120


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run commands in a folder of their own, with no settings from outside."""
    for name in [name for name in os.environ if name.startswith("GUARDIAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bank(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Give an embedded store with a run of the simulated agent, half of it labelled."""
    lines = [json.dumps(event) for event in iter_events(MODEL, episodes=EPISODES, seed=1, labelled=0.5)]
    (folder / "graded.jsonl").write_text("\n".join(lines))
    assert call(["replay", "graded.jsonl", "--store", "bank"]) == 0
    capsys.readouterr()
    return "bank"


def read_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Run a command and give what it printed."""
    capsys.readouterr()
    assert call([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_the_check_values_are_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    """p*, p0 and their ratio as the paper prints them; kappa* is s / l."""
    values = {row["figure"]: row for row in read_json(capsys, "simulate", "--check")["values"]}
    for name in ("p_star", "p0"):
        assert values[name]["formula"] == pytest.approx(values[name]["paper"], abs=5e-4)
    assert values["ratio"]["formula"] == pytest.approx(values["ratio"]["paper"], abs=0.05)
    assert values["kappa_star"]["formula"] == pytest.approx(0.90 / 0.76)


def test_a_simulation_is_drawn_and_settles_at_the_attractor(capsys: pytest.CaptureFixture[str]) -> None:
    """The paper's bank ends near p*, a demoted one below it; the picture names both levels; the same seed is the same run."""
    first, again = [read_json(capsys, "simulate", "--steps", "4000") for _ in range(2)]
    assert first == again
    assert first["settled"] == pytest.approx(first["p_star"], abs=0.06)
    helped = read_json(capsys, "simulate", "--steps", "4000", "--policy", "demote", "--catch", "0.8", "--false-alarm", "0.05")
    assert helped["settled"] < 0.5 * first["settled"]
    assert call(["simulate", "--steps", "500", "--bank", "50"]) == 0
    picture = capsys.readouterr().out
    assert "p* 0.448" in picture
    assert "p0 0.284" in picture
    assert "•" in picture


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["simulate", "--kappa", "-1"], "--kappa"),
        (["simulate", "--leniency", "1.5"], "--leniency"),
        (["simulate", "--base-error", "nan"], "--base-error"),
        (["simulate", "--policy", "hope"], "--policy"),
        (["simulate", "--policy", "demote"], "add --catch"),
        (["simulate", "--catch", "0.5"], "add --policy"),
        (["simulate", "--policy", "supersede", "--catch", "0.1", "--false-alarm", "0.1"], "leave it out"),
        (["drift", "--since", "yesterday"], "write 30d"),
        (["drift", "--sensitivity", "0.9"], "add --channel"),
        (["drift", "--channel", "x"], "guardian audit report"),
        (["drift", "--channel", "self", "--sensitivity", "1", "--specificity", "1"], "no evidence"),
        (["drift", "--channel", "x", "--sensitivity", "0.5", "--specificity", "0.5"], "tells nothing apart"),
        (["drift", "--store", "nowhere"], "nowhere"),
        (["audit", "report", "--store", "nowhere"], "nowhere"),
        (["audit", "report", "--gain", "0"], "--gain"),
        (["audit", "sample", "--n", "0"], "--n"),
        (["audit", "label", "no.csv"], "no.csv"),
    ],
)
def test_wrong_use_is_code_2_and_names_the_mend(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed as a result."""
    assert call(arguments) == 2
    told = capsys.readouterr()
    assert says in " ".join(told.err.split())
    assert not told.out


def test_drift_tells_what_is_known_and_what_is_not(bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures have intervals and sizes; too few are unknown, in words and as null; a window and a stand-in change what counts."""
    found = read_json(capsys, "drift", "--store", bank)
    run = SimulatedBank(MODEL, seed=1).run(EPISODES, keep_episodes=True).episodes
    figures = found["overall"]["episodes"]
    assert 0.3 * EPISODES < figures["episodes"] < 0.7 * EPISODES
    assert figures["leniency"]["low"] < figures["leniency"]["value"] < figures["leniency"]["high"]
    assert found["overall"]["bank"]["self_written"] == {"value": None, "low": None, "high": None, "n": 0}
    assert found["overall"]["bank"]["superseded_of_top_k"]["n"] == 5 * EPISODES
    assert [one["space"] for one in found["spaces"]] == ["graded"]
    assert call(["drift", "graded", "--store", bank]) == 0
    printed = capsys.readouterr().out
    assert "unknown" in printed
    assert f"{figures['leniency']['value']:.3f}" in printed
    whole = read_json(capsys, "drift", "--store", bank, "--channel", "checker", "--sensitivity", "0.85", "--specificity", "0.92")
    assert (whole["overall"]["episodes"]["episodes"], whole["stand_in"]["channel"]) == (len(run), "checker")
    late = read_json(capsys, "drift", "--store", bank, "--since", "2026-03-02")
    assert late["overall"]["episodes"]["episodes"] == 0
    assert (
        late["overall"]["echo"]
        if "echo" in late["overall"]
        else late["overall"]["echo_gap"] == {"inflates": None, "echoes": None}
    )
    assert call(["drift", "--store", bank, "--since", "2026-03-02"]) == 0
    assert "no audited episode" in capsys.readouterr().err


def test_several_spaces_are_told_one_by_one(bank: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All together first, then a line for each, which says what is unknown and of how many; a space without records is said to be one."""
    lines = [json.dumps(event) for event in iter_events(MODEL, episodes=8, seed=2, space="small")]
    (folder / "small.jsonl").write_text("\n".join(lines))
    assert call(["replay", "small.jsonl", "--store", bank]) == 0
    capsys.readouterr()
    assert call(["drift", "--store", bank]) == 0
    printed = capsys.readouterr().out
    assert "2 spaces: " in printed
    (small,) = [line for line in printed.splitlines() if line.startswith("small")]
    assert "unknown" in small
    assert any(line.startswith("graded") for line in printed.splitlines())
    assert call(["drift", "nobody", "--store", bank]) == 0
    assert "no record in nobody" in capsys.readouterr().err


def test_labels_go_round_and_make_a_calibration(bank: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Draw, label, send, send again, change one: each label counts once, on a person's word; the settings that follow can be loaded."""
    truth = {f"ep-{one.number}": one.is_wrong for one in SimulatedBank(MODEL, seed=1).run(EPISODES, keep_episodes=True).episodes}
    before = read_json(capsys, "audit", "report", "--store", bank)[0]
    assert call(["audit", "sample", "--n", "500", "--to", "a.csv", "--store", bank]) == 0
    assert call(["audit", "sample", "--n", "500", "--to", "a.csv", "--store", bank]) == 2  # it may hold labels by now
    assert call(["audit", "sample", "--n", "500", "--store", bank]) == 0
    drawn = (folder / "a.csv").read_text()
    assert drawn == capsys.readouterr().out
    rows = list(csv.DictReader(drawn.splitlines()))
    assert len(rows) + before["labelled"] == EPISODES
    label(folder, rows, truth)
    assert read_json(capsys, "audit", "label", "a.csv", "--dry-run", "--store", bank)["sent"] == len(rows) - 1
    assert read_json(capsys, "audit", "report", "--store", bank)[0]["labelled"] == before["labelled"]
    told = read_json(capsys, "audit", "label", "a.csv", "--as", "human_review:ann", "--store", bank)
    assert (told["sent"], told["unlabelled"], told["unseen"]) == (len(rows) - 1, 1, 0)
    assert read_json(capsys, "audit", "label", "a.csv", "--store", bank)["known"] == len(rows) - 1
    report = read_json(capsys, "audit", "report", "--store", bank)[0]
    assert report["labelled"] == EPISODES - 1
    gates = {one["channel"]: (not one["failures"], one["passes"], one["detects"]) for one in report["channels"]}
    assert gates == {"checker": (True, True, False), "regrader": (False, True, True)}

    truth[rows[1]["memory_id"]] = not truth[rows[1]["memory_id"]]
    label(folder, rows, truth)
    changed = read_json(capsys, "audit", "label", "a.csv", "--store", bank)
    assert (changed["sent"], changed["changed"], changed["known"]) == (1, 1, len(rows) - 2)
    (gold,) = asyncio.run(read_gold(bank, rows[1]["memory_id"]))
    assert gold == (1.0 - truth[rows[1]["memory_id"]], {"authority": {"kind": "human_review"}})

    assert call(["audit", "report", "--store", bank]) == 0
    printed = capsys.readouterr().out
    lines = printed[printed.index("[policy]") :]
    tomllib.loads(lines)
    (folder / "guardian.toml").write_text(lines)
    policy = load_settings().policy_for("graded")
    assert policy.calibration == read_json(capsys, "audit", "report", "--store", bank)[0]["id"] != report["id"]
    assert policy.alphas["checker"] > 0.5
    assert policy.detectors == {"regrader"}
    assert "as a detector: passes" in printed


async def read_gold(bank: str, memory_id: str) -> list[tuple[float, Any]]:
    """Give value and evidence of the labels that stand."""
    async with opened_store(load_settings(), bank) as store:
        points = [point async for point in store.iter_points(kinds={PointKind.VERDICT}, where={"memory_id": memory_id})]
    verdicts = [(load_verdict(point.id, point.payload), json.loads(point.payload.get("rest", "null"))) for point in points]
    return [(verdict.value, evidence) for verdict, evidence in verdicts if verdict.channel == "gold"]


def label(folder: Path, rows: list[dict[str, str]], truth: dict[str, bool]) -> None:
    """Fill in the labels of all rows but the first."""
    with (folder / "a.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for place, row in enumerate(rows):
            word = "wrong" if truth[row["memory_id"]] else "right"
            writer.writerow({**row, "label": word if place else ""})


def test_an_agents_word_is_no_ground_truth(folder: Path, bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused before anything is sent; so is a record that is not there, which is counted."""
    (folder / "a.csv").write_text("label,space,memory_id\nright,graded,ep-1\nright,graded,gone\n")
    assert call(["audit", "label", "a.csv", "--as", "agent", "--store", bank]) == 2
    assert "no ground truth" in capsys.readouterr().err
    told = read_json(capsys, "audit", "label", "a.csv", "--store", bank)
    assert (told["sent"], told["unseen"]) == (1, 1)
