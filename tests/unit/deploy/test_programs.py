"""Laws of how the tests come by Prometheus and Alertmanager: what is there is taken if it is new enough, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.errors import ConfigError
from tests.monitoring import find_programs


@pytest.fixture
def programs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder that is all of PATH, on a machine where nothing was unpacked before."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def put_programs(folder: Path, *, version: str) -> None:
    """Put programs into a folder that know nothing but their version."""
    for name in ("prometheus", "promtool", "alertmanager", "amtool"):
        (folder / name).write_text(f"#!/bin/sh\necho '{name}, version {version} (branch: HEAD)'\n")
        (folder / name).chmod(0o755)


def test_nothing_here_and_nothing_to_fetch_with_is_said(programs_folder: Path) -> None:
    """The message names both ways, for it is the reason that a skipped test shows."""
    with pytest.raises(ConfigError, match=r"on PATH, and no apt-get"):
        find_programs()


def test_programs_on_path_are_taken(programs_folder: Path) -> None:
    """Under the names of the project's own releases."""
    put_programs(programs_folder, version="3.5.0")
    found = find_programs()
    assert found.promtool == programs_folder / "promtool"
    assert (found.alertmanager, found.templates) == (programs_folder / "alertmanager", None)


def test_programs_that_are_too_old_are_not_taken(programs_folder: Path) -> None:
    """They would refuse the rules."""
    put_programs(programs_folder, version="2.41.3")
    with pytest.raises(ConfigError):
        find_programs()
