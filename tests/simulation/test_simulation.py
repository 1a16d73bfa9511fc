"""The write path under seeds: every promise holds in every world that is played, and each mutant breaks one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from tests.simulation.__main__ import summarise
from tests.simulation.mutants import MUTANTS
from tests.simulation.play import iter_reports
from tests.simulation.shrink import describe, shrink
from tests.simulation.world import Report, Script, list_items, simulate

# The same seeds on every machine, fast or slow: about as many as two processes play in a minute and a half.
SEEDS = int(os.environ.get("GUARDIAN_SIMULATION_SEEDS", "800"))
# One in a run that is shared out among processes already.
PROCESSES = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2
# Seeds that are enough to meet every fault.
FEW_SEEDS = 20
# Seeds within which each mutant must be found; about five times the first that finds it.
SEEDS_TO_FIND = 150


@pytest.mark.slow
def test_every_promise_holds_in_every_seed(record_property: Callable[[str, object], None]) -> None:
    """The first seeds: nothing is lost, nothing is shown too long, all comes to rest where the reference is."""
    begun, reports = time.monotonic(), list[Report]()
    for report in iter_reports(0, SEEDS, processes=PROCESSES):
        if report.violation is not None:
            pytest.fail(describe(shrink(report, runs=200)), pytrace=False)
        reports.append(report)
    record_property("told", summarise(reports, spent_s=time.monotonic() - begun))


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    """Each mutant breaks a promise within a bounded number of seeds."""
    reports = (simulate(Script(seed=seed), MUTANTS[name]) for seed in range(SEEDS_TO_FIND))
    found = next((report for report in reports if report.violation is not None), None)
    assert found is not None, f"{SEEDS_TO_FIND} seeds do not tell {name} from the real thing"
    assert found.where == "check", f"{name} crashes rather than breaking a promise: {found.violation}"


@pytest.mark.parametrize("seed", [3, 7, 18])
def test_one_seed_is_one_trace(seed: int) -> None:
    """The same seed gives the same steps, faults and end, and another seed another."""
    first, again = simulate(Script(seed=seed)), simulate(Script(seed=seed))
    assert (first.digest, first.trace) == (again.digest, again.trace)
    assert simulate(Script(seed=seed + 1)).digest != first.digest


def test_a_failing_seed_shrinks_and_is_told() -> None:
    """A smaller script of the same seed fails in the same way, and its description names the seed and the promise."""
    parts = MUTANTS["forgets_dead_letters"]
    report = next(
        report for report in (simulate(Script(seed=seed), parts) for seed in range(SEEDS_TO_FIND)) if report.violation is not None
    )
    small = shrink(report, parts, runs=60)
    assert small.violation is not None
    assert len(list_items(small.script)) < len(list_items(report.script))
    assert simulate(small.script, parts).digest == small.digest
    assert f"seed {report.script.seed} breaks a promise" in describe(small)


def test_worlds_differ_and_are_stormy() -> None:
    """Some twenty seeds together know every fault; without that the promises above would be cheap."""
    reports = [simulate(Script(seed=seed)) for seed in range(FEW_SEEDS)]
    missing = [
        fault for fault in reports[0].faults.keys() | {"crash", "takeover", "rewind"} if not sum(r.faults[fault] for r in reports)
    ]
    assert not missing
    assert sum(report.compared for report in reports) > 10 * FEW_SEEDS
