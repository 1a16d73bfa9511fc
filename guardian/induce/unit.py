"""Units of a text for comparing: words, and single letters where a script is written without spaces.

Eight words of English and a clause of Chinese say about as much, so each unit has a weight: what counts as a quotation, and how alike two
conditions are, is then the same question in every script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

# A word's weight, and that of letters which are units by themselves: a word of Thai has three or four of them, marks apart.
_WORD, _IDEOGRAPH, _KANA, _LETTER = 6, 4, 3, 2
# What makes a quotation: eight words, twelve ideographs, sixteen kana, twenty-four letters of Thai and the like.
RUN_WEIGHT: Final = 8 * _WORD
_IDEOGRAPHS: Final = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_KANAS: Final = re.compile("[\u3041-\u30ff\u31f0-\u31ff]")
_UNSPACED: Final = re.compile("[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17df]")  # Thai, Lao, Burmese, Khmer


def split_units(text: str) -> list[tuple[str, int]]:
    """Split a text into units and their weights: NFKC, folded, punctuation left out, combining marks with their letters."""
    return list(_iter_units(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())))


def join_units(text: str) -> str:
    """Give the units of a text with spaces between, for what compares words."""
    return " ".join(unit for unit, _ in split_units(text))


def list_runs(text: str) -> frozenset[str]:
    """Give all runs of units that weigh as much as eight words, to find quotations by; a shorter text has none."""
    units = split_units(text)
    runs, end, weight = set(), 0, 0
    for start, (_, first) in enumerate(units):
        while weight < RUN_WEIGHT and end < len(units):
            weight += units[end][1]
            end += 1
        if weight < RUN_WEIGHT:
            break
        runs.add(" ".join(unit for unit, _ in units[start:end]))
        weight -= first
    return frozenset(runs)


def _iter_units(text: str) -> Iterator[tuple[str, int]]:
    unit, weight = "", 0
    for char in text:
        if unit and unicodedata.category(char).startswith("M"):
            unit += char
            continue
        own = _weigh(char) if char.isalnum() else None
        if own == weight == _WORD:
            unit += char
            continue
        if unit:
            yield unit, weight
        unit, weight = ("", 0) if own is None else (char, own)
    if unit:
        yield unit, weight


def _weigh(char: str) -> int:
    """Give the weight of a unit that begins with a letter or a figure."""
    if char < "\u0e01":
        return _WORD
    if _IDEOGRAPHS.match(char):
        return _IDEOGRAPH
    if _KANAS.match(char):
        return _KANA
    return _LETTER if _UNSPACED.match(char) else _WORD
