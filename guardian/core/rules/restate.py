"""Decide whether one text restates another.

Restating is the engine of memory echo ("Memory Echo in Single-Agent Long-Term Memory", FPA): an agent that writes
down again what it has just read adds no evidence. The rule is lexical, so that it gives the same answer on every
machine and after every change of an embedding model: a library's token-set ratio on normalised text, and no number,
date, code or negation in one that the other lacks. A new price restates nothing.

Of a text that its writer has just read, `recalls` asks less: a rewording keeps the words that carry the content and
changes those around them, or keeps the sentence and puts other words in the places of some.
"""

from __future__ import annotations

from itertools import groupby

from rapidfuzz.distance import LCSseq
from rapidfuzz.fuzz import token_set_ratio

from guardian.core.content import is_share, list_content, read_content
from guardian.core.lexicon import GLUED_PRIVATIVES, UNDENYING
from guardian.core.signature import Signature, build_signature

__all__ = [
    "THRESHOLD",
    "Signature",
    "build_signature",
    "contradicts",
    "recalls",
    "restates",
    "score_restatement",
]

# Similarity in [0, 1]. Lower and statements about one thing merge; higher and an agent's rewording escapes.
THRESHOLD = 0.75
# What a rewording of a text just read may lack of the similarity, where it keeps the content: of the content words of the shorter text
# the share, and the least number of them. `benchmarks/rewording.py` chose them, on texts outside the lifecycle benchmark: of 600 rewordings
# by agents 0.81 restate and 0.89 are recalled; pairs of personal memories that are tied rise from 0.14 to 0.16 %, of other banks by 0.01 % at most.
SLACK = 0.1
KEPT_CONTENT = (2, 3)
KEPT_WORDS = 3
# Other words in the places of some: the share of the content words that is enough then, and of all words of the shorter text the share that stands
# in its order. Chosen there, too: of 304 memories of persons said in other nouns and adjectives 279 are recalled instead of 269 (0.92, 0.88), and no
# bank's pairs are tied oftener by more than 0.007 %. At 11/20 it would be 281 of them, and 0.013 %.
PLACED_CONTENT = (1, 2)
IN_ORDER = (3, 5)
# Most content words in a row that were changed. With more, pairs of turns of talks that share their first and last sentences are tied.
CHANGED_IN_A_ROW = 3
# Letters that a word has at least which a glued prefix can take back: shorter ones are found in words that deny nothing.
_LEAST_DENIED = 4


def score_restatement(a: Signature, b: Signature) -> float:
    """Score how much of one text's words the other holds, in [0, 1], whatever their marks; 0 when either has none."""
    return token_set_ratio(a.text, b.text) / 100 if a.text and b.text else 0.0


def restates(a: Signature, b: Signature, *, threshold: float = THRESHOLD) -> float | None:
    """Give the similarity when the texts state one thing, else None. Symmetric.

    Args:
        a: One text's signature.
        b: The other's.
        threshold: Least similarity, in [0, 1].
    """
    similarity = _compare(a, b, threshold)
    return None if similarity is None or takes_back(a, b) else similarity


def recalls(a: Signature, b: Signature, *, threshold: float = THRESHOLD) -> float | None:
    """Give the similarity when a text may be a rewording of one that its writer has just read, else None. Symmetric.

    Args:
        a: One text's signature.
        b: The other's.
        threshold: Least similarity of a restatement; a rewording that keeps the content words may have `SLACK` less.
    """
    similarity = _compare(a, b, max(0.0, threshold - SLACK))
    if similarity is None or not (similarity >= threshold or _keeps_content(a, b)) or takes_back(a, b):
        return None
    return similarity


def contradicts(a: Signature, b: Signature) -> bool:
    """Tell whether the marks of the texts differ: a number, date, code, unit or negation of one that the other lacks. Symmetric."""
    return a.figures != b.figures or a.denial.is_whole != b.denial.is_whole or _measures_differ(a, b)


def takes_back(a: Signature, b: Signature) -> bool:
    """Tell whether a prefix of one text takes back a word that the other has: `non-refundable` to `refundable`. Symmetric.

    To a text that does not have the word at all it denies nothing: `non-fiction` may be another's `documentaries`.
    """
    words, others = set(a.text.split()), set(b.text.split())
    denied = (a.denial.words - b.denial.words) & others or (b.denial.words - a.denial.words) & words
    return bool(denied) or _takes_back_glued(words, others) or _takes_back_glued(others, words)


def _compare(a: Signature, b: Signature, threshold: float) -> float | None:
    """Give the similarity where it is large enough and no mark differs."""
    if contradicts(a, b) or not a.text or not b.text:
        return None
    similarity = token_set_ratio(a.text, b.text, score_cutoff=threshold * 100) / 100
    return similarity if similarity >= threshold else None


def _measures_differ(a: Signature, b: Signature) -> bool:
    """Tell whether each text names a unit that the other lacks; a unit left out contradicts nothing."""
    return a.units != b.units and bool(a.units - b.units) and bool(b.units - a.units)


def _keeps_content(a: Signature, b: Signature) -> bool:
    """Tell whether the content words of the shorter text are kept; fewer of them are enough where its build is kept, too."""
    one, other = read_content(a.text), read_content(b.text)
    kept, least = len(one & other), min(len(one), len(other))
    if kept < KEPT_WORDS or not is_share(kept, least, PLACED_CONTENT):
        return False
    return is_share(kept, least, KEPT_CONTENT) or _keeps_build(a, b)


def _keeps_build(a: Signature, b: Signature) -> bool:
    """Tell whether most words of the shorter text stand in the other in their order, and what changed are words here and there.

    Statements of one pattern about different things (`Nothing happens if you …`) differ in one place, which is half of what they say.
    """
    words, others = a.text.split(), b.text.split()
    least = min(len(words), len(others))
    if not is_share(LCSseq.similarity(words, others), least, IN_ORDER):
        return False
    return all(_changes_words(one, other) for one, other, size in ((a, b, len(words)), (b, a, len(others))) if size == least)


def _changes_words(a: Signature, b: Signature) -> bool:
    """Tell whether a text nowhere has more than a few content words in a row that the other lacks, nor half of its own."""
    words, others = list_content(a.text), read_content(b.text)
    runs = [len(list(run)) for is_there, run in groupby(words, others.__contains__) if not is_there]
    longest = max(runs, default=0)
    return longest <= CHANGED_IN_A_ROW and not is_share(longest, len(words), PLACED_CONTENT)


def _takes_back_glued(words: set[str], others: set[str]) -> bool:
    """Tell whether a word with a prefix, `unavailable`, stands against the other text's bare one."""
    return any(
        word.startswith(GLUED_PRIVATIVES)
        and word not in UNDENYING
        and any(_is_bare(rest, words, others) for rest in _strip(word))
        for word in words - others
    )


def _strip(word: str) -> list[str]:
    return [word.removeprefix(prefix) for prefix in GLUED_PRIVATIVES if word.startswith(prefix)]


def _is_bare(rest: str, words: set[str], others: set[str]) -> bool:
    return len(rest) >= _LEAST_DENIED and rest in others and rest not in words
