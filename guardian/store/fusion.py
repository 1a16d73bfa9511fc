"""Fuse the dense and the BM25 ranking of one search, equally in every store. Pure.

The engines fuse too, but break ties in their own ways, and one round trip with two rankings costs less than their
fusion (0.5 against 1.2 ms at 2,000 records). Reciprocal rank fusion: Cormack, Clarke, Buettcher, SIGIR 2009.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from guardian.core.point import Point
from guardian.ports import Hit, SearchQuery

Id = TypeVar("Id", str, int)

# The constant of the paper, and of the engines' documentation; a smaller one lets first places weigh more.
RRF_K = 60
# Scores are 32-bit floats in the engines; what differs only behind this digit is a tie, broken by id.
SCORE_DIGITS = 5


def count_candidates(limit: int) -> int:
    """Give how many of each ranking to ask for: enough that ties at the cut are all seen, and that lists overlap."""
    return 2 * limit + 100


def rank_scores(scores: Iterable[tuple[Id, float]]) -> list[tuple[Id, float]]:
    """Sort (id, score) pairs, best first, ties by id; UUIDs as numbers and as text have one order."""
    return sorted(((point_id, round(score, SCORE_DIGITS)) for point_id, score in scores), key=lambda pair: (-pair[1], pair[0]))


def fuse_ranks(rankings: Sequence[Iterable[tuple[Id, float]]]) -> list[tuple[Id, float]]:
    """Fuse rankings of (id, score): each place counts 1 / (k + place), with places from 0."""
    fused: defaultdict[Id, float] = defaultdict(float)
    for ranking in rankings:
        for place, (point_id, _) in enumerate(rank_scores(ranking)):
            fused[point_id] += 1 / (RRF_K + place)
    return sorted(fused.items(), key=lambda pair: (-pair[1], pair[0]))


def name_similarities(dense: Iterable[tuple[Id, float]] | None) -> dict[Id, float]:
    """Give the cosine of each candidate of the dense ranking, by id, as far as engines agree on it."""
    return {} if dense is None else {point_id: round(score, SCORE_DIGITS) for point_id, score in dense}


def choose_hits(
    dense: Iterable[tuple[Id, float]] | None, sparse: Iterable[tuple[Id, float]], *, limit: int
) -> list[tuple[Id, float]]:
    """Give the best `limit` (id, score); without a dense ranking BM25's own scores."""
    return (rank_scores(sparse) if dense is None else fuse_ranks([dense, sparse]))[:limit]


def build_hits(
    best: Sequence[tuple[str, float]], points: Iterable[Point], similarities: Mapping[str, float], query: SearchQuery
) -> list[Hit]:
    """Build the answer of a search: what was read with its payload, the rest bare; what was to be read and is gone is left out."""
    read = {point.id: point for point in points}
    count = len(best) if query.payloads is None else query.payloads
    hits = []
    for place, (point_id, score) in enumerate(best):
        point = read.get(point_id) if place < count else Point(point_id, {}, whole=False)
        if point is not None:
            hits.append(Hit(point=point, score=score, similarity=similarities.get(point_id)))
    return hits
