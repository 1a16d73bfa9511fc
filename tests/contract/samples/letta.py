"""Samples of Letta's shapes: invented agents, blocks and passages."""

import difflib
import itertools
import json
from pathlib import Path
from typing import Any

from tests.git_repository import TestRepository

AGENT = "agent-7"
BY_AGENT = f"Desk <{AGENT}@letta.com>"


def page(body: str, description: str = "About the person") -> str:
    """Give a block's file."""
    return f"---\ndescription: {description}\n---\n{body}\n"


def write_memfs(folder: Path) -> tuple[list[Path], int]:
    """Write a repository: create, edit, rename, delete, and one empty file."""
    repository = TestRepository(folder / "memory")
    repository.commit({"system/human.md": page("Desk 2"), "reference/empty.md": ""}, author=BY_AGENT, time=1_777_622_400)
    repository.commit({"system/human.md": page("Desk 3")}, author=BY_AGENT, message="moved", time=1_777_622_460, zone=7200)
    repository.commit({"system/human.md": None, "system/person.md": page("Desk 3")}, author=BY_AGENT, time=1_777_622_520)
    repository.commit({"reference/lab.md": page("The lab is in Kyiv")}, time=1_777_622_580)
    repository.commit({"reference/lab.md": None}, author=BY_AGENT, time=1_777_622_640)
    return [folder / "memory"], 6


def diff(old: str, new: str, name: str) -> str:
    """Give a diff as the hook writes it."""
    lines = [[f"{line}\n" for line in text.split("\n")] if text else [] for text in (old, new)]
    return "".join(difflib.unified_diff(*lines, fromfile=f"a/{name}", tofile=f"b/{name}"))


def write_memory_log(folder: Path) -> tuple[list[Path], int]:
    """Write the log and the state of one block, and a broken line."""
    logs = folder / "memory_logs"
    logs.mkdir()
    texts = ["Name: Ann\nDesk 2", "Name: Ann\nDesk 3", "Name: Ann\nDesk 3\nTea at four"]
    rows: list[Any] = [
        {"timestamp": f"2026-05-0{day}T08:00:00Z", "diff": diff(old, new, "human"), "agent_id": AGENT}
        for day, (old, new) in enumerate(itertools.pairwise(texts), start=1)
    ]
    (logs / "human.jsonl").write_text("\n".join([*map(json.dumps, rows), '{"cut']))
    state = {"block_name": "human", "content": texts[-1], "updated_at": "2026-05-02T08:00:01Z", "description": "About Ann"}
    (logs / "human.json").write_text(json.dumps(state, indent=2))
    return [logs], 4


def message(role: str, day: int, **fields: Any) -> dict[str, Any]:
    """Give one message."""
    return {"role": role, "created_at": f"2026-05-{day:02}T08:00:00+00:00", "content": [], "tool_calls": None, **fields}


def call(call_id: str, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """Give the tool calls of a message that makes one."""
    return [{"id": call_id, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}]


def answer(call_id: str, day: int, status: str = "OK") -> dict[str, Any]:
    """Give the tool message that answers a call."""
    text = json.dumps({"status": status, "message": "None", "time": "2026-05-01 08:00:00 AM UTC+0000"})
    return message("tool", day, tool_call_id=call_id, content=[{"type": "text", "text": text}])


def agent_file(*messages: dict[str, Any], value: str = "Desk 3\nTea at four", name: str = "Desk") -> dict[str, Any]:
    """Give a v2 file with one agent and one block."""
    return {
        "agents": [{"id": "agent-0", "name": name, "block_ids": ["block-0"], "messages": list(messages)}],
        "groups": [],
        "blocks": [{"id": "block-0", "label": "human", "value": value, "description": "About the person", "limit": 5000}],
        "tools": [],
        "created_at": "2026-05-20T08:00:00+00:00",
    }


def write_agent_file(folder: Path) -> tuple[list[Path], int]:
    """Write a double-encoded v2 file with messages out of order: two edits, a failed one, and an insertion."""
    messages = [
        answer("c2", 3),
        message("assistant", 3, tool_calls=call("c2", "core_memory_append", label="human", content="Tea at four")),
        message("assistant", 2, tool_calls=call("c1", "memory_replace", label="human", old_string="Desk 2", new_string="Desk 3")),
        answer("c1", 2),
        message("user", 1, content=[{"type": "text", "text": json.dumps({"type": "heartbeat", "reason": "x"})}]),
        message("assistant", 4, tool_calls=call("c3", "core_memory_append", label="human", content="Nothing")),
        answer("c3", 4, "Failed"),
        message("assistant", 5, tool_calls=call("c4", "archival_memory_insert", content="The lab is in Kyiv", tags=["lab"])),
        answer("c4", 5),
    ]
    path = folder / "desk.af"
    path.write_text(json.dumps(json.dumps(agent_file(*messages))))
    return [path], 10


def write_tables(folder: Path) -> tuple[list[Path], int]:
    """Write passages as JSON lines, and blocks as CSV."""
    passages = [
        {
            "id": f"passage-{number}",
            "text": f"Passage {number}",
            "embedding": [0.0, 1.0],
            "tags": ["lab"],
            "created_at": "2026-05-01T08:00:00+00:00",
            "updated_at": f"2026-05-0{number}T09:00:00+00:00",
            "is_deleted": number == 2,
        }
        for number in (1, 2)
    ]
    first = folder / "archival_passages.jsonl"
    first.write_text("\n".join([*map(json.dumps, passages), '{"odd": 1}']))
    second = folder / "block.csv"
    second.write_text(
        "id,label,value,version,is_deleted,created_at,updated_at\n"
        'block-1,human,"Desk 3\nTea, at four",2,f,2026-05-01 08:00:00.5+00,2026-05-02 08:00:00.5+00\n'
        "block-2,persona,,1,f,2026-05-01 08:00:00.5+00,\n"
        "block-3,persona\n"
    )
    return [first, second], 6
