"""Provenance: what is superseded, does not hold at the time, or belongs elsewhere is out, with its reason.

A question about history gets what was believed before, marked, with what replaced it; what was erased or deleted nobody gets.
"""

from __future__ import annotations

from guardian.core.model import Status
from guardian.core.rules.card import quote_label
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import Decision, Reason, Role, Setting

# Part of a record's scope -> the task's word for it. The session says where a memory was written and binds nothing: it would end
# with it.
SCOPE_PARTS = {
    "user_id": "user",
    "project_id": "project",
    "agent_id": "agent",
    "domain": "domain",
    "task_type": "task_type",
}


def judge_provenance(decision: Decision, setting: Setting) -> Decision:
    """Decide on a record that may not answer now; leave the others open, with the limits that nothing proves."""
    candidate = decision.candidate
    if candidate.status is Status.ERASED:
        return decision.reject(Reason.ERASED)
    if candidate.valid_from is not None and candidate.valid_from > setting.at:
        return decision.reject(Reason.NOT_YET_VALID, f"from {candidate.valid_from.date()}")
    foreign = _find_foreign(candidate, setting)
    if foreign is not None:
        part, value = foreign
        return decision.reject(Reason.OUT_OF_SCOPE, f"{part} {quote_label(value)}")
    limits = _list_unproven(candidate, setting)
    if limits:
        decision = Decision(candidate=candidate, place=decision.place, limits=limits)
    if candidate.status is Status.SUPERSEDED:
        return _withhold(decision, Reason.SUPERSEDED, ", ".join(candidate.felled_by), setting)
    if candidate.valid_until is not None and candidate.valid_until <= setting.at:
        return _withhold(decision, Reason.EXPIRED, f"until {candidate.valid_until.date()}", setting)
    return decision


def _withhold(decision: Decision, reason: Reason, detail: str, setting: Setting) -> Decision:
    """Keep what held before for a history question; whose it is must be proven there, too."""
    instead = decision.candidate.replaced_by
    is_deleted = "deleted" in decision.candidate.felled_by  # kept for audits, barred from answers
    if setting.task.is_history and not is_deleted and not any(part == "user_id" for part, _ in decision.limits):
        return decision.settle(Role.SUPERSEDED, Reason.HELD_BEFORE, detail, instead=instead)
    role = Role.SUPERSEDED if reason is Reason.SUPERSEDED else Role.REJECT
    return decision.settle(role, reason, detail, instead=instead)


def _find_foreign(candidate: Candidate, setting: Setting) -> tuple[str, str] | None:
    """Find a part of the scope that the task names otherwise than the record, or than something it derives from."""
    for part, name in SCOPE_PARTS.items() if candidate.bounds else ():
        named = getattr(setting.task, name)
        for value in candidate.bounds.get(part, ()) if named is not None else ():
            if value != named:
                return part, value
    return None


def _list_unproven(candidate: Candidate, setting: Setting) -> tuple[tuple[str, str], ...]:
    """List the values of the parts that the task leaves open; an owner that the store does not name is open for good."""
    bounds, task = candidate.bounds, setting.task
    parts = SCOPE_PARTS.items() if bounds else ()
    unproven = [(part, value) for part, name in parts if getattr(task, name) is None for value in bounds.get(part, ())]
    if "match user_id" in candidate.permission.must_use and "user_id" not in bounds:
        unproven.insert(0, ("user_id", ""))
    return tuple(unproven)
