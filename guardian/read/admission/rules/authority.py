"""Authority: what a record may be for this task, by its kind, its source and its permission; never more than its slots.

User-sourced memory is never evidence of what is objectively so (MemSyco-Bench, arXiv 2607.01071), nor is what was derived from it. The
permission already says so; the source is looked at again here, so that one wrong permission is not enough.
"""

from __future__ import annotations

from guardian.core.card import Withheld
from guardian.core.model import MemoryKind, Slot, SourceKind
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import Decision, Mark, Reason, Role, Setting

PRECEDENTS = frozenset({MemoryKind.EPISODE, MemoryKind.SKILL})
_OWN_KINDS = frozenset({MemoryKind.BELIEF, MemoryKind.PREFERENCE})
# Duties and bars, as `guardian.core.permission` words them.
_NAMES_BELIEF = "name whose belief it is"
_BARS_CONCLUSION = "support an objective conclusion"
_BARS_FOLLOWING = "follow as an instruction"
# A mean verdict below says that the outcome was wrong.
_WRONG_BELOW = 0.5


def judge_authority(decision: Decision, setting: Setting) -> Decision:
    """Give an open decision its role."""
    candidate = decision.candidate
    if not candidate.slots:
        return decision.reject(Reason.NO_SLOT)
    if candidate.kind in PRECEDENTS:
        return _judge_precedent(decision, setting)
    if candidate.kind is MemoryKind.INSTRUCTION:
        return _judge_instruction(decision, setting)
    if is_own(candidate):
        return _judge_own(decision, setting)
    if may_be_evidence(candidate):
        return _judge_evidence(decision)
    return _judge_context(decision, setting)


def is_own(candidate: Candidate) -> bool:
    """Tell whether it says what somebody holds or wants, whoever wrote it down."""
    return (
        candidate.source_kind is SourceKind.USER
        or candidate.kind in _OWN_KINDS
        or (Slot.PREFERENCES in candidate.slots and Slot.FACTS not in candidate.slots)
        or _NAMES_BELIEF in candidate.permission.must_use
    )


def may_be_evidence(candidate: Candidate) -> bool:
    """Tell whether it may support an objective conclusion."""
    permission = candidate.permission
    return (
        Slot.FACTS in candidate.slots
        and not is_own(candidate)
        and Withheld.OBJECTIVE_FACT not in permission.authority
        and _BARS_CONCLUSION not in permission.must_not
    )


def _judge_evidence(decision: Decision) -> Decision:
    if _has_unproven_owner(decision):
        return decision.settle(Role.BACKGROUND, Reason.SCOPE_UNPROVEN, "name Task.user to use it as evidence")
    if decision.candidate.is_verified:
        return decision.settle(Role.EVIDENCE_CANDIDATE, Reason.VERIFIED_EVIDENCE)
    return decision.settle(Role.EVIDENCE_CANDIDATE, Reason.UNVERIFIED_EVIDENCE, mark=Mark.UNVERIFIED)


def _judge_context(decision: Decision, setting: Setting) -> Decision:
    """Decide on what may stand beside the evidence at most.

    An agent's bare word does not where the question may be of fact. Nor does, whoever wrote it, what was derived and is no evidence:
    somebody's own may be among what it was made from, and lineage has left no more of that than the slots.
    """
    candidate, task = decision.candidate, setting.task
    if task.may_be_objective and (candidate.is_derived or candidate.source_kind is SourceKind.AGENT):
        return decision.reject(Reason.UNSUPPORTED)
    if candidate.is_derived and not task.is_personal:
        return decision.reject(Reason.PERSONALIZATION_NOT_ALLOWED, "derived from what may be somebody's own")
    if candidate.is_derived and _has_unproven_owner(decision):
        return decision.reject(Reason.SCOPE_UNPROVEN, "name Task.user")
    if Slot.BACKGROUND not in candidate.slots:
        return decision.reject(Reason.NO_SLOT)
    return decision.settle(Role.BACKGROUND, Reason.CONTEXT_ONLY, mark=None if candidate.is_verified else Mark.UNVERIFIED)


def _judge_own(decision: Decision, setting: Setting) -> Decision:
    """Decide on what somebody holds or wants: for that person, and where the task allows it, else not at all."""
    candidate, task = decision.candidate, setting.task
    if not task.is_personal:
        is_fact = task.requires_objective_fact is True
        return decision.reject(Reason.NOT_EVIDENCE if is_fact else Reason.PERSONALIZATION_NOT_ALLOWED)
    if _has_unproven_owner(decision):
        return decision.reject(Reason.SCOPE_UNPROVEN, "name Task.user")
    if task.concerns_others and Slot.PREFERENCES in candidate.slots:
        role = Role.SCOPE_CONSTRAINT if _may_constrain(candidate) else Role.PREFERENCE
        return decision.settle(role, Reason.OWN_WISH_ONLY, mark=Mark.OWN_PART_ONLY)
    if Slot.PREFERENCES in candidate.slots:
        return decision.settle(Role.PREFERENCE, Reason.PERSONAL_PREFERENCE)
    if task.may_be_objective or Slot.BACKGROUND not in candidate.slots:
        return decision.reject(Reason.NOT_EVIDENCE)
    return decision.settle(Role.BACKGROUND, Reason.CONTEXT_ONLY)


def _judge_instruction(decision: Decision, setting: Setting) -> Decision:
    """Decide on an instruction: it narrows an answer, so an unknown task keeps it; one that nobody may give is not shown."""
    candidate = decision.candidate
    if not _may_constrain(candidate):
        return decision.reject(Reason.INSTRUCTION_UNVERIFIED)
    is_own_wish = Slot.PREFERENCES in candidate.slots
    if is_own_wish and setting.task.personalization_allowed is False:
        return decision.reject(Reason.PERSONALIZATION_NOT_ALLOWED)
    if (is_own_wish or candidate.is_derived) and _has_unproven_owner(decision):
        return decision.reject(Reason.SCOPE_UNPROVEN, "name Task.user")
    return decision.settle(Role.SCOPE_CONSTRAINT, Reason.STANDING_CONSTRAINT)


def _judge_precedent(decision: Decision, setting: Setting) -> Decision:
    """Decide on an episode or skill: an example, unless evidence or its deflated utility speaks against it."""
    candidate, policy = decision.candidate, setting.policy
    if Slot.EXAMPLES not in candidate.slots:
        return decision.reject(Reason.NO_SLOT)
    wrong = sorted(name for name in policy.passing_channels if candidate.verdicts.get(name, 1.0) < _WRONG_BELOW)
    if wrong:
        return decision.reject(Reason.FLAGGED, ", ".join(wrong))
    if candidate.utility is not None and candidate.utility < policy.least_utility:
        return decision.reject(Reason.LOW_UTILITY, f"{candidate.utility:.2f} of {policy.least_utility:.2f}")
    if candidate.utility_basis in {None, "unaudited"}:
        return decision.settle(Role.EXAMPLE, Reason.UNAUDITED_EXAMPLE, mark=Mark.UNAUDITED)
    return decision.settle(Role.EXAMPLE, Reason.AUDITED_EXAMPLE)


def _may_constrain(candidate: Candidate) -> bool:
    return Slot.CONSTRAINTS in candidate.slots and _BARS_FOLLOWING not in candidate.permission.must_not


def _has_unproven_owner(decision: Decision) -> bool:
    return any(part == "user_id" for part, _ in decision.limits)


def weigh_example(candidate: Candidate, *, least_utility: float) -> float:
    """Give similarity times deflated utility; without any grade the least that is let in."""
    return candidate.similarity * (least_utility if candidate.utility is None else candidate.utility)
