"""Read the content words of a text: what is left of its words without those that every text has.

Out are the words of grammar, and those that only say whom a memory is about and that they like it: every memory of a person has these
(`The user prefers …`), whatever it tells.

A word counts by its first five letters, so that `documentary` and `documentaries`, `производит` and `производство` are one: crude, without a
dictionary, the same in every alphabet and for ever. Words with a digit are left out; they are marks (`core.mark`). A script that is written
without spaces has clauses for words, so a text of one clause has one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from guardian.core.lexicon import FRAME_WORDS, FUNCTION_WORDS

# Letters of a word that count. Fewer take different words for one; more part `reflects` and `reflection`.
_STEM = 5
_NO_CONTENT = FUNCTION_WORDS | FRAME_WORDS
_NUMBERED = re.compile(r"\d")
# As for signatures: longer texts are not cached.
_CACHED_CHARS = 1024
_CACHED_TEXTS = 8_192


def read_content(normalized: str) -> frozenset[str]:
    """Give the content words of a signature's text. Some microseconds a sentence; cached for texts of up to 1,024 characters."""
    return _read_cached(normalized) if len(normalized) <= _CACHED_CHARS else _read(normalized)


def list_content(normalized: str) -> list[str]:
    """Give the content words in their order, each as often as it is there."""
    words = (word for word in normalized.split() if len(word) > 1 and word not in _NO_CONTENT)
    return [word[:_STEM] for word in words if not _NUMBERED.search(word)]


def is_share(part: int, whole: int, least: tuple[int, int]) -> bool:
    """Tell whether a part is at least such a share; in whole numbers, so that nothing hangs on how a fraction is rounded."""
    return part * least[1] >= whole * least[0]


def forget_content() -> None:
    """Forget every cached text: one of them was erased."""
    _read_cached.cache_clear()


def _read(normalized: str) -> frozenset[str]:
    return frozenset(list_content(normalized))


_read_cached = lru_cache(maxsize=_CACHED_TEXTS)(_read)
