"""Laws of an embedded store's directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.errors import ConfigError, DependencyError
from guardian.store.edge.directory import check_free_disk, lock_directory, read_pointer, write_pointer


def test_an_empty_directory_has_no_shard(tmp_path: Path) -> None:
    """Nothing is guessed."""
    assert read_pointer(tmp_path) is None


def test_what_is_written_is_read_and_replaced(tmp_path: Path) -> None:
    """The pointer names one shard at a time and leaves no other file."""
    for name in ("shard-1", "shard-2"):
        (tmp_path / name).mkdir()
        write_pointer(tmp_path, name)
        assert read_pointer(tmp_path) == name
    assert sorted(item.name for item in tmp_path.iterdir()) == ["CURRENT", "shard-1", "shard-2"]


def test_two_shards_without_a_pointer_are_not_chosen_between(tmp_path: Path) -> None:
    """The message names both and the file to write."""
    for name in ("shard-1", "shard-2"):
        (tmp_path / name).mkdir()
    with pytest.raises(ConfigError, match=r"shard-1, shard-2.*CURRENT"):
        read_pointer(tmp_path)


@pytest.mark.parametrize("name", ["shard-9", "", "../elsewhere", "."])
def test_a_pointer_that_leads_nowhere_or_outside_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing is created in its place."""
    (tmp_path / "CURRENT").write_text(name)
    with pytest.raises(ConfigError, match="CURRENT"):
        read_pointer(tmp_path)


def test_a_path_that_is_a_file_is_named(tmp_path: Path) -> None:
    """With the setting that holds it."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="file") as caught:
        lock_directory(tmp_path / "file")
    assert caught.value.setting == "store.path"


def test_a_lock_ends_with_its_file(tmp_path: Path) -> None:
    """Closed, the directory can be locked again."""
    lock_directory(tmp_path).close()
    with lock_directory(tmp_path), pytest.raises(ConfigError, match="another process"):
        lock_directory(tmp_path)


def test_a_full_disk_is_told_before_it_is_met(tmp_path: Path) -> None:
    """Enough free bytes pass in silence."""
    check_free_disk(tmp_path, min_free_bytes=0)
    with pytest.raises(DependencyError, match="Mend"):
        check_free_disk(tmp_path, min_free_bytes=10**18)


def test_a_folder_of_other_files_is_not_made_a_store(tmp_path: Path) -> None:
    """A mistyped folder stays as it is; what a replay puts beside its store, and hidden files, are no strangers."""
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(ConfigError, match=r"letters\.txt"):
        lock_directory(tmp_path)
    assert [item.name for item in tmp_path.iterdir()] == ["letters.txt"]
    (tmp_path / "letters.txt").rename(tmp_path / ".letters")
    (tmp_path / "replays").mkdir()
    lock_directory(tmp_path).close()
