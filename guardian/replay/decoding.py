"""Decode the items of a replay, batch by batch and in order: in this process, or in several beside it.

```
items ─ batches ─┬─ decode here ────────────────────────────┬─ (items, what each came to), in the order of the input
                 └─ bytes → process → decoded or refused ───┘     at most two batches a process under way
```

What comes out is the same, byte for byte, however many processes there are: decoding knows nothing but a row and `Terms`.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import Decoded, decode
from guardian.errors import DependencyError, RecordError
from guardian.replay.selection import LeftOut, Selection
from guardian.sources.port import Item, SourceEvent

# Batches under way for each process: one it decodes, one that waits for it. More would only hold more memory.
_AHEAD = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """All that decoding knows besides a row.

    Attributes:
        policy: What is refused.
        received_at: The present: times later than this (and some tolerance) are refused.
        selection: What is replayed.
    """

    policy: DecodePolicy
    received_at: datetime
    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event was refused: a `RecordError` that can go from process to process."""

    reason: str
    message: str
    path: str


Result = Decoded | Refusal | LeftOut
Batch = list[tuple[Item, Result | None]]  # None for what is no event: skipped or broken already


def read_event_bytes(item: SourceEvent) -> bytes:
    """Give the JSON of an item's event."""
    return item.raw if item.raw is not None else orjson.dumps(item.event)


def decode_rows(rows: Sequence[bytes], terms: Terms) -> list[Result]:
    """Decode events from their JSON, each by itself."""
    return [_decode_row(row, terms) for row in rows]


def _decode_row(row: bytes, terms: Terms) -> Result:
    if not terms.selection.takes_all and (left_out := _judge_unread(row, terms.selection)) is not None:
        return left_out
    try:
        decoded = decode(row, policy=terms.policy, received_at=terms.received_at)
    except RecordError as error:
        return Refusal(error.reason, str(error), error.path)
    return terms.selection.judge(decoded.event) or decoded


def _judge_unread(row: bytes, selection: Selection) -> LeftOut | None:
    try:
        envelope = orjson.loads(row)
    except orjson.JSONDecodeError:
        return None
    return selection.judge_envelope(envelope) if isinstance(envelope, dict) else None


def iter_batches(items: Iterable[Item], size: int, first: int | None = None) -> Iterator[list[Item]]:
    """Yield lists of `size` items, the first of its own size where one is given."""
    iterator = iter(items)
    for number in itertools.chain([first or size], itertools.repeat(size)):
        if not (batch := list(itertools.islice(iterator, number))):
            return
        yield batch


async def iter_decoded(batches: Iterable[list[Item]], terms: Terms, *, jobs: int = 1) -> AsyncGenerator[Batch, None]:
    """Yield every batch with what its items came to.

    Args:
        batches: Read as far ahead as processes are busy with.
        terms: What decoding knows.
        jobs: Processes; 1 for this one alone.

    Raises:
        DependencyError: A process has died.
    """
    if jobs == 1:
        for batch in batches:
            yield _join(batch, decode_rows(_list_rows(batch), terms))
        return
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_settle_in)
    try:
        async for decoded in _iter_apart(batches, terms, pool, jobs * _AHEAD):
            yield decoded
    except BrokenProcessPool as exc:
        message = "a process that decodes has died, perhaps for want of memory. Start the same command again with fewer --jobs."
        raise DependencyError(message, dependency="decoder") from exc
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


async def _iter_apart(
    batches: Iterable[list[Item]], terms: Terms, pool: ProcessPoolExecutor, ahead: int
) -> AsyncGenerator[Batch, None]:
    under_way: deque[tuple[list[Item], Future[list[Result]]]] = deque()
    for batch in batches:
        under_way.append((batch, pool.submit(decode_rows, _list_rows(batch), terms)))
        if len(under_way) >= ahead:
            yield await _take(under_way)
    while under_way:
        yield await _take(under_way)


async def _take(under_way: deque[tuple[list[Item], Future[list[Result]]]]) -> Batch:
    batch, future = under_way.popleft()
    results: list[Result] = await asyncio.wrap_future(future)
    return _join(batch, results)


def _list_rows(batch: Sequence[Item]) -> list[bytes]:
    return [read_event_bytes(item) for item in batch if isinstance(item, SourceEvent)]


def _join(batch: Sequence[Item], results: Sequence[Result]) -> Batch:
    left = iter(results)
    return [(item, next(left) if isinstance(item, SourceEvent) else None) for item in batch]


def _settle_in() -> None:
    """Make a process that decodes end with the one that began it, and by that one's word alone.

    Ctrl-C goes to every process of a terminal, and a parent that was killed tells nobody.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
