"""States of a folder's files: from git where it is tracked, else as it stands; never outside of it."""

import os
from pathlib import Path
from typing import Any

from dulwich.objects import Blob

from guardian.sources.port import Broken, SourceOptions
from guardian.sources.reading import file_state
from guardian.sources.reading.file_state import FileState, iter_file_states, list_head
from tests.git_repository import TestRepository


def read(*paths: Path, **options: Any) -> list[FileState | Broken]:
    """Give the states of all markdown files."""
    return list(iter_file_states(paths, SourceOptions(**options), lambda path: path.endswith(".md")))


def shape(*paths: Path) -> list[tuple[str, str | None, str, int]]:
    """Give path, text, what dates it, and rows of every state."""
    return [(state.path, state.text, state.time_from, state.rows) for state in read(*paths) if isinstance(state, FileState)]


def test_a_tracked_folder_gives_its_history(tmp_path: Path) -> None:
    """Read every change of every wanted file, whatever the work tree holds now."""
    repository = TestRepository(tmp_path)
    repository.commit({"a.md": "1", "code.py": "x"})
    repository.commit({"a.md": None, "b.md": "2"})
    (tmp_path / "a.md").write_text("uncommitted")
    assert shape(tmp_path) == [("a.md", "1", "commit", 1), ("a.md", None, "commit", 1), ("b.md", "2", "commit", 1)]


def test_files_that_a_repository_does_not_track_are_read_as_they_stand(tmp_path: Path) -> None:
    """Take a project whose memory is not committed for a plain folder."""
    TestRepository(tmp_path).commit({"code.py": "x"})
    (tmp_path / "a.md").write_text("untracked")
    assert shape(tmp_path) == [("a.md", "untracked", "mtime", 1)]


def test_folders_are_versions_of_one_another(tmp_path: Path) -> None:
    """Say what a later folder lacks, as no row of it."""
    for number, names in enumerate((["a.md", "b.md"], ["b.md"])):
        folder = tmp_path / f"v{number}"
        folder.mkdir()
        for name in names:
            (folder / name).write_text(name)
        os.utime(folder, (1_777_000_000 + number, 1_777_000_000 + number))
    assert shape(tmp_path / "v1", tmp_path / "v0") == [
        ("a.md", "a.md", "mtime", 1),
        ("b.md", "b.md", "mtime", 1),
        ("b.md", "b.md", "mtime", 1),
        ("a.md", None, "mtime", 0),
    ]


def test_no_link_leads_outside(tmp_path: Path) -> None:
    """Follow neither a linked file nor a linked folder."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret.md").write_text("secret")
    (inside / "file.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)
    (inside / "own.md").write_text("own")
    assert shape(inside) == [("own.md", "own", "mtime", 1)]
    assert list_head(inside, lambda _: True) == [("own.md", "own")]


def test_a_large_or_binary_file_costs_itself(tmp_path: Path, monkeypatch: Any) -> None:
    """Break on it, and read the others."""
    monkeypatch.setattr(file_state, "MAX_FILE_BYTES", 10)
    (tmp_path / "a.md").write_bytes(b"\xff\xfe")
    (tmp_path / "b.md").write_text("x" * 11)
    (tmp_path / "c.md").write_text("fine")
    states = read(tmp_path)
    assert [state.reason for state in states if isinstance(state, Broken)] == ["not_utf8", "file_too_large"]
    assert shape(tmp_path) == [("c.md", "fine", "mtime", 1)]


def test_the_number_of_files_looked_at_is_bounded(tmp_path: Path, monkeypatch: Any) -> None:
    """Stop in a folder that is no memory."""
    monkeypatch.setattr(file_state, "MAX_FILES", 3)
    for number in range(9):
        (tmp_path / f"{number}.md").write_text("x")
    assert len(read(tmp_path)) == 3


def test_a_file_is_told_to_be_no_folder(tmp_path: Path) -> None:
    """Name the mend."""
    (tmp_path / "a.md").write_text("x")
    (item,) = read(tmp_path / "a.md")
    assert isinstance(item, Broken)
    assert "name the folder" in item.message


def test_a_commit_that_lacks_objects_costs_itself(tmp_path: Path) -> None:
    """Break on it, and go on with the commits that are whole."""
    repository = TestRepository(tmp_path)
    repository.commit({"a.md": "1"})
    repository.commit({"a.md": "2"})
    repository.commit({"b.md": "3"})
    blob = Blob.from_string(b"2").id.decode()
    path = tmp_path / ".git" / "objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.unlink()
    assert shape(tmp_path) == [("a.md", "1", "commit", 1), ("b.md", "3", "commit", 1)]
    (broken,) = [state for state in read(tmp_path) if isinstance(state, Broken)]
    assert (broken.reason, broken.rows) == ("file_damaged", 1)
