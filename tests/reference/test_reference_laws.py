"""Laws that hold for every set of events, against the reference."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.core.model import Event
from tests.reference.state import compute_state
from tests.reference.story import word_overlap
from tests.strategies import event_sets, shuffled, split


@settings(deadline=None)
@given(st.data())
def test_arrival_does_not_matter(data: st.DataObject) -> None:
    """Any order and any multiplicity of one set give one state, and every space the state it has alone."""
    events: list[Event] = data.draw(event_sets(max_events=20))
    rows = compute_state(events, restates=word_overlap)
    assert compute_state(data.draw(shuffled(events)), restates=word_overlap) == rows
    alone = [compute_state([e for e in events if e.space == space], restates=word_overlap) for space in ("S1", "S2")]
    assert [row for part in alone for row in part] == rows


@settings(deadline=None)
@given(event_sets(max_events=20))
def test_every_record_has_one_standing(events: list[Event]) -> None:
    """Each memory has one current record, status follows from the reasons, and roots are never absent."""
    rows = compute_state(events)
    memories = {(row["space"], row["memory_id"]) for row in rows}
    assert sorted(memories) == sorted((row["space"], row["memory_id"]) for row in rows if row["current"])
    for row in rows:
        assert row["roots"]
        assert (row["depth"] > 0) <= bool(row["parents"])
        expected = {"superseded"} if row["reasons"] else {"active", "verified"}
        assert row["status"] in (expected if row["text"] is not None else {"erased"})
        assert row["provenance"] != "inferred" or row["parents"]


@settings(deadline=None)
@given(st.data())
def test_batches_are_a_cut_of_the_arrival(data: st.DataObject) -> None:
    """A split loses, repeats and reorders nothing, and makes no empty batch."""
    events: list[Event] = data.draw(event_sets(max_events=12))
    batches = data.draw(split(events))
    assert [event for batch in batches for event in batch] == events
    assert all(batches)
