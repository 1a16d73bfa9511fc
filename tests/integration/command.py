"""The command in a process of its own, and files for it, as a user would write them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
STORY = EXAMPLES / "coffee-shop.jsonl"
MEM0 = Path(__file__).parents[1] / "data" / "mem0"
Run = Callable[..., subprocess.CompletedProcess[bytes]]


def write(path: Path, *events: dict[str, object]) -> Path:
    """Write events as lines of JSON."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def event(
    event_id: str, kind: str = "memory.written", *, time: str = "2026-03-01T00:00:00Z", space: str = "s", **data: object
) -> dict[str, object]:
    """Build an event as a user would."""
    return {"specversion": "1.0", "id": event_id, "source": "/test", "type": kind, "time": time, "space": space, "data": data}
