"""What is printed and where: results to stdout, progress and errors to stderr."""

from __future__ import annotations

import re
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

# No markup and no emoji codes: what is printed comes from memories, and is data.
out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)

# Characters that steer a terminal or hide text: controls, and marks that turn the direction of what follows.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

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
    """Print an error to stderr."""
    err.print(Text("guardian: ", style="bold red") + Text(message), soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON document for programs."""
    print(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode())


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
        return unsafe.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    if isinstance(value, dict):
        return {_escape(unsafe, key): _escape(unsafe, inner) for key, inner in value.items()}
    return [_escape(unsafe, inner) for inner in value] if isinstance(value, list | tuple) else value


def shorten(text: str | None, width: int = 80) -> str:
    """Give one line of a text, cut at a width."""
    if text is None:
        return ""
    line = str(clean(" ".join(text.split())))
    return line if len(line) <= width else line[: width - 1] + "…"
