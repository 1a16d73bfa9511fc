"""One replay: batches of a source's items, decoded, counted, through the pipeline or onto the topic."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.letter import DeadLetter, build_dead_letter, is_erased, read_letter_names
from guardian.core.model import Event, Status
from guardian.core.needs import Key
from guardian.core.node import TRUNCATED_ROOT
from guardian.core.point import PointKind
from guardian.errors import RecordError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence, Store
from guardian.read.erased import fetch_erased
from guardian.replay.account import ReplaySummary
from guardian.replay.checkpoint import Checkpoint, Saved
from guardian.replay.decoding import Batch, Refusal, Result, Terms, iter_batches, iter_decoded, read_event_bytes
from guardian.replay.selection import LeftOut, Selection
from guardian.sources.port import Broken, Item, Skipped, Source, SourceEvent, SourceOptions

# Name that stands for a topic in the dead letters of a replay, with the item's number as offset.
FILE_TOPIC = "file"
# Items that are passed over, when a replay goes on, between two looks at progress and interrupts.
_PASSED_ITEMS = 10_000

Advance = Callable[[int, int], None]  # (items done, rows done)
Forward = Callable[[Sequence[tuple[bytes, str]]], Awaitable[None]]  # (event bytes, space) to the canonical topic


class LetterSink(Protocol):
    """Where refused items go: a file, or nowhere."""

    def append(self, letters: Sequence[DeadLetter]) -> None:
        """Take letters; the same letter twice is one."""
        ...

    def erase(self, erased: Mapping[Key, datetime]) -> int:
        """Drop the letters that erasures cover; gives their number."""
        ...


@dataclass(slots=True)
class _Decoded:
    """A batch, sorted by what became of its items."""

    events: list[Event] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    raws: list[tuple[bytes, str]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Replay:
    """One replay of files. With neither `pipeline` nor `forward` it is a dry run: everything is read and judged, nothing kept.

    Attributes:
        source: Format of the files.
        paths: Files, in the order given.
        options: What the caller knows and the files do not say.
        decode_policy: What is refused.
        received_at: The present: times later than this (and some tolerance) are refused.
        pipeline: Where events go, or None when they are forwarded.
        forward: Sends raw events to the canonical topic instead.
        dead_letters: Where refused items go.
        checkpoint: None to start from the first item and keep nothing.
        batch_events: Items of one batch.
        selection: Which events are replayed.
        jobs: Processes that decode; 1 for this one alone.
    """

    source: Source
    paths: Sequence[Path]
    options: SourceOptions
    decode_policy: DecodePolicy
    received_at: datetime
    dead_letters: LetterSink
    pipeline: Pipeline | None = None
    forward: Forward | None = None
    checkpoint: Checkpoint | None = None
    batch_events: int = 500
    selection: Selection = field(default_factory=Selection)
    jobs: int = 1

    async def run(self, advance: Advance | None = None) -> ReplaySummary:
        """Replay everything, batch by batch.

        Args:
            advance: Called after each durable batch, and now and then while items are passed over that are done.

        Raises:
            RecordError: A file as a whole cannot be read.
            DependencyError: Store, model or broker is away; go on later.
            InvariantError: The figures do not add up: a bug.
        """
        saved = await self._find_start()
        summary, doing = saved.done, saved.doing
        summary.resumed_at = summary.items
        if doing is not None:
            doing.resumed_at = summary.items
        terms = Terms(policy=self.decode_policy, received_at=self.received_at, selection=self.selection)
        items = self.source.iter_items(self.paths, self.options)
        await self._pass_over(items, summary, advance)
        batches = iter_batches(items, self.batch_events, _size_of(saved))
        async with aclosing(iter_decoded(batches, terms, jobs=self.jobs)) as decoded:
            async for batch in decoded:
                summary = await self._process(batch, summary, doing)
                doing = None
                if self.checkpoint is not None:
                    self.checkpoint.write(summary)
                if advance is not None:
                    advance(summary.items, summary.rows)
        summary.reconcile()
        if self.checkpoint is not None:
            self.checkpoint.clear()
        if self.pipeline is not None:
            summary.families, summary.superseded = await count_standing(self.pipeline.store)
        return summary

    async def _find_start(self) -> Saved:
        """Give what is done; nothing is when the store that held it is not there any more."""
        saved = Saved() if self.checkpoint is None else self.checkpoint.read()
        if saved.done.items and self.pipeline is not None and not await self.pipeline.store.count():
            return Saved()
        return saved

    async def _pass_over(self, items: Iterator[Item], summary: ReplaySummary, advance: Advance | None) -> None:
        """Read the items that are done, and no more than that: a series has to be seen from its beginning."""
        for number, _ in enumerate(itertools.islice(items, summary.resumed_at), start=1):
            if number % _PASSED_ITEMS == 0:
                await asyncio.sleep(0)  # an interrupt comes in here
                if advance is not None:
                    advance(number, summary.rows)

    async def _process(self, batch: Batch, before: ReplaySummary, doing: ReplaySummary | None) -> ReplaySummary:
        """Make a batch durable and give the account with it."""
        summary = before.copy()
        parts = self._sort(batch, summary)
        letters = parts.letters
        if self.forward is not None:
            await self.forward(parts.raws)
        elif self.pipeline is not None:
            report = await self._apply(self.pipeline, parts.events, before, summary)
            if doing is not None and (doing.items, doing.events) == (summary.items, summary.events):
                summary = doing  # what its events are now, they are for having been applied already
            else:
                summary.add(report)
            kept = await drop_erased(letters, self.pipeline.store)
            summary.letters_erased += len(letters) - len(kept) + self.dead_letters.erase(report.erased)
            letters = kept
        else:
            await asyncio.sleep(0)  # a dry run waits for nothing else, and an interrupt comes in here
        self.dead_letters.append(letters)
        return summary

    async def _apply(
        self, pipeline: Pipeline, events: Sequence[Event], before: ReplaySummary, counted: ReplaySummary
    ) -> BatchReport:
        def enter(foreseen: BatchReport) -> None:
            if self.checkpoint is not None:
                doing = counted.copy()
                doing.add(foreseen)
                self.checkpoint.write(before, doing)

        return await pipeline.process(events, fence=Fence(), before_apply=enter)

    def _sort(self, batch: Batch, summary: ReplaySummary) -> _Decoded:
        """Count every item of a batch and give what becomes of it."""
        parts = _Decoded()
        for item, result in batch:
            number = summary.items
            summary.items += 1
            summary.rows += item.rows
            if isinstance(item, Skipped):
                summary.skipped[item.reason] += item.rows
            elif isinstance(item, Broken):
                error = RecordError(item.reason, item.message, path=item.position)
                parts.letters.append(self._refuse(item, item.raw, error, number, summary))
            elif (letter := self._sort_event(item, result, parts, summary)) is not None:
                parts.letters.append(self._refuse(item, read_event_bytes(item), letter, number, summary))
        return parts

    def _sort_event(
        self, item: SourceEvent, result: Result | None, parts: _Decoded, summary: ReplaySummary
    ) -> RecordError | None:
        assert result is not None, "an event has been decoded"
        if isinstance(result, LeftOut):
            summary.skipped[result.value] += item.rows
            return None
        if isinstance(result, Refusal):
            return RecordError(result.reason, f"{item.position}: {result.message}", path=result.path)
        summary.events += 1
        summary.event_rows += item.rows
        summary.naive_times += result.naive_times
        parts.events.append(result.event)
        if self.forward is not None:
            parts.raws.append((read_event_bytes(item), result.event.space))
        return None

    def _refuse(self, item: Item, raw: bytes, error: RecordError, number: int, summary: ReplaySummary) -> DeadLetter:
        summary.dead_letters[error.reason] += 1
        summary.letter_rows += item.rows
        # The epoch stands for "no time of its own": the same item is the same letter at every import.
        topic = f"{FILE_TOPIC}:{self.source.name}"
        return build_dead_letter(error, raw, topic=topic, partition=0, offset=number, timestamp=datetime.fromtimestamp(0, UTC))


def _size_of(saved: Saved) -> int | None:
    """Give the size of the batch that was being applied: its figures hold for it alone."""
    return None if saved.doing is None else saved.doing.items - saved.done.items


async def drop_erased(letters: Sequence[DeadLetter], store: Store) -> list[DeadLetter]:
    """Give the letters but those of memories that are erased in the store: no text of these may come to lie in a file again."""
    names = [read_letter_names(letter) for letter in letters]
    memories = {name.memory for name in names if name.memory is not None}
    erased = await fetch_erased(store, memories) if memories else {}
    return [letter for letter, name in zip(letters, names, strict=True) if not is_erased(name, erased)]


async def count_standing(store: Store) -> tuple[int, int]:
    """Count the families and the superseded records of a store; roots that were cut are not counted."""
    families = 0
    records = frozenset({PointKind.RECORD})
    for space in await store.count_values("space", kinds=records):
        roots = await store.count_values("roots", space=space, kinds=records)
        families += len(roots.keys() - {TRUNCATED_ROOT})
    superseded = await store.count(kinds=records, where={"status": Status.SUPERSEDED.value})
    return families, superseded
