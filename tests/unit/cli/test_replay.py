"""The command `replay`: how it measures what there is to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.cli import replay as command
from guardian.cli.main import call
from guardian.sources.formats.mem0_history import Mem0HistorySource
from guardian.sources.formats.native import NativeSource
from guardian.sources.port import SourceOptions

EXAMPLES = Path(__file__).parents[3] / "examples"
MEM0 = Path(__file__).parents[2] / "data" / "mem0"
STORY = EXAMPLES / "coffee-shop.jsonl"


@pytest.fixture
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every input for one that is too large to be read twice."""
    monkeypatch.setattr(command, "MAX_COUNTED_BYTES", -1)


def test_a_small_input_is_counted() -> None:
    """Its items are known beforehand, exactly."""
    assert command.measure_input(NativeSource(), [STORY, STORY], SourceOptions()) == (20, False)


@pytest.mark.usefixtures("all_is_large")
def test_a_large_input_is_measured_in_bytes_and_not_read(tmp_path: Path) -> None:
    """What is read as a stream has a size; of a database or a folder nobody knows how much there is to do."""
    database = next(MEM0.glob("*.db"))

    class Unread(NativeSource):
        def iter_items(self, *_: object) -> None:
            raise AssertionError("it is read")

    assert command.measure_input(Unread(), [STORY, STORY], SourceOptions()) == (2 * STORY.stat().st_size, True)
    assert command.measure_input(Mem0HistorySource(), [database], SourceOptions()) == (None, False)
    assert command.measure_input(Unread(), [tmp_path], SourceOptions()) == (None, False)


@pytest.mark.usefixtures("all_is_large")
def test_a_large_replay_ends_with_all_bytes_behind_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Progress shows bytes of the file and rows, and comes to the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    shown: list[tuple[float, float | None]] = []
    build_progress = command.build_progress

    def watching(*, by_bytes: bool) -> object:
        progress = build_progress(by_bytes=by_bytes)
        update = progress.update

        def note(task, **changes):  # type: ignore[no-untyped-def] # passes all on
            update(task, **changes)
            shown.append((progress.tasks[0].completed, progress.tasks[0].total))

        monkeypatch.setattr(progress, "update", note)
        return progress

    monkeypatch.setattr(command, "build_progress", watching)
    assert call(["replay", str(STORY), "--dry-run"]) == 0
    size = STORY.stat().st_size
    assert shown[-1] == (size, size)
    assert "10 rows = 10 with events + 0 skipped + 0 dead letters" in capsys.readouterr().out
