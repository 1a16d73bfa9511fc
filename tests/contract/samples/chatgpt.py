"""Samples of ChatGPT's export: invented conversations."""

import json
import zipfile
from pathlib import Path
from typing import Any


def node(key: str, parent: str | None, children: list[str], message: dict[str, Any] | None) -> dict[str, Any]:
    """Give one node of a conversation's tree."""
    return {"id": key, "parent": parent, "children": children, "message": None if message is None else {"id": key, **message}}


def say(role: str, text: str, time: float | None, **fields: Any) -> dict[str, Any]:
    """Give a message of text."""
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "create_time": time, "content": content, "recipient": "all", "metadata": {}, **fields}


def save(text: str, time: float | None) -> dict[str, Any]:
    """Give the call that saves a memory."""
    return say("assistant", text, time, recipient="bio", metadata={"model_slug": "gpt-x"})


def saved(time: float) -> dict[str, Any]:
    """Give the tool's answer."""
    return say("tool", "Model set context updated.", time, author={"role": "tool", "name": "bio"}, recipient="assistant")


def context(*lines: str, time: float) -> dict[str, Any]:
    """Give a message that shows what memory held."""
    content = {"content_type": "model_editable_context", "model_set_context": "\n\n".join(lines), "repository": None}
    return {"author": {"role": "system"}, "create_time": time, "content": content, "recipient": "all", "metadata": {}}


def conversation(name: str, *nodes: dict[str, Any], current: str, time: float = 1_777_622_400.5) -> dict[str, Any]:
    """Give a conversation."""
    mapping = {item["id"]: item for item in nodes}
    return {"title": name, "create_time": time, "conversation_id": name, "mapping": mapping, "current_node": current}


def conversations() -> list[dict[str, Any]]:
    """Give three conversations, newest first: a context, two calls of which one on a left branch, and small talk."""
    day = 86_400.0
    return [
        conversation(
            "c3",
            node(
                "n9",
                None,
                [],
                context("1. [2026-05-01]. Sits at desk 3.", "2. [2026-04-01]. Likes tea.", time=1_777_622_400.5 + day),
            ),
            current="n9",
        ),
        conversation(
            "c2",
            node("n1", None, ["n2", "n4"], say("user", "I sit at desk 3", 1_777_622_400.5)),
            node("n2", "n1", ["n3"], save("Sits at desk 3.", 1_777_622_401.5)),
            node("n3", "n2", [], saved(1_777_622_402.5)),
            node("n4", "n1", ["n5"], save("Sits at desk 4.", 1_777_622_403.5)),
            node("n5", "n4", [], saved(1_777_622_404.5)),
            current="n3",
        ),
        conversation("c1", node("n0", None, [], say("user", "Hello", None)), current="n0"),
    ]


def write(folder: Path) -> tuple[list[Path], int]:
    """Write the export as an archive, as it is downloaded."""
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"user.json": {}, "conversations-000.json": conversations()}.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 5, 2, 0, 0, 0)), json.dumps(content))
    return [path], 3
