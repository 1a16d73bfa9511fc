"""`guardian replay` as its users call it: interrupted, rehearsed, and with a part of a history."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.command import EXAMPLES, Run, event, write


@pytest.mark.parametrize(("how", "jobs"), [(signal.SIGINT, 1), (signal.SIGKILL, 1), (signal.SIGKILL, 2)])
def test_an_interrupted_replay_goes_on_and_ends_in_the_same_bytes(
    run: Run, tmp_path: Path, how: signal.Signals, jobs: int
) -> None:
    """Ctrl-C or kill -9 in mid-replay, then the same command again: state and figures of an uninterrupted one."""
    lines = []
    for number in range(1500):
        parents = [f"m{number - 1}"] if number % 7 else []
        lines.append(
            event(f"e{number}", memory_id=f"m{number}", text=f"shelf {number} holds {number * 3} boxes", parents=parents)
        )
    path = write(tmp_path / "long.jsonl", *lines)
    tight = {"GUARDIAN_LIMITS__BATCH_EVENTS": "50"}  # thirty batches: the signal comes long before the last
    arguments = [sys.executable, "-m", "guardian", "replay", str(path), "--store", "cut", "--jobs", str(jobs)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}
    environment |= {"PYTHONPATH": str(EXAMPLES.parent), **tight}
    process = subprocess.Popen(
        arguments,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Whoever runs tests in the background has SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 # it takes no lock
    )
    deadline = time.monotonic() + 60
    while read_items_done(tmp_path / "cut" / "replays") < 100 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(how)
    process.wait(timeout=60)
    assert process.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    resumed = run("replay", path, "--store", "cut", "--json", env=tight)
    assert resumed.returncode == 0, resumed.stderr.decode()
    figures = json.loads(resumed.stdout)
    assert figures.pop("resumed_at") >= 100
    whole = json.loads(run("replay", path, "--store", "whole", "--json", env=tight).stdout)
    assert whole.pop("resumed_at") == 0
    assert figures == whole
    assert figures["reconciliation"] == {"rows": 1500, "with_events": 1500, "skipped": 0, "dead_lettered": 0}
    assert run("export", "--store", "cut").stdout == run("export", "--store", "whole").stdout


def read_items_done(checkpoints: Path) -> int:
    """Give how far a replay has come that is running; 0 while it has no checkpoint."""
    for file in checkpoints.glob("*.json"):
        try:
            return int(json.loads(file.read_bytes())["saved"]["done"]["items"])
        except FileNotFoundError:
            return 0
    return 0


def test_a_dry_run_says_what_would_be_refused_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    """Every row is judged; the first of each reason is shown with its place; no store, checkpoint or dead letter comes to be."""
    good = [event(f"e{n}", memory_id=f"m{n}", text=f"shelf {n}") for n in range(3)]
    path = write(tmp_path / "some.jsonl", *good, event("e4", memory_id="b", text=" "), event("e5", memory_id="c"))
    before = {file.name for file in tmp_path.iterdir()}
    done = run("replay", path, "--store", "bank", "--dry-run", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["reconciliation"] == {"rows": 5, "with_events": 3, "skipped": 0, "dead_lettered": 2}
    assert found["dead_letters"].keys() == found["examples"].keys()
    assert "some.jsonl line 4" in found["examples"]["text_blank"][0]
    shown = run("replay", path, "--store", "bank", "--dry-run")
    assert b"5 rows = 3 with events + 0 skipped + 2 dead letters" in shown.stdout
    assert b"some.jsonl line 4" in shown.stdout
    assert b"nothing was written" in shown.stderr
    assert {file.name for file in tmp_path.iterdir()} == before


def test_a_window_and_a_bank_can_be_chosen(run: Run, tmp_path: Path) -> None:
    """--since, --until and --only-space leave the rest out, and count it; another choice is another replay."""
    events = [
        event(f"e{day}{space}", memory_id=f"m{day}", text=f"day {day}", time=f"2026-03-0{day}T12:00:00Z", space=space)
        for day in range(1, 6)
        for space in ("a", "b")
    ]
    path = write(tmp_path / "days.jsonl", *events)
    options = ("--since", "2026-03-02", "--until", "2026-03-04T12:00:00Z", "--only-space", "a", "--only-space", "c")
    done = json.loads(run("replay", path, "--store", "bank", *options, "--json").stdout)
    assert done["skipped"] == {"outside_space": 5, "outside_window": 3}
    rows = [json.loads(line) for line in run("export", "--store", "bank").stdout.splitlines()]
    assert [(row["space"], row["memory_id"]) for row in rows] == [("a", "m2"), ("a", "m3")]
    for wrong in (("--since", "yesterday"), ("--since", "2026-03-02", "--until", "2026-03-02"), ("--jobs", "0")):
        refused = run("replay", path, "--store", "bank", *wrong)
        assert refused.returncode == 2
        assert wrong[0].encode() in refused.stderr
