"""The benchmarks run, and what they print and keep is what they measured. Nothing here looks at how fast anything is."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.bank import MIX, Bank, build_correction, build_retraction, build_write, decode_events, iter_events, write_lines
from benchmarks.correct import beating, built_family, measure_correct
from benchmarks.decide import measure_decide
from benchmarks.histories import HISTORIES
from benchmarks.laps import Lap, interleave, ratios
from benchmarks.limit import guard_points, measure_limit
from benchmarks.memory import read_resident, watch_raw, watch_replay
from benchmarks.read import measure_read
from benchmarks.replay import measure_replay
from benchmarks.report import Aim, Report, format_number
from benchmarks.sources import measure_sources, read_history
from guardian.core.model import Read, Written
from guardian.core.point import PointKind

# Every store takes 67 MB at once; a small shared memory, as containers have, would be full.
_ENOUGH_BYTES = 8_000_000_000


@pytest.fixture(autouse=True)
def scratch_in_memory(monkeypatch, tmp_path_factory):
    """Put scratch stores into memory where there is plenty: what is measured here is of no interest, and disks are slow."""
    tmp_path_factory.getbasetemp()  # where it is by default
    shared = Path("/dev/shm")
    if shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > _ENOUGH_BYTES:
        monkeypatch.setattr(tempfile, "tempdir", str(shared))


def ignore(_: str) -> None:
    """Take no notice of progress."""


def figure(report: Report, what: str) -> float:
    """Give the median of one figure."""
    return next(item.middle for item in report.figures if item.what == what)


class TestBank:
    """The generated events."""

    def test_the_same_seed_gives_the_same_events(self):
        """Two runs measure the same thing."""
        assert list(iter_events(200)) == list(iter_events(200))
        assert list(iter_events(200)) != list(Bank(seed=2).iter_events(200))

    def test_every_event_decodes(self):
        """The codec accepts all of it, also what corrects and retracts."""
        correction = build_correction("a", 2, space="s")
        events = [build_write("a", 1, space="s"), correction, build_retraction(correction, 3)]
        assert len(decode_events([*iter_events(300, vector_size=4), *events])) == 303

    def test_shares_are_those_of_the_mix(self):
        """About 70 % leaves, 20 % roots and 10 % reads once the banks have something to derive from."""
        bank = Bank()
        list(bank.iter_events(500))
        events = decode_events(bank.iter_events(4_000))
        leaves = sum(isinstance(event, Written) and bool(event.parents) for event in events) / len(events)
        reads = sum(isinstance(event, Read) for event in events) / len(events)
        assert leaves == pytest.approx(MIX.leaves, abs=0.03)
        assert reads == pytest.approx(MIX.reads, abs=0.02)

    def test_parents_were_written_before_in_the_same_space(self):
        """Lineage is real: every parent is there."""
        seen: set[tuple[str, str]] = set()
        for event in decode_events(iter_events(500)):
            if isinstance(event, Written):
                assert all((event.space, parent) in seen for parent in event.parents or ())
                seen.add((event.space, event.memory_id))


class TestReport:
    """What is printed and kept."""

    def test_the_median_is_quoted_beside_its_aim(self):
        """A table row has what, median, unit, range and whether the aim was met."""
        report = Report(name="n", title="t")
        report.add("speed", [1_000.0, 3_000.0, 2_000.0], "events/s", aim=Aim(value=2_500))
        report.add("time", 2.0, "s", aim=Aim(value=2.5, is_ceiling=True))
        assert report.figures[0].cells() == ("speed", "2,000", "events/s", "1,000 to 3,000", "≥ 2,500, missed")
        assert report.figures[1].cells() == ("time", "2", "s", "", "≤ 2.50, met")
        assert "| speed | 2,000 | events/s | 1,000 to 3,000 | ≥ 2,500, missed |" in report.markdown()
        assert report.as_json()["figures"][1]["is_met"] is True

    @pytest.mark.parametrize(
        ("value", "text"), [(1234.6, "1,235"), (12.34, "12.3"), (1.234, "1.23"), (0.7, "0.70"), (0.0123, "0.012"), (0, "0")]
    )
    def test_numbers_keep_what_matters(self, value, text):
        """Small ratios do not become 0.00."""
        assert format_number(value) == text


class TestLaps:
    """Measuring turn by turn."""

    async def test_every_other_turn_is_reversed(self):
        """No variant is always the one after the same other."""
        order: list[str] = []

        def note(name: str):
            async def run() -> Lap:
                order.append(name)
                return Lap(count=10, seconds=1.0 if name == "a" else 2.0)

            return run

        laps = await interleave({"a": note("a"), "b": note("b")}, repetitions=2, advance=ignore)
        assert order == ["a", "b", "b", "a"]
        assert ratios(laps["a"], laps["b"]) == [2.0, 2.0]


class TestBenchmarks:
    """Each benchmark in a size that takes a moment."""

    async def test_decide(self):
        """It measures each mix."""
        report = await measure_decide(seeded=100, batches=1, repetitions=1, advance=ignore)
        assert figure(report, "leaves alone, by wall time") > 0
        assert figure(report, "70 % leaves, 20 % roots, 10 % reads, points fetched") > 0

    async def test_limit(self):
        """It writes the points that Guardian wrote, with and without vectors."""
        report = await measure_limit(events=40, repetitions=1, advance=ignore)
        assert figure(report, "BM25 only, flush a batch") > 0
        assert figure(report, "384-d vectors and BM25, flush a batch, ready-made points") > 0

    async def test_the_points_of_the_limit_are_whole(self):
        """Records have text, card and both vectors; there is a point an event."""
        points = await guard_points(60, vector_size=8)
        records = [point for point in points if point.payload["point"] == PointKind.RECORD]
        assert len(points) == 60
        assert records
        for point in records:
            assert point.dense is not None
            assert len(point.dense) == 8
            assert point.sparse is not None
            assert point.sparse[0]
            assert {"text", "card", "rest"} <= point.payload.keys()

    async def test_replay(self):
        """It measures replay beside the limit and says where the time goes."""
        report = await measure_replay(events=60, model_events=0, repetitions=1, advance=ignore)
        for what in ("BM25 only", "vectors given (384-d)"):
            assert figure(report, f"{what}, replay to limit") > 0
            assert figure(report, f"{what}, apply") > 0

    async def test_correct(self):
        """A whole chain and whole families fall, and come back."""
        report = await measure_correct(chain=30, families=(20, 40), advance=ignore)
        assert figure(report, "chain of 30, records felled") == 31
        # The recaps written before fall with the family.
        assert figure(report, "family of 40, records felled") == 61
        assert figure(report, "processor time a record, family of 40 to 20") > 0

    async def test_read(self):
        """Both ways of asking are measured on the same store, and most of what was asked for is given."""
        report = await measure_read(sizes=(300,), questions=6, advance=ignore)
        for what in ("question of fact", "personal question"):
            assert figure(report, f"300 records, {what}, calibrated to plain, p50") > 0
            assert 1 <= figure(report, f"300 records, {what}, searches") <= 3
            assert 0 < figure(report, f"300 records, {what}, records given") <= 10

    async def test_a_chain_is_a_chain(self):
        """Each record derives from the one before."""
        async with built_family(12, is_chain=True, advance=ignore) as family:
            depths = [point.payload["depth"] async for point in family.store.iter_points()]
        assert sorted(depths) == list(range(13))

    async def test_the_beat_shows_a_loop_that_was_held_up(self):
        """A blocked loop is one long gap."""
        async with beating() as gaps:
            await asyncio.sleep(0.06)
            time.sleep(0.2)  # noqa: ASYNC251 # the held-up loop
        assert max(gaps) >= 0.2

    def test_memory(self, tmp_path):
        """Both processes' work gives a look at every mark; here in this process."""
        events, points = tmp_path / "events.jsonl", tmp_path / "points.jsonl"
        write_lines(events, iter_events(60))
        assert len(watch_replay(events, points, (30, 60))) == 3
        assert len(points.read_bytes().splitlines()) == 60
        assert len(watch_raw(points, (30, 60))) == 3
        assert read_resident().anonymous_mb > 1


class TestSources:
    """Long histories."""

    @pytest.mark.parametrize("name", HISTORIES)
    def test_a_history_has_its_size_and_every_row_is_read(self, tmp_path, name):
        """The files are at least as large as asked for, the same each time, and every row is an event or explained."""
        folders = [tmp_path / "one", tmp_path / "two"]
        for folder in folders:
            folder.mkdir()
        paths, again = (HISTORIES[name](folder, 2_000_000) for folder in folders)
        assert sum(path.stat().st_size for path in paths) >= 2_000_000
        assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
        reading = read_history(name, paths)
        assert min(reading.rows, reading.events) > 500
        assert reading.lap.count == reading.rows

    async def test_the_report_has_rates_and_memory(self):
        """Each format has its rate beside the aim, and one process is compared with two."""
        report = await measure_sources(size_mb=1, advance=ignore)
        for name in HISTORIES:
            assert figure(report, f"{name}, processor time") > 0
            assert figure(report, f"{name}, peak memory") > 0
        assert figure(report, "cloudevents, --jobs 2 to --jobs 1, wall time") > 0


class TestCommand:
    """`python -m benchmarks`."""

    def test_figures_are_kept_as_json(self, tmp_path, monkeypatch, capsys):
        """What ran is printed and kept, with the machine."""
        sizes = {"seeded": 20, "batches": 1, "repetitions": 1}
        monkeypatch.setitem(command.BENCHMARKS, "decide", command._sized(measure_decide, full=sizes, quick=sizes))
        target = tmp_path / "results.json"
        assert command.main(["--quick", "--only", "decide", "--json", str(target)]) == 0
        kept = json.loads(target.read_bytes())
        assert [report["name"] for report in kept["reports"]] == ["decide"]
        assert kept["machine"]["is_quick"] is True
        assert "leaves alone, by wall time" in capsys.readouterr().out

    def test_an_unknown_name_is_refused(self, capsys):
        """The message lists the names."""
        with pytest.raises(SystemExit):
            command.main(["--only", "nothing"])
        assert "'memory'" in capsys.readouterr().err
