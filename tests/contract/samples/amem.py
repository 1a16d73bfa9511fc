"""A sample of A-MEM: notes as JSON lines, and the next version as Chroma returns it."""

import json
from pathlib import Path
from typing import Any

from tests.contract.samples.files import stamp_files, write_json, write_lines


def note(note_id: str, content: Any, **more: Any) -> dict[str, Any]:
    """Give one note."""
    return {
        "id": note_id,
        "content": content,
        "keywords": ["tea"],
        "links": ["1"],
        "retrieval_count": 0,
        "timestamp": "202605011200",
        "last_accessed": "202605011200",
        "context": "General",
        "evolution_history": [],
        "category": "Uncategorized",
        "tags": ["drink"],
        **more,
    }


def chroma(*notes: dict[str, Any]) -> dict[str, Any]:
    """Give what a collection returns: every value a text."""
    metadatas = [{key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()} for row in notes]
    return {"ids": [row["id"] for row in notes], "documents": [str(row["content"]) for row in notes], "metadatas": metadatas}


def write(folder: Path) -> tuple[list[Path], int]:
    """Write two versions: one note changes its tags, one goes; a null content is broken."""
    first = write_lines(folder / "notes", note("a", "Tea at four"), note("b", 42), note("c", None))
    second = write_json(folder / "notes.2", chroma(note("a", "Tea at four", tags=["drink", "habit"])))
    return stamp_files(first, second), 4
