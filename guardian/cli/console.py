"""What is printed and where: results to stdout, progress and errors to stderr."""

from __future__ import annotations

import re
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

from guardian.core.escape import escape_char

# No markup and no emoji codes: what is printed comes from memories, and is data.
out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)

# Characters that steer a terminal or hide text: controls, marks that turn the direction of what follows, and what is there without being
# seen (blanks of no width, tags, fillers, selectors, private characters), which whoever copies a line copies, too. Joiners and the two selectors of emoji
# stay: Persian, Hindi and families need them.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)

# The same, and what ends or moves a line, which is no fault in a text of several.
_BREAKING = re.compile(f"{_STEERING.pattern[:-1]}\t\n\u2028\u2029]")

# How a status is shown; words, not colours alone.
STATUS_STYLES = {
    "verified": "bold green",
    "active": "green",
    "superseded": "yellow",
    "erased": "red",
    "unseen": "dim",
}


def say_error(message: str) -> None:
    """Print an error to stderr; names of files and memories in it steer nothing."""
    err.print(Text("guardian: ", style="bold red") + Text(str(clean(message))), soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON document for programs; what steers a terminal stands in its escape, which is the same JSON."""
    document = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    print(_escape(_STEERING, document))


def style_status(status: str) -> Text:
    """Give a status word in its style."""
    return Text(status, style=STATUS_STYLES.get(status, ""))


def clean(value: Any) -> Any:
    """Make text from memories safe to print, in a value of any plain shape: what steers a terminal is shown as its code."""
    return _escape(_STEERING, value)


def clean_name(value: Any) -> Any:
    """Make what stands within a line safe to print, likewise: no character of it ends that line."""
    return _escape(_BREAKING, value)


def _escape(unsafe: re.Pattern[str], value: Any) -> Any:
    if isinstance(value, str):
        return unsafe.sub(lambda found: escape_char(found[0]), value)
    if isinstance(value, dict):
        return {_escape(unsafe, key): _escape(unsafe, inner) for key, inner in value.items()}
    return [_escape(unsafe, inner) for inner in value] if isinstance(value, list | tuple) else value


def shorten(text: str | None, width: int = 80) -> str:
    """Give one line of a text, cut at a width."""
    if text is None:
        return ""
    line = str(clean(" ".join(text.split())))
    return line if len(line) <= width else line[: width - 1] + "…"
