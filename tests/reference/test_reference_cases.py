"""Known cases, told in few words, against the reference: it must be right before it may judge the package."""

from __future__ import annotations

import pytest

from tests.reference.story import Story, minute


def ids_felled(story: Story) -> set[str]:
    """Give the memories of which no revision stands."""
    return {memory_id for memory_id, found in story.statuses().items() if set(found) == {"superseded"}}


@pytest.mark.parametrize("reverse", [False, True])
def test_a_descendant_of_the_corrected_is_born_superseded(reverse: bool) -> None:
    """Whether a recap comes before or after the correction, it falls, and names what felled it."""
    story = Story()
    story.write("f", source="agent", kind="fact")
    story.write("g", source="user", t=50)
    event_id = story.correct("f", "g", t=60)
    story.write("r", source="agent", parents=["f"], t=70)
    story.events = story.events[::-1] if reverse else story.events
    assert story.statuses() == {"f": ["superseded"], "g": ["active"], "r": ["superseded"]}
    reason = {"reason": "corrected", "id": f"/desk#{event_id}", "via": "f", "replacement": "g", "mixed": False}
    assert story.row("r")["reasons"] == [reason]


def test_similar_facts_do_not_retire_each_other() -> None:
    """Without a correction both stand."""
    story = Story()
    story.write("j", "R leads team Oak", subject="R")
    story.write("k", "R also administers site Birch", subject="R", t=1)
    assert ids_felled(story) == set()


def test_a_chain_falls_whole_and_a_merge_is_mixed() -> None:
    """Descendants over several steps fall; one that has another standing root is marked mixed."""
    story = Story()
    story.write("a")
    for child, parent in (("b", "a"), ("c", "b"), ("d", "c")):
        story.write(child, parents=[parent], t=1)
    story.write("z")
    story.write("e", parents=["a", "z"], t=1)
    story.correct("a", "a2")
    assert ids_felled(story) == {"a", "b", "c", "d", "e"}
    assert [story.row(each)["reasons"][0]["mixed"] for each in "abcde"] == [False, False, False, False, True]


def test_the_latest_effective_correction_wins_in_every_order() -> None:
    """A late correction with an earlier effective time makes its replacement superseded too."""
    story = Story()
    story.write("d", t=0)
    story.write("n", t=90)
    story.write("o", t=30)
    last = story.correct("d", "n", t=90)
    story.correct("d", "o", t=100, effective_at=minute(30))
    assert story.statuses() == {"d": ["superseded"], "n": ["active"], "o": ["superseded"]}
    assert [reason["id"] for reason in story.row("o")["reasons"]] == [f"/desk#{last}"]


def test_a_loop_of_corrections_has_one_head() -> None:
    """Of corrections in a circle the last one's replacement stands."""
    story = Story()
    for memory_id in "ab":
        story.write(memory_id)
    story.correct("a", "b", t=10)
    story.correct("b", "a", t=20)
    assert story.statuses() == {"a": ["active"], "b": ["superseded"]}


@pytest.mark.parametrize("by", [None, "agent", "system_import", "unknown"])
def test_a_dispute_changes_nothing(by: str | None) -> None:
    """What has no authority corrects, erases, links and retracts nothing."""
    story = Story()
    story.write("a", source="document", verified=True)
    story.write("b", parents=["a"], t=1)
    before = story.rows()
    story.correct("a", "c", by=by)
    story.erase("a", t=50, by=by)
    assert story.rows() == before


def test_spaces_do_not_touch_each_other() -> None:
    """One id in two spaces is two memories; metadata names no space; a cascade stays where it is."""
    story = Story()
    story.write("note-1", metadata={"space": "S2", "roots": ["q"]})
    story.write("note-1", space="S2")
    story.write("x", space="S2", parents=["note-1"], t=1)
    story.correct("note-1", "n2")
    assert [(row["space"], row["memory_id"], row["status"]) for row in story.rows()] == [
        ("S1", "note-1", "superseded"),
        ("S2", "note-1", "active"),
        ("S2", "x", "active"),
    ]


def test_retracting_restores_what_fell() -> None:
    """A correction by `supersedes` that is retracted leaves the write, and gives back target and descendant."""
    story = Story()
    story.write("a")
    story.write("b", parents=["a"], t=1)
    before = story.rows()
    event_id = story.write("a2", t=2, source="tool", verified=True, supersedes=("a",))
    assert ids_felled(story) == {"a", "b"}
    story.retract(event_id)
    assert [row for row in story.rows() if row["memory_id"] != "a2"] == before
    assert story.row("a2")["status"] == "verified"


def test_long_and_wide_families_fall_whole() -> None:
    """Depth and breadth make no difference."""
    story = Story()
    story.write("a")
    for number in range(40):
        story.write(f"c{number}", parents=[f"c{number - 1}" if number else "a"], t=1)
        story.write(f"w{number}", parents=["a"], t=1)
    story.correct("a", "n")
    assert len(ids_felled(story)) == 81
    assert story.row("c39")["depth"] == 40


def test_a_later_correction_of_another_chain_exempts_nothing() -> None:
    """A summary of the corrected stays superseded when its other parent becomes a replacement."""
    story = Story()
    for memory_id in ("a", "k", "k2", "n"):
        story.write(memory_id)
    story.write("s", parents=["a", "k2"], kind="summary", t=1)
    story.correct("a", "n", t=10)
    story.correct("k", "k2", t=20)
    assert ids_felled(story) == {"a", "k", "s"}


def test_correcting_a_recap_to_its_source_spares_the_source() -> None:
    """Only the recap and what derives from it fall."""
    story = Story()
    story.write("email", kind="fact")
    story.write("recap", parents=["email"], t=1)
    story.write("kid", parents=["recap"], t=2)
    story.write("other", parents=["email"], t=2)
    story.correct("recap", "email")
    assert ids_felled(story) == {"recap", "kid"}


def test_a_revision_with_right_parents_stands_again() -> None:
    """Lineage is of records: a new revision derived from the replacement is active, the old one stays felled."""
    story = Story()
    story.write("f")
    story.write("prof", parents=["f"], kind="profile", t=1)
    story.write("recap", parents=["prof"], t=2)
    story.correct("f", "f2", t=10)
    story.write("prof", "says better", parents=["f2"], t=20)
    assert story.statuses() == {"f": ["superseded"], "prof": ["superseded", "active"], "recap": ["superseded"]}


def test_a_verified_update_in_place_fells_what_derives_from_the_old_text() -> None:
    """The old text and its recap fall; a recap of the new text stands."""
    story = Story()
    story.write("a", "gate 4")
    story.write("r", parents=["a"], t=1)
    event_id = story.write("a", "gate 5", source="document", verified=True, t=10)
    story.write("q", parents=["a"], t=20)
    assert story.statuses() == {"a": ["superseded", "verified"], "r": ["superseded"], "q": ["active"]}
    story.retract(event_id)
    assert story.statuses() == {"a": ["superseded", "verified"], "r": ["active"], "q": ["active"]}


def test_other_facts_of_an_episode_stand() -> None:
    """A correction of one derived fact leaves its siblings and their episode."""
    story = Story()
    story.write("ep", kind="episode")
    story.write("x", parents=["ep"], t=1)
    story.write("y", parents=["ep"], t=1)
    story.correct("x", "x2")
    assert ids_felled(story) == {"x"}


def test_the_family_of_a_statement_falls_with_a_recap_of_it() -> None:
    """Where the one root is a fact, its other recaps fall with the corrected one."""
    story = Story()
    story.write("f", kind="fact")
    story.write("x", parents=["f"], t=1)
    story.write("y", parents=["f"], t=1)
    story.correct("x", "x2")
    assert ids_felled(story) == {"f", "x", "y"}


def test_only_the_root_record_says_whether_a_family_falls() -> None:
    """A revision of the root's memory that the target does not derive from has no say."""
    story = Story()
    story.write("f", kind="fact")
    story.write("f", "later words", kind="episode", t=50)
    story.write("x", parents=["f"], t=1)
    story.write("y", parents=["f"], t=1)
    story.correct("x", "x2")
    assert story.statuses() == {"f": ["superseded", "superseded"], "x": ["superseded"], "y": ["superseded"]}


def test_a_later_verification_voids_a_correction() -> None:
    """A target that was verified after the correction took effect does not fall."""
    story = Story()
    story.write("a", t=0)
    story.write("b", parents=["a"], t=1)
    story.correct("a", "n", t=10)
    story.write("a", t=20, source="human_review", verified=True)
    assert story.statuses() == {"a": ["superseded", "verified"], "b": ["active"]}


def test_an_erasure_leaves_tombstones_of_all_that_declares_descent() -> None:
    """Text, source and verification are gone; id, time and declared parents stay; later revisions live."""
    story = Story()
    story.write("a", source="tool", verified=True)
    story.write("b", parents=["a"], t=1)
    story.write("b", "later words", t=50)
    story.erase("a", t=10, cascade=True)
    tombstone, old, new = story.rows()
    assert (tombstone["text"], tombstone["verified"], tombstone["source_kind"]) == (None, False, "unknown")
    assert (tombstone["revision"][0], len(tombstone["revision"]), tombstone["status"]) == ("x", 32, "erased")
    assert (old["status"], new["status"], new["roots"]) == ("erased", "active", ["a"])


def test_an_inline_replacement_exists_while_its_correction_stands() -> None:
    """The text inside a correction is written by it, with its authority as source, and goes with it, erased or not."""
    inside = Story()
    inside.write("n", "right words", t=10)
    story = Story()
    story.write("a")
    event_id = story.correct("a", "n", t=10, inline=inside.events[0])
    assert (story.statuses(), story.row("n")["source_kind"]) == ({"a": ["superseded"], "n": ["active"]}, "user")
    story.erase("n", t=20)
    assert story.statuses() == {"a": ["superseded"], "n": ["erased"]}
    story.retract(event_id)
    assert story.statuses() == {"a": ["active"]}


def test_a_cascade_follows_plain_writes_only() -> None:
    """What a text inside a correction names carries no cascade, so no retraction can make one narrower."""
    inside = Story()
    inside.write("x", "right words", t=10, parents=["a"])
    story = Story()
    story.write("a")
    story.write("k")
    story.write("x", "own words", t=5)
    event_id = story.correct("k", "x", t=10, inline=inside.events[0])
    story.erase("a", t=20, cascade=True)
    assert story.statuses() == {"a": ["erased"], "k": ["superseded"], "x": ["superseded", "active"]}
    story.write("x", "named words", t=6, parents=["a"])
    assert story.statuses() == {"a": ["erased"], "k": ["superseded"], "x": ["erased", "erased", "erased"]}
    story.retract(event_id)
    assert story.statuses() == {"a": ["erased"], "k": ["active"], "x": ["erased", "erased"]}


@pytest.mark.parametrize("early", [False, True])
def test_an_erasure_does_not_bring_back_what_an_update_felled(early: bool) -> None:
    """An erased verified text still corrects what was before it, until its event is retracted."""
    story = Story()
    story.write("a", "gate 4")
    story.write("r", parents=["a"], t=1)
    event_id = story.write("a", "gate 5", t=10, source="tool", verified=True)
    story.write("a", "gate 6", t=30)
    assert story.statuses()["r"] == ["superseded"]
    story.erase("a", t=20)
    story.events = story.events[::-1] if early else story.events
    assert story.statuses() == {"a": ["erased", "erased", "active"], "r": ["superseded"]}
    story.retract(event_id)
    assert story.statuses()["r"] == ["active"]


def test_an_erased_text_is_still_found_by_its_subject() -> None:
    """A correction by subject fells what derives from an erased text with that subject, named or inherited."""
    story = Story()
    story.write("a", subject="kiln", t=0)
    story.write("a", "later words", t=1)
    story.write("kid", parents=["a"], t=2)
    story.erase("a", t=5)
    story.write("a", "fresh words", t=6)
    story.correct(None, "n", subject="kiln", t=10)
    assert story.statuses() == {"a": ["erased", "erased", "active"], "kid": ["superseded"]}
    assert story.row("a")["subject"] is None


def test_utility_follows_the_verdicts() -> None:
    """Gold is the truth; else half of what the grade says beyond the verdict is taken back."""
    story = Story()
    story.write("a", self_grade=0.9)
    event_id = story.audit("a", 0.1, t=1)
    assert (story.row("a")["utility"], story.row("a")["utility_basis"]) == (pytest.approx(0.5), "execution")
    story.retract(event_id)
    assert (story.row("a")["utility"], story.row("a")["utility_basis"]) == (0.9, "unaudited")
    story.audit("a", 0.25, t=1, channel="gold")
    assert (story.row("a")["utility"], story.row("a")["utility_basis"]) == (0.25, "gold")


@pytest.mark.parametrize("late_first", [False, True])
def test_two_corrections_of_one_memory_have_one_head(late_first: bool) -> None:
    """The later one supersedes what the earlier one put in place, whichever producer came first."""
    story = Story()
    for memory_id in "abc":
        story.write(memory_id)
    story.correct("a", "b", t=10, id="x1")
    story.correct("a", "c", t=20, id="x2")
    story.events = story.events[::-1] if late_first else story.events
    assert story.statuses() == {"a": ["superseded"], "b": ["superseded"], "c": ["active"]}
