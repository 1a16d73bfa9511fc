"""How agents write down again what they have read: a dozen ways, from a note with a frame to a summary of two memories.

Some change hardly a word (frames before and behind), some the usual verbs (`reword`), some the nouns and adjectives, too (`reword_freely`), some join two
memories. They are our own, written before the first run and not fitted to the rule that has to recognise them. An agent that recaps a recap does not
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
# And for what is talked of in such memories; most content words change.
_FREE_WORDS = (
    (r"\b[Mm]usic(al)?\b", "tunes"),
    (r"\b[Ff]ilms?\b|\b[Mm]ovies?\b", "pictures"),
    (r"\b[Dd]ocumentar(y|ies)\b", "non-fiction"),
    (r"\b[Dd]iscussions?\b", "talks"),
    (r"\b[Ss]tor(y|ies)\b|\b[Ss]torytelling\b|\b[Nn]arratives?\b", "plots"),
    (r"\b[Tt]ravel(s|ing|ling)?\b", "trips"),
    (r"\b[Ee]vents?\b", "occasions"),
    (r"\b[Cc]ommunit(y|ies)\b", "circle"),
    (r"\b[Ee]motion(s|al)?\b", "feeling"),
    (r"\b[Gg]enuine\b|\b[Aa]uthentic\b", "real"),
    (r"\b[Dd]iverse\b", "varied"),
    (r"\b[Ww]atching\b", "viewing"),
    (r"\b[Cc]reat(e|es|ing)\b", "make"),
    (r"\b[Ss]har(e|es|ing)\b", "pass on"),
    (r"\b[Ee]xplor(e|es|ing)\b", "get to know"),
    (r"\b[Oo]verwhelming\b", "too much"),
    (r"\b[Ee]ngaging\b", "gripping"),
    (r"\b[Ii]nsights?\b", "findings"),
    (r"\b[Pp]ersonal\b", "own"),
    (r"\b[Cc]ultural\b", "folk"),
    (r"\b[Tt]raditional\b", "old-style"),
    (r"\b[Oo]nline\b", "web"),
    (r"\b[Ll]egal\b|\b[Ll]aw\b", "court matters"),
    (r"\b[Hh]ealth\b", "fitness"),
    (r"\b[Pp]erspectives?\b", "points of view"),
    (r"\b[Ee]xperiences?\b", "moments"),
    (r"\b[Tt]echniques?\b", "methods"),
    (r"\b[Ff]riends\b", "mates"),
)
# Which way each reading in turn is written down; the story says where the round begins.
WAYS = (
    "frame-1", "reword", "join", "freely", "frame-2", "frame-0", "framed reword", "frame-5", "join", "framed freely", "frame-3", "frame-7",
)  # fmt: skip


def write_recap(number: int, texts: Sequence[str]) -> tuple[str, int]:
    """Write down what was read first (and second), in the way whose turn it is; gives the text and how many memories it holds."""
    way = WAYS[number % len(WAYS)]
    first = strip_frame(texts[0])
    if way == "join" and len(texts) > 1:
        before, between, behind = _JOINED
        return f"{before}{first.rstrip('.')}{between}{strip_frame(texts[1]).rstrip('.')}{behind}", 2
    return _MAKERS.get(way, _frame(0))(first), 1


def strip_frame(text: str) -> str:
    """Take the frame off a recap; what is no recap stays."""
    for before, behind in FRAMES:
        if (before or behind) and text.startswith(before) and text.endswith(behind):
            return text[len(before) : len(text) - len(behind)]
    before, _, behind = _JOINED
    return text[len(before) : -len(behind)] if text.startswith(before) and text.endswith(behind) else text


def reword(text: str) -> str:
    """Say it with other verbs."""
    return _replace(text, _WORDS)


def reword_freely(text: str) -> str:
    """Say it with other verbs, nouns and adjectives."""
    return _replace(reword(text), _FREE_WORDS)


def _replace(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    for pattern, words in pairs:
        text = re.sub(pattern, words, text)
    return text


def _frame(place: int) -> Callable[[str], str]:
    before, behind = FRAMES[place]
    return lambda text: f"{before}{text}{behind}"


_MAKERS: dict[str, Callable[[str], str]] = {
    **{f"frame-{place}": _frame(place) for place in range(len(FRAMES))},
    "reword": reword,
    "freely": reword_freely,
    "framed reword": lambda text: _frame(2)(reword(text)),
    "framed freely": lambda text: _frame(4)(reword_freely(text)),
}
