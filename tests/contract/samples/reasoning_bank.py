"""A sample of ReasoningBank: rows with a list of items, with one text of items, and with an unknown status."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_lines


def row(task_id: Any, *, items: Any = (), status: str = "success", **more: Any) -> dict[str, Any]:
    """Give one row."""
    held = items if isinstance(items, str) else list(items)
    return {"task_id": task_id, "query": f"Find page {task_id}", "memory_items": held, "status": status, **more}


def write(folder: Path) -> tuple[list[Path], int]:
    """Write the three kinds of rows, and one without a query."""
    rows = [
        row(
            "47", items=["# Memory Item 1\n## Title Use the menu"], action_list=["click('12')"], think_list=["hm"], template_id=3
        ),
        row("48", items="# Memory Item 1\n## Title A\n# Memory Item 2\n## Title B", status="fail"),
        row(49, status="unknown"),
        {"task_id": 50, "memory_items": [], "status": "fail"},
    ]
    return [write_lines(folder / "bank.jsonl", *rows)], 4
