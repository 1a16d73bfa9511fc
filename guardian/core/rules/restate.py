"""Decide whether one text restates another.

Restating is the engine of memory echo ("Memory Echo in Single-Agent Long-Term Memory", FPA): an agent that writes
down again what it has just read adds no evidence. The rule is lexical, so that it gives the same answer on every
machine and after every change of an embedding model: a library's token-set ratio on normalised text, and no number,
date, code or negation in one that the other lacks. A new price restates nothing.
"""

from __future__ import annotations

from rapidfuzz.fuzz import token_set_ratio

from guardian.core.signature import Signature, build_signature

__all__ = ["THRESHOLD", "Signature", "build_signature", "restates", "score_restatement"]

# Similarity in [0, 1]. Lower and statements about one thing merge; higher and an agent's rewording escapes.
THRESHOLD = 0.75


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
    if a.marks != b.marks or _measures_differ(a.units, b.units) or not a.text or not b.text:
        return None
    similarity = token_set_ratio(a.text, b.text, score_cutoff=threshold * 100) / 100
    return similarity if similarity >= threshold else None


def _measures_differ(a: frozenset[str], b: frozenset[str]) -> bool:
    """Tell whether each text names a unit that the other lacks; a unit left out contradicts nothing."""
    return a != b and bool(a - b) and bool(b - a)
