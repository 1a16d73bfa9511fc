"""Budget: how many tokens a prompt may take, and what is shortened or left out, in the open.

The cut is fair across sections: records take turns, the first of each section, then the second of each. When they do not all fit, the
longest are shortened first, all to the same level; only when that would leave less than a sentence of each are the last ones left out.
Both are marked in the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TypeVar

TokenCounter = Callable[[str], int]
Entry = TypeVar("Entry")

# A record shortened below tells nothing; it is left out instead.
LEAST_TOKENS = 48


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a model's vocabulary, rather too many than too few.

    Three tokens for ten ASCII characters, six for five others. On English prose real vocabularies need about a quarter less; Chinese and
    emoji come out about right. Give a real counter where a budget is tight.
    """
    others = 0 if text.isascii() else sum(char > "\x7f" for char in text)
    return (3 * (len(text) - others) + 12 * others + 9) // 10


def take_turns(sections: Sequence[Sequence[Entry]]) -> list[Entry]:
    """Give the first of each section, then the second of each, and so on."""
    gap = object()
    return [entry for turn in zip_longest(*sections, fillvalue=gap) for entry in turn if entry is not gap]  # type: ignore[misc] # the gap is gone


def share_out(costs: Sequence[int], budget: int) -> tuple[int, int]:
    """Share a budget out: (how many of the first entries are kept, the level to which the longer ones are shortened).

    Args:
        costs: Tokens of each entry, in the order in which they take turns.
        budget: Tokens for all of them.
    """
    for kept in range(len(costs), 0, -1):
        level = _find_level(costs[:kept], budget)
        if level >= min(LEAST_TOKENS, max(costs[:kept])):
            return kept, level
    return 0, 0


def _find_level(costs: Sequence[int], budget: int) -> int:
    """Find the largest level for which the entries, none longer than it, fit."""
    left = budget
    for place, cost in enumerate(sorted(costs)):
        level = left // (len(costs) - place)
        if cost > level:
            return level
        left -= cost
    return max(costs)


def shorten(text: str, fits: Callable[[str], bool]) -> str | None:
    """Give the longest beginning of a text that fits, None when not even a few characters do."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle]) else (low, middle - 1)
    return text[:low] if low >= min(len(text), 16) else None
