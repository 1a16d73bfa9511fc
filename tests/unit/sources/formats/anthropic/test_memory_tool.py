"""Transcripts of the memory tool: commands replayed onto a tree, and counted only when they succeeded."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from guardian.sources.formats.anthropic.memory_tool import AnthropicMemoryToolSource
from tests.contract.samples.anthropic import result, use
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = AnthropicMemoryToolSource()
DESK = "/memories/desk.md"


def write(path: Path, *messages: dict[str, Any]) -> Path:
    """Write messages as an array, at a fixed time."""
    path.write_text(json.dumps(messages))
    os.utime(path, (1_777_622_400, 1_777_622_400))
    return path


def replay(path: Path, *commands: dict[str, Any], answers: dict[int, dict[str, Any]] | None = None) -> list[Any]:
    """Give the items of commands, each answered with `done` unless told otherwise."""
    messages: list[dict[str, Any]] = []
    for number, command in enumerate(commands):
        messages += [use(f"t{number}", **command), result(f"t{number}", **(answers or {}).get(number, {}))]
    return read(SOURCE, write(path, *messages))


def test_a_command_gives_its_golden_event(tmp_path: Path) -> None:
    """Take the agent as the source and the call as its reference; date what nothing dates by the file."""
    (event,) = events_of(replay(tmp_path / "x", {"command": "create", "path": DESK, "file_text": "Desk 2"}))
    assert event == {
        "specversion": "1.0",
        "id": event["id"],
        "source": "anthropic:memory-tool",
        "type": "memory.written",
        "time": "2026-05-01T08:00:00Z",
        "space": "anthropic-memory",
        "data": {
            "memory_id": DESK,
            "text": "Desk 2",
            "source": {"kind": "agent", "ref": "anthropic:memory-tool:t0", "actor": "claude-x"},
            "metadata": {
                "format": "anthropic.memory-tool",
                "command": "create",
                "tool_use_id": "t0",
                "time_from": "mtime",
            },
        },
    }


def test_every_command_is_replayed_onto_the_tree(tmp_path: Path) -> None:
    """Give the file's whole text after each; undated commands keep their order."""
    items = replay(
        tmp_path / "x",
        {"command": "create", "path": DESK, "file_text": "Desk 2\nTea"},
        {"command": "str_replace", "path": DESK, "old_str": "Desk 2", "new_str": "Desk 3"},
        {"command": "insert", "path": DESK, "insert_line": 1, "insert_text": "Lamp\n"},
        {"command": "create", "path": DESK, "file_text": "Desk 4"},
        {"command": "delete", "path": DESK},
    )
    assert shape(items) == [
        ("written", DESK, "Desk 2\nTea"),
        ("written", DESK, "Desk 3\nTea"),
        ("written", DESK, "Desk 3\nLamp\nTea"),
        ("written", DESK, "Desk 4"),
        ("deleted", DESK, None),
    ]
    times = [datetime.fromisoformat(event["time"]) for event in events_of(items)]
    assert times == sorted(times)
    assert len(set(times)) == 5


def test_a_rename_moves_what_stands_in_a_folder(tmp_path: Path) -> None:
    """End each memory and begin its child."""
    items = replay(
        tmp_path / "x",
        {"command": "create", "path": "/memories/a/1.md", "file_text": "one"},
        {"command": "create", "path": "/memories/ab.md", "file_text": "other"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"},
    )
    assert shape(items)[2:] == [("deleted", "/memories/a/1.md", None), ("written", "/memories/b/1.md", "one")]
    assert events_of(items)[3]["data"]["parents"] == ["/memories/a/1.md"]


def test_deleting_a_folder_deletes_all_in_it(tmp_path: Path) -> None:
    """Leave nothing behind, and its neighbours alone."""
    items = replay(
        tmp_path / "x",
        {"command": "create", "path": "/memories/a/1.md", "file_text": "one"},
        {"command": "create", "path": "/memories/a/b/2.md", "file_text": "two"},
        {"command": "create", "path": "/memories/ab.md", "file_text": "other"},
        {"command": "delete", "path": "/memories/a/"},
    )
    assert shape(items)[3:] == [("deleted", "/memories/a/1.md", None), ("deleted", "/memories/a/b/2.md", None)]


def test_errors_and_missing_results_do_not_count(tmp_path: Path) -> None:
    """Tell by `is_error`, by the words of the result, and by its absence."""
    create = {"command": "create", "path": DESK, "file_text": "x"}
    failed = {0: {"is_error": True}, 1: {"text": "Error: the path does not exist"}}
    found = reasons(replay(tmp_path / "x", create, create, answers=failed))
    assert sorted(found) == [("raw_messages", 1), ("raw_messages", 1), ("write_failed", 1), ("write_failed", 1)]
    assert reasons(read(SOURCE, write(tmp_path / "x", use("t", **create)))) == [("write_unconfirmed", 1)]


def test_a_view_shows_what_a_file_held_before(tmp_path: Path) -> None:
    """Seed the tree from a whole view, as a write by nobody known, so that later edits have an outcome."""
    shown = "Here's the content of /memories/desk.md with line numbers:\n     1\tDesk 2\n     2\tTea\n"
    view = {"command": "view", "path": DESK}
    edit = {"command": "str_replace", "path": DESK, "old_str": "2", "new_str": "3"}
    items = replay(tmp_path / "x", view, edit, view, answers={0: {"text": shown}, 2: {"text": shown.replace("Desk 2", "Desk 3")}})
    assert shape(items) == [("written", DESK, "Desk 2\nTea"), ("written", DESK, "Desk 3\nTea")]
    assert [event["data"]["source"]["kind"] for event in events_of(items)] == ["unknown", "agent"]


def test_an_edit_of_an_unseen_file_has_no_known_outcome(tmp_path: Path) -> None:
    """Invent no text, also not from a part of the file or from a listing of a folder."""
    edit = {"command": "str_replace", "path": DESK, "old_str": "2", "new_str": "3"}
    part = {"command": "view", "path": DESK, "view_range": [1, 1]}
    folder = {"command": "view", "path": "/memories"}
    answers = {0: {"text": "     1\tDesk 2"}, 1: {"text": "Directory: /memories\n- desk.md"}}
    items = replay(tmp_path / "x", part, folder, edit, answers=answers)
    assert not events_of(items)
    assert ("revision_unknown", 1) in reasons(items)


def test_repeated_messages_of_later_requests_count_once(tmp_path: Path) -> None:
    """Know a command by the id of its call."""
    history = [use("t0", "create", path=DESK, file_text="Desk 2"), result("t0")]
    more = [use("t1", "create", path=DESK, file_text="Desk 3"), result("t1")]
    path = tmp_path / "x"
    path.write_text("\n".join(json.dumps({"messages": messages}) for messages in (history, history + more)))
    items = read(SOURCE, path)
    assert [text for _, _, text in shape(items)] == ["Desk 2", "Desk 3"]
    assert sum(item.rows for item in items) == 6


def test_records_say_when_and_in_which_session(tmp_path: Path) -> None:
    """Read the time and session of a line that wraps a message; memory is for other sessions, so that is no scope."""
    path = tmp_path / "x"
    rows = [use("t0", "create", path=DESK, file_text="Desk 2"), result("t0")]
    path.write_text(
        "\n".join(json.dumps({"timestamp": "2026-05-02T10:00:00+02:00", "sessionId": "s", "message": row}) for row in rows)
    )
    (event,) = events_of(read(SOURCE, path))
    assert event["time"] == "2026-05-02T08:00:00Z"
    assert "scope" not in event["data"]
    assert event["data"]["metadata"]["session_id"] == "s"
    assert event["data"]["metadata"]["time_raw"] == "2026-05-02T10:00:00+02:00"


def test_an_emptied_file_is_a_deletion(tmp_path: Path) -> None:
    """Remember nothing where nothing stands."""
    items = replay(
        tmp_path / "x",
        {"command": "create", "path": DESK, "file_text": ""},
        {"command": "create", "path": DESK, "file_text": "Desk 2"},
        {"command": "str_replace", "path": DESK, "old_str": "Desk 2", "new_str": ""},
    )
    assert shape(items) == [("written", DESK, "Desk 2"), ("deleted", DESK, None)]


def test_other_tools_and_paths_are_not_claimed(tmp_path: Path) -> None:
    """Recognise the memory tool only."""
    other = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "view", "path": "/memories"}}],
    }
    assert not SOURCE.detect(write(tmp_path / "x", other))
    assert not SOURCE.detect(write(tmp_path / "x", use("t", "view", path="/etc/passwd")))
    assert SOURCE.detect(write(tmp_path / "x", use("t", "view", path="/memories")))
