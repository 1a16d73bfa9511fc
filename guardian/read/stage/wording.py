"""Wording: whether the words of a span can be those of its quotes. Pure, lexical, and strict: what it cannot follow fails.

Compared are the marks of `core.signature` (numbers, currencies, dates, times, codes, units, negation), names (words with a capital that do
not merely open a sentence), and how much of each sentence stands in the record or the question at all. A paraphrase may fail, an invented
number, name or "not" may not pass. What lexical comparison cannot see are relations: who paid whom, or up for down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from guardian.core.mark import NEGATED
from guardian.core.signature import build_signature

_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[\u3002\uff01\uff1f\uff1b])|\n+")
_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)*")
# Scripts that are written without spaces: each character counts as a word.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Letters that two forms of one word share, and the length from which a word carries content.
_STEM: Final = 4
_CONTENT: Final = 4
# Words that open a sentence with a capital and name nothing.
_OPENERS: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "it",
        "its",
        "he",
        "she",
        "they",
        "their",
        "his",
        "her",
        "this",
        "that",
        "these",
        "those",
        "there",
        "in",
        "on",
        "at",
        "by",
        "as",
        "for",
        "from",
        "of",
        "to",
        "with",
        "if",
        "when",
        "while",
        "no",
        "not",
        "yes",
        "and",
        "but",
        "or",
        "so",
        "since",
        "until",
        "after",
        "before",
        "only",
        "both",
        "all",
        "each",
        "every",
        "one",
        "according",
        "currently",
        "i",
        "we",
        "you",
        "your",
        "our",
        "der",
        "die",
        "das",
        "ein",
        "eine",
        "es",
        "er",
        "sie",
        "im",
        "am",
        "bei",
        "mit",
        "von",
        "seit",
        "wenn",
        "le",
        "la",
        "les",
        "un",
        "une",
        "il",
        "elle",
        "en",
        "el",
        "los",
        "las",
        "una",
        "de",
        "da",
        "do",
        "o",
        "os",
        "as",
        "um",
        "uma",
        "lo",
        "gli",
    ]
)


# Words that make another statement of the same others, in the languages of the marks; an incomplete list, as any is.
_TURNING: Final = frozenset(
    [
        "hardly",
        "barely",
        "scarcely",
        "rarely",
        "seldom",
        "almost",
        "nearly",
        "half",
        "double",
        "twice",
        "triple",
        "less",
        "more",
        "fewer",
        "under",
        "below",
        "above",
        "free",
        "allegedly",
        "supposedly",
        "formerly",
        "except",
        "unless",
        "kaum",
        "selten",
        "beinahe",
        "nahezu",
        "halb",
        "doppelt",
        "weniger",
        "mehr",
        "kostenlos",
        "angeblich",
        "presque",
        "moitié",
        "gratuit",
        "moins",
        "casi",
        "mitad",
        "doble",
        "gratis",
        "menos",
    ]
)


def is_quoted(quote: str, text: str) -> bool:
    """Tell whether a quote stands in a text word for word, whatever its case, punctuation and form of Unicode."""
    wanted, there = build_signature(quote).text, build_signature(text).text
    if not wanted:
        return False
    return wanted in there if _UNSPACED.search(wanted) else f" {wanted} " in f" {there} "


def adds_marks(text: str, quotes: Sequence[str], dates: str) -> bool:
    """Tell whether a text has a number, currency, date, time, code or unit that neither its quotes nor the dates beside them have."""
    said = build_signature(text)
    known = [build_signature(quote) for quote in quotes]
    marks = frozenset().union(*(signature.marks for signature in known), build_signature(dates).marks)
    units = frozenset().union(*(signature.units for signature in known))
    return bool(said.marks - marks - {NEGATED}) or bool(said.units - units)


def turns_meaning(text: str, cited: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a text negates what none of its quotes negates, drops the negation that all of them have, or turns what they say.

    Args:
        text: The span.
        cited: Quote and the text that it is of: a "not" or a "hardly" before the quote, in its sentence, counts.
    """
    sentences = [_find_sentence(quote, whole) for quote, whole in cited]
    turning = _fold_words(text) & _TURNING
    return all(_negates(sentence) != _negates(text) for sentence in sentences) or bool(
        turning.difference(*map(_fold_words, sentences))
    )


def adds_names(text: str, known: Iterable[str], question: str) -> bool:
    """Tell whether a text names somebody or something that the records do not; a name in the question alone proves nothing."""
    words = {word for part in known for word in _fold_words(part)}
    common = {word for word in _list_words(question) if word.islower()}
    for sentence in split_sentences(text):
        for place, word in enumerate(_list_words(sentence)):
            if not word[0].isupper() or len(word) < 2 or _fold(word) in words:
                continue
            if place or not (word.lower() in _OPENERS or word.lower() in common):
                return True
    return False


def score_overlap(text: str, quotes: Sequence[str], known: Iterable[str]) -> float:
    """Score, of the sentence of a text that has the least of it, the share of its content that stands in known texts, in [0, 1].

    A text without a word of its quotes has none, whatever else it shares with the question.
    """
    quoted = {stem for quote in quotes for stem in _list_stems(quote)}
    there = quoted.union(*(_list_stems(part) for part in known))
    scores = []
    for sentence in split_sentences(text):
        stems = _list_stems(sentence)
        scores.append(len(stems & there) / len(stems) if stems & quoted else 0.0)
    return min(scores, default=0.0)


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences; a point within a number ends none."""
    return [part for part in (part.strip() for part in _SENTENCE_END.split(text)) if part]


def _find_sentence(quote: str, text: str) -> str:
    """Give the sentence that a quote stands in; the quote itself if it goes over several."""
    return next((sentence for sentence in split_sentences(text) if is_quoted(quote, sentence)), quote)


def _negates(text: str) -> bool:
    return NEGATED in build_signature(text).marks


def _list_words(text: str) -> list[str]:
    return _WORD.findall(text)


def _fold(word: str) -> str:
    return build_signature(re.sub(r"['\u2019]s?$", "", word)).text


def _fold_words(text: str) -> set[str]:
    return {_fold(word) for word in _list_words(text)}


def _list_stems(text: str) -> set[str]:
    """List what carries content: beginnings of longer words, numbers, characters of scripts without spaces; if there is none, all words."""
    stems: set[str] = set()
    words = build_signature(text).text.split()
    for word in words:
        if _UNSPACED.search(word):
            stems.update(word)
        elif len(word) >= _CONTENT or any(char.isdigit() for char in word):
            stems.add(word[:_STEM] if word.isalpha() else word)
    return stems or set(words)
