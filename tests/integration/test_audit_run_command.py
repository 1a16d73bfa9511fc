"""Laws of `guardian audit run` and of what `guardian doctor` says of channels: each case is judged once, however often it is run."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.cli.main import call
from guardian.settings import load_settings
from guardian.stream.broker.embedded import EmbeddedBroker
from tests.builders import envelope, written_data
from tests.integration.worker_rig import Rig


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run commands in a folder of their own, with a database and channels on it."""
    for name in [name for name in os.environ if name.startswith("GUARDIAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("GUARDIAN_AUDIT__CHANNELS", '["execution", "outcome"]')
    monkeypatch.setenv("GUARDIAN_AUDIT__DATABASE", str(tmp_path / "music.db"))
    monkeypatch.setenv("GUARDIAN_AUDIT__RETRY_PAUSE_S", "0.01")
    monkeypatch.setenv("GUARDIAN_STORE__MIN_FREE_BYTES", "0")
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect(tmp_path / "music.db")) as database:
        database.execute("CREATE TABLE track (name TEXT, ms INTEGER)")
        database.commit()
    return tmp_path


@pytest.fixture
def store(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Give an embedded store with six episodes, three of them right, in two spaces, and a fact."""
    events = [
        envelope(
            "memory.written",
            written_data(
                f"m{number}",
                "How long?",
                kind="episode",
                grade=0.9,
                episode={
                    "task": "How long?",
                    "answer": f"SELECT {'ms' if number % 2 else 'length'} FROM track",
                    "language": "SQL",
                },
            ),
            space="one" if number < 4 else "two",
        )
        for number in range(6)
    ]
    events.append(envelope("memory.written", written_data("fact", "A fact", src="document"), space="one"))
    (folder / "log.jsonl").write_bytes(b"\n".join(map(orjson.dumps, events)))
    assert call(["replay", "log.jsonl", "--store", "bank"]) == 0
    capsys.readouterr()
    return "bank"


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """Run the command and give what it printed as JSON."""
    capsys.readouterr()
    assert call(["audit", "run", *arguments, "--json"]) == code, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_what_is_stored_is_judged_once(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Episodes alone, of the named space or of all; what was judged is passed over, and utilities have fallen."""
    first = run(capsys, "one", "--store", store, "--channel", "execution")
    assert (first["episodes"], first["sent"], first["channels"]) == (4, 4, {"execution": {"judged": 4}})
    rest = run(capsys, "--store", store, "--channel", "execution")
    assert (rest["episodes"], rest["sent"], rest["channels"]) == (2, 2, {"execution": {"judged": 2, "known": 4}})
    assert run(capsys, "--store", store, "--channel", "execution")["sent"] == 0
    assert call(["export", "--store", store]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["memory_id"]: row.get("utility") for row in rows if row["space"] == "two"} == {"m4": 0.45, "m5": 0.95}


def test_a_limit_counts_what_is_asked_and_the_next_run_goes_on(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """So a judge that costs can be asked a part at a time, and an interrupted run costs what was in hand."""
    parts = [run(capsys, "--store", store, "--channel", "execution", "--limit", "4") for _ in range(3)]
    assert [(part["episodes"], part["sent"]) for part in parts] == [(4, 4), (2, 2), (0, 0)]


def test_a_channel_that_is_away_is_told_and_comes_later(store: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the exit code of something that is away; the other channel is heard."""
    (folder / "music.db").rename(folder / "away.db")
    found = run(capsys, "--store", store, code=69)
    assert found["channels"] == {"execution": {"away": 6}, "outcome": {"silent": 6}}
    (folder / "away.db").rename(folder / "music.db")
    assert run(capsys, "--store", store)["channels"]["execution"] == {"judged": 6}


@pytest.mark.parametrize(
    ("name", "mend"),
    [("nonsense", "use of: execution"), ("regrader", "GUARDIAN_JUDGE__MODEL"), ("execution", "GUARDIAN_AUDIT__DATABASE")],
)
def test_a_channel_that_cannot_work_names_its_mend(
    store: str, name: str, mend: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is judged, and in the doctor's list."""
    monkeypatch.delenv("GUARDIAN_AUDIT__DATABASE")
    capsys.readouterr()
    assert call(["audit", "run", "--store", store, "--channel", name]) == 2
    told = capsys.readouterr().err
    monkeypatch.setenv("GUARDIAN_AUDIT__CHANNELS", json.dumps([name]))
    monkeypatch.setenv("GUARDIAN_KAFKA__BOOTSTRAP", "127.0.0.1:1")
    call(["doctor", "--store", store, "--json"])
    (line,) = [one for one in json.loads(capsys.readouterr().out) if one["check"] == f"channel {name}"]
    assert line["code"] == 2
    assert mend in told
    assert mend in line["says"]


def test_the_doctor_tries_what_channels_lean_on(
    store: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database that opens is fine; one that is gone is away."""
    monkeypatch.setenv("GUARDIAN_KAFKA__BOOTSTRAP", "127.0.0.1:1")
    codes = []
    for _ in range(2):
        capsys.readouterr()
        call(["doctor", "--store", store, "--json"])
        codes.append({one["check"]: one["code"] for one in json.loads(capsys.readouterr().out)})
        (folder / "music.db").unlink(missing_ok=True)
    assert [(found["channel execution"], found["channel outcome"]) for found in codes] == [(0, 0), (69, 0)]


def test_without_a_channel_there_is_nothing_to_run(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The setting is named."""
    monkeypatch.delenv("GUARDIAN_AUDIT__CHANNELS")
    assert call(["audit", "run", "--store", store]) == 2
    assert "--channel" in capsys.readouterr().err


def test_verdicts_can_go_to_the_topic(
    store: str, folder: Path, embedded_broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keyed by space, for a worker to take in; the store is only read."""
    rig = Rig(bootstrap=embedded_broker.bootstrap, folder=folder, session_timeout_s=2.0)
    asyncio.run(rig.create_topics())
    monkeypatch.setenv("GUARDIAN_KAFKA__BOOTSTRAP", rig.bootstrap)
    monkeypatch.setenv("GUARDIAN_KAFKA__TOPIC_PREFIX", rig.prefix)
    found = run(capsys, "one", "--store", store, "--channel", "execution", "--to-topic")
    assert (found["sent"], found["to"]) == (4, load_settings().kafka.topic_prefix + "guardian.events")
    sent = asyncio.run(rig.read_topic("guardian.events"))
    assert [(one.key, orjson.loads(one.value)["type"]) for one in sent] == [(b"one", "memory.audited")] * 4
    assert run(capsys, "one", "--store", store, "--channel", "execution")["channels"] == {"execution": {"judged": 4}}
