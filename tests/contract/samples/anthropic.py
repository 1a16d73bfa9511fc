"""Samples of Anthropic's shapes: invented transcripts and memory versions."""

import json
import os
from pathlib import Path
from typing import Any


def use(call_id: str, command: str, **arguments: Any) -> dict[str, Any]:
    """Give the assistant's message that uses the memory tool."""
    block = {"type": "tool_use", "id": call_id, "name": "memory", "input": {"command": command, **arguments}}
    return {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "Noted."}, block]}


def result(call_id: str, text: str = "done", **fields: Any) -> dict[str, Any]:
    """Give the message with the tool's result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, **fields}
    return {"role": "user", "content": [block]}


def write_transcript(folder: Path) -> tuple[list[Path], int]:
    """Write a request's messages, and a later session as dated JSON lines with a broken one."""
    first = folder / "request.json"
    messages = [
        {"role": "user", "content": "Remember my desk"},
        use("t1", "create", path="/memories/desk.md", file_text="Desk 2\nTea"),
        result("t1"),
        use("t2", "str_replace", path="/memories/desk.md", old_str="Desk 2", new_str="Desk 3"),
        result("t2", "Error: no", is_error=True),
    ]
    first.write_text(json.dumps({"model": "claude-x", "messages": messages}, indent=1))
    second = folder / "session.jsonl"
    rows = [
        use("t3", "rename", old_path="/memories/desk.md", new_path="/memories/seat.md"),
        result("t3"),
        use("t4", "delete", path="/memories/seat.md"),
        result("t4"),
        use("t5", "create", path="/memories/lost.md", file_text="never answered"),
    ]
    lines = [
        json.dumps({"timestamp": f"2026-05-01T08:0{minute}:00Z", "message": row, "sessionId": "s1"})
        for minute, row in enumerate(rows)
    ]
    second.write_text("\n".join([*lines, '{"cut']))
    for number, path in enumerate((first, second)):
        os.utime(path, (1_777_000_000 + number, 1_777_000_000 + number))
    return [first, second], 11


def version(number: int, operation: str, content: str | None, **fields: Any) -> dict[str, Any]:
    """Give one memory version."""
    return {
        "type": "memory_version",
        "id": f"memver_{number}",
        "memory_id": "mem_1",
        "memory_store_id": "memstore_1",
        "operation": operation,
        "path": "/desk.md",
        "content": content,
        "content_sha256": None if content is None else "ab" * 32,
        "created_at": f"2026-05-0{number}T08:00:00Z",
        "created_by": {"type": "session_actor", "session_id": "sesn_1"},
        "redacted_at": None,
        "redacted_by": None,
        **fields,
    }


def write_store(folder: Path) -> tuple[list[Path], int]:
    """Write a page of versions, newest first, and a list of memories."""
    versions = [version(3, "deleted", None), version(2, "modified", "Desk 3"), version(1, "created", "Desk 2")]
    first = folder / "versions.json"
    first.write_text(json.dumps({"data": versions, "has_more": False}, indent=1))
    memory = {
        "type": "memory",
        "id": "mem_2",
        "memory_store_id": "memstore_1",
        "memory_version_id": "memver_9",
        "path": "/lab.md",
        "content": "The lab is in Kyiv",
        "created_at": "2026-05-01T08:00:00Z",
        "updated_at": "2026-05-04T08:00:00Z",
    }
    second = folder / "memories.jsonl"
    second.write_text("\n".join([json.dumps(memory), '{"id": "mem_3"}']))
    return [first, second], 5
