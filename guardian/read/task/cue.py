"""Read the cues of a question: a few numbers that mean the same in every language of `words.txt`.

A sentence model made for English places questions of other languages by their language, not by what they ask. The cues are
the part of the classifier that still works there. They are deterministic and need no model.

The language is guessed by counting known words; where too few are known there is none, and the classifier says nothing.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final

ENGLISH: Final = "en"
CUES: Final = (
    *("self", "own", "you", "person", "advise", "plan", "make", "recall", "taste", "mood"),
    *("who", "what", "tell", "truth", "care", "may", "proof", "could", "hello"),
    *("others", "together", "back", "past"),
)
SHAPES: Final = ("asks", "first_what", "first_who", "first_may", "short", "long", "sentences", "digits", "names", "bare")
# Cues that mean another thing together: what is my, who is my, may I with a medicine; who is my sister, what would my sister like.
PAIRS: Final = (
    *(("self", "who"), ("own", "who"), ("self", "what"), ("own", "what"), ("self", "care"), ("own", "care")),
    *(
        ("others", "who"),
        ("others", "could"),
        ("others", "make"),
        ("others", "advise"),
        ("others", "recall"),
        ("others", "truth"),
    ),
)
_MARKS = (*CUES, *("+".join(pair) for pair in PAIRS))
NAMES: Final = (*_MARKS, *SHAPES, *(f"ask:{name}" for name in _MARKS))
_PLACES: Final = {name: place for place, name in enumerate(NAMES)}

# Vowel signs of Devanagari and Arabic belong to the word, though they are no letters.
_WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f])+")
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f\u061f\u0964]+(?:\s|$)")
# Where a sentence, a frame or a turn ends and the next begins.
_CUT = re.compile(r"\n+|(?<=[.!:;])\s+|(?<=[?\u061f\u0964])\s+|(?<=[\u3002\uff01\uff1f\uff1a])")
_NAME = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][^\W_]+")
_QUESTION_MARKS = "?\uff1f\u061f"  # also of East Asian and Arabic scripts
# Words of a question that counts as fully long, and the most of one that counts as short.
_LONG_WORDS, _SHORT_WORDS = 25, 4
# Least share of words that a language must know to be the text's: a stray word makes no language. ASCII of at most three
# words is let through as English, for names and keywords are in no list.
_KNOWN_SHARE, _KNOWN_SHARE_ENGLISH, _FREE_WORDS = 0.25, 0.15, 3
# Scripts written without spaces begin here (kana, Han); the pieces are not searched for below it.
_FIRST_UNSPACED = "\u3040"
# No stem is longer; without a bound one endless word would cost its square.
LONGEST_STEM: Final = 16
_CUES = frozenset(CUES)

# For each language where a word it knows stands, and the cues it carries.
Places = dict[str, list[tuple[int, set[str]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """What a question shows.

    Attributes:
        language: Code of the guessed language, or None where too few words are known.
        values: One number in [0, 1] for each of `NAMES`, in order.
    """

    language: str | None
    values: tuple[float, ...]

    def shows(self, name: str) -> bool:
        """Tell whether it shows the cue of this name, such as `others`, or `ask:others` for the sentence that asks."""
        return self.values[_PLACES[name]] > 0


@dataclass(frozen=True, slots=True)
class _Index:
    """The words of all languages: from a word to the languages that know it, and the cues it carries there."""

    whole: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    stems: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    phrases: dict[tuple[str, ...], dict[str, set[str]]] = field(default_factory=dict)
    pieces: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    unspaced: set[str] = field(default_factory=set)
    order: list[str] = field(default_factory=list)

    def add(self, language: str, entry: str, cue: str) -> None:
        """Take in one entry of the file; a word of the list `plain` has no cue."""
        if language in self.unspaced:
            known = self.pieces.setdefault(entry, {})
        elif "_" in entry:
            known = self.phrases.setdefault(tuple(entry.split("_")), {})
        elif entry.endswith("*"):
            known = self.stems.setdefault(entry.removesuffix("*"), {})
        else:
            known = self.whole.setdefault(entry, {})
        known.setdefault(language, set()).update({cue} & _CUES)

    def find(self, folded: str, words: list[str]) -> Places:
        """Give for each language where a word it knows stands, and its cues."""
        found: Places = {}
        for place, known in self._find_all(folded, words):
            for language, cues in known.items():
                found.setdefault(language, []).append((place, cues))
        return found

    def _find_all(self, folded: str, words: list[str]) -> Iterator[tuple[int, dict[str, set[str]]]]:
        if any(character >= _FIRST_UNSPACED for character in folded):
            yield from ((folded.find(piece), known) for piece, known in self.pieces.items() if piece in folded)
        for place, word in enumerate(words):
            if known := self.whole.get(word):
                yield place, known
            for size in range(2, min(len(word), LONGEST_STEM) + 1):
                if known := self.stems.get(word[:size]):
                    yield place, known
            for size in range(2, 6):
                if known := self.phrases.get(tuple(words[place : place + size])):
                    yield place, known


def read_cues(text: str) -> Cues:
    """Give the cues of one question; some tens of microseconds."""
    text = text.strip()
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = _WORD.findall(folded)
    index = _read_index()
    found = index.find(folded, words)
    language = _guess_language(folded, words, {code: len({place for place, _ in places}) for code, places in found.items()})
    if language is None:
        return Cues(language=None, values=(0.0,) * len(NAMES))
    asked = _find_ask(text)
    values = (*_mark(_gather(found, language)), *_shape(text, words, found.get(language, [])))
    if asked == text:
        return Cues(language=language, values=(*values, *values[: len(_MARKS)]))
    folded = unicodedata.normalize("NFKC", asked).casefold()
    return Cues(language=language, values=(*values, *_mark(_gather(index.find(folded, _WORD.findall(folded)), language))))


def _find_ask(text: str) -> str:
    """Give the last sentence with a question mark, or the last one: what stands before it is often a mere opening."""
    parts = [part for part in _CUT.split(text.strip()) if _WORD.search(part)]
    asking = [part for part in parts if any(mark in part for mark in _QUESTION_MARKS)]
    return text if len(parts) < 2 else (asking or parts)[-1]


def _gather(found: Places, language: str) -> set[str]:
    return {cue for _, marks in found.get(language, []) for cue in marks}


def _mark(cues: set[str]) -> list[float]:
    """Give the numbers of the cues and of their pairs."""
    return [float(cue in cues) for cue in CUES] + [float(cues.issuperset(pair)) for pair in PAIRS]


@cache
def words_digest() -> str:
    """Give the digest of the lists and of what is read from them; weights belong to one such digest."""
    return hashlib.sha256("\n".join((*NAMES, _read_file())).encode()).hexdigest()


def _guess_language(folded: str, words: list[str], counts: dict[str, int]) -> str | None:
    """Give the language that knows the most words; of several the first in the file."""
    index = _read_index()
    language = max(index.order, key=lambda code: counts.get(code, 0))
    known = counts.get(language, 0)
    if not known:
        return ENGLISH if folded.isascii() and 0 < len(words) <= _FREE_WORDS else None
    if language in index.unspaced or (folded.isascii() and len(words) <= _FREE_WORDS):
        return language
    least = _KNOWN_SHARE_ENGLISH if language == ENGLISH and folded.isascii() else _KNOWN_SHARE
    return language if known >= least * len(words) else None


def _shape(text: str, words: list[str], places: list[tuple[int, set[str]]]) -> list[float]:
    """Give the numbers named by `SHAPES`; they look at the form alone."""
    first = {cue for place, marks in places if place == 0 for cue in marks}
    facts: tuple[float, ...] = (
        any(mark in text for mark in _QUESTION_MARKS),
        "what" in first,
        "who" in first,
        "may" in first,
        len(words) <= _SHORT_WORDS,
        min(len(words) / _LONG_WORDS, 1.0),
        min(max(len(_SENTENCE_END.findall(text)) - 1, 0) / 3, 1.0),
        any(character.isdigit() for character in text),
        bool(_NAME.search(text)),
        not any(marks for _, marks in places),
    )
    return [float(fact) for fact in facts]


@cache
def _read_file() -> str:
    return files("guardian.read.task").joinpath("words.txt").read_text(encoding="utf-8")


@cache
def _read_index() -> _Index:
    """Read all lists once."""
    index = _Index()
    for line in _read_file().splitlines():
        if line.startswith("["):
            language, _, mode = line.removeprefix("[").partition("]")
            index.order.append(language)
            if mode.strip() == "pieces":
                index.unspaced.add(language)
        elif line and not line.startswith("#"):
            cue, *entries = line.split()
            for entry in entries:
                index.add(language, entry.casefold(), cue)
    return index
