"""Known cases of what models say, told in few words, against the reference."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference.story import Story, minute

NO_FACTS = {"bars": ["facts"], "never": ["objective_fact"], "conflict": "human_review"}


def open_story() -> tuple[Story, str]:
    """Tell of a document's fact, and of a recap of a recap of it."""
    story = Story()
    event_id = story.write("gate", "The gate is 12", source="document", kind="fact")
    story.write("recap", source="document", kind="fact", parents=["gate"], t=1)
    story.write("note", source="document", kind="fact", parents=["recap"], t=2)
    return story, event_id


def test_what_a_model_takes_is_taken_from_all_that_descends() -> None:
    """Slots, restrictions and the conflict policy; status, lineage and utility stay."""
    story, event_id = open_story()
    before = story.rows()
    story.induce(event_id, t=5, narrowing=NO_FACTS, card="An announcement.")
    assert story.row("gate")["induction"] == ["stub", "card-1", 0.5, "An announcement.", NO_FACTS]
    for row, was in zip(story.rows(), before, strict=True):
        assert ("facts" in was["slots"], row["slots"]) == (True, ["background"])
        assert "objective_fact" in row["permission"]["never"]
        assert row["permission"]["conflict"] == "human_review"
        same = row.keys() - {"slots", "permission", "induction"}
        assert {name: row[name] for name in same} == {name: was[name] for name in same}


@pytest.mark.parametrize("reverse", [False, True])
def test_the_last_by_its_event_stands(reverse: bool) -> None:
    """A later prompt gives back what an earlier one took, whichever came first."""
    story, event_id = open_story()
    story.induce(event_id, t=5, narrowing=NO_FACTS)
    story.induce(event_id, t=6, version="card-2", narrowing={"bars": ["background"]})
    story.events = story.events[::-1] if reverse else story.events
    assert story.row("gate")["induction"] == ["stub", "card-2", 0.5, None, {}]
    assert story.row("note")["slots"] == ["background", "facts"]


@pytest.mark.parametrize(
    "said",
    [
        {"by": "agent"},
        {"by": "user"},
        {"by": None},
        {"origin": "/guardian/inducers"},
        {"origin": "/agent"},
        {"kind": "summary"},
        {"digest": "0" * 32},
        {"revision": "another"},
    ],
)
def test_another_word_and_another_content_change_nothing(said: dict[str, Any]) -> None:
    """Who may not speak of cards, and what was made of something else."""
    story, event_id = open_story()
    before = story.rows()
    story.induce(event_id, t=5, narrowing=NO_FACTS, **said)
    assert story.rows() == before


def test_a_retraction_does_not_reach_it() -> None:
    """A later one replaces it."""
    story, event_id = open_story()
    said = story.induce(event_id, t=5, narrowing=NO_FACTS)
    story.retract(said)
    assert story.row("note")["slots"] == ["background"]


def test_a_content_that_changes_ends_it() -> None:
    """An earlier event of the same revision says that it is of another kind."""
    story, event_id = open_story()
    story.induce(event_id, t=5, narrowing=NO_FACTS)
    story.write("gate", "The gate is 12", t=-1, observed_at=minute(0), source="document", kind="profile")
    assert (story.row("gate")["kind"], story.row("gate")["induction"]) == ("profile", None)


def test_an_erasure_takes_it_and_hands_nothing_on() -> None:
    """What derives from a tombstone is background at most; what is written later stands by itself."""
    story, event_id = open_story()
    story.induce(event_id, t=5, narrowing=NO_FACTS)
    story.erase("gate", t=6)
    assert [row["induction"] for row in story.rows()] == [None] * 3
    assert (story.row("recap")["slots"], story.row("note")["slots"]) == (["background"], ["background"])
    assert "objective_fact" not in story.row("recap")["permission"].get("never", ())
    story.write("gate", "The gate is 12", t=9, source="document", kind="fact")
    assert story.row("gate")["slots"] == ["background", "facts"]


def test_a_circle_may_what_all_of_it_may() -> None:
    """Records that derive from each other are one node."""
    story = Story()
    first = story.write("a", source="document", kind="fact", parents=["b"])
    story.write("b", source="document", kind="fact", parents=["a"], t=1)
    story.induce(first, t=5, narrowing=NO_FACTS)
    assert [row["slots"] for row in story.rows()] == [["background"]] * 2
