"""Run one target for a while in a process of its own: guided by coverage where atheris is installed, else by the seeded mutations alone.

Findings do not end the hunt: each kind (exception and place) is kept once, the smallest input of it. What takes too long or too much memory
does end the process; libFuzzer then leaves the input as `timeout-…` or `oom-…` beside the findings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.target import Target

# What reads bytes. The rest is run too, and is judged by the laws, but its branches would drown those of the readers.
INSTRUMENTED = [
    f"guardian.{name}" for name in ("contracts", "dead_letter_file", "embed", "replay", "settings", "sources", "stream", "wiring")
]
# An input that takes more of the processor is a finding although nothing broke.
SLOW_S = 5.0
# libFuzzer kills what takes longer by the clock, also on a busy machine.
KILL_S = 120
RSS_LIMIT_MB = 3_000
REPORT_EVERY_S = 5.0


@dataclass(slots=True)
class Hunt:
    """What was run and found so far; written to `report.json` in the folder, so that it outlives the process."""

    target: Target
    folder: Path
    begun: float = field(default_factory=time.monotonic)
    inputs: int = 0
    slowest_s: float = 0.0
    found: dict[str, int] = field(default_factory=dict)
    reported: float = 0.0

    def try_input(self, data: bytes) -> None:
        """Run one input and keep it if it breaks a law or takes too long."""
        started = time.process_time()
        try:
            self.target.run(data)
        except Exception as error:  # noqa: BLE001 # whatever it is, it is the finding
            self._keep(data, _name(error), traceback.format_exc())
        spent_s = time.process_time() - started
        self.inputs += 1
        self.slowest_s = max(self.slowest_s, spent_s)
        if spent_s > SLOW_S:
            self._keep(data, "slow", f"{spent_s:.1f} s\n")
        if time.monotonic() - self.reported > REPORT_EVERY_S:
            self.report()

    def report(self) -> None:
        """Write what is known."""
        self.reported = time.monotonic()
        spent_s = self.reported - self.begun
        known = {"inputs": self.inputs, "spent_s": round(spent_s, 1), "slowest_s": round(self.slowest_s, 2), "found": self.found}
        (self.folder / "report.json").write_text(json.dumps(known))

    def _keep(self, data: bytes, name: str, text: str) -> None:
        self.found[name] = self.found.get(name, 0) + 1
        path = self.folder / name
        if not path.exists() or path.stat().st_size > len(data):
            path.write_bytes(data)
            path.with_name(f"{name}.txt").write_text(text)


def _name(error: Exception) -> str:
    """Name a finding by its exception and the place that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}-{Path(frame.filename).stem}-{frame.name}-{frame.lineno}".replace("<", "").replace(">", "")


def hunt_guided(atheris: Any, hunt: Hunt, *, seconds: float, seed: int) -> None:
    """Let libFuzzer choose inputs by the coverage of `guardian`, with the target's own mutations for most of them. Does not return."""
    target, inputs = hunt.target, hunt.folder / "inputs"
    inputs.mkdir(exist_ok=True)
    for data in (*target.seeds, *(path.read_bytes() for path in target.list_corpus())):
        (inputs / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.2:
            return bytes(atheris.Mutate(data, max_size))
        for _ in range(1 + random.randrange(3)):
            data = target.mutate(data, random)
        return data[:max_size]

    def run(data: bytes) -> None:
        hunt.try_input(data)
        if time.monotonic() - hunt.begun > seconds:
            hunt.report()
            os._exit(0)  # libFuzzer does not come back

    options: dict[str, Any] = {
        "seed": seed,
        "timeout": KILL_S,
        "rss_limit_mb": RSS_LIMIT_MB,
        "max_len": 65_536,
        "len_control": 0,  # else long inputs come late, and documents are cut
        "artifact_prefix": f"{hunt.folder}/",
    }
    atheris.Setup(["hunt", *(f"-{name}={value}" for name, value in options.items()), str(inputs)], run, custom_mutator=change)
    atheris.Fuzz()


def hunt_unguided(hunt: Hunt, *, seconds: float, seed: int) -> None:
    """Run the seeded mutations."""
    for data in hunt.target.iter_inputs(seed):
        hunt.try_input(data)
        if time.monotonic() - hunt.begun > seconds:
            break
    hunt.report()


def load() -> tuple[Any, dict[str, Target]]:
    """Import the targets; where atheris is installed give it, too, with the readers counting their branches."""
    try:
        import atheris
    except ImportError:  # the extra `fuzz` is not installed
        from tests.fuzz.target import TARGETS

        return None, TARGETS
    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.target import TARGETS
    return atheris, TARGETS


def main() -> int:
    """Hunt as the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.hunt", description="One target; `python -m tests.fuzz` runs them all."
    )
    parser.add_argument("target")
    parser.add_argument("--folder", type=Path, required=True, help="where findings go")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    atheris, targets = load()
    hunt = Hunt(targets[options.target], options.folder)
    if atheris is None:
        hunt_unguided(hunt, seconds=options.seconds, seed=options.seed)
    else:
        hunt_guided(atheris, hunt, seconds=options.seconds, seed=options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
