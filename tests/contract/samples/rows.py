"""A sample of the format `rows`: what `kcat -J` writes of a topic with Guardian's own events, and a record that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson


def write_rows(folder: Path) -> tuple[list[Path], int]:
    """Write two events in one record, one alone, a tombstone after a deleted row, and a row of no known format."""
    payloads: list[Any] = [orjson.dumps([_event(1), _event(2)]).decode(), orjson.dumps(_event(3)).decode(), None, '{"odd":1}']
    messages = [
        {"topic": "notes", "partition": 0, "offset": offset, "ts": 1_767_225_600_000, "key": '{"id":1}', "payload": payload}
        for offset, payload in enumerate(payloads)
    ]
    path = folder / "notes.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, messages)))
    return [path], len(messages)


def _event(number: int) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": str(number),
        "source": "/a",
        "type": "memory.written",
        "time": "2026-01-01T00:00:00Z",
        "space": "s",
        "data": {"memory_id": f"m{number}", "text": f"Fact {number}"},
    }
