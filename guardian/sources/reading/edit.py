"""Carry out, and take back, the small edits that agents make to a text; None where the outcome is not certain.

Agents' logs hold edits ("replace this by that"), not texts. What the whole text was after each is worked out from a text
that is known, and only as long as there is one possible outcome.
"""

from __future__ import annotations

import re

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def replace_once(text: str, old: str, new: str) -> str | None:
    """Replace the one place where `old` stands."""
    return text.replace(old, new) if old and text.count(old) == 1 else None


def insert_lines(text: str, at: int, inserted: str) -> str | None:
    """Insert after line number `at`; 0 is the beginning, -1 the end."""
    lines = text.split("\n")
    if at == -1:
        at = len(lines)
    if not 0 <= at <= len(lines):
        return None
    return "\n".join([*lines[:at], inserted.removesuffix("\n"), *lines[at:]])


def apply_diff(text: str, diff: str, *, is_reversed: bool = False) -> str | None:
    """Apply a unified diff, or take it back; every line that it removes or keeps must stand where it says.

    The line end of the last line is not told by such a diff and is not kept.
    """
    lines, result, at = text.split("\n"), list[str](), 0
    if lines[-1] == "":
        lines.pop()
    hunks = _read_hunks(diff, is_reversed=is_reversed)
    for start, removed, added in hunks:
        if start < at or lines[start : start + len(removed)] != removed:
            return None
        result += [*lines[at:start], *added]
        at = start + len(removed)
    return "\n".join([*result, *lines[at:]]) if hunks else None


def _read_hunks(diff: str, *, is_reversed: bool) -> list[tuple[int, list[str], list[str]]]:
    """Give each hunk's first line (from 0), the lines that stood there, and those that stand there after."""
    hunks: list[tuple[int, list[str], list[str]]] = []
    gone, come = ("+", "-") if is_reversed else ("-", "+")
    for line in diff.split("\n"):
        if (match := _HUNK.match(line)) is not None:
            start, count = (match.group(3), match.group(4)) if is_reversed else (match.group(1), match.group(2))
            # An empty side names the line before it.
            hunks.append((int(start) - (0 if count == "0" else 1), [], []))
        elif hunks and line[:1] in {gone, come, " "}:
            _, removed, added = hunks[-1]
            if line[0] != come:
                removed.append(line[1:])
            if line[0] != gone:
                added.append(line[1:])
    return hunks
