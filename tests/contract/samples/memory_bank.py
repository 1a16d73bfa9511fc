"""A sample of MemoryBank: a user with two days, and the next version after forgetting."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import stamp_files, write_json


def dialog(query: str, **more: Any) -> dict[str, Any]:
    """Give one pair of turns."""
    return {"query": query, "response": f"Noted: {query}", **more}


def user(history: Any, **parts: Any) -> dict[str, Any]:
    """Give one user."""
    return {"name": "Ann", "history": history, "summary": parts.pop("summary", {}), **parts}


def write(folder: Path) -> tuple[list[Path], int]:
    """Write two versions; the second forgot a dialog, holds one that is broken, and a user without anything."""
    day = [dialog("Tea at four", memory_id="Ann_2023-05-01_0"), dialog("Desk 3", memory_id="Ann_2023-05-01_1")]
    parts: dict[str, Any] = {"summary": {"2023-05-01": {"content": "Ann likes tea."}}, "personality": {"2023-05-01": "calm"}}
    whole = {"Ann": user({"2023-05-01": day}, **parts, overall_history="Tea.", overall_personality="Calm.")}
    left = {"Ann": user({"2023-05-01": [dialog("Desk 3", memory_id="Ann_2023-05-01_0"), 7]}, **parts), "Bo": user([])}
    return stamp_files(write_json(folder / "m.json", whole), write_json(folder / "m2.json", left)), 11
