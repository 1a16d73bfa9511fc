r"""Reads records whose header names are not UTF-8, which brokers take and aiokafka refuses for ever.

The protocol says that a header's name is a UTF-8 string, and no broker checks it. aiokafka gives up the whole fetch at such a name, so
one record from a careless or hostile producer would stop its partition. Only when that happens a reader is put in its place that
writes the offending bytes as `\xff` into the name; everything else of the record is untouched. It is aiokafka's own reader in Python,
slower than the compiled one, and stays for the rest of the process.
"""

from __future__ import annotations

from typing import Any

import structlog
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy

log = structlog.stdlib.get_logger(__name__)


def read_leniently(cause: Exception) -> bool:
    """Put the lenient reader in place when a fetch failed for its content; tells whether that was done just now."""
    is_content = isinstance(cause, UnicodeDecodeError | CorruptRecordException)
    if not is_content or fetcher.MemoryRecords is LenientRecords:
        return False
    log.warning("records.read_leniently", error=repr(cause))
    fetcher.MemoryRecords = LenientRecords
    return True


class LenientRecords(_MemoryRecordsPy):  # type: ignore[misc] # aiokafka is untyped
    """The batches of one fetch."""

    def next_batch(self, *args: Any) -> Any:
        """Give the next batch; those of the formats before headers are left to aiokafka."""
        raw = self._next_slice
        batch = super().next_batch(*args)
        return LenientBatch(raw) if batch is not None and raw[self.MAGIC_OFFSET] >= 2 else batch


class LenientBatch(_DefaultRecordBatchPy):  # type: ignore[misc] # aiokafka is untyped
    """The records of one batch."""

    _buffer: bytearray

    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        if not isinstance(self._buffer, _Buffer):
            self._buffer = _Buffer(self._buffer)


class _Buffer(bytearray):
    """Bytes whose slices decode any bytes; header names are all that is decoded."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return _Slice(found) if isinstance(index, slice) else found


class _Slice(bytearray):
    """Decodes any bytes."""

    def decode(self, encoding: str = "utf-8", errors: str = "backslashreplace") -> str:
        """Give the text, with what is none of the encoding escaped."""
        return super().decode(encoding, "backslashreplace" if errors == "strict" else errors)
