"""Bounds: where a record may be used, after the scopes of all that it derives from."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from guardian.core.bounds import MOST, PARTS, Bounds, group_bounds, list_bounds, merge_bounds, read_bounds
from guardian.core.model import Scope
from guardian.read.admission.rules.provenance import SCOPE_PARTS

pairs = st.tuples(st.sampled_from(PARTS), st.sampled_from(("a", "b", "c", "d")))
some_bounds = st.lists(st.lists(pairs, max_size=8).map(lambda drawn: merge_bounds((pair,) for pair in drawn)), max_size=6)


def test_a_scope_bounds_by_every_part_but_the_session() -> None:
    """The session says where a memory was written; no scope bounds nothing. A read asks for the same parts."""
    scope = Scope(user_id="ann", agent_id="a1", project_id="p1", session_id="s1", domain="kilns", task_type="firing")
    assert dict(read_bounds(scope)) == {
        "user_id": "ann",
        "agent_id": "a1",
        "project_id": "p1",
        "domain": "kilns",
        "task_type": "firing",
    }
    assert read_bounds(None) == read_bounds(Scope()) == ()
    assert set(PARTS) == set(SCOPE_PARTS)


@given(some_bounds, st.randoms(use_true_random=False), st.integers(0, 6))
def test_neither_order_nor_grouping_nor_repetition_of_what_bounds_matters(parts: list[Bounds], draw, cut: int) -> None:
    """So lineage may be worked out from the parents alone, in whatever order they came."""
    whole = merge_bounds(parts)
    others = [*parts, *parts[:2]]
    draw.shuffle(others)
    assert merge_bounds(others) == whole
    assert merge_bounds([merge_bounds(parts[:cut]), merge_bounds(parts[cut:])]) == whole


@given(some_bounds, st.sampled_from(PARTS), st.sampled_from(("a", "b", "c", "d")))
def test_what_is_kept_tells_all_that_a_question_can_ask(parts: list[Bounds], part: str, asked: str) -> None:
    """A value matches what is kept exactly when it matches all that was named."""
    whole = merge_bounds(parts)
    named = {value for name, value in chain.from_iterable(parts) if name == part}
    kept = {value for name, value in whole if name == part}
    assert (kept <= {asked}) == (named <= {asked})
    assert kept <= named
    assert len(kept) == min(len(named), MOST)


@given(some_bounds)
def test_the_stored_form_reads_back(parts: list[Bounds]) -> None:
    """Grouped by part they say the same."""
    assert list_bounds(group_bounds(merge_bounds(parts))) == merge_bounds(parts)
