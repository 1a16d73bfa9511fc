"""The tool calls with which a Letta agent edits a block, and what the block held before and after each of them.

An agent file holds the edits and the last text, not the texts in between. An edit is taken back from the text after it
where only one text can have stood before; one that sets the whole text needs nothing; and where a text is known, edits
are carried out on it. What is left is unknown, and said to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guardian.sources.reading.edit import apply_diff, insert_lines

# Calls that edit a block: the argument that names the block. `memory` names a path.
_LABEL_KEYS = {
    "core_memory_append": "label",
    "core_memory_replace": "label",
    "rethink_memory": "target_block_label",
    "memory_insert": "label",
    "memory_replace": "label",
    "memory_rethink": "label",
    "memory_apply_patch": "label",
    "memory": "path",
}
_PATH_PREFIXES = ("/memories/", "memories/", "/memory/", "memory/", "/")
# Commands of `memory` that do not change what a block holds.
_SILENT = frozenset({"view", "update_description"})


@dataclass(frozen=True, slots=True)
class BlockEdit:
    """One edit of one block: the call's name and arguments."""

    tool: str
    arguments: Mapping[str, Any]

    def find_whole(self) -> str | None:
        """Give the text that the edit sets, whatever stood there; "" where it removes the block."""
        if self.tool in {"rethink_memory", "memory_rethink"}:
            return self._text("new_memory")
        if self.tool == "memory":
            command = self._text("command")
            return {"create": self._text("file_text"), "delete": "", "rename": ""}.get(command or "")
        return None

    def apply(self, text: str) -> str | None:
        """Give the text after the edit; None where it is not certain."""
        added, old, new = self._find_added(), self._text("old_content", "old_string", "old_str"), self._find_new()
        if self.tool == "core_memory_append":
            return None if added is None else f"{text}\n{added}"
        if self._is_replacing() and old is not None and new is not None:
            return text.replace(old, new) if old and old in text else None
        if self._is_inserting() and added is not None:
            return insert_lines(text, self._find_line(), added)
        patch = self._text("patch")
        return apply_diff(text, patch) if self.tool == "memory_apply_patch" and patch is not None else None

    def undo(self, text: str) -> str | None:
        """Give the text before the edit; None where there is not exactly one."""
        before = self._take_back(text)
        return before if before is not None and self.apply(before) == text else None

    def _take_back(self, text: str) -> str | None:
        added, old, new = self._find_added(), self._text("old_content", "old_string", "old_str"), self._find_new()
        if self._is_replacing() and old is not None and new is not None:
            return text.replace(new, old) if new and text.count(new) == 1 else None
        if added is not None and (self.tool == "core_memory_append" or self._is_inserting()):
            at, lines, own = self._find_line(), text.split("\n"), added.removesuffix("\n").split("\n")
            if self.tool == "core_memory_append":
                at, own = -1, added.split("\n")
            start = len(lines) - len(own) if at == -1 else at
            return "\n".join(lines[:start] + lines[start + len(own) :]) if lines[start : start + len(own)] == own else None
        patch = self._text("patch")
        return apply_diff(text, patch, is_reversed=True) if self.tool == "memory_apply_patch" and patch is not None else None

    def _is_replacing(self) -> bool:
        is_command = self.tool == "memory" and self.arguments.get("command") == "str_replace"
        return is_command or self.tool in {"core_memory_replace", "memory_replace"}

    def _is_inserting(self) -> bool:
        return self.tool == "memory_insert" or (self.tool == "memory" and self.arguments.get("command") == "insert")

    def _find_added(self) -> str | None:
        return self._text("content", "insert_text", "new_string", "new_str")

    def _find_new(self) -> str | None:
        return self._text("new_content", "new_string", "new_str")

    def _find_line(self) -> int:
        line = self.arguments.get("insert_line", -1)
        return line if isinstance(line, int) and not isinstance(line, bool) else -1

    def _text(self, *keys: str) -> str | None:
        return next((value for key in keys if isinstance(value := self.arguments.get(key), str)), None)


def find_label(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Give the label of the block that a call edits; None for a call that edits none."""
    key = _LABEL_KEYS.get(tool)
    if key is None or (tool == "memory" and str(arguments.get("command")) in _SILENT):
        return None
    label = arguments.get(key, arguments.get("old_path", arguments.get("file_path")))
    if not isinstance(label, str) or not label:
        return None
    prefix = next((prefix for prefix in _PATH_PREFIXES if tool == "memory" and label.startswith(prefix)), "")
    return label.removeprefix(prefix) or None


def work_out(edits: Sequence[BlockEdit], last: str | None) -> tuple[str | None, list[str | None]]:
    """Give the text before the first edit and after each; None where it cannot be told.

    Args:
        edits: In the order in which they were made.
        last: What the block holds in the end; None when that is not known.
    """
    after: list[str | None] = [None] * len(edits)
    text = last
    for number in range(len(edits) - 1, -1, -1):
        edit = edits[number]
        whole = edit.find_whole()
        before = None if text is None or whole is not None else edit.undo(text)
        after[number] = whole if whole is not None else (text if before is not None else None)
        text = before
    first = text
    for number, edit in enumerate(edits):
        if after[number] is None and text is not None:
            after[number] = edit.apply(text)
        text = after[number]
    return first, after
