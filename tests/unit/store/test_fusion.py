"""Laws of reciprocal rank fusion."""

from __future__ import annotations

import pytest

from guardian.store.fusion import choose_hits, count_candidates, fuse_ranks, rank_scores


def test_ties_go_by_id_and_noise_of_32_bit_floats_is_a_tie() -> None:
    """Scores that differ behind the fifth digit are equal."""
    assert [name for name, _ in rank_scores([("c", 0.5), ("b", 0.5000001), ("a", 0.49)])] == ["b", "c", "a"]


def test_fused_scores_are_those_of_the_formula() -> None:
    """1 / (60 + place), places from 0, summed over the rankings."""
    fused = fuse_ranks([[("a", 0.9), ("b", 0.8)], [("b", 3.0), ("c", 2.0)]])
    assert fused == [("b", pytest.approx(1 / 61 + 1 / 60)), ("a", pytest.approx(1 / 60)), ("c", pytest.approx(1 / 61))]


def test_the_order_in_which_an_engine_answers_does_not_matter() -> None:
    """Rankings are sorted here."""
    ranking = [("a", 0.9), ("b", 0.8), ("c", 0.8)]
    assert choose_hits(ranking, [], limit=3) == choose_hits(ranking[::-1], [], limit=3)


def test_without_a_dense_ranking_bm25_scores_stay() -> None:
    """An empty dense ranking, though, is one: the scores are fused then."""
    assert choose_hits(None, [("a", 1.5), ("b", 2.5)], limit=1) == [("b", 2.5, None)]
    assert choose_hits([], [("a", 1.5)], limit=5) == [("a", pytest.approx(1 / 60), None)]


def test_more_candidates_than_hits_are_asked_for() -> None:
    """Also for one hit there is room for ties."""
    assert all(count_candidates(limit) >= limit + 100 for limit in (1, 10, 1_000))


def test_a_search_down_the_ranking_of_a_shorter_one_asks_for_no_more_than_that() -> None:
    """But for as many as it gives, should one ranking be all there is."""
    assert count_candidates(50, 10) == count_candidates(10)
    assert count_candidates(500, 10) == 500
