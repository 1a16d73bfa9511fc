"""`python -m benchmarks`: run all or some benchmarks, print their tables, and keep the figures as JSON."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import platform
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console

from benchmarks.answers import measure_answers
from benchmarks.cards import measure_cards
from benchmarks.correct import measure_correct
from benchmarks.coverage import measure_coverage
from benchmarks.decide import measure_decide
from benchmarks.detection import Sizes, measure_detection
from benchmarks.laps import Advance
from benchmarks.lifecycle import measure_lifecycle
from benchmarks.limit import measure_limit
from benchmarks.memory import measure_memory
from benchmarks.memsyco import measure_memsyco
from benchmarks.read import measure_read
from benchmarks.real_grades import measure_real_grades
from benchmarks.replay import measure_replay
from benchmarks.report import Report
from benchmarks.rewording import measure_rewording
from benchmarks.sources import measure_sources
from benchmarks.stages import measure_stages
from benchmarks.text_to_sql import measure_text_to_sql
from benchmarks.worker import measure_worker
from guardian.errors import GuardianError

RESULTS = Path(__file__).parent / "results.json"
# Exit code of a process that Ctrl-C ended, as shells have it.
INTERRUPTED = 130
# Wide enough for the tables when the output is no terminal.
_WIDTH = 150

Measure = Callable[[Advance], Awaitable[Report]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark in its two sizes."""

    full: Measure
    quick: Measure


def _sized(measure: Callable[..., Awaitable[Report]], *, full: dict[str, Any], quick: dict[str, Any]) -> Benchmark:
    def bind(sizes: dict[str, Any]) -> Measure:
        return lambda advance: partial(measure, **sizes)(advance=advance)

    return Benchmark(full=bind(full), quick=bind(quick))


BENCHMARKS: dict[str, Benchmark] = {
    "decide": _sized(
        measure_decide,
        full={"seeded": 10_000, "batches": 20, "repetitions": 5},
        quick={"seeded": 2_000, "batches": 4, "repetitions": 3},
    ),
    "limit": _sized(
        measure_limit,
        full={"events": 10_000, "repetitions": 3},
        quick={"events": 2_000, "repetitions": 2},
    ),
    "replay": _sized(
        measure_replay,
        full={"events": 20_000, "model_events": 2_000, "repetitions": 3},
        quick={"events": 3_000, "model_events": 500, "repetitions": 2},
    ),
    "sources": _sized(
        measure_sources,
        full={"size_mb": 1_000},
        quick={"size_mb": 20},
    ),
    "worker": _sized(
        measure_worker,
        full={"events": 20_000, "repetitions": 3},
        quick={"events": 4_000, "repetitions": 1},
    ),
    "cards": _sized(
        measure_cards,
        full={"events": 20_000, "repetitions": 3},
        quick={"events": 4_000, "repetitions": 1},
    ),
    "correct": _sized(
        measure_correct,
        full={"chain": 10_000, "families": (1_000, 10_000, 100_000)},
        quick={"chain": 1_000, "families": (200, 1_000, 5_000)},
    ),
    "read": _sized(
        measure_read,
        full={"sizes": (1_000, 100_000), "questions": 400},
        quick={"sizes": (1_000, 10_000), "questions": 100},
    ),
    "memsyco": _sized(measure_memsyco, full={"each": None}, quick={"each": 10}),
    "lifecycle": _sized(
        measure_lifecycle,
        full={"stories": 160, "others": 30},
        quick={"stories": 3, "others": 15},
    ),
    "rewording": _sized(
        measure_rewording,
        full={"pairs": 60_000, "sessions": 200},
        quick={"pairs": 5_000, "sessions": 20},
    ),
    "answers": _sized(measure_answers, full={}, quick={}),
    "stages": _sized(
        measure_stages,
        full={"latency_ms": 200.0, "repetitions": 20},
        quick={"latency_ms": 200.0, "repetitions": 5},
    ),
    "memory": _sized(
        measure_memory,
        full={"marks": (20_000, 40_000, 80_000)},
        quick={"marks": (2_000, 4_000)},
    ),
    "text_to_sql": _sized(
        measure_text_to_sql,
        full={"questions": None, "draws": 10},
        quick={"questions": 40, "draws": 2},
    ),
    "real_grades": _sized(measure_real_grades, full={}, quick={}),
    "coverage": _sized(
        measure_coverage,
        full={"banks": 200, "episodes": 1_200, "settings": 5},
        quick={"banks": 20, "episodes": 600, "settings": 1},
    ),
    "detection": _sized(
        measure_detection,
        full={"sizes": Sizes(seeds=200), "settings": 5, "budgets": 4},
        quick={"sizes": Sizes(seeds=10, places=1_000), "settings": 2, "budgets": 0},
    ),
}


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the guarded write path.")
    parser.add_argument("--quick", action="store_true", help="Small sizes: some minutes, figures to compare, not to quote.")
    parser.add_argument(
        "--only", nargs="+", choices=sorted(BENCHMARKS), metavar="NAME", help=f"Some of: {', '.join(BENCHMARKS)}."
    )
    parser.add_argument(
        "--json", type=Path, default=RESULTS, metavar="FILE", help="Where the figures go (default: benchmarks/results.json)."
    )
    parser.add_argument("--markdown", action="store_true", help="Print the tables as Markdown, too.")
    return parser.parse_args(arguments)


def describe_machine() -> dict[str, object]:
    """Give what the figures depend on."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "versions": {name: version(name) for name in ("guardian-memory", "qdrant-edge-py", "aiokafka", "faust-streaming")},
    }


async def run(names: Sequence[str], *, is_quick: bool, console: Console, reports: list[Report]) -> None:
    """Run benchmarks one after the other; each report is there as soon as it is made."""
    for name in names:
        benchmark = BENCHMARKS[name]
        measure = benchmark.quick if is_quick else benchmark.full
        with console.status(f"{name}: beginning") as status:

            def advance(what: str, name: str = name) -> None:
                status.update(f"{name}: {what}")

            try:
                report = await measure(advance)
            except GuardianError as error:
                report = Report(name=name, title="failed", notes=[str(error)])
        reports.append(report)
        console.print(report.table(), *(f"  {note}" for note in report.notes), "", sep="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line says; what is finished is kept when it is interrupted."""
    given = parse_arguments(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    logging.basicConfig(level=logging.ERROR)  # libraries warn of what they then mend themselves
    reports: list[Report] = []
    machine = describe_machine() | {"is_quick": given.quick}
    code = 0
    try:
        asyncio.run(run(given.only or list(BENCHMARKS), is_quick=given.quick, console=console, reports=reports))
    except KeyboardInterrupt:
        console.print("interrupted; what was finished is kept.")
        code = INTERRUPTED
    if reports:
        found = {"machine": machine, "reports": [report.as_json() for report in reports]}
        given.json.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        console.print(f"figures in {given.json}")
    if given.markdown:
        console.print(*(report.markdown() for report in reports), sep="\n", soft_wrap=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
