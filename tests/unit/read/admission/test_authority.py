"""Laws of authority: what a record may be, by kind, source, permission and task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.core.card import Permission, Withheld
from guardian.core.model import MemoryKind, Slot, SourceKind
from guardian.read.admission.admit import admit
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import SENTENCES, SLOT_OF, Mark, Reason, Role
from guardian.read.admission.rules.authority import may_be_evidence
from guardian.read.admission.task import Task
from tests.candidates import FACT, PERSONAL, candidate, ranked, roles, setting

KINDS = [kind.value for kind in MemoryKind]
SOURCES = [source.value for source in SourceKind]
TASKS = [
    Task(requires_objective_fact=fact, personalization_allowed=personal, concerns_others=others)
    for fact in (None, True, False)
    for personal in (None, True, False)
    for others in (None, True)
]


def judge(found: Candidate, task: Task, **policy: object) -> tuple[str, str]:
    """Give (role, reason) of one record on its own."""
    return roles(admit([found], setting(task, **policy)).decisions)[found.memory_id]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", ["active", "verified"])
def test_user_sourced_memory_is_never_evidence(kind: str, status: str) -> None:
    """Whatever its kind, its standing and the task: what a user said is no evidence of what is so."""
    own = candidate(kind=kind, source="user", status=status)
    recap = candidate("recap", kind="fact", source="agent", parents=[own], status=status)
    for task in TASKS:
        for found in (own, recap):
            assert judge(found, task)[0] != Role.EVIDENCE_CANDIDATE


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_a_wrong_permission_alone_does_not_make_a_users_word_evidence(task: Task) -> None:
    """The source is looked at again: a permission that a faulty card made wide lets nothing through."""
    wide = replace(candidate(source="user"), permission=Permission(slots=tuple(Slot)), slots=frozenset(Slot))
    assert judge(wide, task)[0] != Role.EVIDENCE_CANDIDATE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_role_stands_in_a_slot_that_the_record_may_enter(kind: str, source: str) -> None:
    """No rule widens: where a record stands is one of its own slots, for every kind, source, parent and task."""
    for status in ("active", "verified"):
        own = candidate(kind=kind, source=source, status=status)
        for found in (own, candidate("c", kind="summary", source="agent", parents=[own], status=status)):
            for task in TASKS:
                (decision,) = admit([found], setting(task)).decisions
                if decision.is_admitted:
                    assert decision.slot in found.slots, (task, decision.role)
                assert decision.reason in SENTENCES
                assert decision.sentence


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_own_memories_are_used_only_where_personalization_is_allowed(task: Task) -> None:
    """A wish or belief is in for a task that says so; unknown counts as no."""
    for found in (candidate(kind="preference", source="user"), candidate(kind="fact", source="user")):
        role, reason = judge(found, task)
        if task.personalization_allowed is True:
            assert role in {Role.PREFERENCE, Role.SCOPE_CONSTRAINT}
        else:
            assert role == Role.REJECT
            assert reason in {Reason.NOT_EVIDENCE, Reason.PERSONALIZATION_NOT_ALLOWED}


def test_one_persons_wish_in_a_choice_of_others_binds_that_person_alone() -> None:
    """It enters as a constraint on scope, with the words that say how far."""
    wish = candidate(kind="preference", source="user")
    assert judge(wish, replace(PERSONAL, concerns_others=True)) == (Role.SCOPE_CONSTRAINT, Reason.OWN_WISH_ONLY)
    assert judge(wish, PERSONAL) == (Role.PREFERENCE, Reason.PERSONAL_PREFERENCE)
    said = candidate(kind="fact", source="user")  # may stand among preferences alone
    (decision,) = admit([said], setting(replace(PERSONAL, concerns_others=True))).decisions
    assert (decision.role, decision.reason, decision.marks) == (Role.PREFERENCE, Reason.OWN_WISH_ONLY, (Mark.OWN_PART_ONLY,))


@pytest.mark.parametrize(
    ("found", "task", "role", "reason"),
    [
        (candidate(status="verified"), FACT, Role.EVIDENCE_CANDIDATE, Reason.VERIFIED_EVIDENCE),
        (candidate(source="tool"), FACT, Role.EVIDENCE_CANDIDATE, Reason.UNVERIFIED_EVIDENCE),
        (candidate(source="unknown"), FACT, Role.BACKGROUND, Reason.CONTEXT_ONLY),
        (candidate(source="agent"), FACT, Role.REJECT, Reason.UNSUPPORTED),
        (candidate(source="agent"), Task(), Role.REJECT, Reason.UNSUPPORTED),
        (candidate(source="agent"), PERSONAL, Role.BACKGROUND, Reason.CONTEXT_ONLY),
        (candidate(kind="belief", source="user"), FACT, Role.REJECT, Reason.NOT_EVIDENCE),
        (candidate(kind="belief", source="user"), PERSONAL, Role.BACKGROUND, Reason.CONTEXT_ONLY),
        (candidate(kind="belief", source="document"), FACT, Role.REJECT, Reason.NOT_EVIDENCE),
        (candidate(kind="instruction", source="user"), FACT, Role.SCOPE_CONSTRAINT, Reason.STANDING_CONSTRAINT),
        (candidate(kind="instruction", source="human_review"), FACT, Role.SCOPE_CONSTRAINT, Reason.STANDING_CONSTRAINT),
        (
            candidate(kind="instruction", source="user"),
            Task(personalization_allowed=False),
            Role.REJECT,
            Reason.PERSONALIZATION_NOT_ALLOWED,
        ),
        (candidate(kind="instruction", source="document"), FACT, Role.REJECT, Reason.INSTRUCTION_UNVERIFIED),
        (
            candidate(kind="instruction", source="document", status="verified"),
            FACT,
            Role.SCOPE_CONSTRAINT,
            Reason.STANDING_CONSTRAINT,
        ),
        (candidate(kind="instruction", source="agent"), PERSONAL, Role.REJECT, Reason.INSTRUCTION_UNVERIFIED),
    ],
)
def test_what_a_record_is_for_a_task(found: Candidate, task: Task, role: Role, reason: Reason) -> None:
    """The table of kind and source by task."""
    assert judge(found, task) == (role, reason)


def test_a_recap_of_a_belief_is_treated_as_the_belief() -> None:
    """What an agent wrote down of somebody's view stays that somebody's view, over any number of steps."""
    belief = candidate("b", kind="belief", source="user")
    recap = candidate("r", kind="summary", source="agent", parents=[belief])
    again = candidate("a", kind="fact", source="agent", parents=[recap])
    for found in (belief, recap, again):
        assert judge(found, FACT) == (Role.REJECT, Reason.NOT_EVIDENCE)


class TestExamples:
    """Episodes and skills."""

    @pytest.mark.parametrize("kind", ["episode", "skill"])
    def test_precedents_are_examples_and_nothing_else(self, kind: str) -> None:
        """For every source and task: an example, or out."""
        for source in SOURCES:
            for task in TASKS:
                assert judge(candidate(kind=kind, source=source, utility=0.9), task)[0] in {Role.EXAMPLE, Role.REJECT}

    def test_below_the_threshold_they_are_out(self) -> None:
        """The threshold is the policy's; on it is in."""
        for utility, role in ((0.29, Role.REJECT), (0.3, Role.EXAMPLE)):
            found = candidate(kind="episode", source="agent", utility=utility, utility_basis="checker")
            assert judge(found, Task(), least_utility=0.3)[0] == role

    def test_a_passing_channel_puts_them_out_and_another_does_not(self) -> None:
        """A flag counts when its channel passed; the agent's own or an untested one demotes nothing here."""
        flagged = candidate(kind="episode", source="agent", utility=0.9, verdicts={"checker": 0.2}, utility_basis="checker")
        assert judge(flagged, Task(), passing_channels=frozenset({"checker"})) == (Role.REJECT, Reason.FLAGGED)
        assert judge(flagged, Task()) == (Role.EXAMPLE, Reason.AUDITED_EXAMPLE)

    def test_an_unaudited_one_is_marked(self) -> None:
        """The agent's own grade, or none at all, is said to be no more than that."""
        for utility, basis in ((0.9, "unaudited"), (None, None)):
            (decision,) = admit(
                [candidate(kind="episode", source="agent", utility=utility, utility_basis=basis)], setting()
            ).decisions
            assert (decision.reason, decision.marks) == (Reason.UNAUDITED_EXAMPLE, (Mark.UNAUDITED,))

    def test_they_are_ranked_by_similarity_times_deflated_utility(self) -> None:
        """A near one of low utility comes after a farther one of high utility; other records keep their places."""
        found = ranked(
            candidate("near", kind="episode", source="agent", similarity=0.9, utility=0.4),
            candidate("fact"),
            candidate("far", kind="episode", source="agent", similarity=0.6, utility=0.9),
            candidate("bare", kind="skill", source="agent", similarity=0.8),
        )
        order = [item.candidate.memory_id for item in admit(found, setting(least_utility=0.3)).decisions]
        assert order == ["far", "fact", "near", "bare"]


def test_every_role_but_two_has_a_slot() -> None:
    """What has no slot stands in no section."""
    assert set(Role) - SLOT_OF.keys() == {Role.REJECT, Role.SUPERSEDED}
    assert set(SENTENCES) == set(Reason)


def test_evidence_needs_all_that_the_permission_says() -> None:
    """A slot alone is not enough: neither authority nor a bar may speak against it."""
    fact = candidate(source="tool")
    assert may_be_evidence(fact)
    barred = replace(fact, permission=replace(fact.permission, must_not=("support an objective conclusion",)))
    assert not may_be_evidence(barred)
    withheld = replace(fact, permission=replace(fact.permission, authority=(Withheld.OBJECTIVE_FACT,)))
    assert not may_be_evidence(withheld)
    assert not may_be_evidence(replace(fact, source_kind=SourceKind.USER))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("status", ["active", "verified"])
@pytest.mark.parametrize("mixed", [False, True])
def test_what_derives_from_somebodys_own_is_shown_only_to_a_personal_question(source: str, status: str, mixed: bool) -> None:
    """Whoever wrote it again, a tool or a reviewer too, and whatever else went into it: on a question of fact it stands nowhere."""
    own = candidate("own", kind="fact", source="user", scope={"user_id": "ann"})
    parents = [own, candidate("tool", source="tool")] if mixed else [own]
    for kind in ("fact", "summary", "other"):
        recap = candidate("recap", kind=kind, source=source, parents=parents, status=status)
        for task in TASKS:
            role, reason = judge(recap, task)
            assert role == Role.REJECT
            assert reason in {Reason.NOT_EVIDENCE, Reason.UNSUPPORTED, Reason.PERSONALIZATION_NOT_ALLOWED, Reason.SCOPE_UNPROVEN}


def test_what_derives_from_evidence_alone_stays_evidence() -> None:
    """A recap of a tool's word by a tool or an agent, and background of one's own is still told from an echo."""
    tool = candidate("tool", source="tool")
    for source in ("agent", "tool", "document", "human_review"):
        assert judge(candidate("recap", source=source, parents=[tool]), FACT)[0] == Role.EVIDENCE_CANDIDATE
    assert judge(candidate(source="unknown"), FACT) == (Role.BACKGROUND, Reason.CONTEXT_ONLY)


def test_a_reviewers_recap_of_somebodys_instruction_needs_its_owner() -> None:
    """The recap lost whose it was; it binds nobody until that is known."""
    own = candidate("own", kind="instruction", source="user", scope={"user_id": "ann"})
    recap = candidate("recap", kind="instruction", source="human_review", parents=[own])
    assert judge(recap, PERSONAL) == (Role.REJECT, Reason.SCOPE_UNPROVEN)
    assert judge(candidate(kind="instruction", source="human_review"), PERSONAL)[0] == Role.SCOPE_CONSTRAINT
