"""What the outcome of an event tells of its corrections."""

from __future__ import annotations

from guardian.core.decide import decide
from guardian.core.model import Event
from guardian.core.plan import CorrectionView, Plan
from guardian.core.policy import Policy
from tests.builders import corrected, written, written_data
from tests.unit.core.worlds import snapshot_of, store


def announce(event: Event, *known: Event) -> CorrectionView:
    """Give the correction that the outcome of an event tells of, in a world that knows some others."""
    plan = decide([event], snapshot_of(store(*known)), lambda _: Policy())
    assert isinstance(plan, Plan)
    (outcome,) = plan.outcomes
    assert outcome.correction is not None
    return outcome.correction


def test_a_correction_tells_of_what_its_verified_text_corrects_in_place() -> None:
    """The text that replaces one memory is also a verified revision of another: both fall by this event, and both are told."""
    old = written("gate", "It is gate 4", src="tool", t=0)
    recap = written("recap", "So gate 4", parents=["gate"], t=1)
    plan_b = written("plan", "Go to gate 4", t=1)
    inline = written_data("gate", "It is gate 5", src="tool", verified=True, observed=4)
    view = announce(corrected("plan", inline, extent="record", effective=3, t=5), old, recap, plan_b)
    assert view.targets == ("plan",)
    assert [(felled.memory_id, felled.via) for felled in view.felled] == [("gate", "gate"), ("plan", "plan"), ("recap", "gate")]


def test_a_verified_write_that_supersedes_tells_of_both() -> None:
    """Named targets and its own earlier revisions are one event's doing; a redelivery tells the same."""
    old = written("gate", "It is gate 4", src="tool", t=0)
    plan_b = written("plan", "Go to gate 4", src="tool", kind="episode", t=1)
    event = written("gate", "It is gate 5", src="tool", verified=True, supersedes=["plan"], t=4)
    view = announce(event, old, plan_b)
    assert {felled.memory_id for felled in view.felled} == {"gate", "plan"}
    assert announce(event, old, plan_b, event) == view
