"""Generations of an embedded store: the shard in use, and the next one that is being filled beside it.

```
shard-3, CURRENT names it     next/ is filled, a store of its own
next/shard-1 ─rename─▶ shard-4                 complete, not in use yet
CURRENT ─replace─▶ shard-4                     the switch, in one step
shard-3, next/ ─remove                         what is left over
```

The directory stays locked by the store in use up to the switch, so nobody writes meanwhile; nor does anybody read, as the engine
opens for one process. A death leaves one of these states: the shard in use is whole in each, and the next attempt goes on from it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from guardian.errors import ConfigError, DependencyError
from guardian.ports import StoreIdentity
from guardian.store.edge.directory import CREATING, FIRST_SHARD, lock_directory, read_pointer, sync_folder, write_pointer
from guardian.store.edge.store import EdgeStore
from guardian.store.identity import build_absent_error

NEXT = "next"
# Files that are written aside and moved over the old ones; a death may leave one.
_TORN = ("CURRENT.new", "replays/*.new")
# What the engine allocates for its log before the first point.
_LOG_BYTES = 80_000_000


class EdgeGenerations:
    """The generations of one embedded store; see `guardian.migration.Generations`."""

    is_shared = False

    def __init__(self, path: Path, *, min_free_bytes: int) -> None:
        self.place = f"the store at {path}"
        self._path = path
        self._min_free_bytes = min_free_bytes
        self._current: EdgeStore | None = None
        self._next: EdgeStore | None = None

    async def open_current(self) -> EdgeStore:
        """Open the shard in use as it is, and with it own the directory."""
        if not self._path.exists():
            raise build_absent_error(str(self._path))
        self._current = EdgeStore(self._path, None, min_free_bytes=self._min_free_bytes, is_read_as_it_is=True)
        await self._current.open()
        await asyncio.to_thread(_put_back, self._path)
        return self._current

    async def open_next(self, identity: StoreIdentity) -> EdgeStore:
        """Open the store that an earlier attempt was filling for the same identity, or make one."""
        self._next = EdgeStore(self._path / NEXT, identity, min_free_bytes=self._min_free_bytes)
        try:
            await self._next.open()
        except (ConfigError, DependencyError):  # filled for something else, or broken
            await asyncio.to_thread(_remove, self._path / NEXT)
            await self._next.open()
        return self._next

    def check_switch(self, *, drops_old: bool) -> None:
        """Do nothing: the switch removes what it replaces only after it."""

    async def retire_current(self) -> None:
        """Do nothing: this process owns the directory."""

    async def switch(self) -> None:
        """Put the filled shard in the place of the one in use, and remove the old one."""
        assert self._next is not None
        assert self._current is not None
        await self._next.close()
        await asyncio.to_thread(_put_in_use, self._path)
        await self._current.close()
        with (
            suppress(ConfigError),
            lock_directory(self._path),
        ):  # a worker was quicker to open the new one; what is left over goes next time
            await asyncio.to_thread(_clear, self._path)

    async def discard_next(self) -> bool:
        """Remove what earlier attempts were filling; tells whether there was anything."""
        if self._next is not None:
            await self._next.close()
            self._next = None
        is_there = (self._path / NEXT).exists()
        await asyncio.to_thread(_remove, self._path / NEXT)
        await asyncio.to_thread(_clear, self._path)
        return is_there

    async def list_old(self) -> list[str]:
        """Give none: the switch removes the old one."""
        return []

    async def drop_old(self) -> list[str]:
        """Do nothing: the switch removes the old one."""
        return []

    async def check_room(self) -> None:
        """Refuse to begin what would not fit beside the old one.

        Raises:
            DependencyError: Names the bytes that are missing.
        """
        begun = await asyncio.to_thread(_measure, self._path / NEXT)
        needed = await asyncio.to_thread(_measure, self._path / _name_current(self._path)) + _LOG_BYTES - begun
        free = shutil.disk_usage(self._path).free
        if free < needed + self._min_free_bytes:
            raise DependencyError(
                f"{self.place} needs {max(0, needed):,} bytes beside it to be made anew, and {self._min_free_bytes:,} (min_free_bytes) "
                f"are kept free; {free:,} are free. Mend: free some space, or move the store to a larger disk.",
                dependency="store",
            )

    async def measure_bytes(self) -> int | None:
        """Give what the directory has allocated on disk."""
        return await asyncio.to_thread(_measure, self._path)

    async def close(self) -> None:
        """Close both."""
        for store in (self._next, self._current):
            if store is not None:
                await store.close()


def _name_current(path: Path) -> str:
    name = read_pointer(path)
    assert name is not None, "an open store has a shard"
    return name


def _read_number(shard: str) -> int:
    return int(re.sub(r"\D", "", shard) or 0)


def _put_back(path: Path) -> None:
    """Take a switch back that was cut off before the pointer was written: the old shard may have been written since."""
    current = _name_current(path)
    for shard in path.glob("shard-*"):
        if _read_number(shard.name) <= _read_number(current):
            continue
        if not (path / NEXT / FIRST_SHARD).exists():
            (path / NEXT).mkdir(exist_ok=True)
            shard.rename(path / NEXT / FIRST_SHARD)
        else:
            _remove(shard)


def _put_in_use(path: Path) -> None:
    name = f"shard-{_read_number(_name_current(path)) + 1}"
    (path / NEXT / FIRST_SHARD).rename(path / name)
    write_pointer(path, name)


def _clear(path: Path) -> None:
    """Remove what is left over from earlier generations and from deaths; not what is being filled."""
    current = _name_current(path)
    old = [shard for shard in path.glob("shard-*") if shard.name != current]
    for folder in (*old, path / CREATING):
        _remove(folder)
    if not (path / NEXT / FIRST_SHARD).exists():
        _remove(path / NEXT)
    for pattern in _TORN:
        for file in path.glob(pattern):
            file.unlink(missing_ok=True)
    sync_folder(path)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _measure(folder: Path) -> int:
    """Give the allocated bytes; the engine's log is preallocated and sparse."""
    sizes = [os.lstat(Path(parent) / name).st_blocks * 512 for parent, _, names in os.walk(folder) for name in names]
    return sum(sizes)
