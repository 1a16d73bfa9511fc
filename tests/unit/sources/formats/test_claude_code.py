"""Claude Code: topics, an index whose lines follow them, and instructions by nobody known."""

import os
from pathlib import Path

from guardian.core.model import SourceKind
from guardian.sources.formats.claude_code import ClaudeCodeSource
from tests.contract.samples.claude_code import INDEX, topic, write
from tests.git_repository import TestRepository
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = ClaudeCodeSource()


def fill(folder: Path, files: dict[str, str]) -> Path:
    """Write files at a fixed time."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_777_622_400, 1_777_622_400))
    return folder


def test_a_folder_gives_its_golden_events(tmp_path: Path) -> None:
    """Make a memory of each topic, a summary of each line that points to one, and a memory of the rest."""
    items = read(SOURCE, fill(tmp_path, {"MEMORY.md": INDEX, "desk.md": topic("Ann sits at desk 3", "user")}))
    assert shape(items) == [
        ("written", "MEMORY.md#desk.md", "- [Desk](desk.md) — where Ann sits"),
        ("written", "MEMORY.md#style.md", "- [Style](style.md) — how to write"),
        ("written", "MEMORY.md", "# Memory\n\n\nThe build runs on Friday."),
        ("written", "desk.md", "Ann sits at desk 3"),
    ]
    pointer, _, rest, desk = (event["data"] for event in events_of(items))
    assert (pointer["kind"], pointer["parents"]) == ("summary", ["desk.md"])
    assert "parents" not in rest
    assert events_of(items)[3] == {
        "specversion": "1.0",
        "id": events_of(items)[3]["id"],
        "source": "claude-code:memory",
        "type": "memory.written",
        "time": "2026-05-01T08:00:00Z",
        "space": "claude-code",
        "data": {
            "memory_id": "desk.md",
            "text": "Ann sits at desk 3",
            "kind": "profile",
            "source": {"kind": "agent", "ref": "claude-code:memory:desk.md"},
            "metadata": {
                "path": "desk.md",
                "fields": {"name": "topic", "description": "what it tells\n", "metadata": {"type": "user"}},
                "format": "claude-code.memory",
                "time_from": "mtime",
            },
        },
    }
    assert desk["memory_id"] == "desk.md"


def test_types_tell_kinds_and_new_ones_tell_nothing(tmp_path: Path) -> None:
    """Map what is known; the format changes without notice."""
    files = {f"{kind}.md": topic("x", kind) for kind in ("user", "feedback", "project", "reference", "new")}
    events = events_of(read(SOURCE, fill(tmp_path, {"MEMORY.md": "", **files})))
    assert {event["data"]["memory_id"]: event["data"].get("kind") for event in events} == {
        "user.md": "profile",
        "feedback.md": "preference",
        "project.md": "fact",
        "reference.md": None,
        "new.md": None,
    }


def test_a_later_folder_updates_and_deletes(tmp_path: Path) -> None:
    """Tell by difference what changed and what is gone."""
    paths, _ = write(tmp_path)
    assert shape(read(SOURCE, *paths))[5:] == [
        ("deleted", "MEMORY.md#style.md", None),
        ("deleted", "MEMORY.md", None),
        ("written", "desk.md", "Ann sits at desk 3"),
        ("deleted", "style.md", None),
    ]


def test_a_git_history_gives_each_commit(tmp_path: Path) -> None:
    """Date by the author; who commits auto memory is not who wrote it; a renamed topic is another memory."""
    repository = TestRepository(tmp_path)
    repository.commit({"MEMORY.md": "", "a.md": topic("Desk 2", "user")}, time=1_777_622_400)
    repository.commit({"a.md": None, "b.md": topic("Desk 2", "user")}, time=1_777_622_460)
    items = read(SOURCE, tmp_path)
    assert [(event["type"], event["time"], event["data"]["memory_id"]) for event in events_of(items)] == [
        ("memory.written", "2026-05-01T08:00:00Z", "a.md"),
        ("memory.deleted", "2026-05-01T08:01:00Z", "a.md"),
        ("memory.written", "2026-05-01T08:01:00Z", "b.md"),
    ]
    assert events_of(items)[0]["data"]["source"] == {"kind": "agent", "ref": "claude-code:memory:a.md"}
    assert events_of(items)[0]["data"]["metadata"]["author"] == "Ann"
    assert reasons(items) == [("empty", 1)]


def test_instructions_are_of_an_unknown_source_unless_stated(tmp_path: Path) -> None:
    """Read CLAUDE.md files and rules, and nothing else of a project; follow no import."""
    files = {"CLAUDE.md": "Use tabs.\n@secret.md", "sub/CLAUDE.local.md": "Ask first.", ".claude/rules/sql.md": "Quote names."}
    fill(tmp_path, {**files, "secret.md": "secret", "README.md": "x", ".claude/settings.json": "{}"})
    assert SOURCE.detect(tmp_path)
    events = events_of(read(SOURCE, tmp_path))
    assert {event["data"]["memory_id"]: event["data"]["text"] for event in events} == files
    assert {(event["data"]["kind"], event["data"]["source"]["kind"]) for event in events} == {("instruction", "unknown")}
    stated = events_of(read(SOURCE, tmp_path, source_kind=SourceKind.USER))
    assert {event["data"]["source"]["kind"] for event in stated} == {"user"}


def test_an_index_never_names_a_parent_outside(tmp_path: Path) -> None:
    """Take a path that leaves the folder for no memory."""
    lines = "- [a](../other.md) x\n- [b](/etc/b.md) x\n- [c](./sub/../c.md) x\n- [d](https://example.org/d.md) x\n- [c](c.md) y"
    events = events_of(read(SOURCE, fill(tmp_path, {"MEMORY.md": lines, "c.md": topic("x", "user")})))
    assert [(event["data"]["memory_id"], event["data"].get("parents")) for event in events] == [
        ("MEMORY.md#../other.md", None),
        ("MEMORY.md#/etc/b.md", None),
        ("MEMORY.md#c.md", ["c.md"]),
        ("MEMORY.md#c.md:2", ["c.md"]),
        ("MEMORY.md", None),
        ("c.md", None),
    ]


def test_other_folders_are_not_claimed(tmp_path: Path) -> None:
    """Recognise neither a folder of notes nor one with an index and other markdown."""
    fill(tmp_path, {"notes.md": "x"})
    assert not SOURCE.detect(tmp_path)
    fill(tmp_path, {"MEMORY.md": "x"})
    assert not SOURCE.detect(tmp_path)
    assert not SOURCE.detect(tmp_path / "MEMORY.md")


def test_a_topic_without_header_is_a_topic_all_the_same(tmp_path: Path) -> None:
    """Recognise a folder that an older version wrote in part, and read every file of it."""
    fill(tmp_path, {"MEMORY.md": INDEX, "desk.md": topic("x", "user"), "old.md": "Plain text"})
    assert SOURCE.detect(tmp_path)
    assert ("written", "old.md", "Plain text") in shape(read(SOURCE, tmp_path))
