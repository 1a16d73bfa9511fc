"""`guardian settings` as people search it."""

from __future__ import annotations

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
