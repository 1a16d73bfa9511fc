"""Read the history of a git repository: which files each commit changed, and what they then held.

Objects are read with dulwich, in this process, and nothing else is done. A repository's own configuration can make the
`git` program run commands (a file-system monitor, a signature checker, an external diff, a remote that is asked for
objects it lacks), and a repository may come from a stranger; a library that only parses objects runs none of these,
and needs no `git` where Guardian runs. The work tree, the index and the references are never written.

The history is that of HEAD along first parents, oldest first: the states that this branch went through. What a merge
brought in is one change, at the merge. Submodules and symbolic links are no files and are left out.
"""

from __future__ import annotations

import io
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import IO, Literal

from dulwich.diff_tree import tree_changes
from dulwich.object_store import iter_tree_contents, tree_lookup_path
from dulwich.objects import Blob, Tree
from dulwich.objects import Commit as RawCommit
from dulwich.repo import Repo
from rapidfuzz import fuzz

from guardian.errors import RecordError
from guardian.sources.reason import SourceReason

# Commits of one history. A memory that is written every minute for a year has half as many.
MAX_COMMITS = 1_000_000
# A file of more bytes holds no memory: 64 MiB is 2,000 times the longest text that is accepted later.
MAX_BLOB_BYTES = 64 * 1024 * 1024
# Entries of the newest tree that are looked at to tell a format: their names only, a second or so for this many.
_SNIFFED_ENTRIES = 50_000
# Renames: git's own limit of likeness, and how many files on each side are compared by content (cost is their product).
_RENAME_PERCENT = 50
_RENAME_FILES = 30
_RENAME_CHARS = 64 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
IsWanted = Callable[[str], bool]  # (path inside the folder that is read)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit.

    Attributes:
        id: Forty (or sixty-four) hex digits.
        time: When it was authored, aware, UTC; a rebase keeps it.
        time_raw: The same with the author's own offset.
    """

    id: str
    time: datetime
    time_raw: str
    author: str
    email: str
    message: str
    tree: bytes
    parent_tree: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What a commit did to one file.

    Attributes:
        path: Inside the folder that is read, with `/`.
        blob: Names the content; None when the file was removed.
        old_path: Where it was before, when this is a rename.
        is_new: The commit before had no such file.
    """

    path: str
    blob: bytes | None
    old_path: str | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class GitFile:
    """One version of a file, to be read like a file; its name carries the commit's time and id."""

    name: str
    history: History
    blob: bytes

    def open(self, mode: Literal["rb"] = "rb", /) -> IO[bytes]:  # noqa: ARG002 # the mode is part of the port
        """Open the content for reading."""
        return io.BytesIO(self.history.read_blob(self.blob))


class History:
    """One repository, opened for reading, seen from one of its folders."""

    def __init__(self, repository: Repo, folder: bytes) -> None:
        self._repository = repository
        self._store = repository.object_store
        self._folder = folder

    def iter_commits(self, *, is_newest_first: bool = False) -> Iterator[Commit]:
        """Yield the commits of HEAD along first parents, oldest first unless asked otherwise.

        Raises:
            RecordError: The repository has no commit, or an object is missing or damaged.
        """
        with _translated("the history"):
            ids = self._list_commits()
        pairs = list(zip(ids, [*ids[1:], None], strict=True))
        for commit_id, parent in pairs if is_newest_first else reversed(pairs):
            with _translated(f"commit {commit_id.decode('ascii', 'replace')}"):
                commit = self._read_commit(commit_id, parent)
            yield commit

    def list_changes(self, commit: Commit, is_wanted: IsWanted) -> list[FileChange]:
        """Give what a commit changed among the wanted files, by path; deletions of renamed files are part of the rename."""
        with _translated(f"commit {commit.id}"):
            before = None if commit.parent_tree is None else self._find_folder(commit.parent_tree)
            after = self._find_folder(commit.tree)
            if before == after:
                return []
            removed: dict[str, bytes] = {}
            added: dict[str, bytes] = {}
            changed: dict[str, bytes] = {}
            for change in tree_changes(self._store, before, after):  # type: ignore[arg-type] # ids of this store
                old, new = _name_file(change.old, is_wanted), _name_file(change.new, is_wanted)
                if old is not None and new is not None and old[0] == new[0]:
                    changed[new[0]] = new[1]
                    continue
                if old is not None:
                    removed[old[0]] = old[1]
                if new is not None:
                    added[new[0]] = new[1]
            return self._match_renames(removed, added, changed)

    def list_head(self, is_wanted: IsWanted) -> list[FileChange]:
        """Give the wanted files of the newest commit, looking at a bounded number of entries."""
        with _translated("the newest commit"):
            found: list[FileChange] = []
            try:
                newest = self._repository.head()
            except KeyError:
                # Nothing is committed yet.
                return found
            folder = self._find_folder(_commit_of(self._repository, newest).tree)
            if folder is None:
                return found
            for number, entry in enumerate(iter_tree_contents(self._store, folder)):  # type: ignore[arg-type] # id of this store
                if number >= _SNIFFED_ENTRIES:
                    break
                if (file := _name_file(entry, is_wanted)) is not None:
                    found.append(FileChange(path=file[0], blob=file[1]))
            return found

    def read_blob(self, blob: bytes) -> bytes:
        """Give a file's content.

        Raises:
            RecordError: It is missing, damaged, or larger than any memory.
        """
        with _translated(f"object {blob.decode('ascii', 'replace')}"):
            found = self._store[blob]  # type: ignore[index] # an id of this store
            if not isinstance(found, Blob):
                raise RecordError(SourceReason.FILE_DAMAGED, "a file of the repository is no file")
            if found.raw_length() > MAX_BLOB_BYTES:
                raise RecordError(SourceReason.FILE_TOO_LARGE, f"a file of the repository is larger than {MAX_BLOB_BYTES} bytes")
            return found.as_raw_string()

    def list_versions(self, path: str) -> list[GitFile]:
        """Give the versions of one file of the newest commit, oldest first, followed through its renames."""
        name = path
        versions: list[GitFile] = []
        for commit in self.iter_commits(is_newest_first=True):
            for change in self.list_changes(commit, name.__eq__):
                if change.blob is None:
                    continue
                stamp = commit.time.strftime("%Y%m%dT%H%M%SZ")
                # A version that cannot be read is found before the first item of any.
                self.read_blob(change.blob)
                versions.append(GitFile(f"{stamp}_{commit.id[:8]}_{Path(path).name}", self, change.blob))
                if change.is_new:
                    name = self._find_old_name(commit, name) or name
        return versions[::-1]

    def _find_old_name(self, commit: Commit, path: str) -> str | None:
        # Only what may be the same file is read to compare it: a repository holds large ones of other kinds.
        changes = self.list_changes(
            commit, lambda other: other == path or Path(other).suffix in {".json", ".jsonl", Path(path).suffix}
        )
        return next((change.old_path for change in changes if change.path == path), None)

    def _list_commits(self) -> list[bytes]:
        ids: list[bytes] = []
        commit_id: bytes | None = self._repository.head()
        while commit_id is not None and len(ids) < MAX_COMMITS:
            ids.append(commit_id)
            parents = self._repository.get_parents(commit_id)  # type: ignore[arg-type] # an id of this store
            commit_id = parents[0] if parents else None
        return ids

    def _read_commit(self, commit_id: bytes, parent: bytes | None) -> Commit:
        raw = _commit_of(self._repository, commit_id)
        name, _, rest = raw.author.decode("utf-8", "replace").partition("<")
        time = _read_time(raw.author_time, raw.author_timezone)
        return Commit(
            id=commit_id.decode("ascii"),
            time=time.astimezone(UTC),
            time_raw=time.isoformat(),
            author=name.strip(),
            email=rest.partition(">")[0].strip(),
            message=raw.message.decode("utf-8", "replace").strip(),
            tree=raw.tree,
            parent_tree=None if parent is None else _commit_of(self._repository, parent).tree,
        )

    def _find_folder(self, tree: bytes) -> bytes | None:
        """Give the tree of the folder that is read, or None where a commit has none."""
        if not self._folder:
            return tree
        try:
            mode, found = tree_lookup_path(self._store.__getitem__, tree, self._folder)  # type: ignore[arg-type] # id of this store
        except KeyError:
            return None
        return found if stat.S_ISDIR(mode) and isinstance(self._store[found], Tree) else None

    def _match_renames(self, removed: dict[str, bytes], added: dict[str, bytes], changed: dict[str, bytes]) -> list[FileChange]:
        """Pair what went with what came, equal content first, then by likeness."""
        pairs: dict[str, str] = {}
        for new, blob in added.items():
            same = [old for old, known in removed.items() if known == blob and old not in pairs.values()]
            if same:
                pairs[new] = same[0]
        lone = [new for new in added if new not in pairs]
        left = [old for old in removed if old not in pairs.values()]
        if lone and left and max(len(lone), len(left)) <= _RENAME_FILES:
            texts = {blob: self._read_head(blob) for blob in {*(added[new] for new in lone), *(removed[old] for old in left)}}
            likeness = sorted((-fuzz.ratio(texts[added[new]], texts[removed[old]]), new, old) for new in lone for old in left)
            for score, new, old in likeness:
                if -score >= _RENAME_PERCENT and new not in pairs and old not in pairs.values():
                    pairs[new] = old
        changes = [FileChange(path=path, blob=blob) for path, blob in changed.items()]
        changes += [FileChange(path=path, blob=blob, old_path=pairs.get(path), is_new=True) for path, blob in added.items()]
        changes += [FileChange(path=path, blob=None) for path in removed if path not in pairs.values()]
        return sorted(changes, key=lambda change: change.path)

    def _read_head(self, blob: bytes) -> str:
        try:
            return self.read_blob(blob)[:_RENAME_CHARS].decode("utf-8", "replace")
        except RecordError:
            return ""


@contextmanager
def opened_history(path: Path) -> Iterator[History | None]:
    """Open the repository that a folder is, or that tracks it; None when no repository holds it.

    Raises:
        RecordError: There is one, and it cannot be read.
    """
    found = _find_repository(path)
    if found is None:
        yield None
        return
    root, folder = found
    with _translated(f"the repository {root.name}"):
        repository = Repo(str(root))
    with closing(repository):
        yield History(repository, folder)


def is_history(path: Path, is_wanted: IsWanted = lambda _: True) -> bool:
    """Tell whether a folder is, or lies in, a repository whose newest commit holds wanted files in it.

    Raises:
        RecordError: There is a repository, and it cannot be read.
    """
    if not path.is_dir():
        return False
    with opened_history(path) as history:
        return history is not None and bool(history.list_head(is_wanted))


def _find_repository(path: Path) -> tuple[Path, bytes] | None:
    """Give the repository's folder and the path inside it; a bare repository is its own."""
    folder = path.resolve()
    if all((folder / name).exists() for name in ("HEAD", "objects", "refs")):
        return folder, b""
    for root in (folder, *folder.parents):
        if (root / ".git").exists():
            inner = folder.relative_to(root).as_posix()
            return root, b"" if inner == "." else inner.encode("utf-8", "surrogateescape")
    return None


def _commit_of(repository: Repo, commit_id: bytes) -> RawCommit:
    found = repository.object_store[commit_id]  # type: ignore[index] # an id of this store
    if not isinstance(found, RawCommit):
        raise RecordError(SourceReason.FILE_DAMAGED, "a commit of the repository is no commit")
    return found


def _read_time(seconds: int, offset: int) -> datetime:
    """Give a commit's time in its author's zone; what no calendar holds is its end, and is refused later as such."""
    try:
        zone = timezone(timedelta(seconds=offset))
    except ValueError:
        zone = UTC
    try:
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC)


def _name_file(entry: object, is_wanted: IsWanted) -> tuple[str, bytes] | None:
    """Give path and content id of an entry that is a wanted, regular file."""
    path, mode, blob = getattr(entry, "path", None), getattr(entry, "mode", None), getattr(entry, "sha", None)
    if path is None or mode is None or blob is None or not stat.S_ISREG(mode):
        return None
    name = path.decode("utf-8", "replace")
    return (name, blob) if is_wanted(name) else None


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Turn whatever a damaged repository makes the library raise into one record error."""
    try:
        yield
    except RecordError:
        raise
    # A parser of foreign bytes raises anything, from KeyError to StopIteration, and it is the same fault with the same mend.
    except Exception as error:
        raise RecordError(
            SourceReason.FILE_DAMAGED,
            f"{what} cannot be read: {error!r}. A shallow or partial clone lacks objects: clone the repository whole.",
        ) from error
