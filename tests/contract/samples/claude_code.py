"""Samples of Claude Code's memory: an invented project."""

import os
from pathlib import Path

INDEX = "# Memory\n\n- [Desk](desk.md) — where Ann sits\n- [Style](style.md) — how to write\n\nThe build runs on Friday.\n"


def topic(body: str, kind: str, name: str = "topic") -> str:
    """Give a topic file."""
    return f"---\nname: {name}\ndescription: >\n  what it\n  tells\nmetadata:\n  type: {kind}\n---\n\n{body}\n"


def write(folder: Path) -> tuple[list[Path], int]:
    """Write two versions of a memory folder: the second lacks a topic and has another one changed."""
    versions = [
        {"MEMORY.md": INDEX, "desk.md": topic("Ann sits at desk 2", "user"), "style.md": topic("Short words", "feedback")},
        {"MEMORY.md": "- [Desk](desk.md) — where Ann sits\n", "desk.md": topic("Ann sits at desk 3", "user")},
    ]
    paths = []
    for number, files in enumerate(versions):
        paths.append(folder / f"memory{number}")
        paths[-1].mkdir()
        for name, text in files.items():
            (paths[-1] / name).write_text(text)
            os.utime(paths[-1] / name, (1_777_000_000 + number, 1_777_000_000 + number))
        os.utime(paths[-1], (1_777_000_100 + number, 1_777_000_100 + number))
    return paths, 5
