"""Play seeds: `python -m tests.simulation --seeds 200`, or one again: `python -m tests.simulation --seed 426 --trace`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.simulation.play import iter_reports
from tests.simulation.shrink import describe, shrink
from tests.simulation.world import Report, Script, simulate


def main() -> int:
    """Play what the command line asks for; 1 when a promise was broken."""
    options = _parse()
    if options.seed is not None:
        return _play_one(options.seed, shows_trace=options.trace, runs=0 if options.trace else options.shrink)
    begun, reports = time.monotonic(), []
    for report in iter_reports(options.start, options.seeds, processes=options.processes):
        reports.append(report)
        if report.violation is not None:
            _write(f"seed {report.script.seed}: {report.violation}")
    _write(summarise(reports, spent_s=time.monotonic() - begun))
    failed = [report for report in reports if report.violation is not None]
    if failed and options.shrink:
        _write(describe(shrink(failed[0], runs=options.shrink)))
    return 1 if failed else 0


def summarise(reports: list[Report], *, spent_s: float) -> str:
    """Give the numbers of many seeds in three lines."""
    faults: Counter[str] = Counter()
    for report in reports:
        faults += report.faults
    number = max(1, len(reports))
    broken = sum(report.violation is not None for report in reports)
    steps, compared = sum(report.steps for report in reports), sum(report.compared for report in reports)
    return "\n".join(
        [
            f"{len(reports)} seeds in {spent_s:.1f} s ({100 * spent_s / number:.0f} s per 100), {broken} break a promise",
            f"{steps} steps, {sum(report.items for report in reports)} records, {compared} comparisons with the reference",
            "faults: " + (", ".join(f"{name} {count}" for name, count in faults.most_common()) or "none"),
        ]
    )


def _play_one(seed: int, *, shows_trace: bool, runs: int) -> int:
    report = simulate(Script(seed=seed))
    if shows_trace or report.violation is None:
        _write("\n".join([*report.trace, f"seed {seed}: {report.violation or 'all promises hold'}, digest {report.digest}"]))
    else:
        _write(describe(shrink(report, runs=runs)))
    return 1 if report.violation is not None else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="number of seeds to play (%(default)s)")
    parser.add_argument("--start", type=int, default=0, help="first of them (%(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="processes that share them (%(default)s)")
    parser.add_argument("--seed", type=int, help="play this one alone, and shrink it if it fails")
    parser.add_argument("--trace", action="store_true", help="with --seed: the whole trace, nothing shrunk")
    parser.add_argument("--shrink", type=int, default=400, help="plays that shrinking may take; 0 for none (%(default)s)")
    return parser.parse_args()


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
