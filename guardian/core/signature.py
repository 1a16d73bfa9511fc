"""Build the signature of a text: what two texts are compared by when the question is whether one restates the other.

A signature holds the normalised text (for a token ratio) and the *marks* of `core.mark`: the parts that may not
differ between a statement and its restatement, however alike the rest is. It is a function of the text alone and
equal for NFC and NFD.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from guardian.core.content import forget_content
from guardian.core.mark import NEGATED, NO_DENIAL, Denial, MarkKind, read_marks

# Longer texts are not cached: bounds the cache to about 100 MB when every text is as long as that.
_CACHED_CHARS = 1024
_CACHED_TEXTS = 32_768

_ZERO_WIDTH = (0x00AD, 0x2060, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNIFORM: dict[int, str | None] = {
    **dict.fromkeys(_ZERO_WIDTH),
    **dict.fromkeys((0x2018, 0x2019, 0x02BC), "'"),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-"),
    **{0x2014: " - ", 0x066B: ".", 0x066C: ",", 0x2116: "#"},
}
# Compatibility forms that NFKC would glue to the digit before them: 10² is not 102, 1½ is not 11/2.
_GLUING = re.compile("[\u00bc-\u00be\u00b2\u00b3\u00b9\u2070-\u2099\u2150-\u215f]")
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_ASCII_GAP = re.compile(r"[^a-z0-9]+")
_GAP = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a text is compared by.

    Attributes:
        text: NFKC, case-folded, digits of every script as ASCII, punctuation as single spaces. May be empty.
        marks: `kind:value` of everything that a restatement must share, such as `number:16.5` or `negation:not`.
        units: Known units that stand with a number. Naming none contradicts nothing; naming another does.
        denial: What it denies; its mark among `marks` tells only that it denies something.
    """

    text: str
    marks: frozenset[str]
    units: frozenset[str] = frozenset()
    denial: Denial = NO_DENIAL

    @property
    def figures(self) -> frozenset[str]:
        """The marks without that of negation, of which `denial` tells more."""
        return self.marks - {NEGATED}

    def names(self, kind: MarkKind) -> bool:
        """Tell whether the text has a mark of `kind`."""
        return any(mark.startswith(f"{kind}:") for mark in self.marks)


def build_signature(text: str) -> Signature:
    """Build the signature of `text`. Tens of microseconds a sentence; cached for texts of up to 1,024 characters."""
    return _build_cached(text) if len(text) <= _CACHED_CHARS else _build(text)


def forget_signatures() -> None:
    """Forget every cached signature and the text it was built of: one of them was erased."""
    _build_cached.cache_clear()
    forget_content()


def _build(text: str) -> Signature:
    unified = _unify(text)
    normalized = _normalize(unified)
    return Signature(normalized, *read_marks(unified, normalized))


_build_cached = lru_cache(maxsize=_CACHED_TEXTS)(_build)


def _unify(text: str) -> str:
    """Give `text` in NFKC with one spelling of digits, dashes and apostrophes; case and punctuation stay."""
    if text.isascii():
        return text
    text = _GLUING.sub(r" \g<0>", unicodedata.normalize("NFC", text).translate(_UNIFORM))
    text = unicodedata.normalize("NFKC", text).translate(_UNIFORM)
    return _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)


def _normalize(unified: str) -> str:
    """Give the text that is scored: case-folded, punctuation to spaces; vowel signs and pictographs stay."""
    folded = unified.casefold()
    if folded.isascii():
        return _ASCII_GAP.sub(" ", folded).strip()
    return " ".join(_GAP.sub(_blank, unicodedata.normalize("NFKC", folded)).split())


def _blank(found: re.Match[str]) -> str:
    """Keep combining marks and pictographs, which are no word characters; blank what is punctuation."""
    return found[0] if unicodedata.category(found[0]) in {"Mn", "Mc", "Me", "So"} else " "
