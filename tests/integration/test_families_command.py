"""`guardian audit families` as people and programs use it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.builders import envelope, written_data

Run = Callable[..., subprocess.CompletedProcess[str]]
HISTORY = [
    ("m1", "Arabica beans cost $16.50 per kg", {"src": "document", "ref": "email:1"}),
    ("m2", "As noted, Arabica beans cost $16.50 per kg", {"src": "agent"}),
    ("m3", "Arabica beans cost $18.50 per kg", {"src": "agent"}),
    ("m4", "Arabica beans cost $20 per kg", {"src": "document", "ref": "invoice:7", "verified": True}),
]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Give what runs a command in a folder of its own, over a store with a history."""
    lines = [
        orjson.dumps(envelope("memory.written", written_data(name, text, **fields), t=number))
        for number, (name, text, fields) in enumerate(HISTORY)
    ]
    (tmp_path / "history.jsonl").write_bytes(b"\n".join(lines))

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "guardian", *arguments, "--store", "store"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)  # our own command

    assert call("replay", "history.jsonl").returncode == 0
    return call


def propose(run: Run, *arguments: str) -> dict[str, Any]:
    """Give what is proposed, for programs."""
    done = run("audit", "families", "s", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_proposals_change_nothing_and_acceptances_do(run: Run, tmp_path: Path) -> None:
    """By similarity only plain restatements; by file what is named; what was accepted is not proposed again; the cascade then works."""
    before = run("export").stdout
    found = propose(run)
    ids = {one["id"] for one in found["proposals"]}
    assert {"recap:m2~m1", "recap:m3~m1", "contradicted:m1~m4"} <= ids
    assert run("export").stdout == before
    assert propose(run, "--accept-above", "0.9")["accepted"] == ["recap:m2~m1"]
    (tmp_path / "ids").write_text("# checked by Ann\ncontradicted:m1~m4\n", "utf-8")
    assert propose(run, "--accept-file", str(tmp_path / "ids"), "--as", "human_review:ann")["accepted"] == ["contradicted:m1~m4"]
    statuses = {row["memory_id"]: row["status"] for row in map(json.loads, run("export").stdout.splitlines())}
    assert statuses == {"m1": "superseded", "m2": "superseded", "m3": "active", "m4": "verified"}
    left = {one["id"] for one in propose(run)["proposals"]}
    assert not left & {"recap:m2~m1", "contradicted:m1~m4"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--accept", "recap:x~y"), "no proposals"),
        (("--as", "agent:bot", "--accept-above", "0.9"), "dispute"),
        (("--as", "nobody"), "no kind of authority"),
        (("--ask",), "terminal"),
    ],
)
def test_what_cannot_be_accepted_is_refused(run: Run, arguments: tuple[str, ...], told: str) -> None:
    """An unknown id, a word that is not trusted, a question without anybody to ask: exit code 2, and nothing is changed."""
    before = run("export").stdout
    done = run("audit", "families", "s", *arguments)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert run("export").stdout == before


def test_people_see_statements_and_proposals(run: Run) -> None:
    """With origins, similarities and what differs."""
    shown = run("audit", "families", "s").stdout
    assert "Arabica beans cost $16.50 per kg" in shown
    assert "differs in number:16.5, number:18.5" in shown
