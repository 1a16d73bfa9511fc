"""Conflict: records on one subject that disagree, and what decides between them.

Nothing is superseded here: that needs a correction. Agreement is lexical, as in the rules of the write path: two texts agree when the
words of one are among the other's and no number, date, code or negation differs. Close wording that disagrees is about one thing, and
the stricter of the two policies decides; wording that is far apart may be about two things, and both stand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from guardian.core.card import ConflictPolicy
from guardian.core.rules.restate import build_signature, restates, score_restatement
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import Conflict, Decision, Mark, Reason, Role

# Share of the words from which two texts on one subject are taken to state the same sort of thing.
CLOSE_WORDING = 0.6
_STRICTNESS = tuple(ConflictPolicy)
_DECIDING = frozenset({Role.EVIDENCE_CANDIDATE, Role.PREFERENCE, Role.SCOPE_CONSTRAINT})


def settle_conflicts(decisions: Sequence[Decision]) -> tuple[list[Decision], tuple[Conflict, ...]]:
    """Decide between admitted records of one subject and role that disagree."""
    judged, conflicts = list(decisions), []
    groups: defaultdict[tuple[str, Role], list[int]] = defaultdict(list)
    for index, decision in enumerate(decisions):
        if decision.role in _DECIDING and decision.candidate.subject:
            groups[decision.candidate.subject, decision.role].append(index)
    for (subject, _), indexes in sorted(groups.items()):
        for place, first in enumerate(indexes):
            for second in indexes[place + 1 :]:
                conflict = _settle_pair(judged, first, second, subject)
                if conflict is not None:
                    conflicts.append(conflict)
    return judged, tuple(conflicts)


def strictest(policies: Sequence[ConflictPolicy]) -> ConflictPolicy:
    """Give the strictest of some policies, `latest_memory_wins` where there are none."""
    return max(policies, key=_STRICTNESS.index, default=_STRICTNESS[0])


def _settle_pair(judged: list[Decision], first: int, second: int, subject: str) -> Conflict | None:
    one, other = judged[first], judged[second]
    if not (one.is_admitted and other.is_admitted) or _hold_apart(one, other) or _agree(one.candidate, other.candidate):
        return None
    policy = strictest([one.candidate.permission.conflict, other.candidate.permission.conflict])
    winner = _choose_winner(one, other, policy)
    if winner is None:
        for index in (first, second):
            judged[index] = _dispute(judged[index], policy)
        return Conflict(subject=subject, policy=policy, memory_ids=_name(one, other), has_winner=False)
    loser = second if winner is one else first
    judged[loser] = judged[loser].reject(Reason.CONFLICT_LOST, policy.value, instead=(winner.candidate.memory_id,))
    lost = other if winner is one else one
    return Conflict(subject=subject, policy=policy, memory_ids=_name(winner, lost), has_winner=True)


def _hold_apart(one: Decision, other: Decision) -> bool:
    """Tell whether they hold in places that have nothing in common: of two projects, neither says what holds in the other."""
    places, others = _name_places(one), _name_places(other)
    return any(places[part] != others[part] for part in places.keys() & others.keys())


def _name_places(decision: Decision) -> dict[str, set[str]]:
    places: dict[str, set[str]] = {}
    for part, value in decision.limits:
        places.setdefault(part, set()).add(value)
    return places


def _agree(one: Candidate, other: Candidate) -> bool:
    """Tell whether one text only says what the other says."""
    return restates(build_signature(one.text), build_signature(other.text), threshold=1.0) is not None


def _choose_winner(one: Decision, other: Decision, policy: ConflictPolicy) -> Decision | None:
    """Choose between two that state the same sort of thing; None where the policy decides nothing."""
    likeness = score_restatement(build_signature(one.candidate.text), build_signature(other.candidate.text))
    if likeness < CLOSE_WORDING or policy is ConflictPolicy.HUMAN_REVIEW:
        return None
    if one.candidate.is_verified != other.candidate.is_verified:
        return one if one.candidate.is_verified else other
    if policy is ConflictPolicy.LATEST_MEMORY_WINS and one.candidate.observed_at != other.candidate.observed_at:
        return max(one, other, key=lambda decision: decision.candidate.observed_at)
    return None


def _dispute(decision: Decision, policy: ConflictPolicy) -> Decision:
    """Mark it; what waits for a person's decision is no evidence until then."""
    decision = decision.mark(Mark.DISPUTED)
    if policy is ConflictPolicy.HUMAN_REVIEW and decision.role is Role.EVIDENCE_CANDIDATE:
        return decision.settle(Role.BACKGROUND, Reason.CONFLICT_OPEN)
    return decision


def _name(*decisions: Decision) -> tuple[str, ...]:
    return tuple(decision.candidate.memory_id for decision in decisions)
