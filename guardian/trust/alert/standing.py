"""Turn findings, look after look, into alerts that are raised once and resolved once. Pure: states in, states and changes out.

An alert is raised when as many looks in a row as its kind takes are beyond the raising threshold, and resolved when as many are beyond the
clearing one; a look between them starts both counts anew. An unknown look changes nothing but that a standing alert is marked stale. What is
returned is kept in the store *before* it is announced, as not yet announced, so that a look that dies in between is announced by the next,
with the same time and id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from guardian.core.alert import SEVERITIES, AlertKind, Severity
from guardian.trust.alert.finding import Finding, Reading
from guardian.trust.alert.policy import AlertPolicy


class AlertStatus(StrEnum):
    """Where an alert is in its life."""

    WATCHED = "watched"
    STANDING = "standing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertState:
    """What is remembered of one alert from look to look.

    Attributes:
        scope: The space; None where it is not about one.
        status: Watched while looks are counted towards raising it.
        since: When it was raised; None while it is watched.
        until: When it was resolved.
        looks: In a row beyond the threshold of its next change.
        is_stale: The latest look could not tell.
        is_announced: The latest change has been published.
        reason: Of the latest look that could tell.
        figures: Of the same.
        seen_at: When that was.
    """

    kind: AlertKind
    scope: str | None
    status: AlertStatus = AlertStatus.WATCHED
    since: datetime | None = None
    until: datetime | None = None
    looks: int = 0
    is_stale: bool = False
    is_announced: bool = True
    reason: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    seen_at: datetime | None = None

    @property
    def key(self) -> str:
        """The key by which it is one alert: kind and scope."""
        return build_key(self.kind, self.scope)

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return SEVERITIES[self.kind]

    @property
    def is_standing(self) -> bool:
        """Whether it was raised and not yet resolved."""
        return self.status is AlertStatus.STANDING


def build_key(kind: AlertKind, scope: str | None) -> str:
    """Give the key of an alert: kind and space, or the kind alone."""
    return kind.value if scope is None else f"{kind.value}:{scope}"


def decide_alerts(
    findings: Iterable[Finding], states: Mapping[str, AlertState], *, now: datetime, policy: AlertPolicy
) -> tuple[dict[str, AlertState], list[AlertState]]:
    """Decide which alerts stand after a look.

    Args:
        findings: Of the look; at most one of a kind and scope.
        states: By key, as the look before left them; those without a finding stay as they are.
        now: When the look was.
        policy: How many looks a change takes.

    Returns:
        All states worth remembering, by key, and those that were raised or resolved by this look.
    """
    left, changes = dict(states), []
    for finding in findings:
        key = build_key(finding.kind, finding.scope)
        before = left.get(key) or AlertState(kind=finding.kind, scope=finding.scope)
        # A resolution is announced, and so forgotten, before the alert may be raised again: `mark_announced`.
        after = before if before.status is AlertStatus.RESOLVED else _follow(before, finding, now, policy)
        if after.status is not before.status and after.status is not AlertStatus.WATCHED:
            changes.append(after)
        if _is_worth_keeping(after):
            left[key] = after
        else:
            left.pop(key, None)
    return left, changes


def mark_announced(states: Mapping[str, AlertState], announced: Iterable[str]) -> dict[str, AlertState]:
    """Give the states after some of them, by key, were published; a resolved one is forgotten then."""
    done = set(announced)
    after = {key: replace(state, is_announced=True) if key in done else state for key, state in states.items()}
    return {key: state for key, state in after.items() if _is_worth_keeping(state)}


def _follow(state: AlertState, finding: Finding, now: datetime, policy: AlertPolicy) -> AlertState:
    if finding.reading is Reading.UNKNOWN:
        return replace(state, is_stale=state.is_standing)
    seen = replace(state, is_stale=False, reason=finding.reason, figures=finding.figures, seen_at=now)
    towards = Reading.CLEAR if state.is_standing else Reading.RAISE
    if finding.reading is not towards:
        return replace(seen, looks=0)
    looks = state.looks + 1
    if looks < policy.count_looks(state.kind, to_raise=not state.is_standing):
        return replace(seen, looks=looks)
    if state.is_standing:
        return replace(seen, status=AlertStatus.RESOLVED, until=now, looks=0, is_announced=False)
    return replace(seen, status=AlertStatus.STANDING, since=now, looks=0, is_announced=False)


def _is_worth_keeping(state: AlertState) -> bool:
    return state.is_standing or state.looks > 0 or not state.is_announced
