"""A sample of Reflexion on programming tasks: one solved at once, one never."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_lines


def task(name: str, *reflections: str, solved: bool = True) -> dict[str, Any]:
    """Give one row of the log."""
    return {
        "task_id": name,
        "prompt": f"def f_{name[-1]}(x):\n    # Doubles.\n",
        "entry_point": f"f_{name[-1]}",
        "canonical_solution": "    return x * 2\n",
        "test": "assert f(2) == 4",
        "solution": "    return x + x\n" if solved else "",
        "is_solved": solved,
        "reflections": list(reflections),
    }


def write(folder: Path) -> tuple[list[Path], int]:
    """Write two tasks, one twice, and a cut line."""
    rows = [task("T/1"), task("T/2", "I added one.", "I halved.", solved=False), task("T/1"), '{"task_id": "T/3']
    return [write_lines(folder / "log.jsonl", *rows)], 4
