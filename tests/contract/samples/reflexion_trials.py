"""A sample of Reflexion in an environment: three snapshots of a run, with one time for all."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_json


def trial(name: str, *memory: str, success: bool = False) -> dict[str, Any]:
    """Give one environment of a snapshot."""
    return {"name": name, "memory": list(memory), "is_success": success}


def write(folder: Path) -> tuple[list[Path], int]:
    """Write three snapshots; the last has a row that is no environment."""
    first = write_json(folder / "trial_1", [trial("env_0", success=True), trial("env_1", " I went in circles.")])
    second = write_json(folder / "trial_10", [trial("env_0", success=True), trial("env_1", " I went in circles.", " I forgot.")])
    last = [trial("env_0", success=True), trial("env_1", " I went in circles.", " I forgot.", success=True), {"name": "x"}]
    return [first, second, write_json(folder / "trial_2.j", last)], 7
