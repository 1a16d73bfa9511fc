"""A sample of LightMem: entries in two versions, and summaries of them."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import stamp_files, write_json, write_lines


def entry(entry_id: str, text: str, **more: Any) -> dict[str, Any]:
    """Give one entry of `memory_entries.json`."""
    return {
        "id": entry_id,
        "time_stamp": "2026-05-01T08:00:00.500",
        "float_time_stamp": 1777622400.5,
        "weekday": "Fri",
        "topic_id": 1,
        "topic_summary": "desks",
        "memory": text,
        "original_memory": f"I said: {text}",
        "speaker_id": "p1",
        "speaker_name": "Ann",
        "consolidated": False,
        **more,
    }


def summary(text: str, *covered: str, **more: Any) -> dict[str, Any]:
    """Give one summary."""
    return {"summary": text, "covered_entry_ids": list(covered), "seed_entry_ids": list(covered[:1]), "entry_count": 2, **more}


def write(folder: Path) -> tuple[list[Path], int]:
    """Write two versions of the entries, and summaries as points; one row is broken."""
    first = write_json(folder / "e.json", [entry("a", "Desk 2"), entry("b", "Floor 1")])
    second = write_json(folder / "e2.json", [entry("a", "Desk 3"), {"memory": "x"}])
    point = {"id": "s1", "payload": summary("Ann moved", "a", "b", created_at="2026-05-02T08:00:00")}
    return stamp_files(first, second, write_lines(folder / "summaries", point)), 5
