"""A sample of a COGX archive: one record of each kind, and one that is none."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import stamp_files, write_lines

BASE: dict[str, Any] = {
    "external_system": "zep",
    "scope": {"user_id": "u1"},
    "created_at": "2026-05-01T08:00:00Z",
    "metadata": {},
}
TURNS = [{"role": "user", "content": "Ann sits at desk 3."}, {"role": "assistant", "content": "Noted."}]
RECORDS: tuple[dict[str, Any], ...] = (
    {"kind": "document", "external_id": "d1", "content": "Desk plan", "title": "Plan", **BASE},
    {"kind": "episode", "external_id": "ep1", "turns": TURNS, **BASE},
    {"kind": "entity", "external_id": "n1", "name": "Ann", "entity_type": "Person", **BASE},
    {
        "kind": "fact",
        "external_id": "f1",
        "subject_ref": "n1",
        "predicate": "SITS_AT",
        "object_ref": "n2",
        "fact_text": "Ann sits at desk 3",
        "valid_at": "2026-05-01T00:00:00Z",
        "invalid_at": "2026-06-01T00:00:00Z",
        "provenance": ["ep1"],
        **BASE,
    },
    {"kind": "memory", "external_id": "m1", "content": "Prefers tea", **BASE},
    {"kind": "memory_block", "external_id": "b1", "label": "human", "value": "Ann", **BASE},
)


def write(folder: Path) -> tuple[list[Path], int]:
    """Write the records in two files, a broken one among them."""
    first = write_lines(folder / "documents.jsonl", *RECORDS[:3])
    return stamp_files(first, write_lines(folder / "facts.jsonl", *RECORDS[3:], {"kind": "fact", "external_id": "f2"})), 7
