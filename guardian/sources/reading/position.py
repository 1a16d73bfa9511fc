"""How far reading has come in the files of an import, by the bytes as they lie on the disk, for a display of progress.

A meter is set for a context and every file that is opened in it as a stream of rows is followed, compressed or not. Nothing is
counted on the way: the files are asked where they stand. What is not read as a stream (databases, repositories, archives) is not
followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO

_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


class Meter:
    """Knows where each file stands, by its latest opening: a look at the beginning is no progress that lasts."""

    def __init__(self) -> None:
        self._open: dict[Path, IO[bytes]] = {}
        self._left: dict[Path, int] = {}

    def count_bytes(self) -> int:
        """Give the bytes that are behind the readers, in all files."""
        return sum(self._left.values()) + sum(_tell(path, file) for path, file in self._open.items())

    def follow(self, path: Path, file: IO[bytes]) -> None:
        """Note that a file was opened."""
        self._left.pop(path, None)
        self._open[path] = file

    def leave(self, path: Path, file: IO[bytes]) -> None:
        """Note where a file stands that is about to be closed."""
        if self._open.get(path) is file:
            self._left[path] = _tell(path, self._open.pop(path))


def _tell(path: Path, file: IO[bytes]) -> int:
    """Give where a file stands; one that its reader has closed was read to the end."""
    return path.stat().st_size if file.closed else file.tell()


@contextmanager
def metered() -> Iterator[Meter]:
    """Follow what is read in this context."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


@contextmanager
def followed(path: object, file: IO[bytes]) -> Iterator[None]:
    """Follow one open file, if it is one on the disk and somebody wants to know."""
    meter = _METER.get()
    if meter is None or not isinstance(path, Path):
        yield
        return
    meter.follow(path, file)
    try:
        yield
    finally:
        meter.leave(path, file)
