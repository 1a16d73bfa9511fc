"""Laws of standing alerts: raised once, resolved once, nothing by one look that wavers, and nothing by a look that cannot tell."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.alert import SEVERITIES, AlertKind
from guardian.trust.alert.finding import Finding, Reading
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.alert.standing import AlertState, AlertStatus, build_key, decide_alerts, mark_announced
from tests.builders import START

KIND = AlertKind.LAG
POLICY = AlertPolicy(looks_to_raise={KIND: 3}, looks_to_resolve={KIND: 2})
R, B, C, U = Reading.RAISE, Reading.BETWEEN, Reading.CLEAR, Reading.UNKNOWN


def find(reading: Reading, *, kind: AlertKind = KIND, scope: str | None = None, reason: str = "so") -> Finding:
    """Give a finding."""
    return Finding(kind=kind, scope=scope, reading=reading, reason=reason, figures={"x": 1.0})


def play(readings: list[Reading], states: dict[str, AlertState] | None = None) -> tuple[dict[str, AlertState], list[str]]:
    """Look once for each reading, announcing all changes; gives the states and what was told, with the look it was told at."""
    states, told = dict(states or {}), []
    for number, reading in enumerate(readings):
        states, changes = decide_alerts([find(reading)], states, now=START + timedelta(minutes=number), policy=POLICY)
        told += [f"{change.status.value}@{number}" for change in changes]
        states = mark_announced(states, [change.key for change in changes])
    return states, told


@pytest.mark.parametrize(
    ("readings", "told"),
    [
        ([R, R], []),
        ([R, R, R], ["standing@2"]),
        ([R, R, R, R, R, R], ["standing@2"]),
        ([R, R, B, R, R], []),
        ([R, R, C, R, R, R], ["standing@5"]),
        ([R, R, U, R], ["standing@3"]),
        ([R, R, R, C, C], ["standing@2", "resolved@4"]),
        ([R, R, R, C, B, C], ["standing@2"]),
        ([R, R, R, C, R, C, C], ["standing@2", "resolved@6"]),
        ([R, R, R, U, U, U, U], ["standing@2"]),
        ([R, R, R, C, U, C], ["standing@2", "resolved@5"]),
        ([R, R, R, C, C, R, R, R], ["standing@2", "resolved@4", "standing@7"]),
        ([C, C, C], []),
        ([U, U, U, U], []),
    ],
)
def test_an_alert_takes_as_many_looks_as_its_kind(readings: list[Reading], told: list[str]) -> None:
    """In a row; a look between the thresholds begins anew, one that cannot tell neither counts nor breaks the row."""
    assert play(readings)[1] == told


@given(st.lists(st.sampled_from(Reading), max_size=60))
def test_raised_and_resolved_take_turns(readings: list[Reading]) -> None:
    """Over any series: never two of one sort in a row, and what stands at the end is what was raised last and not resolved."""
    states, told = play(readings)
    kinds = [word.partition("@")[0] for word in told]
    assert kinds == ["standing", "resolved"] * (len(kinds) // 2) + ["standing"] * (len(kinds) % 2)
    assert any(state.is_standing for state in states.values()) == bool(len(kinds) % 2)


@given(st.lists(st.sampled_from(Reading), max_size=40), st.data())
def test_looks_that_cannot_tell_change_nothing(readings: list[Reading], data: st.DataObject) -> None:
    """Put anywhere into a series they leave what is told, but for the time; a standing alert is stale until one can tell again."""
    places = data.draw(st.lists(st.integers(0, len(readings)), max_size=10))
    mixed = list(readings)
    for place in sorted(places, reverse=True):
        mixed.insert(place, U)
    assert [one.partition("@")[0] for one in play(mixed)[1]] == [one.partition("@")[0] for one in play(readings)[1]]


@given(st.lists(st.sampled_from(Reading), max_size=40), st.integers(0, 40))
def test_a_restart_changes_nothing(readings: list[Reading], cut: int) -> None:
    """What is left of the first part is all the second part needs."""
    states, first = play(readings[:cut])
    rest = [readings[cut:]] if readings[cut:] else []
    second = [word for part in rest for word in play(part, states)[1]]
    assert [word.partition("@")[0] for word in (*first, *second)] == [word.partition("@")[0] for word in play(readings)[1]]


def test_a_look_that_cannot_tell_marks_a_standing_alert() -> None:
    """With the reason and the figures of the look that could."""
    states, _ = play([R, R, R])
    states, _ = decide_alerts([find(U, reason="who knows")], states, now=START, policy=POLICY)
    (state,) = states.values()
    assert (state.is_standing, state.is_stale, state.reason) == (True, True, "so")
    states, _ = decide_alerts([find(B, reason="again")], states, now=START, policy=POLICY)
    (state,) = states.values()
    assert (state.is_standing, state.is_stale, state.reason) == (True, False, "again")


def test_scopes_and_kinds_are_alerts_of_their_own() -> None:
    """A space's alert neither raises nor resolves another's, nor that of all together."""
    policy = AlertPolicy(looks_to_raise=dict.fromkeys(AlertKind, 1), looks_to_resolve=dict.fromkeys(AlertKind, 1))
    findings = [find(R, scope="a"), find(R, scope="b"), find(R), find(R, kind=AlertKind.ECHO, scope="a")]
    states, changes = decide_alerts(findings, {}, now=START, policy=policy)
    assert len(states) == len(changes) == 4
    states = mark_announced(states, states)
    states, changes = decide_alerts([find(C, scope="a")], states, now=START, policy=policy)
    assert [(change.scope, change.kind, change.status) for change in changes] == [("a", KIND, AlertStatus.RESOLVED)]
    assert sum(state.is_standing for state in states.values()) == 3
    assert len({build_key(KIND, "a"), build_key(KIND, "b"), build_key(KIND, None)}) == 3


def test_what_is_not_announced_is_kept() -> None:
    """A resolution goes once it was told, and until then it is not raised anew under its nose."""
    states, _ = play([R, R, R, C])
    states, (change,) = decide_alerts([find(C)], states, now=START, policy=POLICY)
    assert change.key in states
    again, changes = decide_alerts([find(R)], states, now=START, policy=POLICY)
    assert (again, changes) == (states, [])
    assert mark_announced(states, [change.key]) == {}


def test_every_kind_has_one_severity() -> None:
    """And every kind stands in the table."""
    assert set(SEVERITIES) == set(AlertKind)
