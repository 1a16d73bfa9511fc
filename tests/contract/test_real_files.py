"""Real exports of other programs, where a folder of them is named: whole, repeatable, with the counts of the docs."""

import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from guardian.contracts.codec import DecodePolicy, decode
from guardian.sources.port import SourceEvent, SourceOptions
from guardian.sources.registry import detect

REAL_DATA = os.environ.get("GUARDIAN_REAL_DATA")

# Folder, pattern, rows, counts by event type and by reason.
FILES = [
    ("memos", "mem_cube_2*.json", 2, {"written": 2}),
    ("memos", "mem_cube_tree*.json", 4, {"written": 6}),
    ("voyager", "trial1*.json", 51, {"written": 51}),
    ("voyager", "trial2*.json", 52, {"written": 52}),
    ("voyager", "trial3*.json", 55, {"written": 55}),
    ("memento", "memory.jsonl", 1278, {"written": 1278, "audited": 1278}),
    ("memento", "dummy_memo.jsonl", 8, {"written": 8, "audited": 8}),
    ("memento", "training_data.jsonl", 7000, {"written": 1278, "audited": 1278, "read": 874, "unchanged": 1}),
    ("memento", "*.jsonl", 8286, {"written": 1283, "audited": 1283, "read": 874, "unchanged": 4}),
    ("reflexion", "reflexion_env*.json", 1072, {"written": 534, "audited": 334, "unchanged": 824}),
    ("reflexion", "base_env*.json", 536, {"written": 426, "audited": 263, "unchanged": 275}),
    ("reflexion", "reflexion_humaneval_py*.jsonl", 164, {"written": 358, "audited": 164}),
    ("reflexion", "reflexion_humaneval_rs*.jsonl", 50, {"written": 138, "audited": 50}),
    ("memsyco-bench", "contextual_*.jsonl", 131, {"written": 1441, "evaluation_only": 131}),
    ("memsyco-bench", "memory_*.jsonl", 145, {"written": 1305, "evaluation_only": 145}),
    ("memsyco-bench", "objective_*.jsonl", 147, {"written": 1319, "evaluation_only": 147}),
    ("memsyco-bench", "personalized_*.jsonl", 152, {"written": 1354, "evaluation_only": 152}),
    ("memsyco-bench", "valid_*.jsonl", 160, {"written": 2374, "evaluation_only": 160}),
]


@pytest.mark.skipif(not REAL_DATA, reason="GUARDIAN_REAL_DATA names no folder of real files")
@pytest.mark.parametrize(
    ("folder", "pattern", "rows", "counts"), FILES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_real_files_give_the_counts_of_the_docs(folder: str, pattern: str, rows: int, counts: dict[str, int]) -> None:
    """Read every row, twice alike, into events that the stream accepts, each with an identity of its own."""
    paths = sorted((Path(REAL_DATA or "") / folder).glob(pattern))
    assert paths
    source = detect(paths[0])
    assert all(detect(path) is source for path in paths)
    options = SourceOptions(default_time=datetime(2026, 1, 1, tzinfo=UTC))
    items = list(source.iter_items(paths, options))
    assert items == list(source.iter_items(list(reversed(paths)), options))
    assert sum(item.rows for item in items) == rows
    events = [item.event for item in items if isinstance(item, SourceEvent) and item.event is not None]
    found = Counter(event["type"].removeprefix("memory.") for event in events)
    found.update(str(item.reason) for item in items if not isinstance(item, SourceEvent))
    assert found == counts
    assert len({event["id"] for event in events}) == len(events)
    for event in events:
        decode(orjson.dumps(event), policy=DecodePolicy(), received_at=datetime(2027, 1, 1, tzinfo=UTC))


@pytest.mark.skipif(not REAL_DATA, reason="GUARDIAN_REAL_DATA names no folder of real files")
@pytest.mark.parametrize("folder", ["memos", "voyager", "memento", "reflexion", "memsyco-bench"])
def test_parents_and_judged_memories_are_memories_of_the_same_import(folder: str) -> None:
    """Name nothing as a parent, as retrieved, or as judged that is not written as well."""
    paths = [path for path in sorted((Path(REAL_DATA or "") / folder).iterdir()) if path.suffix in {".json", ".jsonl"}]
    for path in paths:
        if path.name == "schema.json":
            continue
        items = list(detect(path).iter_items([path], SourceOptions()))
        events = [item.event for item in items if isinstance(item, SourceEvent) and item.event is not None]
        written = {event["data"]["memory_id"] for event in events if event["type"] == "memory.written"}
        named = {
            name for event in events for key in ("parents", "retrieved", "supersedes") for name in event["data"].get(key, ())
        }
        judged = {event["data"]["memory_id"] for event in events if event["type"] == "memory.audited"}
        assert named | judged <= written
