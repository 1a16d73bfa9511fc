"""Decisions: what becomes of each candidate, with a constant word and a sentence for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from guardian.contracts.role import Reason, Role
from guardian.core.card import ConflictPolicy
from guardian.core.model import Slot
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.policy import ReadPolicy, WhenUnverified
from guardian.read.admission.sealed import sealed
from guardian.read.admission.task import Task

__all__ = ["Conflict", "Decision", "Mark", "Reason", "Role", "Ruling", "Setting"]

# A sentence a word. None quotes a memory; what a rule knows besides is the decision's `detail`.
SENTENCES: dict[Reason, str] = {
    Reason.VERIFIED_EVIDENCE: "a verified statement that may support a conclusion",
    Reason.UNVERIFIED_EVIDENCE: "may support a conclusion, but nobody trusted has verified it",
    Reason.PERSONAL_PREFERENCE: "the person's own wish or view, and personalization is allowed",
    Reason.OWN_WISH_ONLY: "one person's wish in a choice that is others', too: it binds that person's part alone",
    Reason.STANDING_CONSTRAINT: "an instruction of somebody who may give one",
    Reason.AUDITED_EXAMPLE: "a precedent whose outcome was judged by something other than the agent",
    Reason.UNAUDITED_EXAMPLE: "a precedent with nothing but the agent's own grade, or none",
    Reason.CONTEXT_ONLY: "may direct attention, may not decide",
    Reason.CONFLICT_OPEN: "disagrees with another record on the same subject, and a person has to decide: no evidence until then",
    Reason.HELD_BEFORE: "held before and no longer; shown because the question asks about that",
    Reason.SCOPE_UNPROVEN: "belongs to somebody, and the task does not say who asks",
    Reason.SUPERSEDED: "corrected, revised or deleted",
    Reason.ERASED: "erased",
    Reason.EXPIRED: "no longer held at the time asked about",
    Reason.NOT_YET_VALID: "did not hold yet at the time asked about",
    Reason.OUT_OF_SCOPE: "belongs to another user, project, agent, domain or sort of task",
    Reason.NO_SLOT: "may stand nowhere in a prompt",
    Reason.NOT_EVIDENCE: "says what somebody holds or wants, which is no evidence of what is so",
    Reason.UNSUPPORTED: "rests on something that may be no evidence, or on nothing; on a question of fact it may echo what somebody believes",
    Reason.PERSONALIZATION_NOT_ALLOWED: "somebody's own, and the task does not say that personalization is allowed",
    Reason.INSTRUCTION_UNVERIFIED: "an instruction that nobody trusted stands behind; it may have been planted",
    Reason.FLAGGED: "a passing evidence channel judged its outcome wrong",
    Reason.LOW_UTILITY: "its deflated utility is below the least one",
    Reason.SAME_FAMILY: "restates what another record of its family says better",
    Reason.UNVERIFIED: "a question of fact, nothing verified answers, and the policy is to abstain",
    Reason.CONFLICT_LOST: "disagrees with another record on the same subject that wins by their policy",
    Reason.OVER_LIMIT: "enough better records were found",
    Reason.OVER_BUDGET: "did not fit into the token budget",
}

# Where in a prompt a role stands.
SLOT_OF = {
    Role.EVIDENCE_CANDIDATE: Slot.FACTS,
    Role.SCOPE_CONSTRAINT: Slot.CONSTRAINTS,
    Role.PREFERENCE: Slot.PREFERENCES,
    Role.EXAMPLE: Slot.EXAMPLES,
    Role.BACKGROUND: Slot.BACKGROUND,
}


class Mark(StrEnum):
    """What a reader of the prompt must see beside a record."""

    UNVERIFIED = "unverified"
    UNAUDITED = "unaudited"
    DISPUTED = "disputed"
    OWN_PART_ONLY = "own_part_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all decisions of one read are made for."""

    task: Task
    policy: ReadPolicy
    at: datetime


@sealed
class Decision:
    """What becomes of one candidate.

    Attributes:
        role: None while no rule has decided.
        detail: What the reason's sentence leaves open, in our words.
        marks: What must stand beside it.
        limits: Where alone it holds, as far as the task does not prove it: pairs of a part of the scope and a value.
        instead: Memory ids of what stands in its place: a representative, a winner, a replacement.
        place: Where it comes among the others, from 0; a representative answers in the place of its family's best.
        is_rendered: Whether it stands in the prompt.
    """

    candidate: Candidate
    role: Role | None = None
    reason: Reason | None = None
    detail: str = ""
    marks: tuple[Mark, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    instead: tuple[str, ...] = ()
    place: int = 0
    is_rendered: bool = False

    @property
    def is_open(self) -> bool:
        """Whether no rule has decided yet."""
        return self.role is None

    @property
    def is_admitted(self) -> bool:
        """Whether it may stand in the prompt."""
        return self.role in SLOT_OF

    @property
    def slot(self) -> Slot | None:
        """Where in the prompt it stands; None for what stands in none of the sections."""
        return SLOT_OF.get(self.role) if self.role is not None else None

    @property
    def sentence(self) -> str:
        """Give the reason as a sentence."""
        assert self.reason is not None
        return SENTENCES[self.reason] + (f" ({self.detail})" if self.detail else "")

    def settle(
        self,
        role: Role,
        reason: Reason,
        detail: str = "",
        *,
        instead: tuple[str, ...] = (),
        mark: Mark | None = None,
    ) -> Decision:
        """Give it a role for a reason, and maybe one more mark; it stands in no prompt yet."""
        # Built by hand: `dataclasses.replace` takes three times as long, and a read does this a hundred times.
        return Decision(
            candidate=self.candidate,
            role=role,
            reason=reason,
            detail=detail,
            marks=self.marks if mark is None or mark in self.marks else (*self.marks, mark),
            limits=self.limits,
            instead=instead,
            place=self.place,
        )

    def reject(self, reason: Reason, detail: str = "", *, instead: tuple[str, ...] = ()) -> Decision:
        """Put it out for a reason."""
        return self.settle(Role.REJECT, reason, detail, instead=instead)

    def move(self, *, place: int, is_rendered: bool) -> Decision:
        """Put it in a place among the others, in the prompt or not."""
        if place == self.place and is_rendered == self.is_rendered:
            return self
        return Decision(
            candidate=self.candidate,
            role=self.role,
            reason=self.reason,
            detail=self.detail,
            marks=self.marks,
            limits=self.limits,
            instead=self.instead,
            place=place,
            is_rendered=is_rendered,
        )

    def mark(self, mark: Mark) -> Decision:
        """Add a mark."""
        return self if mark in self.marks else replace(self, marks=(*self.marks, mark))


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Records on one subject that disagree.

    Attributes:
        policy: What decides among them: the strictest of theirs.
        memory_ids: The winner first, if there is one.
        has_winner: Whether the policy decides; else both stand, marked.
    """

    subject: str
    policy: ConflictPolicy
    memory_ids: tuple[str, ...]
    has_winner: bool

    @property
    def sentence(self) -> str:
        """Say what was done about it."""
        if not self.has_winner:
            return f"they disagree, and {self.policy.value} decides nothing between them: both stand, marked as disputed"
        return f"they disagree; by {self.policy.value} the first stands"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the rules of a read make of all candidates.

    Attributes:
        decisions: One a candidate: what is admitted in its order, then the rest by rank.
        conflict_policy: What decides when what is admitted and other evidence disagree: the strictest of all.
        advice: What to do for want of a verified record; None when there is one or none is needed.
    """

    decisions: tuple[Decision, ...]
    conflicts: tuple[Conflict, ...]
    conflict_policy: ConflictPolicy
    advice: WhenUnverified | None
