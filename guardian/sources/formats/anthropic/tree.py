"""The memory directory as the commands of a transcript leave it: paths and texts, nothing on a disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guardian.contracts.admission import is_blank
from guardian.sources.reading.edit import insert_lines, replace_once

# A line of a `view`: its number, a tab, its text.
_VIEWED_LINE = re.compile(r"\s*(\d+)(?:\t|: )(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command did to one file.

    Attributes:
        text: What it holds afterwards; None when it is gone, or not known.
        old_path: Where it stood before a rename.
        is_seen: A `view` showed it: it was written by somebody else, before.
        is_unknown: It was changed, and what it holds cannot be told.
    """

    path: str
    text: str | None = None
    old_path: str | None = None
    is_seen: bool = False
    is_unknown: bool = False


class Tree:
    """Owns the texts of the files as far as they are known; a file that is known to exist but not what it holds is None."""

    def __init__(self) -> None:
        self._files: dict[str, str | None] = {}

    def apply(self, command: Mapping[str, Any], answer: str) -> list[Outcome]:
        """Carry out a command that succeeded, and give what it did to each file; nothing for what changes none."""
        texts = {
            key: value.rstrip("/") if key.endswith("path") else value for key, value in command.items() if isinstance(value, str)
        }
        match command["command"]:
            case "create" if {"path", "file_text"} <= texts.keys():
                return self._write(texts["path"], texts["file_text"])
            case "str_replace" if {"path", "old_str"} <= texts.keys():
                known = self._files.get(texts["path"])
                new = texts.get("new_str", "")
                return self._write(texts["path"], None if known is None else replace_once(known, texts["old_str"], new))
            case "insert" if {"path", "insert_text"} <= texts.keys():
                known, at = self._files.get(texts["path"]), command.get("insert_line")
                is_placed = known is not None and isinstance(at, int) and not isinstance(at, bool)
                return self._write(texts["path"], insert_lines(known or "", at or 0, texts["insert_text"]) if is_placed else None)
            case "delete" if "path" in texts:
                return self._delete(texts["path"])
            case "rename" if {"old_path", "new_path"} <= texts.keys():
                return self._rename(texts["old_path"], texts["new_path"])
            case "view" if "path" in texts and "view_range" not in command:
                return self._see(texts["path"], answer)
        return []

    def _write(self, path: str, text: str | None) -> list[Outcome]:
        was = self._files.get(path)
        self._files[path] = text
        if text is None:
            return [Outcome(path=path, is_unknown=True)]
        if is_blank(text):
            # An emptied file remembers nothing any more.
            return [Outcome(path=path)] if was is not None and not is_blank(was) else []
        return [Outcome(path=path, text=text)]

    def _delete(self, path: str) -> list[Outcome]:
        inside = self._list_inside(path)
        for name in inside:
            del self._files[name]
        # What the transcript has not shown existed all the same, or there would be an error.
        return [Outcome(path=name) for name in inside or [path]]

    def _rename(self, old: str, new: str) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for name in self._list_inside(old):
            moved, text = new + name.removeprefix(old), self._files.pop(name)
            self._files[moved] = text
            outcomes.append(Outcome(path=name))
            if text is None or not is_blank(text):
                outcomes.append(Outcome(path=moved, text=text, old_path=name, is_unknown=text is None))
        return outcomes or [Outcome(path=old), Outcome(path=new, is_unknown=True)]

    def _see(self, path: str, answer: str) -> list[Outcome]:
        text = _read_view(answer)
        if text is None or is_blank(text) or _same(text, self._files.get(path)):
            return []
        self._files[path] = text
        return [Outcome(path=path, text=text, is_seen=True)]

    def _list_inside(self, path: str) -> list[str]:
        return sorted(name for name in self._files if name == path or name.startswith(f"{path}/"))


def _read_view(answer: str) -> str | None:
    """Give the text of a file as a `view` shows it, with numbered lines from 1; None for a folder or a part."""
    lines = answer.split("\n")
    matches = [_VIEWED_LINE.fullmatch(line) for line in lines]
    first = next((number for number, match in enumerate(matches) if match), None)
    if first is None or first > 1:
        return None
    texts: list[str] = []
    for number, match in enumerate(matches[first:], start=1):
        if match is None and not lines[first + number - 1]:
            continue
        if match is None or int(match.group(1)) != number:
            return None
        texts.append(match.group(2))
    return "\n".join(texts)


def _same(seen: str, known: str | None) -> bool:
    """Tell whether a view shows what is known, but for blank lines at the end."""
    return known is not None and seen.rstrip("\n") == known.rstrip("\n")
