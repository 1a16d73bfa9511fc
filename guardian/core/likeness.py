"""Likeness of texts under a policy: what the rules of provenance ask of two texts, and of a text and those its writer had read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from guardian.core.policy import Policy
from guardian.core.rules.recap import find_sources
from guardian.core.rules.restate import recalls, restates, takes_back
from guardian.core.signature import build_signature


def bind_restates(policy: Policy) -> Callable[[str, str], float | None]:
    """Give the function that tells whether one text restates another: the similarity, or None."""

    def compare(text: str, other: str) -> float | None:
        return restates(build_signature(text), build_signature(other), threshold=policy.restate_threshold)

    return compare


def bind_find_sources(policy: Policy) -> Callable[[str, Sequence[str]], list[tuple[int, float]]]:
    """Give the function that finds which texts a text writes down again: their places, each with its similarity."""
    rewords = partial(recalls, threshold=policy.restate_threshold)

    def find(text: str, read: Sequence[str]) -> list[tuple[int, float]]:
        found = find_sources(
            build_signature(text), [build_signature(one) for one in read], recalls=rewords, takes_back=takes_back
        )
        return [(source.place, source.similarity) for source in found]

    return find
