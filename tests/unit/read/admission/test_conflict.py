"""Laws of conflicts, of the number of records, and of what is done when nothing verified answers."""

from __future__ import annotations

from itertools import permutations

import pytest

from guardian.core.card import ConflictPolicy
from guardian.read.admission.admit import admit
from guardian.read.admission.decision import Mark, Reason, Role
from guardian.read.admission.policy import ReadPolicy, WhenUnverified
from guardian.read.admission.task import Task
from tests.candidates import FACT, PERSONAL, candidate, ranked, roles, setting

OLD, NEW = "2026-01-01T00:00:00.000000Z", "2026-02-01T00:00:00.000000Z"


def test_of_two_wishes_on_one_subject_the_latest_stands() -> None:
    """People change their minds; the older one says who stands in its place."""
    found = ranked(
        candidate("old", "Prefers tea in the morning", kind="preference", source="user", subject="drink", observed=OLD),
        candidate("new", "Prefers coffee in the morning", kind="preference", source="user", subject="drink", observed=NEW),
    )
    ruling = admit(found, setting(PERSONAL))
    assert roles(ruling.decisions)["old"] == (Role.REJECT, Reason.CONFLICT_LOST)
    assert next(item for item in ruling.decisions if item.candidate.memory_id == "old").instead == ("new",)
    (conflict,) = ruling.conflicts
    assert (conflict.memory_ids, conflict.policy, conflict.has_winner) == (
        ("new", "old"),
        ConflictPolicy.LATEST_MEMORY_WINS,
        True,
    )


def test_of_two_facts_the_verified_one_stands_and_age_decides_nothing() -> None:
    """Between two of one standing nobody decides: both stand, marked."""
    price = {"subject": "price"}
    one, other = (
        candidate("one", "Beans cost $18 a kilo", observed=OLD, **price),
        candidate("other", "Beans cost $20 a kilo", observed=NEW, **price),
    )
    ruling = admit(ranked(one, other), setting(FACT))
    assert [item.marks for item in ruling.decisions] == [(Mark.UNVERIFIED, Mark.DISPUTED)] * 2
    assert not ruling.conflicts[0].has_winner
    verified = candidate("sure", "Beans cost $22 a kilo", status="verified", observed=OLD, **price)
    ruling = admit(ranked(other, verified), setting(FACT))
    assert roles(ruling.decisions) == {
        "other": (Role.REJECT, Reason.CONFLICT_LOST),
        "sure": (Role.EVIDENCE_CANDIDATE, Reason.VERIFIED_EVIDENCE),
    }


def test_what_holds_in_different_places_does_not_disagree() -> None:
    """Of two projects with windows of their own both stand, each with its limit; a rule for all still meets them."""
    window = {"subject": "window"}
    here = candidate("here", "Deploys start at 9", status="verified", scope={"project_id": "x"}, **window)
    there = candidate("there", "Deploys start at 8", scope={"project_id": "y"}, **window)
    ruling = admit(ranked(here, there), setting(FACT))
    assert (len(ruling.conflicts), [item.is_rendered for item in ruling.decisions]) == (0, [True, True])
    anywhere = candidate("anywhere", "Deploys start at 7", **window)
    assert roles(admit(ranked(here, anywhere), setting(FACT)).decisions)["anywhere"] == (Role.REJECT, Reason.CONFLICT_LOST)


def test_what_people_reviewed_waits_for_people() -> None:
    """Neither side is evidence until somebody decides."""
    found = ranked(
        candidate("review", "Gate 4 opens at 7", source="human_review", subject="gate"),
        candidate("tool", "Gate 4 opens at 8", source="tool", subject="gate"),
    )
    ruling = admit(found, setting(FACT))
    assert set(roles(ruling.decisions).values()) == {(Role.BACKGROUND, Reason.CONFLICT_OPEN)}
    assert ruling.conflict_policy is ConflictPolicy.HUMAN_REVIEW or ruling.conflicts[0].policy is ConflictPolicy.HUMAN_REVIEW


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Beans cost $18", "beans cost $18 now"),  # one says what the other says
        ("Beans cost $18", "Beans cost $18"),
    ],
)
def test_what_restates_does_not_disagree(one: str, other: str) -> None:
    """The same statement in more words is no conflict."""
    found = ranked(candidate("a", one, subject="x"), candidate("b", other, subject="x"))
    assert admit(found, setting(FACT)).conflicts == ()


def test_wording_far_apart_may_be_about_two_things() -> None:
    """Both stand, marked; nothing is thrown away for sharing a subject."""
    found = ranked(
        candidate("a", "Likes dark roast", kind="preference", source="user", subject="coffee", observed=OLD),
        candidate("b", "No milk after dinner, please", kind="preference", source="user", subject="coffee", observed=NEW),
    )
    ruling = admit(found, setting(PERSONAL))
    assert all(item.role is Role.PREFERENCE and Mark.DISPUTED in item.marks for item in ruling.decisions)


def test_other_subjects_and_none_do_not_meet() -> None:
    """A conflict needs one named subject."""
    found = ranked(candidate("a", "It costs 1"), candidate("b", "It costs 2"), candidate("c", "It costs 3", subject="c"))
    assert admit(found, setting(FACT)).conflicts == ()


def test_the_order_of_the_candidates_does_not_matter() -> None:
    """The same ranks in any order give the same ruling, conflicts included."""
    found = ranked(
        candidate("a", "Beans cost $18", subject="price", observed=OLD),
        candidate("b", "Beans cost $20", subject="price", status="verified"),
        candidate("c", kind="episode", source="agent", utility=0.8),
        candidate("d", kind="episode", source="agent", utility=0.9),
    )
    expected = admit(found, setting(FACT))
    assert all(admit(order, setting(FACT)) == expected for order in permutations(found))


class TestConflictPolicy:
    """What decides against other evidence, for the whole."""

    def test_on_a_question_of_fact_evidence_at_hand_wins(self) -> None:
        """Also where only constraints were admitted, and for an unknown task."""
        wish = candidate(kind="instruction", source="user")
        assert admit([wish], setting(FACT)).conflict_policy is ConflictPolicy.CURRENT_EVIDENCE_WINS
        assert admit([wish], setting(Task())).conflict_policy is ConflictPolicy.CURRENT_EVIDENCE_WINS

    def test_among_wishes_the_latest_wins_and_reviews_are_stricter(self) -> None:
        """The strictest of what is admitted."""
        wish = candidate("w", kind="preference", source="user")
        review = candidate("r", source="human_review", rank=1)
        assert admit([wish], setting(PERSONAL)).conflict_policy is ConflictPolicy.LATEST_MEMORY_WINS
        assert admit([wish, review], setting(PERSONAL)).conflict_policy is ConflictPolicy.HUMAN_REVIEW
        background = candidate("b", source="unknown", rank=2)
        assert admit([wish, background], setting(PERSONAL)).conflict_policy is ConflictPolicy.LATEST_MEMORY_WINS


class TestWhenUnverified:
    """A question of fact and no verified record."""

    @pytest.mark.parametrize("choice", list(WhenUnverified))
    def test_the_policy_says_what_to_do(self, choice: WhenUnverified) -> None:
        """Flag and ask keep unverified evidence, abstain takes it away."""
        ruling = admit([candidate()], setting(FACT, when_unverified=choice))
        assert ruling.advice is choice
        assert ruling.decisions[0].is_rendered is (choice is not WhenUnverified.ABSTAIN)

    def test_a_verified_record_needs_no_advice(self) -> None:
        """Nor does a question that is not of fact; one that may be is treated as one."""
        unsure = {"when_unverified": WhenUnverified.ASK}
        assert admit([candidate(status="verified")], setting(FACT, **unsure)).advice is None
        assert admit([candidate()], setting(PERSONAL, **unsure)).advice is None
        assert admit([candidate()], setting(Task(), **unsure)).advice is WhenUnverified.ASK

    def test_nothing_at_all_is_nothing_verified(self) -> None:
        """An empty memory does not read as an answer."""
        assert admit([], setting(FACT)).advice is WhenUnverified.FLAG


def test_as_many_as_were_asked_for_are_given() -> None:
    """The best ones by place; the others say that there were enough."""
    found = ranked(*(candidate(f"m{number}") for number in range(5)))
    ruling = admit(found, setting(FACT, limit=3))
    assert [item.candidate.memory_id for item in ruling.decisions if item.is_rendered] == ["m0", "m1", "m2"]
    assert {item.reason for item in ruling.decisions if not item.is_rendered} == {Reason.OVER_LIMIT}


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"overfetch": 0}, {"least_utility": 1.5}, {"token_budget": 0}, {"max_text_chars": 1}]
)
def test_a_policy_that_cannot_work_is_refused(wrong: dict[str, float]) -> None:
    """The message names the field."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ReadPolicy(**wrong)  # type: ignore[arg-type] # wrong on purpose
