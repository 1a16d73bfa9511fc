"""`guardian erase` and `guardian holdings` as an operator uses them: what they show, do and tell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from guardian.stream.broker.embedded import EmbeddedBroker
from tests.integration.command import STORY, Run, event, write

TOKEN = "t0ken-51c2"


def read_json(done: subprocess.CompletedProcess[bytes]) -> Any:
    """Give what a command printed."""
    assert done.returncode in {0, 1}, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture
def bank(run: Run, tmp_path: Path) -> Path:
    """Give an embedded store with a secret, what declares descent from it, what restates it, what is linked to it, and bad rows."""
    session = {"scope": {"session_id": "day"}}
    agent = {"source": {"kind": "agent"}}
    events = [
        event("1", memory_id="a", text=f"The vault code is {TOKEN} since May", metadata={"note": TOKEN}, source={"kind": "user"}),
        event("2", memory_id="heir", text=f"Noted {TOKEN}", parents=["a"], time="2026-03-01T00:01:00Z", **agent),
        event("3", kind="memory.read", retrieved=["a"], session_id="day", time="2026-03-01T00:02:00Z"),
        event(
            "4", memory_id="echo", text=f"So the vault code is {TOKEN} since May", time="2026-03-01T00:03:00Z", **agent, **session
        ),
        event("5", memory_id="recap", text="About the vault", parents=["echo"], time="2026-03-01T00:04:00Z", **agent),
        event("6", memory_id="other", text="Something else", source={"kind": "user"}),
        event("7", memory_id="linked", text="Set by hand", source={"kind": "user"}),
        event("8", kind="memory.linked", memory_id="linked", add=["a"], authority={"kind": "user"}),
        event("9", memory_id="a", text=TOKEN, vector=["bad"]),
        event("10", memory_id="other", text="Another's", vector=["bad"]),
    ]
    path = write(tmp_path / "story.jsonl", *events)
    done = run("replay", path, "--store", "bank", "--json")
    assert read_json(done)["dead_letters"] == {"wrong_type": 2}, done.stderr.decode()
    return path


def list_letters(run: Run) -> list[str]:
    """Give the memories whose rows were refused."""
    return [letter["memory_id"] for letter in read_json(run("dead-letters", "list", "--file", "--store", "bank", "--json"))]


def test_a_dry_run_shows_and_changes_nothing(run: Run, bank: Path) -> None:
    """It names what a cascade covers, what restates it, and what stays."""
    before = run("export", "--store", "bank").stdout
    report = read_json(run("erase", "s", "a", "--cascade", "--store", "bank", "--dry-run", "--json"))
    assert {each["memory_id"]: each["how"] for each in report["erases"]} == {
        "a": "named", "heir": "declared", "echo": "inferred", "recap": "declared",
    }  # fmt: skip
    assert [each["memory_id"] for each in report["leaves"]] == ["linked"]
    assert "holdings" not in report
    assert run("export", "--store", "bank").stdout == before
    assert list_letters(run) == ["a", "other"]


def test_erasing_with_all_descendants_leaves_not_a_word(run: Run, bank: Path, tmp_path: Path) -> None:
    """Export, search and letters are clean; a replay of the old file changes nothing; holdings say what is left to do."""
    report = read_json(run("erase", "s", "a", "--cascade", "--as", "user:ticket-7", "--store", "bank", "--yes", "--json"))
    assert report["dead_letters_erased"] == 1
    assert list_letters(run) == ["other"]
    clean = run("export", "--store", "bank").stdout
    assert TOKEN.encode() not in clean
    rows = {row["memory_id"]: row["status"] for row in map(json.loads, clean.splitlines())}
    assert rows == {"a": "erased", "heir": "erased", "echo": "erased", "recap": "erased", "other": "active", "linked": "active"}
    again = read_json(run("replay", bank, "--store", "bank", "--json"))
    assert (again["records"], again["dead_letters"], again["dead_letters_erased"]) == (0, {"wrong_type": 2}, 1)
    assert run("export", "--store", "bank").stdout == clean
    assert TOKEN not in run("show", "s", "a", "--store", "bank", "--json").stdout.decode()
    told = read_json(run("holdings", "s", "a", "--store", "bank", "--json"))
    assert {holding["place"] for holding in told} >= {"bank", "files that were replayed", "exports and backups"}
    assert any("guardian compact" in holding["ends"] for holding in told)
    assert run("holdings", "s", "other", "--store", "bank").stdout.decode().strip() == "nothing was erased here"


def test_without_cascade_only_the_memory_goes(run: Run, bank: Path) -> None:
    """What derives from it keeps its own text, and the command says so."""
    done = run("erase", "s", "a", "--store", "bank", "--yes")
    assert done.returncode == 0, done.stderr.decode()
    assert b"add --cascade" in done.stderr
    rows = {row["memory_id"]: row["text"] for row in map(json.loads, run("export", "--store", "bank").stdout.splitlines())}
    assert rows["a"] is None
    assert TOKEN in rows["heir"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--as", "agent", "--yes"], 2, "only be a dispute"),
        (["--as", "nobody", "--yes"], 2, "no kind of authority"),
        (["--no-lookup", "--yes"], 2, "--to-topic"),
        ([], 130, "interrupted"),
    ],
)
def test_what_would_erase_nothing_is_refused(run: Run, bank: Path, arguments: list[str], code: int, says: str) -> None:
    """An authority without trust, a wrong word, an answer that never comes: the text stays."""
    done = run("erase", "s", "a", "--store", "bank", *arguments)
    assert (done.returncode, says in done.stderr.decode()) == (code, True)
    assert TOKEN.encode() in run("export", "--store", "bank").stdout


def test_unreadable_rows_are_told(run: Run, tmp_path: Path) -> None:
    """A row that nobody can read may hold what was erased; the file is named."""
    good, torn = json.dumps(event("1", memory_id="a", text=TOKEN)), '{"specversion": "1.0", "data": {"text": "' + TOKEN
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{good}\n{torn}\n")
    assert run("replay", path, "--store", "bank", "--format", "cloudevents").returncode == 1
    report = read_json(run("erase", "s", "a", "--store", "bank", "--yes", "--json"))
    (row,) = [holding for holding in report["holdings"] if holding["place"].endswith("dead-letters.jsonl")]
    assert row["holds"] == "1 refused rows whose memory cannot be read"


def test_with_a_broker_it_goes_to_the_topic(run: Run, embedded_broker: EmbeddedBroker) -> None:
    """The erasures of the memory and of what restates it lie in the canonical topic, and a replay of it erases."""
    env = {"GUARDIAN_KAFKA__BOOTSTRAP": embedded_broker.bootstrap, "GUARDIAN_STORE__PATH": "bank"}
    assert run("topics", "apply", env=env).returncode == 0
    run("replay", STORY, env=env)
    report = read_json(run("erase", "coffee-shop", "m1", "--cascade", "--yes", "--json", env=env))
    assert report["to"] == "guardian.events"
    assert [each["memory_id"] for each in report["erases"] if each["how"] == "inferred"] == ["m6"]
    ends = {holding["place"]: holding["ends"] for holding in report["holdings"]}
    assert "retention.ms" in ends["guardian.events"]
    assert b"16.50" in run("export", env=env).stdout  # a worker has not read it yet
    blind = read_json(run("erase", "coffee-shop", "m1", "--no-lookup", "--yes", "--json", env=env))
    assert [each["memory_id"] for each in blind["erases"]] == ["m1"]
