"""Golden items of the contract's samples: every event, note and dead letter, as they were reviewed by eye.

A change here changes event ids or meanings that users have stored; it must be meant. To renew a file, delete it and run
the test with GUARDIAN_WRITE_GOLDEN set.
"""

import importlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from guardian.sources.port import Broken, Item, SourceEvent, SourceOptions
from guardian.sources.registry import by_name

DATA = Path(__file__).parents[3] / "data"
NAMES = {
    "agent-kb": "agent_kb",
    "amem": "amem",
    "cognee-session": "cognee_session",
    "cogx": "cogx",
    "lightmem": "lightmem",
    "locomo": "locomo",
    "longmemeval": "longmemeval",
    "memento": "memento",
    "memorybank": "memory_bank",
    "memos": "memos",
    "memsyco": "memsyco",
    "reasoning-bank": "reasoning_bank",
    "reflexion-tasks": "reflexion_tasks",
    "reflexion-trials": "reflexion_trials",
    "voyager": "voyager",
}


def render(item: Item) -> dict[str, Any]:
    """Give an item as JSON would have it."""
    head = {"position": item.position, "rows": item.rows}
    if isinstance(item, SourceEvent):
        return {**head, "event": json.loads(json.dumps(item.event))}
    if isinstance(item, Broken):
        return {**head, "broken": str(item.reason), "raw": item.raw.decode()}
    return {**head, "skipped": str(item.reason), "detail": item.detail}


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_gives_its_golden_items(name: str, tmp_path: Path) -> None:
    """Give the same events, with the same ids, as when they were reviewed."""
    paths, _ = importlib.import_module(f"tests.contract.samples.{NAMES[name]}").write(tmp_path)
    options = SourceOptions(default_time=datetime(2026, 1, 1, tzinfo=UTC))
    items = [render(item) for item in by_name(name).iter_items(paths, options)]
    golden = DATA / NAMES[name] / "golden.json"
    if "GUARDIAN_WRITE_GOLDEN" in os.environ and not golden.exists():
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(json.dumps(items, indent=1, ensure_ascii=False) + "\n")
    assert items == json.loads(golden.read_text())
