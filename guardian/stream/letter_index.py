"""An index of the dead-letter topic: which letters hold whose text, so that an erasure reaches them.

```
topic ──read on──▶ key → (memory, time) ──erasure──▶ tombstones (key without value), acknowledged before the erasing batch is
```

Every worker that decides events keeps one. It reads the topic on only when an erasure came and, by a timer, for letters that others
wrote: a worker that only forwards agents' topics has no store to ask whether a memory is erased. It must never keep a text: a letter
takes some 700 bytes here, whatever its size. Finding a letter twice, or by two workers, writes the same tombstone again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from datetime import datetime

import structlog

from guardian.contracts.letter import is_erased, read_dead_letter, read_letter_names
from guardian.contracts.names import Names
from guardian.core.needs import Key
from guardian.errors import RecordError
from guardian.ports import Store
from guardian.read.erased import fetch_erased
from guardian.stream.broker.kafka import Outgoing, Producer
from guardian.stream.plane.origin import Record
from guardian.telemetry.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)

ReadOn = Callable[[Mapping[int, int]], AsyncGenerator[Record]]
"""Gives the records of the topic from these offsets, by partition, to the end it had when asked."""


class LetterIndex:
    """The standing letters of one topic whose memory could be read.

    Args:
        read_on: Reads the topic.
        topic: Its full name.

    Attributes:
        count: Letters that were read so far, whoever wrote them; None until the topic was read to its end once.
    """

    def __init__(self, *, read_on: ReadOn, producer: Producer, topic: str, metrics: Metrics) -> None:
        self._read_on = read_on
        self._producer = producer
        self._topic = topic
        self._metrics = metrics
        self._lock = asyncio.Lock()
        self._offsets: dict[int, int] = {}
        self._names: dict[bytes, Names] = {}
        self._by_memory: defaultdict[Key, set[bytes]] = defaultdict(set)
        self._unasked: set[bytes] = set()
        self._read = 0
        self.count: int | None = None

    async def erase(self, erased: Mapping[Key, datetime]) -> None:
        """Give a tombstone to every letter that these erasures cover; when it returns they are acknowledged.

        Args:
            erased: (space, memory id) and the time up to which it is erased.

        Raises:
            DependencyError: The broker is away.
        """
        async with self._lock:
            await self._catch_up()
            await self._bury(key for memory in erased for key in self._by_memory.get(memory, ()) if self._is_covered(key, erased))

    async def look_after(self, store: Store) -> None:
        """Ask the store about letters that nobody asked about yet, and give those of erased memories their tombstone.

        Raises:
            DependencyError: The broker or the store is away.
        """
        async with self._lock:
            await self._catch_up()
            asked = set(self._unasked)
            erased = await fetch_erased(store, {memory for key in asked if (memory := self._names[key].memory) is not None})
            await self._bury(key for key in asked if self._is_covered(key, erased))
            self._unasked -= asked

    async def finish(self) -> None:
        """Wait for a look that is under way: one that is cut off leaves connections open."""
        async with self._lock:
            pass

    def _is_covered(self, key: bytes, erased: Mapping[Key, datetime]) -> bool:
        return is_erased(self._names[key], erased)

    async def _catch_up(self) -> None:
        async with aclosing(self._read_on(dict(self._offsets))) as records:
            async for record in records:
                self._take(record)
                self._offsets[record.partition] = record.offset + 1
                self._read += record.value is not None
        self.count = self._read

    def _take(self, record: Record) -> None:
        key = record.key or b""
        self._drop(key)
        names = _read_names(record)
        if names.memory is not None:
            self._names[key] = names
            self._by_memory[names.memory].add(key)
            self._unasked.add(key)

    def _drop(self, key: bytes) -> None:
        names = self._names.pop(key, None)
        self._unasked.discard(key)
        if names is not None and names.memory is not None:
            self._by_memory[names.memory].discard(key)
            if not self._by_memory[names.memory]:
                del self._by_memory[names.memory]

    async def _bury(self, covered: Iterable[bytes]) -> None:
        keys = sorted(covered)
        if not keys:
            return
        await self._producer.send([Outgoing(topic=self._topic, key=key, value=None) for key in keys])
        self._metrics.letters_erased.inc(len(keys))
        log.info("dead_letters.erased", letters=len(keys))
        for key in keys:
            self._drop(key)


def _read_names(record: Record) -> Names:
    """Give the names of a letter; none of a tombstone, nor of what is no letter."""
    if record.value is None:
        return Names()
    try:
        return read_letter_names(read_dead_letter(record.value))
    except RecordError:
        return Names()
