"""`guardian settings` as people search it."""

from __future__ import annotations

import json

import pytest

from guardian.cli.main import call
from guardian.cli.settings import iter_settings
from guardian.settings import load_settings


def test_names_stay_whole_however_narrow_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Piped or not: a name that is broken in two is found by no search."""
    monkeypatch.setenv("COLUMNS", "80")
    assert call(["settings", "--explain"]) == 0
    words = set(capsys.readouterr().out.split())
    assert {name for name, _, _ in iter_settings(load_settings())} <= words


def test_an_entry_of_a_table_stands_under_its_own_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is written in guardian.toml, also where the table is in a section: what is printed can be copied."""
    key = {"secret": "a-secret-of-more-than-24-characters", "spaces": ["shop"]}
    monkeypatch.setenv("GUARDIAN_SERVE__KEYS", json.dumps({"desk": key, "two words": key}))
    told = {name: value for name, value, _ in iter_settings(load_settings())}
    assert told["[serve.keys.desk] spaces"] == ["shop"]
    assert told['[serve.keys."two words"] burst'] == 40
    assert key["secret"] not in str(told)
