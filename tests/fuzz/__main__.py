"""Fuzz the targets, one after the other: `python -m tests.fuzz --minutes 10 --target mem0`; no target means all of them.

Inputs that break a law are kept in `tests/fuzz/found/<target>`, beside a `.txt` with the traceback; so are the inputs that libFuzzer found
worth building on, and a later run goes on from there. `python -m tests.fuzz --show FILE --target NAME` runs one input again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.fuzz.target import TARGETS

FOUND = Path(__file__).parent / "found"
PROGRESS_S = 15.0
_COVERAGE = re.compile(r"cov: (\d+)")


def main() -> int:
    """Fuzz what the command line asks for; 1 when something was found."""
    options = _parse()
    names = options.target or list(TARGETS)
    if options.show is not None:
        TARGETS[names[0]].run(options.show.read_bytes())
        _write("every law holds")
        return 0
    seed = options.seed if options.seed is not None else int(time.time())
    reports = {}
    with suppress(KeyboardInterrupt):
        for name in names:
            reports[name] = fuzz(name, seconds=60 * options.minutes, seed=seed)
            _write(_tell(name, reports[name]))
    return 1 if any(report["found"] for report in reports.values()) else 0


def fuzz(name: str, *, seconds: float, seed: int) -> dict[str, Any]:
    """Hunt on one target in a process of its own, started again when an input killed it; gives what was done and found."""
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {"inputs": 0, "spent_s": 0.0, "slowest_s": 0.0, "found": {}, "coverage": None}
    round_number = 0
    while report["spent_s"] < seconds and round_number < 20:
        spent_before = report["spent_s"]
        _hunt(name, folder, seconds=seconds - spent_before, seed=seed + round_number, before=report)
        round_number += 1
        if report["spent_s"] - spent_before < 1.0:
            report["found"]["hunt-died"] = round_number
            break
    return report


def _hunt(name: str, folder: Path, *, seconds: float, seed: int, before: dict[str, Any]) -> None:
    """Run one process to its end, telling how far it is, and add up what it did."""
    (folder / "report.json").unlink(missing_ok=True)
    killers = _list_killers(folder)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch, (folder / "log.txt").open("wb") as log:
        command = [sys.executable, "-m", "tests.fuzz.hunt", name, f"--folder={folder}", f"--seconds={seconds}", f"--seed={seed}"]
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "TMPDIR": scratch})
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PROGRESS_S)
                _write(_tell(name, _add(before, folder)))
        finally:
            process.terminate()
            process.wait()
    before.update(_add(before, folder))
    for killer in _list_killers(folder) - killers:
        before["found"][killer] = 1


def _add(before: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give the sum of what was done before and of what a process reports."""
    try:
        now = json.loads((folder / "report.json").read_bytes())
    except (OSError, ValueError):
        return before
    covered = _COVERAGE.findall((folder / "log.txt").read_text(errors="replace"))
    found = {**before["found"]}
    for kind, count in now["found"].items():
        found[kind] = found.get(kind, 0) + count
    return {
        "inputs": before["inputs"] + now["inputs"],
        "spent_s": before["spent_s"] + now["spent_s"],
        "slowest_s": max(before["slowest_s"], now["slowest_s"]),
        "found": found,
        "coverage": int(covered[-1]) if covered else before["coverage"],
    }


def _list_killers(folder: Path) -> set[str]:
    return {path.name for pattern in ("timeout-*", "oom-*", "crash-*") for path in folder.glob(pattern)}


def _tell(name: str, report: dict[str, Any]) -> str:
    rate = report["inputs"] / max(report["spent_s"], 0.1)
    found = ", ".join(f"{kind} x{count}" for kind, count in sorted(report["found"].items())) or "nothing"
    covered = f"coverage {report['coverage']}  " if report["coverage"] else ""
    return (
        f"{name:<12} {report['spent_s']:6.0f} s  {report['inputs']:>9,} inputs  {rate:6,.0f}/s  {covered}"
        f"slowest {report['slowest_s']:.2f} s  found: {found}"
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long each target is run (%(default)s)")
    parser.add_argument("--target", action="append", choices=TARGETS, help="run this one; repeatable")
    parser.add_argument("--seed", type=int, help="of the mutations; default: the time")
    parser.add_argument("--show", type=Path, help="run this input on the target and let its error through")
    return parser.parse_args()


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
