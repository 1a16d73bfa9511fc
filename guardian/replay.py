"""Replay: the logs and exports that agents kept, through the same pipeline as the stream, or onto the canonical topic.

An interrupted replay goes on where it was: after every durable batch the number of items done is kept in a checkpoint beside
the state. Doing items twice changes nothing, so the checkpoint saves time and no more.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode
from guardian.contracts.outcome import DeadLetter, build_dead_letter, is_erased, read_letter_names
from guardian.core.model import Event, Status
from guardian.core.node import TRUNCATED_ROOT
from guardian.core.point import PointKind
from guardian.dead_letter_file import DeadLetterFile
from guardian.errors import RecordError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence, Store
from guardian.read.erased import fetch_erased
from guardian.sources.port import Broken, Item, Skipped, Source, SourceEvent, SourceOptions

# Name that stands for a topic in the dead letters of a replay, with the item's number as offset.
FILE_TOPIC = "file"


@dataclass(slots=True)
class ReplaySummary:
    """What a replay did.

    Attributes:
        rows: Input rows, which are events, skipped or dead letters.
        skipped, dead_letters: Rows by reason.
        families, superseded: Of the whole store afterwards; None when the events went to a topic.
        naive_times: Times without an offset, read as UTC.
        letters_erased: Dead letters of erased memories: dropped from the file, or never written though counted.
    """

    items: int = 0
    rows: int = 0
    events: int = 0
    families: int | None = None
    superseded: int | None = None
    resumed_at: int = 0
    records: int = 0
    felled: int = 0
    born_superseded: int = 0
    inferred: int = 0
    refused_claims: int = 0
    pending: int = 0
    naive_times: int = 0
    letters_erased: int = 0
    dispositions: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)

    def add(self, report: BatchReport) -> None:
        """Count one batch."""
        self.records += report.records
        self.felled += report.felled
        self.born_superseded += report.born_superseded
        self.inferred += report.inferred
        self.refused_claims += report.refused_claims
        self.pending += report.pending
        self.dispositions.update(report.dispositions)


class Checkpoint:
    """How many items of one replay are done, in a file that is replaced whole.

    Its name is a digest of the inputs (path, size, modification time), format, space and target: any change starts anew.
    """

    def __init__(self, folder: Path, inputs: Sequence[Path], *marks: str) -> None:
        parts: list[object] = [*marks]
        for path in inputs:
            parts += [str(path.resolve()), *_describe_input(path)]
        name = hashlib.sha256(orjson.dumps(parts)).hexdigest()[:24]
        self.path = folder / "replays" / f"{name}.json"

    def read(self) -> int:
        """Give the number of items done; 0 when there is no readable checkpoint, or what it holds is no such number."""
        try:
            items = orjson.loads(self.path.read_bytes())["items"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return items if type(items) is int and 0 <= items <= sys.maxsize else 0

    def write(self, items: int) -> None:
        """Keep the number of items done."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_bytes(orjson.dumps({"items": items}))
        os.replace(fresh, self.path)  # noqa: PTH105 # atomic on one file system

    def clear(self) -> None:
        """Forget a replay that is finished."""
        self.path.unlink(missing_ok=True)


def _describe_input(path: Path) -> list[object]:
    """Give what changes when an input changes: size and time of a file, or of every file below a folder (a repository's too)."""
    if not path.is_dir():
        stat = path.stat()
        return [stat.st_size, stat.st_mtime_ns]
    parts: list[object] = []
    for folder, folders, names in os.walk(path, followlinks=False):
        folders.sort()
        for name in sorted(names):
            stat = Path(folder, name).lstat()
            parts += [name, stat.st_size, stat.st_mtime_ns]
    return parts


Advance = Callable[[int, int], None]  # (items done, rows done)
Forward = Callable[[Sequence[tuple[bytes, str]]], Awaitable[None]]  # (event bytes, space) to the canonical topic


@dataclass(slots=True, kw_only=True)
class Replay:
    """One replay of files.

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
    """

    source: Source
    paths: Sequence[Path]
    options: SourceOptions
    decode_policy: DecodePolicy
    received_at: datetime
    dead_letters: DeadLetterFile
    pipeline: Pipeline | None = None
    forward: Forward | None = None
    checkpoint: Checkpoint | None = None
    batch_events: int = 500

    async def run(self, advance: Advance | None = None) -> ReplaySummary:
        """Replay everything, batch by batch.

        Args:
            advance: Called after each durable batch.

        Raises:
            RecordError: A file as a whole cannot be read.
            DependencyError: Store, model or broker is away; go on later.
        """
        summary = ReplaySummary()
        items = self.source.iter_items(self.paths, self.options)
        if self.checkpoint is not None:
            summary.resumed_at = await self._find_start(self.checkpoint)
        for number, item in enumerate(itertools.islice(items, summary.resumed_at)):
            self._count(item, number, summary)
        number = summary.resumed_at
        while batch := list(itertools.islice(items, self.batch_events)):
            await self._process(batch, number, summary)
            number += len(batch)
            if self.checkpoint is not None:
                self.checkpoint.write(number)
            if advance is not None:
                advance(number, summary.rows)
        if self.checkpoint is not None:
            self.checkpoint.clear()
        if self.pipeline is not None:
            summary.families, summary.superseded = await count_standing(self.pipeline.store)
        return summary

    async def _find_start(self, checkpoint: Checkpoint) -> int:
        """Give the number of items done; none are when the store that held them is not there any more."""
        done = checkpoint.read()
        if done and self.pipeline is not None and not await self.pipeline.store.count():
            return 0
        return done

    def _count(self, item: Item, number: int, summary: ReplaySummary) -> Event | DeadLetter | None:
        """Count an item and give its event, or its dead letter, or None when it was skipped."""
        summary.items += 1
        summary.rows += item.rows
        if isinstance(item, Skipped):
            summary.skipped[item.reason] += item.rows
            return None
        if isinstance(item, Broken):
            summary.dead_letters[item.reason] += 1
            return self._bury(RecordError(item.reason, item.message, path=item.position), item.raw, number)
        raw = read_event_bytes(item)
        try:
            decoded = decode(raw, policy=self.decode_policy, received_at=self.received_at)
        except RecordError as error:
            summary.dead_letters[error.reason] += 1
            named = RecordError(error.reason, f"{item.position}: {error}", path=error.path)
            return self._bury(named, raw, number)
        summary.events += 1
        summary.naive_times += decoded.naive_times
        return decoded.event

    def _bury(self, error: RecordError, raw: bytes | None, number: int) -> DeadLetter:
        # The epoch stands for "no time of its own": the same item is the same letter at every import.
        topic = f"{FILE_TOPIC}:{self.source.name}"
        return build_dead_letter(error, raw, topic=topic, partition=0, offset=number, timestamp=datetime.fromtimestamp(0, UTC))

    async def _process(self, batch: Sequence[Item], number: int, summary: ReplaySummary) -> None:
        events: list[Event] = []
        letters: list[DeadLetter] = []
        raws: list[tuple[bytes, str]] = []
        for position, item in enumerate(batch, start=number):
            result = self._count(item, position, summary)
            if isinstance(result, DeadLetter):
                letters.append(result)
            elif result is not None:
                events.append(result)
                if self.forward is not None:
                    assert isinstance(item, SourceEvent)
                    raws.append((read_event_bytes(item), result.space))
        if self.forward is not None:
            await self.forward(raws)
        elif self.pipeline is not None:
            report = await self.pipeline.process(events, fence=Fence())
            summary.add(report)
            kept = await drop_erased(letters, self.pipeline.store)
            summary.letters_erased += len(letters) - len(kept) + self.dead_letters.erase(report.erased)
            letters = kept
        self.dead_letters.append(letters)


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


def read_event_bytes(item: SourceEvent) -> bytes:
    """Give the JSON of an item's event."""
    return item.raw if item.raw is not None else orjson.dumps(item.event)
