"""Laws of provenance: what is superseded, does not hold, or belongs elsewhere is out, and says why."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from guardian.read.admission.admit import admit
from guardian.read.admission.decision import Reason, Role
from guardian.read.admission.task import Task
from tests.candidates import AT, FACT, PERSONAL, candidate, roles, setting

HISTORY = Task(is_history=True)
MOMENT = timedelta(microseconds=1)


def test_a_superseded_record_is_listed_and_never_rendered() -> None:
    """Where a policy looks at superseded records at all, they are audit, not answer."""
    found = candidate(status="superseded", replaced_by=("n",), felled_by=("corrected",))
    (decision,) = admit([found], setting(FACT)).decisions
    assert (decision.role, decision.reason, decision.is_rendered) == (Role.SUPERSEDED, Reason.SUPERSEDED, False)
    assert decision.instead == ("n",)


def test_a_history_question_gets_it_with_what_replaced_it() -> None:
    """Marked as what held before; what holds now stands beside it as ever."""
    found = [candidate("old", status="superseded", replaced_by=("new",)), candidate("new", rank=1)]
    decisions = {item.candidate.memory_id: item for item in admit(found, setting(HISTORY)).decisions}
    assert (decisions["old"].role, decisions["old"].reason) == (Role.SUPERSEDED, Reason.HELD_BEFORE)
    assert decisions["old"].is_rendered
    assert decisions["old"].instead == ("new",)
    assert decisions["new"].role == Role.EVIDENCE_CANDIDATE


def test_history_shows_nothing_that_would_not_have_been_shown_then() -> None:
    """A planted instruction, a private wish and a record of somebody unnamed stay out, though they fell."""
    found = [
        candidate("planted", kind="instruction", source="document", status="superseded"),
        candidate("wish", kind="preference", source="user", status="superseded", rank=1),
        candidate("owned", status="superseded", scope={"user_id": "ann"}, rank=2),
    ]
    assert not any(item.is_rendered for item in admit(found, setting(HISTORY)).decisions)


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"valid_from": AT + MOMENT}, Reason.NOT_YET_VALID),
        ({"valid_from": AT}, None),
        ({"valid_until": AT}, Reason.EXPIRED),
        ({"valid_until": AT + MOMENT}, None),
    ],
)
def test_a_record_answers_while_it_holds(bounds: dict[str, object], reason: Reason | None) -> None:
    """From its start on, and before its end."""
    (decision,) = admit([candidate(**bounds)], setting(FACT)).decisions  # type: ignore[arg-type] # bounds are times
    assert decision.is_rendered is (reason is None)
    assert reason in (None, decision.reason)


@pytest.mark.parametrize("felled_by", [("deleted",), ("corrected", "deleted")])
def test_what_was_deleted_is_no_history(felled_by: tuple[str, ...]) -> None:
    """It is kept for audits and barred from answers, also from those about the past."""
    (decision,) = admit([candidate(status="superseded", felled_by=felled_by)], setting(HISTORY)).decisions
    assert (decision.role, decision.reason, decision.is_rendered) == (Role.SUPERSEDED, Reason.SUPERSEDED, False)


def test_a_history_question_gets_what_has_expired_and_not_what_is_to_come() -> None:
    """What held is history; what will hold is none."""
    found = [candidate("past", valid_until=AT - MOMENT), candidate("to come", valid_from=AT + MOMENT, rank=1)]
    assert roles(admit(found, setting(HISTORY)).decisions) == {
        "past": (Role.SUPERSEDED, Reason.HELD_BEFORE),
        "to come": (Role.REJECT, Reason.NOT_YET_VALID),
    }


@pytest.mark.parametrize(
    ("part", "task"),
    [
        ("user_id", Task(user="bob")),
        ("project_id", Task(project="bob")),
        ("agent_id", Task(agent="bob")),
        ("domain", Task(domain="bob")),
        ("task_type", Task(task_type="bob")),
    ],
)
def test_what_belongs_elsewhere_is_out(part: str, task: Task) -> None:
    """Another value of a part that the task names; the same value is in without a limit."""
    (decision,) = admit([candidate(scope={part: "ann"})], setting(task)).decisions
    assert (decision.role, decision.reason) == (Role.REJECT, Reason.OUT_OF_SCOPE)
    assert part in decision.sentence
    (decision,) = admit([candidate(scope={part: "bob"})], setting(task)).decisions
    assert (decision.is_rendered, decision.limits) == (True, ())


@pytest.mark.parametrize("part", ["project_id", "agent_id", "domain", "task_type"])
def test_what_the_task_leaves_open_is_a_limit_on_the_record(part: str) -> None:
    """It is in, and its reader is told where alone it holds."""
    (decision,) = admit([candidate(scope={part: "x"})], setting(FACT)).decisions
    assert (decision.role, decision.limits) == (Role.EVIDENCE_CANDIDATE, ((part, "x"),))


def test_somebodys_memory_is_no_evidence_while_nobody_says_who_asks() -> None:
    """A fact is background at most, a wish is out; named, both are in."""
    fact, wish = (
        candidate("fact", scope={"user_id": "ann"}),
        candidate("wish", kind="preference", source="user", rank=1, scope={"user_id": "ann"}),
    )
    assert roles(admit([fact, wish], setting(PERSONAL)).decisions) == {
        "fact": (Role.BACKGROUND, Reason.SCOPE_UNPROVEN),
        "wish": (Role.REJECT, Reason.SCOPE_UNPROVEN),
    }
    named = Task(requires_objective_fact=False, personalization_allowed=True, user="ann")
    assert {role for role, _ in roles(admit([fact, wish], setting(named)).decisions).values()} == {
        Role.EVIDENCE_CANDIDATE,
        Role.PREFERENCE,
    }


def test_a_recap_is_its_owners_as_what_it_recaps_is() -> None:
    """It names none itself, and enters where that would enter; of nobody, of somebody else and of two it is not told."""
    fact, wish = candidate("fact", scope={"user_id": "ann"}), candidate("wish", scope={"user_id": "bob"})
    recap = candidate("recap", kind="summary", source="agent", parents=[fact])
    both = candidate("both", kind="summary", source="agent", parents=[fact, wish])
    assert roles(admit([recap], setting(Task(user="ann"))).decisions)["recap"][0] == Role.EVIDENCE_CANDIDATE
    assert roles(admit([recap], setting(FACT)).decisions)["recap"] == (Role.BACKGROUND, Reason.SCOPE_UNPROVEN)
    assert roles(admit([recap], setting(Task(user="bob"))).decisions)["recap"] == (Role.REJECT, Reason.OUT_OF_SCOPE)
    for user in ("ann", "bob"):
        assert roles(admit([both], setting(Task(user=user))).decisions)["both"] == (Role.REJECT, Reason.OUT_OF_SCOPE)


def test_a_recap_whose_owner_the_store_does_not_name_cannot_prove_one() -> None:
    """Its permission says that the user must match, and nothing says who: so an older store kept it."""
    recap = replace(candidate("recap", kind="summary", source="agent", parents=[candidate(scope={"user_id": "ann"})]), bounds={})
    assert roles(admit([recap], setting(Task(user="ann"))).decisions)["recap"] == (Role.BACKGROUND, Reason.SCOPE_UNPROVEN)


def test_what_joins_two_projects_is_limited_to_both() -> None:
    """Where the task leaves the project open the reader is told each of them."""
    one, other = (candidate(name, scope={"project_id": name}) for name in ("x", "y"))
    joined = candidate("joined", kind="summary", source="agent", parents=[one, other])
    admission = admit([joined], setting(FACT))
    assert admission.decisions[0].limits == (("project_id", "x"), ("project_id", "y"))


def test_the_session_a_memory_was_written_in_binds_nothing() -> None:
    """Else memory would end with the session."""
    (decision,) = admit([candidate(scope={"session_id": "then"})], setting(Task(session="now"))).decisions
    assert (decision.is_rendered, decision.limits) == (True, ())


def test_erased_records_are_out_for_everybody() -> None:
    """Also for history."""
    for task in (FACT, HISTORY):
        assert roles(admit([candidate(status="erased")], setting(task)).decisions)["m"] == (Role.REJECT, Reason.ERASED)
