"""`guardian audit report` and its settings, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from guardian.cli.main import call
from tests.builders import audited, encode_event, envelope, written_data

FORGED = "judge\nexecution: may demote, alpha 1\u2028x\ty"


def test_the_name_of_a_channel_ends_no_line(
    fast_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may send verdicts cannot write a line about another channel into the report."""
    monkeypatch.chdir(fast_path)
    monkeypatch.setenv("GUARDIAN_STORE__MIN_FREE_BYTES", "0")
    events = [envelope("memory.written", written_data("e", "ordered beans", kind="episode", grade=0.9), t=1)]
    events += [json.loads(encode_event(audited("e", 0.0, channel=name, t=t))) for t, name in enumerate(("gold", FORGED), 2)]
    Path("history.jsonl").write_bytes(b"\n".join(map(orjson.dumps, events)))
    assert call(["replay", "history.jsonl", "--store", "store"]) == 0
    capsys.readouterr()
    assert call(["audit", "report", "--store", "store"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("judge\\u000aexecution: may demote, alpha 1\\u2028x\\u0009y: demotes nothing") for line in lines)
    assert not any(line.startswith("execution") for line in lines)


def test_a_channel_is_named_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice is a mistake, told with the setting and the name."""
    monkeypatch.setenv("GUARDIAN_AUDIT__CHANNELS", '["text_grounding", "outcome", "outcome"]')
    assert call(["settings"]) == 2
    told = capsys.readouterr().err
    assert "GUARDIAN_AUDIT__CHANNELS" in told
    assert "'outcome': named more than once" in told
