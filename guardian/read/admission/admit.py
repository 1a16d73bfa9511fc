"""Admit: the one entrance to the rules of a read, and their order.

Provenance comes before the family limit, unlike in the design's list: a record that is out must not stand for its family and keep a
living one out. For the same reason authority comes before it. Then come conflicts, order and number; whether anything verified
answers is asked last, of what is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from guardian.core.card import ConflictPolicy
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import Conflict, Decision, Reason, Role, Ruling, Setting
from guardian.read.admission.policy import WhenUnverified
from guardian.read.admission.rules.authority import judge_authority, weigh_example
from guardian.read.admission.rules.conflict import settle_conflicts, strictest
from guardian.read.admission.rules.family import limit_families
from guardian.read.admission.rules.provenance import judge_provenance


@dataclass(slots=True)
class _Docket:
    """What is decided so far."""

    decisions: list[Decision]
    conflicts: tuple[Conflict, ...] = ()
    advice: WhenUnverified | None = field(default=None)


def admit(candidates: Sequence[Candidate], setting: Setting) -> Ruling:
    """Decide on all candidates of one question. Their order does not matter, only their ranks do."""
    docket = _Docket([Decision(candidate=found, place=found.rank) for found in sorted(candidates, key=lambda found: found.rank)])
    for rule in RULES:
        rule(docket, setting)
    return Ruling(
        decisions=tuple(docket.decisions),
        conflicts=docket.conflicts,
        conflict_policy=_choose_policy(docket.decisions, setting),
        advice=docket.advice,
    )


def _apply_provenance(docket: _Docket, setting: Setting) -> None:
    docket.decisions = [judge_provenance(decision, setting) for decision in docket.decisions]


def _apply_authority(docket: _Docket, setting: Setting) -> None:
    docket.decisions = [_judge_role(item, setting) for item in docket.decisions]


def _judge_role(item: Decision, setting: Setting) -> Decision:
    """Give an open decision its role; what held before is shown only if it might be shown had it not fallen."""
    if item.is_open:
        return judge_authority(item, setting)
    if item.reason is Reason.HELD_BEFORE:
        judged = judge_authority(item, setting)
        return item if judged.is_admitted else judged
    return item


def _apply_family(docket: _Docket, setting: Setting) -> None:
    docket.decisions = limit_families(docket.decisions, per_family=setting.policy.per_family)


def advise(decisions: Sequence[Decision], setting: Setting) -> WhenUnverified | None:
    """Say what to do when a question of fact gets no verified record; None where it gets one or needs none."""
    evidence = [item for item in decisions if item.role is Role.EVIDENCE_CANDIDATE]
    is_answered = not setting.task.may_be_objective or any(item.candidate.is_verified for item in evidence)
    return None if is_answered else setting.policy.when_unverified


def _apply_verification(docket: _Docket, setting: Setting) -> None:
    """Take the advice; one who abstains gets no unverified evidence either."""
    docket.advice = advise(docket.decisions, setting)
    if docket.advice is WhenUnverified.ABSTAIN:
        docket.decisions = [
            item.reject(Reason.UNVERIFIED) if item.role is Role.EVIDENCE_CANDIDATE else item for item in docket.decisions
        ]


def _apply_conflicts(docket: _Docket, setting: Setting) -> None:  # noqa: ARG001 # a rule like the others
    docket.decisions, docket.conflicts = settle_conflicts(docket.decisions)


def _apply_order(docket: _Docket, setting: Setting) -> None:
    """Order what is admitted by place; examples share theirs out by similarity times deflated utility."""
    inside = sorted((item for item in docket.decisions if item.is_admitted), key=_order)
    outside = sorted((item for item in docket.decisions if not item.is_admitted), key=lambda item: item.candidate.rank)
    least = setting.policy.least_utility
    examples = iter(
        sorted(
            (item for item in inside if item.role is Role.EXAMPLE),
            key=lambda item: (-weigh_example(item.candidate, least_utility=least), *_order(item)),
        )
    )
    docket.decisions = [next(examples) if item.role is Role.EXAMPLE else item for item in inside] + outside


def _apply_limit(docket: _Docket, setting: Setting) -> None:
    """Keep as many as were asked for; of what held before, for a history question, as many again."""
    decisions, limit = docket.decisions, setting.policy.limit
    inside = [index for index, item in enumerate(decisions) if item.is_admitted]
    past = [index for index, item in enumerate(decisions) if item.reason is Reason.HELD_BEFORE]
    kept = _choose_kept(decisions, inside, limit).union(past[:limit])
    for index in (*inside, *past):
        item = decisions[index]
        decisions[index] = item.move(place=item.place, is_rendered=True) if index in kept else item.reject(Reason.OVER_LIMIT)
    decisions.sort(key=lambda item: not item.is_admitted)  # stable: what is in, then what is out


def _choose_kept(decisions: Sequence[Decision], inside: Sequence[int], limit: int) -> set[int]:
    """Choose the first; but a constraint binds however far it lies from the question, so the last of the background gives way to it."""
    kept, cut = inside[:limit], inside[limit:]
    binding = [index for index in cut if decisions[index].role is Role.SCOPE_CONSTRAINT]
    yielding = [index for index in reversed(kept) if decisions[index].role is Role.BACKGROUND]
    swaps = min(len(binding), len(yielding))
    return set(kept).difference(yielding[:swaps]).union(binding[:swaps])


# In this order. Each only narrows what the one before let in.
RULES: tuple[Callable[[_Docket, Setting], None], ...] = (
    _apply_provenance,
    _apply_authority,
    _apply_family,
    _apply_conflicts,
    _apply_order,
    _apply_limit,
    _apply_verification,
)


def _order(item: Decision) -> tuple[int, int]:
    return (item.place, item.candidate.rank)


def _choose_policy(decisions: Sequence[Decision], setting: Setting) -> ConflictPolicy:
    """Choose what decides against other evidence; on a question of fact evidence at hand wins at least.

    Background decides nothing and has no say.
    """
    policies = [item.candidate.permission.conflict for item in decisions if item.is_admitted and item.role is not Role.BACKGROUND]
    if setting.task.may_be_objective:
        policies.append(ConflictPolicy.CURRENT_EVIDENCE_WINS)
    return strictest(policies)
