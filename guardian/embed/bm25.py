"""Sparse BM25 vectors of texts, made by the store's own engine with one fixed configuration.

Term weights are computed here (k1, b, expected length); the inverse document frequency is the store's part and is
computed for each space. Document and query must be made with the same configuration, so its name, `BM25_IDENTITY`, is
written into the store and compared at every start. Term ids are 32-bit hashes; nothing can be read back from them.

How text becomes terms, and why (measured with qdrant-edge-py 0.9.0):

- NFKC first, so that full-width digits and half-width katakana meet their usual forms.
- The engine's tokenizer `Word`, lower-cased and accents folded. Its tokenizer `Multilingual` segments Chinese and
  Japanese, but drops every number (`12.50`, `A-1234`, `2026-03-14` and `room 204` lose their figures), cuts by context
  (a query for 東京 misses 東京タワーへ) and leaves Korean particles on (서울 misses 서울에서). Prices, dates and codes
  are what memories get wrong, so it is not used.
- Scripts written without spaces (Han, kana, Thai, Lao) and Korean, whose particles stick to the word, are cut here
  into overlapping pairs of characters, as Lucene's CJKAnalyzer does; documents keep single characters as well, so that
  a query of one character finds them. Khmer and Burmese are not cut.
- English stop words and Snowball stemming for everything else. Other languages lose little by it (both sides are
  treated alike, but книга does not find книги). A stop word such as `not` is no term: BM25 ranks, it does not judge.

A text of stop words or symbols alone has no terms; its vector is empty and finds nothing. Cost: 3 to 40 microseconds.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Final

from qdrant_edge import Bm25, Bm25Config, SparseVector, TokenizerType

from guardian.errors import InvariantError

# Written into the store. Any change of what makes terms or weights changes this name, and stores must be rebuilt.
BM25_IDENTITY: Final = "bm25:word-english-folded+bigrams:k1=1.2,b=0.75,length=64:v1"

Terms = tuple[tuple[int, ...], tuple[float, ...]]

_MODEL: Final = Bm25(
    Bm25Config(
        k=1.2,  # saturation of term frequency: the usual value
        b=0.75,  # weight of length: the usual value
        # Tokens. Memories are short: real banks have medians of 6 to 80 words. With the engine's 256, made for pages,
        # every memory would count as short and length would tell nothing.
        avg_len=64.0,
        tokenizer=TokenizerType.Word,
        language="english",
        lowercase=True,
        ascii_folding=True,
    )
)

# Han with its iteration marks and extensions, hiragana, katakana, Hangul; Thai and Lao letters with their vowels.
_UNSPACED: Final = re.compile(
    "[\u3005-\u3007\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]+"
    "|[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf]+"
)
# Thai and Lao tone marks and other signs on which the engine would cut a word; without them pairs stay whole.
_SIGNS: Final = re.compile("[\u0e3a\u0e47-\u0e4e\u0eba\u0ec8-\u0ece]")


def bm25_document(text: str) -> Terms:
    """Give (indices, values) of a text to be stored: ids ascending, weights by frequency and length; may be empty."""
    return _checked(_MODEL.embed_document(_separate(text, singles=True)))


def bm25_query(text: str) -> Terms:
    """Give (indices, values) of a text to search for: ids ascending, each of weight 1; may be empty."""
    return _checked(_MODEL.embed_query(_separate(text, singles=False)))


def _separate(text: str, *, singles: bool) -> str:
    """Normalise, and write runs of unspaced scripts as pairs of characters set apart by spaces."""

    def cut(run: re.Match[str]) -> str:
        characters = _SIGNS.sub("", run.group())
        pairs = [characters[i : i + 2] for i in range(len(characters) - 1)]
        alone = list(characters) if singles or len(characters) == 1 else []
        return f" {' '.join(pairs + alone)} "

    return _UNSPACED.sub(cut, unicodedata.normalize("NFKC", text))


def _checked(vector: SparseVector) -> Terms:
    """Give the vector by ascending id; the engine poisons its own log when the two lists differ in length."""
    indices, values = list(vector.indices), list(vector.values)
    if len(indices) != len(values) or len(set(indices)) != len(indices) or not all(map(math.isfinite, values)):
        raise InvariantError("the engine's BM25 gave lists of unequal length, a repeated id or a weight that is not finite")
    pairs = sorted(zip(indices, values, strict=True))
    return tuple(index for index, _ in pairs), tuple(value for _, value in pairs)
