"""Follow the text files of a folder through time: from git where a repository tracks it, else as it stands.

Each state of a file is one row. A folder in git gives a state for every file that a commit changed; a plain folder gives
one for every file, dated by its modification time, and several folders are versions of one another.
Only regular files below the folder are read: no link is followed, and the number of files looked at is bounded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.port import Broken, SourceOptions
from guardian.sources.reading.differ import order_versions
from guardian.sources.reading.git_history import Commit, FileChange, History, is_history, opened_history
from guardian.sources.reading.stamp import fetch_file_time
from guardian.sources.reason import SourceReason

# Files of one folder. An agent's memory has tens; this bounds what a wrong path costs.
MAX_FILES = 20_000
# A memory's file has a few KiB; a larger one is refused unread.
MAX_FILE_BYTES = 16 * 1024 * 1024
# Files looked at to tell a format.
SNIFFED_FILES = 500

IsWanted = Callable[[str], bool]  # (path inside the folder, with `/`)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """What a file held from some time on.

    Attributes:
        position: For people.
        path: Inside the folder, with `/`.
        text: None when it is gone.
        time: Aware, UTC.
        time_from: `commit`, `mtime`, or as a version of a folder is dated.
        old_path: Where the file was before a rename.
        commit: The commit that says so, in git.
        rows: Input rows that this state answers for.
    """

    position: str
    path: str
    text: str | None
    time: datetime
    time_from: str
    old_path: str | None = None
    commit: Commit | None = None
    rows: int = 1


def iter_file_states(paths: Sequence[Path], options: SourceOptions, is_wanted: IsWanted) -> Iterator[FileState | Broken]:
    """Yield the states of the wanted files in the order in which they came to be.

    Raises:
        RecordError: A repository's chain of commits cannot be read, before any state of it.
    """
    plain: list[Path] = []
    for path in paths:
        if not path.is_dir():
            message = f"{path.name} is a file, and this format is a folder; name the folder"
            yield Broken(position=path.name, reason=SourceReason.SHAPE_UNKNOWN, message=message, raw=b"")
        elif is_history(path, is_wanted):
            yield from _iter_history(path, is_wanted)
        else:
            plain.append(path)
    yield from _iter_folders(plain, options, is_wanted)


def list_head(path: Path, is_wanted: IsWanted) -> list[tuple[str, str]]:
    """Give path and text of some wanted files as they stand, to tell a format; nothing for what cannot be read."""
    try:
        if not path.is_dir():
            return []
        if not is_history(path, is_wanted):
            return [
                (name, _decode(file.read_bytes()))
                for name, file in _list_files(path, is_wanted)[:SNIFFED_FILES]
                if _is_small(file)
            ]
        with opened_history(path) as history:
            files = [] if history is None else history.list_head(is_wanted)[:SNIFFED_FILES]
            return [(file.path, _decode(history.read_blob(file.blob))) for file in files if history and file.blob]
    except (OSError, RecordError):
        return []


def _iter_history(path: Path, is_wanted: IsWanted) -> Iterator[FileState | Broken]:
    with opened_history(path) as history:
        assert history is not None, "is_history came first"
        for commit in history.iter_commits():
            try:
                changes = history.list_changes(commit, is_wanted)
            except RecordError as error:
                # A commit that lacks objects costs itself; what it changed is not known, so it answers for no row.
                position = f"commit {commit.id[:12]}"
                yield Broken(position=position, reason=error.reason, message=str(error), raw=b"", rows=0)
                continue
            for change in changes:
                yield _read_change(history, commit, change)


def _read_change(history: History, commit: Commit, change: FileChange) -> FileState | Broken:
    position = f"commit {commit.id[:12]} {change.path}"
    raw = b""
    try:
        raw = b"" if change.blob is None else history.read_blob(change.blob)
        text = None if change.blob is None else _decode(raw)
    except RecordError as error:
        return Broken(position=position, reason=error.reason, message=str(error), raw=raw)
    return FileState(
        position=position,
        path=change.path,
        text=text,
        time=commit.time,
        time_from="commit",
        old_path=change.old_path,
        commit=commit,
    )


def _iter_folders(folders: Sequence[Path], options: SourceOptions, is_wanted: IsWanted) -> Iterator[FileState | Broken]:
    known: set[str] = set()
    for version in order_versions(folders, options):
        assert isinstance(version.path, Path)
        seen: set[str] = set()
        for name, file in _list_files(version.path, is_wanted):
            seen.add(name)
            yield _read_file(name, file, options)
        for name in sorted(known - seen):
            position = f"{version.path.name} lacks {name}"
            yield FileState(position=position, path=name, text=None, time=version.time, time_from=version.time_from, rows=0)
        known = seen


def _read_file(name: str, file: Path, options: SourceOptions) -> FileState | Broken:
    raw = b""
    try:
        _require_small(file)
        raw = file.read_bytes()
        text = _decode(raw)
        time = fetch_file_time(file)
    except RecordError as error:
        return Broken(position=name, reason=error.reason, message=str(error), raw=raw)
    except OSError as error:
        return Broken(position=name, reason=SourceReason.FILE_UNREADABLE, message=f"{name} cannot be read: {error}", raw=b"")
    if options.default_time is not None:
        return FileState(position=name, path=name, text=text, time=options.default_time.astimezone(UTC), time_from="default")
    return FileState(position=name, path=name, text=text, time=time, time_from="mtime")


def _list_files(root: Path, is_wanted: IsWanted) -> list[tuple[str, Path]]:
    """Give the wanted regular files below a folder, by name; no link is followed."""
    found: list[tuple[str, Path]] = []
    looked = 0
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in {".git", "node_modules"})
        for name in sorted(names):
            looked += 1
            if looked > MAX_FILES:
                return sorted(found)
            file = Path(folder, name)
            inner = file.relative_to(root).as_posix()
            if is_wanted(inner) and not file.is_symlink() and file.is_file():
                found.append((inner, file))
    return sorted(found)


def _is_small(file: Path) -> bool:
    return file.stat().st_size <= MAX_FILE_BYTES


def _require_small(file: Path) -> None:
    if not _is_small(file):
        raise RecordError(SourceReason.FILE_TOO_LARGE, f"{file.name} is larger than {MAX_FILE_BYTES} bytes, which no memory is")


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(Reason.NOT_UTF8, f"the file is not UTF-8: {error}") from error
