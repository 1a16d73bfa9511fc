"""Make git repositories for tests, object by object: no `git`, no work tree, no clock."""

from collections.abc import Mapping
from pathlib import Path

from dulwich.index import commit_tree
from dulwich.objects import Blob, Commit
from dulwich.repo import Repo


class TestRepository:
    """A repository that grows by commits; each names only the files that it changes."""

    __test__ = False

    def __init__(self, path: Path, *, bare: bool = False) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._repository = Repo.init_bare(str(path)) if bare else Repo.init(str(path))
        self._files: dict[bytes, tuple[int, bytes]] = {}
        self._head: list[bytes] = []

    def commit(  # one argument a field of a commit
        self,
        changes: Mapping[str, str | bytes | None],
        *,
        message: str = "change",
        author: str = "Ann <ann@example.org>",
        time: int = 1_777_622_400,
        zone: int = 0,
        parents: list[str] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> str:
        """Commit changes (None removes a file) and symbolic links on top of HEAD, or of other parents; give its id."""
        store = self._repository.object_store
        for path, content in changes.items():
            if content is None:
                del self._files[path.encode()]
                continue
            blob = Blob.from_string(content.encode() if isinstance(content, str) else content)
            store.add_object(blob)
            self._files[path.encode()] = (0o100644, blob.id)
        for path, target in (links or {}).items():
            blob = Blob.from_string(target.encode())
            store.add_object(blob)
            self._files[path.encode()] = (0o120000, blob.id)
        commit = Commit()
        commit.tree = commit_tree(store, [(path, blob, mode) for path, (mode, blob) in self._files.items()])
        commit.parents = self._head if parents is None else [parent.encode() for parent in parents]
        commit.author = commit.committer = author.encode()
        commit.author_time = commit.commit_time = time
        commit.author_timezone = commit.commit_timezone = zone
        commit.encoding = b"UTF-8"
        commit.message = message.encode()
        store.add_object(commit)
        self._repository.refs[b"refs/heads/master"] = commit.id
        self._repository.refs.set_symbolic_ref(b"HEAD", b"refs/heads/master")
        self._head = [commit.id]
        return commit.id.decode()
