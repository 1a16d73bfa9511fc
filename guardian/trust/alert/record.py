"""Alerts as they are kept in the store and told to the world. Pure."""

from __future__ import annotations

import orjson

from guardian.contracts.outcome import AlertNotice, AlertStanding, build_outcome_id, encode_outcome
from guardian.core.alert import AlertKind
from guardian.core.moment import format_optional, parse_optional
from guardian.core.point import Point, PointKind, Upsert, build_point_id
from guardian.ports import OutcomeMessage
from guardian.trust.alert.standing import AlertState, AlertStatus

# What stands in for the space of an alert that is about none, where a store asks for one.
_ALL = "*"


def build_alert_id(kind: AlertKind, scope: str | None) -> str:
    """Build the id of the point that keeps an alert: one a kind and space."""
    return build_point_id(scope or "", PointKind.ALERT, kind)


def build_alert_point(state: AlertState) -> Upsert:
    """Build the point that keeps an alert."""
    content = {
        "kind": state.kind.value,
        "space": state.scope,
        "status": state.status.value,
        "since": format_optional(state.since),
        "until": format_optional(state.until),
        "looks": state.looks,
        "stale": state.is_stale,
        "announced": state.is_announced,
        "reason": state.reason,
        "figures": dict(state.figures),
        "seen_at": format_optional(state.seen_at),
    }
    payload = {"point": PointKind.ALERT.value, "space": state.scope or _ALL, "rest": orjson.dumps(content).decode()}
    return Upsert(id=build_alert_id(state.kind, state.scope), payload=payload)


def load_alert(point: Point) -> AlertState:
    """Read the alert that a point keeps."""
    content = orjson.loads(point.payload["rest"])
    return AlertState(
        kind=AlertKind(content["kind"]),
        scope=content["space"],
        status=AlertStatus(content["status"]),
        since=parse_optional(content["since"]),
        until=parse_optional(content["until"]),
        looks=content["looks"],
        is_stale=content["stale"],
        is_announced=content["announced"],
        reason=content["reason"],
        figures=content["figures"],
        seen_at=parse_optional(content["seen_at"]),
    )


def build_notice(state: AlertState, *, runbook_url: str) -> AlertNotice:
    """Build what is told of an alert that was raised or resolved.

    Args:
        state: Standing or resolved.
        runbook_url: Page on which each kind has a heading.
    """
    assert state.since is not None
    return AlertNotice(
        key=state.key,
        alert=state.kind,
        space=state.scope,
        severity=state.severity,
        status=AlertStanding.STANDING if state.is_standing else AlertStanding.RESOLVED,
        since=state.since,
        until=state.until,
        reason=state.reason,
        figures=dict(state.figures),
        runbook=link_runbook(state.kind, runbook_url),
    )


def link_runbook(kind: AlertKind, runbook_url: str) -> str:
    """Give the link to what to do about a kind of alert."""
    return f"{runbook_url}#{kind.value}"


def build_message(state: AlertState, *, runbook_url: str) -> OutcomeMessage:
    """Build the message of a change; the same change has the same id and bytes."""
    notice = build_notice(state, runbook_url=runbook_url)
    time = state.until or state.since
    assert time is not None
    return OutcomeMessage(
        topic=AlertNotice.published_to,
        key=state.key,
        value=encode_outcome(notice, time=time),
        id=build_outcome_id(notice),
    )
