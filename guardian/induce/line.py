"""Lines of a card: short, plain, on one line, and no instruction, in any language. A card is itself shown to models.

What a model writes about a memory may carry what the memory told it to write. So every line is brought into one form (NFKC: full-width and
mathematical letters become plain ones) and stripped of what is not seen, of marks that open or close anything, and of pictures. A line is
refused whole, with a reason in our own words, when it cannot be shown as what it is (halves of characters, private ones, marks in piles, a
script that the memory is not written in, a word of two scripts that look alike), when it speaks to its reader, or when it repeats a run of
the memory's own words. This is a net and no proof: what decides is that a line grants nothing, and that whoever shows it escapes it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from guardian.core.script import find_mixed, has_pile, is_hidden, list_scripts, widen_scripts
from guardian.induce.order import gives_orders
from guardian.induce.unit import list_runs

# Longest line, in characters and in bytes of UTF-8: enough for a condition, too short for a story. Three bytes a character are what most
# scripts need, four a few old ones.
MAX_LINE: Final = 200
MAX_LINE_BYTES: Final = 600
# Characters of a memory of which runs and scripts are kept apart; the limit of a memory is 32 KiB.
_MAX_QUOTED: Final = 40_000
# Marks that end a quotation or open markup, a code fence, a template or a table; and one spelling of the apostrophe.
_MARKS: Final = {**dict.fromkeys(map(ord, '"<>{}[]|\\#*_~^`'), " "), 0x2019: "'", 0x02BC: "'"}
# Beyond ASCII: brackets, quotation marks, pictures, modifiers and marks around letters; of mathematics what a condition may need.
_BLANK_CATEGORIES: Final = frozenset({"Ps", "Pe", "Pi", "Pf", "So", "Sk", "Me", "Sm"})
_KEPT: Final = frozenset("°±×÷≤≥≈→")  # noqa: RUF001 # signs, not letters
# What no text has: halves of pairs, private and unassigned characters.
_UNSHOWABLE: Final = frozenset({"Cs", "Co", "Cn"})


class Fault(StrEnum):
    """Why a line is refused; the words of the question that asks again."""

    EMPTY = "a line was empty"
    CHARACTERS = "a line had characters that cannot be shown"
    PILE = "a line had piles of combining marks"
    SCRIPT = "a line had letters of a script that the memory is not written in"
    MIXED = "a word mixed letters of two scripts"
    ORDER = "a line spoke to its reader or claimed a standing"
    QUOTATION = "a line repeated the memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What of a memory its card is held against.

    Attributes:
        runs: Runs of its words, which no line may repeat.
        scripts: Those that a line may be written in.
    """

    runs: frozenset[str] = frozenset()
    scripts: frozenset[str] = field(default=frozenset({"LATIN"}))

    @classmethod
    def of(cls, text: str) -> Origin:
        """Give what counts of a memory's text."""
        seen = text[:_MAX_QUOTED]
        return cls(runs=list_runs(seen), scripts=widen_scripts(list_scripts(unicodedata.normalize("NFKC", seen))))


NOWHERE: Final = Origin()


def clean_line(text: str, origin: Origin = NOWHERE) -> str | Fault:
    """Clean one line; the reason where it is refused.

    Args:
        text: As the model wrote it.
        origin: Of the memory it speaks of.
    """
    head = text[: 4 * MAX_LINE]
    if not _UNSHOWABLE.isdisjoint(map(unicodedata.category, head)):
        return Fault.CHARACTERS
    shown = _strip_hidden(unicodedata.normalize("NFKC", _strip_hidden(head)))[: 4 * MAX_LINE]
    words = " ".join("".join(map(_blank, shown.translate(_MARKS))).split())
    if gives_orders(shown) or gives_orders(words):
        return Fault.ORDER
    return _find_fault(words, origin) or _cut(words)


def clean_lines(texts: Iterable[str], origin: Origin, *, limit: int) -> tuple[list[str], list[Fault]]:
    """Clean lines; gives those that are left, each once, at most `limit`, and why the others were refused."""
    kept: list[str] = []
    faults: list[Fault] = []
    for text in texts:
        line = clean_line(text, origin)
        if isinstance(line, Fault):
            faults.append(line)
        elif line not in kept:
            kept.append(line)
    return kept[:limit], faults


def _strip_hidden(text: str) -> str:
    """Take out what is not seen, so that it parts no word; controls and ends of lines part them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show(char) for char in text)


def _show(char: str) -> str:
    if not is_hidden(char):
        return char
    return " " if unicodedata.category(char) in {"Cc", "Zl", "Zp"} else ""


def _blank(char: str) -> str:
    return " " if not char.isascii() and char not in _KEPT and unicodedata.category(char) in _BLANK_CATEGORIES else char


def _find_fault(words: str, origin: Origin) -> Fault | None:
    if not words:
        return Fault.EMPTY
    if has_pile(words):
        return Fault.PILE
    if find_mixed(words) is not None:
        return Fault.MIXED
    if not list_scripts(words) <= origin.scripts:
        return Fault.SCRIPT
    return None if origin.runs.isdisjoint(list_runs(words)) else Fault.QUOTATION


def _cut(words: str) -> str:
    """Cut a line that is too long, not between a letter and its marks."""
    if len(words) <= MAX_LINE and len(words.encode()) <= MAX_LINE_BYTES:
        return words
    kept = words[: MAX_LINE - 1].encode()[: MAX_LINE_BYTES - 3].decode(errors="ignore")
    if _is_mark(words[len(kept)]):
        while kept and _is_mark(kept[-1]):
            kept = kept[:-1]
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")
