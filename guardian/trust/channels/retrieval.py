"""Retrieval: an answer checked against a collection of documents, by the support of the best passages.

The answer is taken apart into sentences. For each the best passages are searched (BM25); one that shares too little with it is about
something else. Of those about it the best supports it by the share of its words it has, and not at all when it lacks a number, date, time
or code of the sentence, or says the opposite: a passage that has all the words and another price is no support.

Nothing found is nothing to say: a collection is never complete, and silence of it is not a fault of the answer. Documents are records of source
kind `document` in a space of a Guardian store that stand; the answer itself, and what derives from it, is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from guardian.core.mark import NEGATED, MarkKind
from guardian.core.model import SourceKind
from guardian.core.signature import build_signature
from guardian.embed.bm25 import bm25_query
from guardian.ports import SearchQuery, Store
from guardian.trust.channel import Case, Finding

# Passages looked at for a sentence; others than documents are passed over, so more are asked for.
PASSAGES = 5
_ASKED = 40
# Sentences of an answer that are looked at, and characters of each: bounds the searches.
MAX_CLAIMS = 20
_MAX_CLAIM_CHARS = 1_000
# Least share of a sentence's terms from which a passage is about the same thing: with fewer, most passages of any collection would be.
ABOUT = 0.6
# With fewer words of its own ("12.50 EUR") a sentence is read with its question.
_LEAST_TERMS = 3
_LEAST_WORDS = 2
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_KINDS = (MarkKind.NUMBER, MarkKind.CURRENCY, MarkKind.DATE, MarkKind.TIME, MarkKind.CODE)


@dataclass(frozen=True, slots=True)
class _Passage:
    """A document's text, made ready for comparison."""

    memory_id: str
    text: str
    terms: frozenset[int]
    literals: frozenset[str]

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self:
        """Make a passage of a record."""
        text = payload["text"]
        return cls(payload["memory_id"], text, read_terms(text), read_literals(text))

    def denies(self, terms: frozenset[int]) -> bool:
        """Tell whether the sentence that is closest to some terms holds a negation."""
        sentences = split_claims(self.text)
        closest = max(sentences, key=lambda one: len(read_terms(one) & terms), default="")
        return NEGATED in build_signature(closest).marks


@dataclass(frozen=True, slots=True)
class _Support:
    """How far the best passage about a sentence bears it out."""

    value: float
    memory_id: str


class RetrievalVerifier:
    """How far documents bear an answer out.

    Args:
        store: Where the documents lie; open.
        space: Their space; None for the space of the case.
    """

    name: ClassVar[str] = "retrieval"
    version: ClassVar[str] = "1"
    grows: ClassVar[bool] = False

    def __init__(self, store: Store, *, space: str | None = None) -> None:
        self._store = store
        self._space = space

    async def judge(self, case: Case) -> Finding | None:
        """Judge a text answer; nothing to say where no passage is about any of its sentences."""
        if case.answer is None or case.language not in {None, "text"}:
            return None
        claims = split_claims(case.answer)
        supports = [await self._weigh(claim, case) for claim in claims]
        found = [support for support in supports if support is not None]
        if not found:
            return None
        value = sum(support.value for support in found) / len(found)
        contradicted = sum(support.value == 0 for support in found)
        reason = "contradicted" if contradicted == len(found) else "partly_supported" if contradicted else "supported"
        evidence = {
            "claims": len(claims),
            "judged": len(found),
            "contradicted": contradicted,
            "passages": sorted({support.memory_id for support in found})[:PASSAGES],
        }
        return Finding(value=round(value, 9), reason=reason, evidence=evidence)

    async def _weigh(self, claim: str, case: Case) -> _Support | None:
        """Weigh a sentence; None where nothing is about it."""
        own = read_terms(claim) - _read_figures(claim)
        asked = claim if len(own) >= _LEAST_TERMS or not case.task else f"{case.task[:_MAX_CLAIM_CHARS]} {claim}"
        terms = read_terms(asked)
        # What the question names itself needs no support.
        needed = read_literals(claim) - read_literals(case.task or "")
        denies = NEGATED in build_signature(claim).marks
        words = terms - _read_figures(asked)
        if len(words) < _LEAST_WORDS:
            return None
        best: _Support | None = None
        for passage in await self._search(asked, case):
            # Figures are weighed apart: a passage with another price is about the same thing.
            if len(words & passage.terms) < ABOUT * len(words):
                continue
            is_borne_out = needed <= passage.literals and denies == passage.denies(terms)
            value = len(terms & passage.terms) / len(terms) if is_borne_out else 0.0
            if best is None or value > best.value:
                best = _Support(value, passage.memory_id)
        return best

    async def _search(self, text: str, case: Case) -> list[_Passage]:
        sparse = bm25_query(text)
        if not sparse[0]:
            return []
        space = self._space or case.space
        hits = await self._store.search(SearchQuery(space=space, sparse=sparse, limit=_ASKED))
        payloads = [hit.point.payload for hit in hits]
        documents = [
            one for one in payloads if one.get("source_kind") == SourceKind.DOCUMENT and _is_independent(one, case, space)
        ]
        return [_Passage.of(one) for one in documents[:PASSAGES]]


def split_claims(answer: str) -> list[str]:
    """Split an answer into its sentences, the first `MAX_CLAIMS`."""
    parts = (part.strip(" \t-*#>")[:_MAX_CLAIM_CHARS] for part in _SENTENCE.split(answer))
    return [part for part in parts if part][:MAX_CLAIMS]


def read_terms(text: str) -> frozenset[int]:
    """Read the terms that a search would have: stemmed, without stop words, in every script."""
    return frozenset(bm25_query(text)[0])


def read_literals(text: str) -> frozenset[str]:
    """Read the numbers, currencies, dates, times and codes of a text, each as `kind:value`."""
    return frozenset(mark for mark in build_signature(text).marks if mark.partition(":")[0] in _KINDS)


def _read_figures(text: str) -> frozenset[int]:
    """Read the terms that are figures rather than words."""
    return read_terms(" ".join(word for word in build_signature(text).text.split() if any(char.isdigit() for char in word)))


def _is_independent(payload: Mapping[str, Any], case: Case, space: str) -> bool:
    """Tell whether a document is something else than what is judged: not itself, and not derived from it."""
    return space != case.space or (payload["memory_id"] != case.memory_id and case.memory_id not in payload.get("roots", ()))
