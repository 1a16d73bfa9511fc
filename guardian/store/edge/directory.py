"""The directory of an embedded store: one owner, a pointer to the shard in use, and a look at the free disk.

```
<path>/LOCK       locked while a process owns the store; holds its pid
<path>/CURRENT    name of the shard in use; replaced atomically, so that a migration can build a new shard beside it
<path>/shard-1/   the engine's own files; never renamed while open
<path>/next/      the store that a migration is filling, a directory like this one; see `guardian.store.edge.generation`
<path>/creating/  a shard that was being made; it has never held a point and is removed
```
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import IO

from guardian.errors import ConfigError, DependencyError

FIRST_SHARD = "shard-1"
CREATING = "creating"
_POINTER = "CURRENT"
_LOCK = "LOCK"
# What may lie in a folder before the first store is made there: a replay's own files, and what a mounted disk brings.
_COMPANIONS = frozenset({CREATING, "next", "replays", "dead-letters.jsonl", "lost+found"})
# Names of strangers that are shown.
_SHOWN = 3


def lock_directory(path: Path) -> IO[str]:
    """Make the directory and own it until the given file is closed or the process dies.

    Raises:
        ConfigError: Another process owns it, it cannot be written, or it holds something else than a store.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        _refuse_strangers(path)
        lock = (path / _LOCK).open("a+", encoding="utf-8")
    except OSError as exc:
        raise ConfigError(
            f"cannot write the store at {path}: {exc.strerror}.",
            setting="store.path",
            mend="name a writable directory.",
        ) from exc
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        lock.seek(0)
        owner = lock.read().strip()
        lock.close()
        raise build_owned_error(path, owner) from exc
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _refuse_strangers(path: Path) -> None:
    """Refuse to make a store among other people's files: a mistyped folder would be filled, and a backup of it would hold memories."""
    names = {item.name for item in path.iterdir()}
    if _LOCK in names or _POINTER in names or any(name.startswith("shard-") for name in names):
        return
    strangers = sorted(name for name in names - _COMPANIONS if not name.startswith("."))
    if strangers:
        shown = ", ".join(strangers[:_SHOWN]) + (" …" if len(strangers) > _SHOWN else "")
        raise ConfigError(
            f"{path} is no store and holds other files ({shown}).",
            setting="store.path",
            mend="name an empty or a new folder, such as a folder in it.",
        )


def build_owned_error(path: Path, owner: str) -> ConfigError:
    """Build the error of a second opener."""
    return ConfigError(
        f"another process owns the store at {path}{f' (pid {owner})' if owner else ''}.",
        setting="store.path",
        mend="stop it, use another path, or use a Qdrant server, which many processes can share.",
    )


def read_pointer(path: Path) -> str | None:
    """Read the name of the shard in use; None for a directory that has no shard yet.

    A shard whose pointer was not written any more (the process died between the two) is complete and is adopted.

    Raises:
        ConfigError: The pointer leads nowhere, or there are several shards and no pointer.
    """
    try:
        name = (path / _POINTER).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        shards = sorted(item.name for item in path.glob("shard-*"))
        if len(shards) > 1:
            raise ConfigError(
                f"{path} has the shards {', '.join(shards)} but no {_POINTER} file.",
                setting="store.path",
                mend=f"write the name of the newest complete one into {path / _POINTER}.",
            ) from None
        return shards[0] if shards else None
    if not name or Path(name).name != name or not (path / name).is_dir():
        raise ConfigError(
            f"{path / _POINTER} names the shard {name!r}, which is not there.",
            setting="store.path",
            mend="restore the directory from a copy, or name another path.",
        )
    return name


def write_pointer(path: Path, name: str) -> None:
    """Make `name` the shard in use, durable when it returns; a crash leaves the old or the new name."""
    fresh = path / f"{_POINTER}.new"
    with fresh.open("w", encoding="utf-8") as file:
        file.write(name + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path / _POINTER)
    sync_folder(path)


def sync_folder(path: Path) -> None:
    """Make names that were made, moved or removed in a folder durable."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def clear_creating(path: Path) -> Path:
    """Give an empty place to make a shard in; what an interrupted making left there is removed."""
    creating = path / CREATING
    shutil.rmtree(creating, ignore_errors=True)
    creating.mkdir()
    return creating


def check_free_disk(path: Path, *, min_free_bytes: int) -> None:
    """Refuse to write to a nearly full disk: a full one kills the process with SIGBUS, which nothing can catch.

    Raises:
        DependencyError: Names the mend; the write may succeed later.
    """
    free_bytes = shutil.disk_usage(path).free
    if free_bytes < min_free_bytes:
        raise DependencyError(
            f"the disk of the store at {path} has {free_bytes:,} bytes free, fewer than {min_free_bytes:,} "
            "(min_free_bytes). Mend: free some space, or move the store to a larger disk.",
            dependency="store",
        )
