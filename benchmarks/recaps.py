"""How agents write down again what they have read: a dozen ways, from a note with a frame to a summary of two memories.

Some change hardly a word (frames before and behind), some change several (`reword`), some join two memories. An agent that recaps a recap does not
quote its frame: `strip_frame` takes it off first, so that texts do not grow with every reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# (before, behind); what is read stands between.
FRAMES = (
    ("", ""),
    ("Noted again: ", ""),
    ("From earlier conversations: ", ""),
    ("Reminder for later: ", ""),
    ("Context for this person: ", ""),
    ("", " (recalled while answering)"),
    ("", " This came up again today."),
    ("As established before, ", ""),
)
_JOINED = ("Summary of what is known: ", "; also: ", ".")
# An agent's own words for the usual ones.
_WORDS = (
    (r"\bThe user\b|\bUser\b", "This person"),
    (r"\b[Pp]refers\b", "would rather have"),
    (r"\b[Ee]njoys\b", "takes pleasure in"),
    (r"\b[Ll]ikes\b", "is fond of"),
    (r"\b[Dd]islikes\b", "does not like"),
    (r"\b[Vv]alues\b", "sets store by"),
    (r"\b[Mm]otivated by\b", "driven by"),
    (r"\b[Mm]otivated to\b", "keen to"),
    (r"\b[Ii]nterested in\b", "curious about"),
    (r"\b[Aa]ppreciates\b", "thinks highly of"),
    (r"\bbecause\b", "since"),
)
# Which way each reading in turn is written down; eight frames, and four others.
_ROUND = (
    "frame-1",
    "reword",
    "frame-2",
    "join",
    "frame-0",
    "frame-5",
    "reword-frame",
    "frame-3",
    "join",
    "frame-4",
    "frame-6",
    "frame-7",
)


def write_recap(number: int, texts: Sequence[str]) -> tuple[str, int]:
    """Write down what was read first (and second), in the way whose turn it is; gives the text and how many memories it holds."""
    way = _ROUND[number % len(_ROUND)]
    first = strip_frame(texts[0])
    if way == "join" and len(texts) > 1:
        before, between, behind = _JOINED
        return f"{before}{first.rstrip('.')}{between}{strip_frame(texts[1]).rstrip('.')}{behind}", 2
    return _WAYS.get(way, _frame(0))(first), 1


def strip_frame(text: str) -> str:
    """Take the frame off a recap; what is no recap stays."""
    for before, behind in FRAMES:
        if (before or behind) and text.startswith(before) and text.endswith(behind):
            return text[len(before) : len(text) - len(behind)]
    before, _, behind = _JOINED
    return text[len(before) : -len(behind)] if text.startswith(before) and text.endswith(behind) else text


def reword(text: str) -> str:
    """Say it in other words."""
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return text


def _frame(place: int) -> Callable[[str], str]:
    before, behind = FRAMES[place]
    return lambda text: f"{before}{text}{behind}"


_WAYS: dict[str, Callable[[str], str]] = {
    **{f"frame-{place}": _frame(place) for place in range(len(FRAMES))},
    "reword": reword,
    "reword-frame": lambda text: _frame(2)(reword(text)),
}
