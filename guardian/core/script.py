"""Characters as writing: which are there without being seen, which script a letter is of, and which words mix scripts that look alike.

The standard library knows no scripts. The first word of a letter's Unicode name is its script for all that people write in today; letters of
phonetic notation, whose forms are those of plain Latin ones, are a script of their own.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain
from typing import Final

# Default_Ignorable_Code_Point beyond the categories below (DerivedCoreProperties.txt), and the blank of Braille.
IGNORABLE: Final = frozenset(
    chain(
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        range(0x180B, 0x1810),
        range(0xFE00, 0xFE10),
        range(0xE0100, 0xE01F0),
    )
)
# Controls, formats, halves of pairs, private and unassigned characters, separators of lines.
HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Combining marks of a run that writing needs: Vietnamese needs two, Hebrew with all its points four.
MARKS_KEPT: Final = 4

# Letters of the scripts that have doubles of Latin ones.
FOREIGN: Final = "\u0370-\u03ff\u0400-\u052f\u0531-\u058a\u13a0-\u13fd\u1c80-\u1c8f\u1f00-\u1fff\uab70-\uabbf"
LATIN: Final = "A-Za-z\u00c0-\u024f"
WORD: Final = re.compile(f"[{LATIN}{FOREIGN}]{{2,}}")
FOREIGN_LETTER: Final = re.compile(f"[{FOREIGN}]")
LATIN_LETTER: Final = re.compile(f"[{LATIN}]")
# Units write a Greek letter among Latin ones.
_UNIT: Final = re.compile("[pnmkMG]?[\u03bc\u03a9][A-Za-z]{0,3}")

# Scripts that one text writes in together.
_EAST_ASIAN: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO"})
_SAME_SCRIPT: Final = {"IDEOGRAPHIC": "CJK", "KATAKANA-HIRAGANA": "KATAKANA", "KANGXI": "CJK", "VERTICAL": "KATAKANA"}
PHONETIC: Final = "PHONETIC"


def is_hidden(char: str) -> bool:
    """Tell whether a character is there without being seen, or steers what is around it."""
    return unicodedata.category(char) in HIDDEN_CATEGORIES or ord(char) in IGNORABLE


def mixes_scripts(word: str) -> bool:
    """Tell whether a word has Latin letters and some that look like them; a unit such as \u03bcm does not count."""
    is_mixed = FOREIGN_LETTER.search(word) is not None and LATIN_LETTER.search(word) is not None
    return is_mixed and _UNIT.fullmatch(word) is None


def find_mixed(text: str) -> str | None:
    """Find the first word of a text that mixes scripts."""
    return next((found[0] for found in WORD.finditer(text) if mixes_scripts(found[0])), None)


@lru_cache(maxsize=4_096)
def name_script(letter: str) -> str:
    """Name the script of a letter, by the first word of its name; letters of phonetic notation are `PHONETIC`."""
    first = unicodedata.name(letter, "UNNAMED").split()[0]
    if first == "LATIN":
        return "LATIN" if ord(letter) < 0x0250 or 0x1E00 <= ord(letter) < 0x1F00 else PHONETIC
    return _SAME_SCRIPT.get(first, first)


def list_scripts(text: str) -> frozenset[str]:
    """List the scripts that a text is written in. A letter that looks like a Latin one, among Latin ones, gives none."""
    if text.isascii():
        return frozenset({"LATIN"}) if any(map(str.isalpha, text)) else frozenset()
    plain = WORD.sub(lambda found: "a" if LATIN_LETTER.search(found[0]) else found[0], text)
    return frozenset(name_script(char) for char in set(plain) if char.isalpha())


def widen_scripts(scripts: frozenset[str]) -> frozenset[str]:
    """Give the scripts that a text about such a text may be written in: its own, those written together with them, and Latin."""
    together = _EAST_ASIAN if scripts & (_EAST_ASIAN | {"HANGUL"}) else frozenset()
    return scripts | together | {"LATIN"}


def has_pile(text: str) -> bool:
    """Tell whether combining marks are piled higher than any writing needs."""
    run = 0
    for char in text:
        run = run + 1 if not char.isascii() and unicodedata.category(char) in {"Mn", "Me"} else 0
        if run > MARKS_KEPT:
            return True
    return False
