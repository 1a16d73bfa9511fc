"""Git histories: states in their order, renames, what a hostile or damaged repository can do (nothing)."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from guardian.errors import RecordError
from guardian.sources.reading.git_history import Commit, FileChange, is_history, opened_history
from tests.git_repository import TestRepository

LONG = "\n".join(f"line {number}" for number in range(40))


def read(path: Path) -> list[tuple[Commit, list[FileChange]]]:
    """Give every commit with its changes."""
    with opened_history(path) as history:
        assert history is not None
        return [(commit, history.list_changes(commit, lambda _: True)) for commit in history.iter_commits()]


def shape(path: Path) -> list[list[tuple[str, str | None, bool]]]:
    """Give (path, old path, whether it is gone) of every change."""
    return [[(change.path, change.old_path, change.blob is None) for change in changes] for _, changes in read(path)]


def test_commits_come_oldest_first_with_author_message_and_zone(tmp_path: Path) -> None:
    """Keep the author's own offset beside the instant."""
    repository = TestRepository(tmp_path)
    first = repository.commit({"a.md": "1"}, message="first\n", author="Bo Ü <bo@example.org>", time=1_777_622_400, zone=7200)
    second = repository.commit({"a.md": "2"}, time=1_777_622_460)
    commits = [commit for commit, _ in read(tmp_path)]
    assert [commit.id for commit in commits] == [first, second]
    assert (commits[0].author, commits[0].email, commits[0].message) == ("Bo Ü", "bo@example.org", "first")
    assert commits[0].time.isoformat() == "2026-05-01T08:00:00+00:00"
    assert commits[0].time_raw == "2026-05-01T10:00:00+02:00"


@pytest.mark.parametrize("new", [LONG, LONG.replace("line 7", "line seven")], ids=["equal", "alike"])
def test_a_file_that_moves_is_a_rename(tmp_path: Path, new: str) -> None:
    """Pair what went with what came, by content."""
    repository = TestRepository(tmp_path)
    repository.commit({"old.md": LONG, "other.md": "x"})
    repository.commit({"old.md": None, "b/new.md": new, "lone.md": "nothing like it"})
    assert shape(tmp_path)[1] == [("b/new.md", "old.md", False), ("lone.md", None, False)]


def test_unlike_files_are_a_removal_and_a_new_file(tmp_path: Path) -> None:
    """Invent no rename."""
    repository = TestRepository(tmp_path)
    repository.commit({"old.md": LONG})
    repository.commit({"old.md": None, "new.md": "12345"})
    assert shape(tmp_path)[1] == [("new.md", None, False), ("old.md", None, True)]


def test_a_merge_is_one_change_on_the_branch_that_it_merges_into(tmp_path: Path) -> None:
    """Follow first parents: the states that the branch went through."""
    repository = TestRepository(tmp_path)
    base = repository.commit({"a.md": "1"})
    side = repository.commit({"side.md": "s"}, parents=[base])
    repository.commit({"side.md": None, "b.md": "2"}, parents=[base])
    main = repository.commit({}, parents=[base])
    repository.commit({"side.md": "s"}, parents=[main, side])
    assert shape(tmp_path) == [[("a.md", None, False)], [("b.md", None, False)], [("side.md", None, False)]]


def test_a_folder_inside_a_repository_is_read_as_its_part(tmp_path: Path) -> None:
    """Name files from that folder on, and nothing outside of it."""
    repository = TestRepository(tmp_path)
    repository.commit({"memory/a.md": "1", "code.py": "x"})
    repository.commit({"code.py": "y"})
    (tmp_path / "memory").mkdir()
    (tmp_path / "untracked").mkdir()
    assert shape(tmp_path / "memory") == [[("a.md", None, False)], []]
    assert is_history(tmp_path / "memory")
    assert not is_history(tmp_path / "untracked")


def test_a_bare_repository_is_read(tmp_path: Path) -> None:
    """Need no work tree."""
    TestRepository(tmp_path / "state.git", bare=True).commit({"a.md": "1"})
    assert shape(tmp_path / "state.git") == [[("a.md", None, False)]]


def test_links_are_no_files(tmp_path: Path) -> None:
    """Leave out a symbolic link, whose content is a path."""
    TestRepository(tmp_path).commit({"a.md": "1"}, links={"secret.md": "/etc/passwd"})
    assert shape(tmp_path) == [[("a.md", None, False)]]


def test_nothing_that_a_repository_configures_runs(tmp_path: Path) -> None:
    """Run no monitor, hook, signature checker, diff or filter, and write nothing."""
    repository = TestRepository(tmp_path)
    repository.commit({"a.md": "1", ".gitattributes": "* diff=evil filter=evil"})
    trap, proof = tmp_path / ".git" / "trap.sh", tmp_path / "proof"
    trap.write_text(f"#!/bin/sh\ntouch {proof}\n")
    trap.chmod(trap.stat().st_mode | stat.S_IXUSR)
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n\tsshCommand = {trap}\n[log]\n\tshowSignature = true\n"
            f'[gpg]\n\tprogram = {trap}\n[diff]\n\texternal = {trap}\n[diff "evil"]\n\ttextconv = {trap}\n'
            f'[filter "evil"]\n\tclean = {trap}\n\tsmudge = {trap}\n'
        )
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (tmp_path / ".git" / "hooks").mkdir(exist_ok=True)
        os.link(trap, tmp_path / ".git" / "hooks" / hook)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert shape(tmp_path) == [[(".gitattributes", None, False), ("a.md", None, False)]]
    assert not proof.exists()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_git_wrote_and_packed_is_read(tmp_path: Path) -> None:
    """Read packs with deltas as well as loose objects."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@x", "-c", "commit.gpgsign=false"]
    try:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("no git here")
    for number in range(5):
        (tmp_path / "a.md").write_text(f"{LONG}\n{number}")
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"{number}"], check=True)
    subprocess.run([*git, "gc", "-q"], check=True)
    with opened_history(tmp_path) as history:
        assert history is not None
        texts = [
            history.read_blob(change.blob or b"")
            for commit in history.iter_commits()
            for change in history.list_changes(commit, lambda _: True)
        ]
    assert [text.decode()[-1] for text in texts] == list("01234")


def test_a_repository_without_commits_is_no_history(tmp_path: Path) -> None:
    """Recognise nothing in it, and say so when it is read."""
    TestRepository(tmp_path)
    assert not is_history(tmp_path)
    with pytest.raises(RecordError, match="clone the repository whole"):
        read(tmp_path)


def test_a_missing_object_is_one_record_error(tmp_path: Path) -> None:
    """Translate whatever the library raises, and name the mend."""
    TestRepository(tmp_path).commit({"a.md": "1"})
    for file in (tmp_path / ".git" / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o644)
            file.write_bytes(b"damaged")
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path)
    with pytest.raises(RecordError, match="cannot be read"):
        is_history(tmp_path)


def test_a_damaged_head_is_a_record_error(tmp_path: Path) -> None:
    """Never take a damaged repository for a plain folder."""
    TestRepository(tmp_path).commit({"a.md": "1"})
    (tmp_path / ".git" / "HEAD").write_text("ref: ")
    with pytest.raises(RecordError):
        is_history(tmp_path)


def test_versions_of_a_file_are_followed_through_its_renames(tmp_path: Path) -> None:
    """Name each version by time and id of its commit."""
    repository = TestRepository(tmp_path)
    ids = [
        repository.commit({"old.jsonl": LONG}, time=1_777_622_400),
        repository.commit({"old.jsonl": None, "new.jsonl": LONG}, time=1_777_622_460),
        repository.commit({"other.md": "x"}, time=1_777_622_500),
        repository.commit({"new.jsonl": "end"}, time=1_777_622_520),
    ]
    with opened_history(tmp_path) as history:
        assert history is not None
        versions = history.list_versions("new.jsonl")
        assert [version.name for version in versions] == [
            f"20260501T080000Z_{ids[0][:8]}_new.jsonl",
            f"20260501T080100Z_{ids[1][:8]}_new.jsonl",
            f"20260501T080200Z_{ids[3][:8]}_new.jsonl",
        ]
        assert [version.open("rb").read() for version in versions] == [LONG.encode(), LONG.encode(), b"end"]


def test_a_time_that_no_calendar_holds_costs_itself(tmp_path: Path) -> None:
    """Give the calendar's end, which is refused where every time is judged, and read the other commits."""
    repository = TestRepository(tmp_path)
    repository.commit({"a.md": "1"}, time=2**60)
    repository.commit({"a.md": "2"}, zone=3_600 * 60)
    assert [commit.time.year for commit, _ in read(tmp_path)] == [9999, 2026]
