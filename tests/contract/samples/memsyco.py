"""A sample of MemSyco-Bench: a row with an outdated and a current item, and one without items."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_lines


def row(row_id: str = "v1", **parts: Any) -> dict[str, Any]:
    """Give one row."""
    items = [
        {"content": "Avoids music theory.", "type": "preference", "status": "outdated"},
        {"content": "Wants to study music theory.", "type": "preference", "status": "current"},
    ]
    return {
        "id": row_id,
        "task": "valid_memory_selection",
        "dialogue": [{"role": "user", "content": "I changed my mind."}, {"role": "assistant", "content": "I see."}],
        "question": "What should I read?",
        "memory": {"policy": "update", "items": items},
        "evaluation": {"reference_answer": "SECRET", "rubric": {"x": "SECRET"}},
        "metadata": {"source_id": "SECRET"},
        **parts,
    }


def write(folder: Path) -> tuple[list[Path], int]:
    """Write both."""
    return [write_lines(folder / "rows.jsonl", row(), row("v2", memory={"policy": "use", "items": 5}))], 2
