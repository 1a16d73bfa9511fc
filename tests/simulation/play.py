"""Plays many seeds, in as many processes as there are to be: a seed is a world of its own, so the reports are the same."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from tests.simulation.world import Report, Script, simulate

# Seeds that a process is given at once.
_SLICE = 10


def iter_reports(start: int, count: int, *, processes: int = 1) -> Iterator[Report]:
    """Play seeds and give their reports in order; of those without a violation no trace."""
    seeds = range(start, start + count)
    if processes == 1:
        yield from map(_play, seeds)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_play, seeds, chunksize=_SLICE)


def _play(seed: int) -> Report:
    report = simulate(Script(seed=seed))
    return report if report.violation is not None else replace(report, trace=[])
