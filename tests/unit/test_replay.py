"""Replays: what is done is not done again, figures add up, and neither interrupts nor processes change what comes out."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import Decoded
from guardian.core.model import Event
from guardian.dead_letter_file import DeadLetterFile
from guardian.errors import DependencyError, InvariantError
from guardian.pipeline import BatchReport, Pipeline
from guardian.ports import Fence
from guardian.replay import Checkpoint, Rehearsal, Replay, ReplaySummary, Saved, Selection, Terms
from guardian.replay.decoding import decode_rows, iter_batches, iter_decoded
from guardian.replay.selection import LeftOut
from guardian.sources.formats.mcp_memory import McpMemorySource
from guardian.sources.formats.native import NativeSource
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from tests.builders import RECEIVED_AT, envelope, written_data
from tests.property.bank import Bank

SINCE = datetime(2026, 3, 1, 0, 5, tzinfo=UTC)
UNTIL = datetime(2026, 3, 1, 0, 10, tzinfo=UTC)
TERMS = Terms(policy=DecodePolicy(), received_at=RECEIVED_AT)


class KilledError(Exception):
    """Stands for a process that is killed."""


class KilledPipeline(Pipeline):
    """A pipeline whose process dies in a batch: just before it is applied, or just behind."""

    number: int | None = None
    when: str = ""

    async def process(
        self, events: Sequence[Event], *, fence: Fence, before_apply: Callable[[BatchReport], None] | None = None
    ) -> BatchReport:
        """Take a batch through, or die in it."""
        is_last = self.number == 0
        self.number = None if self.number is None else self.number - 1

        def enter(foreseen: BatchReport) -> None:
            if before_apply is not None:
                before_apply(foreseen)
            if is_last and self.when == "before":
                raise KilledError

        report = await super().process(events, fence=fence, before_apply=enter)
        if is_last:
            raise KilledError
        return report


class KilledBank(Bank):
    """A bank that dies in the batch of a number, once."""

    def __init__(self, number: int, *, when: str) -> None:
        super().__init__()
        self.pipeline = KilledPipeline(store=self.store, policy_of=self.pipeline.policy_of, publisher=self.pipeline.publisher)
        self.pipeline.number, self.pipeline.when = number, when


def native(folder: Path) -> tuple[NativeSource, list[Path]]:
    """Write a history of events: derived, corrected, read, repeated, and some that are refused."""
    wires: list[Any] = []
    for number in range(60):
        parents = [f"m{number - 1}"] if number % 5 else []
        wires.append(
            envelope("memory.written", written_data(f"m{number}", f"shelf {number} holds boxes", parents=parents), t=number)
        )
        if number % 9 == 4:
            wires.append(envelope("memory.written", {"memory_id": "bad", "text": "  "}, t=number))
        if number % 11 == 7:
            data = {"targets": [f"m{number - 3}"], "authority": {"kind": "human_review"}, "reason": "counted again"}
            wires.append(envelope("memory.corrected", data, t=number))
    path = folder / "events.jsonl"
    path.write_bytes(b"".join(orjson.dumps(wire) + b"\n" for wire in [*wires, *wires[:7]]) + b"no json\n")
    return NativeSource(), [path]


def series(folder: Path) -> tuple[McpMemorySource, list[Path]]:
    """Write versions of a knowledge graph, whose events come by difference."""
    paths = []
    for version in range(12):
        path = folder / f"v_202601{version + 1:02}T000000Z.jsonl"
        entities = [
            {"type": "entity", "name": f"host-{n}", "entityType": "server", "observations": [f"runs job {n * version // 3}"]}
            for n in range(version % 4, 8)
        ]
        path.write_bytes(b"".join(orjson.dumps(entity) + b"\n" for entity in entities) + (b"{torn\n" if version == 5 else b""))
        paths.append(path)
    return McpMemorySource(), paths


HISTORIES = {"stateless": native, "differ": series}


def build(folder: Path, bank: Bank | None, history: tuple[Any, list[Path]], *, batch_events: int = 10, **options: Any) -> Replay:
    """Build a replay whose state lies in a folder."""
    source, paths = history
    return Replay(
        source=source,
        paths=paths,
        options=SourceOptions(space="s"),
        decode_policy=DecodePolicy(),
        received_at=RECEIVED_AT,
        dead_letters=DeadLetterFile(folder / "dead-letters.jsonl"),
        pipeline=None if bank is None else bank.pipeline,
        checkpoint=None if bank is None else Checkpoint(folder, paths, "test"),
        batch_events=batch_events,
        **options,
    )


@pytest.fixture(params=HISTORIES)
def history(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, list[Path]]:
    """Give a source and its files, for a format that looks at rows alone and for one that compares versions."""
    folder = tmp_path / "history"
    folder.mkdir()
    return HISTORIES[request.param](folder)


class TestCheckpoint:
    """What an interrupted replay leaves."""

    def test_gives_back_what_was_written(self, tmp_path: Path) -> None:
        """All figures survive the process, until the replay is finished."""
        done = ReplaySummary(
            items=7, rows=7, events=6, event_rows=6, dispositions=Counter({"applied": 6}), skipped=Counter(unchanged=1)
        )
        doing = replace(done, items=9)
        Checkpoint(tmp_path, [], "x").write(done, doing)
        checkpoint = Checkpoint(tmp_path, [], "x")
        assert checkpoint.read() == Saved(done=done, doing=doing)
        checkpoint.write(done)
        assert checkpoint.read() == Saved(done=done)
        checkpoint.clear()
        assert checkpoint.read() == Saved()

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"7",
            b"[]",
            b"{}",
            b'{"items":7}',
            b'{"form":2}',
            b'{"form":2,"digest":"0","saved":{"done":{"items":7},"doing":null}}',
        ],
    )
    def test_of_no_known_form_begins_anew(self, tmp_path: Path, content: bytes) -> None:
        """A file of an older version, or what is none, is no checkpoint; a replay never fails for it."""
        checkpoint = Checkpoint(tmp_path, [], "x")
        checkpoint.write(ReplaySummary(items=7))
        checkpoint.path.write_bytes(content)
        assert checkpoint.read() == Saved()

    def test_that_was_edited_or_belongs_to_another_replay_begins_anew(self, tmp_path: Path) -> None:
        """Figures are believed only whole, and only by the replay that wrote them."""
        mine, other = Checkpoint(tmp_path, [], "x"), Checkpoint(tmp_path, [], "y")
        mine.write(ReplaySummary(items=7))
        content = mine.path.read_bytes()
        other.path.write_bytes(content)
        mine.path.write_bytes(content.replace(b'"items":7', b'"items":8'))
        assert (mine.read(), other.read()) == (Saved(), Saved())


class TestResume:
    """An interrupted replay that goes on."""

    @pytest.mark.parametrize("when", ["before", "behind"])
    @pytest.mark.parametrize("number", [0, 1, 4])
    async def test_ends_as_an_uninterrupted_one(
        self, tmp_path: Path, history: tuple[Any, list[Path]], number: int, when: str
    ) -> None:
        """The same state and the same figures, wherever it was cut: nothing counts as repeated that was done twice."""
        whole, cut = Bank(), KilledBank(number, when=when)
        expected = await build(tmp_path / "whole", whole, history).run()
        with pytest.raises(KilledError):
            await build(tmp_path / "cut", cut, history).run()
        found = await build(tmp_path / "cut", cut, history).run()
        assert found.resumed_at == number * 10
        assert replace(found, resumed_at=0) == expected
        assert expected.dispositions["applied"] > 0
        assert expected.dead_letters
        assert await cut.rows() == await whole.rows()
        letters = [(tmp_path / name / "dead-letters.jsonl").read_bytes() for name in ("whole", "cut")]
        assert letters[0] == letters[1]

    async def test_with_batches_of_another_size_finishes_the_one_it_was_in(
        self, tmp_path: Path, history: tuple[Any, list[Path]]
    ) -> None:
        """The figures that were entered for a batch hold for that batch, whatever is set now."""
        expected = await build(tmp_path / "whole", Bank(), history).run()
        cut = KilledBank(2, when="behind")
        with pytest.raises(KilledError):
            await build(tmp_path / "cut", cut, history).run()
        found = await build(tmp_path / "cut", cut, history, batch_events=3).run()
        assert replace(found, resumed_at=0) == expected

    async def test_decodes_nothing_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Items that are done are read, for a series must be seen whole, and no more."""
        history = native(tmp_path)
        cut = KilledBank(4, when="before")
        with pytest.raises(KilledError):
            await build(tmp_path, cut, history).run()
        decoded: list[bytes] = []

        def counting(rows: Sequence[bytes], terms: Terms) -> list[Any]:
            decoded.extend(rows)
            return decode_rows(rows, terms)

        monkeypatch.setattr("guardian.replay.decoding.decode_rows", counting)
        summary = await build(tmp_path, cut, history).run()
        assert len(decoded) == summary.items - 40 - 1  # the last row is no event


class TestSelection:
    """A window of time, and some memory banks."""

    @pytest.mark.parametrize(
        ("minutes", "expected"), [(4, LeftOut.WINDOW), (5, None), (9, None), (10, LeftOut.WINDOW), (9.99, None)]
    )
    def test_begins_with_since_and_ends_before_until(self, minutes: float, expected: LeftOut | None) -> None:
        """The first moment belongs to the window, the last one does not."""
        wire = envelope("memory.written", written_data("a", "one"), t=minutes)
        (result,) = decode_rows([orjson.dumps(wire)], replace(TERMS, selection=Selection(since=SINCE, until=UNTIL)))
        assert (result if expected else isinstance(result, Decoded)) == (expected or True)

    def test_leaves_out_before_it_judges(self) -> None:
        """A fault in a bank that nobody asked for is no dead letter; one in a chosen bank is."""
        wires = [envelope("memory.written", {"memory_id": "a", "text": ""}, space=space) for space in ("mine", "theirs")]
        terms = replace(TERMS, selection=Selection(spaces=frozenset({"mine"})))
        refused, left_out = decode_rows([orjson.dumps(wire) for wire in wires], terms)
        assert getattr(refused, "reason", None) == "text_blank"
        assert left_out is LeftOut.SPACE

    @pytest.mark.parametrize("time", ["2026-03-01T00:04:00", "2026-03-01T09:04:00+09:00", "2026-03-01T00:04:00.5Z"])
    def test_reads_times_as_the_decoder_does(self, time: str) -> None:
        """Without an offset it is UTC; an offset is heeded."""
        wire = envelope("memory.written", written_data("a", "one")) | {"time": time}
        for until, expected in ((SINCE, None), (datetime(2026, 3, 1, 0, 4, tzinfo=UTC), LeftOut.WINDOW)):
            (result,) = decode_rows([orjson.dumps(wire)], replace(TERMS, selection=Selection(until=until)))
            assert (None if isinstance(result, Decoded) else result) == expected

    async def test_counts_what_it_leaves_out(self, tmp_path: Path) -> None:
        """Every row outside is skipped by its reason, and the rest is as if it were alone."""
        bank, history = Bank(), native(tmp_path)
        summary = await build(tmp_path, bank, history, selection=Selection(since=SINCE, until=UNTIL)).run()
        assert {row["memory_id"] for row in await bank.rows()} >= {f"m{n}" for n in range(5, 10)}
        assert summary.skipped["outside_window"] == summary.rows - summary.event_rows - summary.letter_rows > 0


class TestDryRun:
    """A replay into nowhere."""

    async def test_judges_all_and_writes_nothing(self, tmp_path: Path, history: tuple[Any, list[Path]]) -> None:
        """It counts what a replay counts, gives examples with their places, and leaves no file."""
        expected = await build(tmp_path / "real", Bank(), history).run()
        rehearsal = Rehearsal()
        found = await replace(build(tmp_path / "dry", None, history), dead_letters=rehearsal).run()
        for name in ("rows", "events", "event_rows", "letter_rows", "skipped", "dead_letters"):
            assert getattr(found, name) == getattr(expected, name)
        assert not (tmp_path / "dry").exists()
        assert rehearsal.examples.keys() == found.dead_letters.keys()
        assert all(0 < len(messages) <= 3 for messages in rehearsal.examples.values())


class TestJobs:
    """Decoding in processes beside this one."""

    async def test_change_nothing(self, tmp_path: Path, history: tuple[Any, list[Path]]) -> None:
        """State, figures and dead letters are the same, byte for byte, also when it was cut."""
        alone, beside = Bank(), KilledBank(2, when="before")
        expected = await build(tmp_path / "alone", alone, history).run()
        with pytest.raises(KilledError):
            await build(tmp_path / "beside", beside, history, jobs=2).run()
        found = await build(tmp_path / "beside", beside, history, jobs=2).run()
        assert replace(found, resumed_at=0) == expected
        assert await beside.rows() == await alone.rows()
        letters = [(tmp_path / name / "dead-letters.jsonl").read_bytes() for name in ("alone", "beside")]
        assert letters[0] == letters[1]

    async def test_read_ahead_no_further_than_they_are_busy(self) -> None:
        """Memory is bounded by the batches under way, however long the input is."""
        read = 0

        def iter_items() -> Iterator[Item]:
            nonlocal read
            for number in range(1_000):
                read += 1
                yield Skipped(position=str(number), reason="unchanged", detail="")

        taken = 0
        async for batch in iter_decoded(iter_batches(iter_items(), 10), TERMS, jobs=2):
            taken += len(batch)
            assert read - taken <= 4 * 10
        assert taken == 1_000

    async def test_that_die_end_the_replay_with_a_mend(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that the system killed is something to go on from, not a bug."""
        monkeypatch.setattr("guardian.replay.decoding.decode_rows", die)
        items = [SourceEvent(position="1", raw=b"{}")]
        with pytest.raises(DependencyError, match="fewer --jobs"):
            async for _ in iter_decoded(iter_batches(items, 1), TERMS, jobs=2):
                pass

    async def test_an_interrupt_ends_them(self) -> None:
        """After a cancelled replay no process is left."""
        is_reading = asyncio.Event()

        async def read_on() -> None:
            endless = iter(lambda: SourceEvent(position="1", raw=b"{}"), None)
            async for _ in iter_decoded(iter_batches(endless, 10), TERMS, jobs=2):
                is_reading.set()

        task = asyncio.create_task(read_on())
        await is_reading.wait()
        assert multiprocessing.active_children()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not multiprocessing.active_children()


def die(rows: Sequence[bytes], terms: Terms) -> None:
    """End the process that decodes, as the system does when memory is short."""
    os._exit(9)


class TestReconciliation:
    """The account of rows."""

    async def test_accounts_for_every_row_once(self, tmp_path: Path, history: tuple[Any, list[Path]]) -> None:
        """Rows are rows with events, rows skipped, or rows refused, and the line says how many of each."""
        source, paths = history
        items = list(source.iter_items(paths, SourceOptions(space="s")))
        summary = await build(tmp_path, Bank(), history).run()
        assert summary.rows == sum(item.rows for item in items)
        assert summary.rows == summary.event_rows + summary.skipped.total() + summary.letter_rows
        assert summary.letter_rows >= sum(item.rows for item in items if isinstance(item, Broken)) > 0
        assert summary.reconcile().startswith(f"{summary.rows} rows = {summary.event_rows} with events + ")

    @pytest.mark.parametrize(
        "summary",
        [
            ReplaySummary(rows=3, event_rows=1, letter_rows=1),
            ReplaySummary(rows=1, events=1, event_rows=1, dispositions=Counter(applied=2)),
        ],
    )
    def test_that_does_not_add_up_is_a_bug(self, summary: ReplaySummary) -> None:
        """A row that is lost, or an event that is decided twice, is never passed over."""
        with pytest.raises(InvariantError):
            summary.reconcile()
