"""Shrinks a failing script: fewer faults, then fewer records, as long as a promise of the same name is still broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.simulation.population import Item
from tests.simulation.world import Parts, Report, Script, drop, list_items, simulate


def shrink(report: Report, parts: Parts | None = None, *, runs: int = 600) -> Report:
    """Give a report of a smaller script that fails in the same way.

    Args:
        report: Of a script that fails.
        parts: As it was played with.
        runs: Plays at most.
    """
    assert report.violation is not None, "only what fails can shrink"
    best, left, size = report, runs, max(report.items, len(report.struck))
    while size:
        for script in _iter_smaller(best, size):
            if left == 0:
                return best
            left -= 1
            tried = simulate(script, parts)
            if tried.violation is not None and _name(tried) == _name(best) and _weigh(tried) < _weigh(best):
                best = tried
                break
        else:
            size //= 2
    return best


def _name(report: Report) -> str:
    return (report.violation or "").split(" ")[0]


def _weigh(report: Report) -> tuple[int, int, int]:
    return report.items, len(report.struck), report.steps


def _iter_smaller(report: Report, size: int) -> Iterator[Script]:
    """Give scripts that end the storm earlier, or leave out runs of records or faults of one size."""
    script = report.script
    numbers = [number for number, _ in report.struck]
    if numbers and (script.faults_until is None or script.faults_until > numbers[-1] + 1):
        yield replace(script, faults_until=numbers[-1] + 1)
    if len(numbers) > size:
        yield replace(script, faults_until=numbers[-size])
    for part in _iter_parts([item.number for item in list_items(script)], size):
        yield drop(script, items=frozenset(part))
    for part in _iter_parts(numbers, size):
        yield drop(script, faults=frozenset(part))


def _iter_parts(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]


def describe(report: Report, *, lines: int = 60) -> str:
    """Tell how a script failed: the promise, what was sent, the end of the trace, and how to play it again."""
    script = report.script
    kept = [item.number for item in list_items(script)]
    sent = [f"  {item.number}: {_show(item)}" for item in list_items(script)]
    return "\n".join(
        [
            f"seed {script.seed} breaks a promise after {report.steps} steps and {len(report.struck)} faults:",
            f"  {report.violation}" + (f" (in {report.where})" if report.where != "check" else ""),
            f"sent, {len(kept)} records:",
            *sent,
            f"trace, the last {min(lines, len(report.trace))} of {len(report.trace)} lines:",
            *(f"  {line}" for line in report.trace[-lines:]),
            f"replay: python -m tests.simulation --seed {script.seed}",
        ]
    )


def _show(item: Item) -> str:
    text = "null" if item.value is None else item.value.decode(errors="replace")
    for boilerplate in ('"specversion":"1.0",', ":00Z", "2026-03-14T"):
        text = text.replace(boilerplate, "")
    return f"{text}{' (misplaced)' if item.is_misplaced else ''}"
