"""Laws of alerts outside: read back as they were kept, told with one id for one change, and every kind has its page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from guardian.core.alert import AlertKind
from guardian.core.point import Point
from guardian.trust.alert.record import build_alert_point, build_message, load_alert
from guardian.trust.alert.standing import AlertState, AlertStatus
from tests.builders import START

ROOT = Path(__file__).parents[4]
STATE = AlertState(
    kind=AlertKind.NEAR_ATTRACTOR,
    scope="a",
    status=AlertStatus.STANDING,
    since=START,
    looks=1,
    is_stale=True,
    is_announced=False,
    reason="so",
    figures={"p": 0.4, "way": None},
    seen_at=START,
)


@pytest.mark.parametrize("scope", ["a", None, "*"])
def test_an_alert_is_read_back_as_it_was(scope: str | None) -> None:
    """Of a space, of none, and of a space with the name that stands in for none; each has a point of its own."""
    state = replace(STATE, scope=scope)
    upsert = build_alert_point(state)
    assert load_alert(Point(upsert.id, upsert.payload)) == state
    assert len({build_alert_point(replace(STATE, scope=other)).id for other in ("a", None, "*")}) == 3


def test_one_change_has_one_id() -> None:
    """Whatever the figures say by then; another change, and another alert, has another."""
    told = build_message(STATE, runbook_url="https://x.test/page")
    assert build_message(replace(STATE, reason="else", figures={}), runbook_url="https://x.test/page").id == told.id
    others = [
        replace(STATE, status=AlertStatus.RESOLVED, until=START + timedelta(hours=1)),
        replace(STATE, since=START + timedelta(hours=2)),
        replace(STATE, scope=None),
        replace(STATE, kind=AlertKind.ECHO),
    ]
    ids = {build_message(other, runbook_url="https://x.test/page").id for other in others}
    assert len(ids | {told.id}) == 5
    data = json.loads(told.value or b"")["data"]
    assert (data["severity"], data["status"], data["runbook"]) == ("critical", "standing", "https://x.test/page#near_attractor")


@pytest.mark.parametrize("kind", AlertKind)
def test_every_kind_has_a_heading_to_read(kind: AlertKind) -> None:
    """The link of an alert leads to what to do."""
    assert f'<a id="{kind.value}"></a>' in (ROOT / "docs" / "when-things-go-wrong.md").read_text()
