"""Every real file of the folder that is named imports whole; a second import changes nothing, an interrupted one ends in the same bytes."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.dead_letter_file import DeadLetterFile
from guardian.errors import ConfigError
from guardian.replay import Checkpoint, Replay, ReplaySummary
from guardian.sources.port import SourceOptions
from guardian.sources.registry import detect
from tests.property.bank import Bank

REAL_DATA = Path(os.environ.get("GUARDIAN_REAL_DATA") or "nowhere")
pytestmark = pytest.mark.skipif(not REAL_DATA.is_dir(), reason="GUARDIAN_REAL_DATA names no folder of real files")
OPTIONS = SourceOptions(space="real", default_time=datetime(2026, 1, 1, tzinfo=UTC))
# What lies beside exports and is none.
NOTES = ("SOURCE", "LICENSE", "README", "schema.json")
# Folders that hold something else than memories, and patterns of files that are versions of one thing.
NO_MEMORIES = frozenset({"chinook", "truthfulqa"})
TOGETHER = ("mcp_memory_*/*", "reflexion/base_env*", "reflexion/reflexion_env*")
BATCH = 40


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


def list_groups() -> list[list[Path]]:
    """Give the files of the folder, those that are versions of one thing together."""
    files = [path for path in sorted(REAL_DATA.rglob("*")) if path.is_file() and not path.name.startswith(NOTES)]
    groups: dict[str, list[Path]] = {}
    for path in files:
        if path.parent.name not in NO_MEMORIES:
            name = path.relative_to(REAL_DATA).as_posix()
            pattern = next((pattern for pattern in TOGETHER if Path(name).match(pattern)), None)
            groups.setdefault(f"{path.parent.name}/{pattern}" if pattern else name, []).append(path)
    return list(groups.values())


async def run(paths: list[Path], folder: Path, bank: Bank, *, stop_after: int | None = None) -> ReplaySummary | None:
    """Replay a group into a bank; None when it was interrupted."""

    def advance(items: int, _: int) -> None:
        if stop_after is not None and items >= stop_after:
            raise StoppedError

    source = detect(paths[0])
    job = Replay(
        source=source,
        paths=paths,
        options=OPTIONS,
        decode_policy=DecodePolicy(),
        received_at=datetime(2030, 1, 1, tzinfo=UTC),
        dead_letters=DeadLetterFile(folder / "dead-letters.jsonl"),
        pipeline=bank.pipeline,
        checkpoint=Checkpoint(folder, paths, source.name, repr(OPTIONS), "bank"),
        batch_events=BATCH,
    )
    try:
        return await job.run(advance)
    except StoppedError:
        return None


@pytest.mark.parametrize("paths", list_groups(), ids=lambda paths: f"{paths[0].parent.name}-{paths[0].name}")
async def test_a_real_file_imports_once_however_often_it_is_imported(paths: list[Path], tmp_path: Path) -> None:
    """Something is written, no row is lost, the second time nothing changes, and an interrupt leaves no trace."""
    whole, cut = Bank(), Bank()
    summary = await run(paths, tmp_path / "whole", whole)
    assert summary is not None
    assert summary.records > 0
    assert not summary.dead_letters
    exported = await whole.export()
    again = await run(paths, tmp_path / "whole", whole)
    assert again is not None
    assert again.records == 0
    assert await whole.export() == exported
    assert await run(paths, tmp_path / "cut", cut, stop_after=max(1, summary.items // 2)) is None
    resumed = await run(paths, tmp_path / "cut", cut)
    assert resumed is not None
    assert resumed.rows == summary.rows
    assert await cut.export() == exported


@pytest.mark.parametrize("folder", sorted(NO_MEMORIES))
def test_what_holds_no_memories_says_so(folder: str) -> None:
    """With what it is and what to do, instead of a guess."""
    for path in sorted((REAL_DATA / folder).iterdir()):
        if not path.name.startswith(NOTES):
            with pytest.raises(ConfigError, match="Mend"):
                detect(path)
