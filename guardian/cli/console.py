"""What is printed and where: results to stdout, progress and errors to stderr."""

from __future__ import annotations

from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

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


def shorten(text: str | None, width: int = 80) -> str:
    """Give one line of a text, cut at a width."""
    if text is None:
        return ""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
