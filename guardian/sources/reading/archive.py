"""Read files inside a zip archive without unpacking it: as streams, in bounded memory, whatever their names say."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from guardian.errors import RecordError
from guardian.sources.reason import SourceReason

_MAGIC = b"PK\x03\x04"
# Members of an archive that are looked at: an export of many images has thousands.
_MAX_MEMBERS = 200_000


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive, to be read like a file."""

    name: str
    archive: zipfile.ZipFile
    entry: zipfile.ZipInfo

    def open(self, mode: Literal["rb"] = "rb", /) -> IO[bytes]:  # noqa: ARG002 # the mode is part of the port
        """Open it for reading.

        Raises:
            OSError: It is encrypted, damaged from the beginning, or packed in a way that cannot be read.
        """
        try:
            stream = io.BufferedReader(_Unpacked(self.archive.open(self.entry)))
            # What is damaged from its first bytes on cannot be opened.
            stream.peek(1)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error) as error:
            raise OSError(f"{self.name} cannot be unpacked: {error}") from error
        return stream


class _Unpacked(io.RawIOBase):
    """The bytes of a member; a damaged one ends where the damage is, as a damaged gzip does."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override] # any writable buffer is given as a view
        try:
            data = self._stream.read(len(buffer))
        except zipfile.BadZipFile as error:
            raise EOFError(str(error)) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def is_zip(path: Path) -> bool:
    """Tell an archive by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


@contextmanager
def opened_members(path: Path, is_wanted: Callable[[str], bool]) -> Iterator[list[Member]]:
    """Open an archive and give its wanted files, by name.

    Raises:
        RecordError: It is no archive that can be read.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise RecordError(SourceReason.FILE_DAMAGED, f"{path.name} is no archive that can be read: {error}") from error
    with archive:
        entries = [entry for entry in archive.infolist()[:_MAX_MEMBERS] if not entry.is_dir() and is_wanted(entry.filename)]
        yield [Member(entry.filename, archive, entry) for entry in sorted(entries, key=lambda entry: entry.filename)]
