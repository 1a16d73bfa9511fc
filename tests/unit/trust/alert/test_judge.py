"""Laws of judging: each kind at its thresholds, nothing raised for noise, and unknown is neither side."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from guardian.core.alert import AlertKind
from guardian.core.numbers.interval import Estimate, unknown
from guardian.trust.alert.finding import Finding, Reading
from guardian.trust.alert.judge import BankFigures, TrendPoint, judge_bank, measure_way
from guardian.trust.alert.operation import WorkFigures, judge_channels, judge_refused, judge_work
from guardian.trust.alert.policy import AlertPolicy
from guardian.trust.calibrate import Labelled, assess_all
from guardian.trust.estimate import DriftEstimate
from guardian.trust.feedback import FeedbackEvidence
from tests.builders import START

R, B, C, U = Reading.RAISE, Reading.BETWEEN, Reading.CLEAR, Reading.UNKNOWN
POLICY = AlertPolicy()
# kappa .4 with a standard error of 1 / sqrt(information).
PROVEN = FeedbackEvidence(n=900, score=16.0, spread=40.0, variance=10.0)
HALF = replace(PROVEN, variance=60.0)
FAINT = replace(PROVEN, variance=400.0)


def about(value: float, half: float = 0.02) -> Estimate:
    """Give an estimate."""
    return Estimate(value, value - half, value + half, 500)


KNOWN = DriftEstimate(
    episodes=900,
    leniency=about(0.76),
    sensitivity=about(0.9),
    base_error=about(0.32),
    kappa=about(0.4),
    attractor=about(0.45),
    one_shot=about(0.28),
    ratio=about(1.6),
    collapse=about(1.18),
    margin=about(0.78),
    bias_of_wrong=about(0.5),
    bias_with_reuse=about(0.5),
    amplified_retrieval=unknown(0),
    amplified_transfer=unknown(0),
)
CALM = BankFigures(episodes=KNOWN, evidence=PROVEN, corrupted=about(0.3), superseded_of_top_k=about(0.0), at=START)


def judge(kind: AlertKind, **changed: Any) -> Finding:
    """Judge the calm bank with something changed: fields of its figures, or of the estimates in `episodes`."""
    figures = replace(CALM, **{**changed, "episodes": replace(KNOWN, **changed.get("episodes", {}))})
    (found,) = [one for one in judge_bank(figures, scope="s", policy=POLICY) if one.kind is kind]
    return found


@pytest.mark.parametrize(
    ("kind", "changed", "reading"),
    [
        (AlertKind.CORRUPTED_SHARE, {"corrupted": about(0.53)}, R),
        (AlertKind.CORRUPTED_SHARE, {"corrupted": about(0.51)}, B),
        (AlertKind.CORRUPTED_SHARE, {"corrupted": about(0.44)}, C),
        (AlertKind.CORRUPTED_SHARE, {"corrupted": unknown(3)}, U),
        (AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, {}, R),
        (AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, {"evidence": HALF}, B),
        (AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, {"evidence": FAINT}, C),
        (AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, {"episodes": {"ratio": about(1.08)}}, B),
        (AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, {"episodes": {"ratio": about(1.04)}}, C),
        (AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, {"episodes": {"ratio": unknown(9)}}, U),
        (AlertKind.ATTRACTOR_ABOVE_ONE_SHOT, {"evidence": FeedbackEvidence()}, U),
        (AlertKind.NEAR_ATTRACTOR, {"corrupted": about(0.36)}, R),
        (AlertKind.NEAR_ATTRACTOR, {"corrupted": about(0.36, 0.1)}, B),
        (AlertKind.NEAR_ATTRACTOR, {"corrupted": about(0.33)}, B),
        (AlertKind.NEAR_ATTRACTOR, {"corrupted": about(0.3)}, C),
        (AlertKind.NEAR_ATTRACTOR, {"corrupted": about(0.36), "evidence": HALF}, B),
        (AlertKind.NEAR_ATTRACTOR, {"corrupted": about(0.36), "evidence": FAINT}, C),
        (AlertKind.NEAR_ATTRACTOR, {"corrupted": unknown(3)}, U),
        (AlertKind.COLLAPSE_MARGIN, {"episodes": {"margin": about(0.1)}}, R),
        (AlertKind.COLLAPSE_MARGIN, {"episodes": {"margin": about(0.1)}, "evidence": HALF}, B),
        (AlertKind.COLLAPSE_MARGIN, {"episodes": {"margin": about(0.2)}}, B),
        (AlertKind.COLLAPSE_MARGIN, {"episodes": {"margin": unknown(0)}}, U),
        (AlertKind.COLLAPSE_MARGIN, {}, C),
        (AlertKind.ECHO, {}, R),
        (AlertKind.ECHO, {"evidence": FAINT}, C),
        (AlertKind.ECHO, {"episodes": {"bias_with_reuse": about(0.01)}}, C),
        (AlertKind.ECHO, {"evidence": FAINT, "superseded_of_top_k": about(0.08)}, R),
        (AlertKind.ECHO, {"evidence": FAINT, "superseded_of_top_k": about(0.04)}, B),
        (AlertKind.ECHO, {"evidence": FeedbackEvidence()}, U),
        (AlertKind.ECHO, {"evidence": FeedbackEvidence(), "superseded_of_top_k": about(0.08)}, R),
        (AlertKind.DRIFT_UNKNOWN, {}, C),
        (AlertKind.DRIFT_UNKNOWN, {"episodes": {"kappa": unknown(30)}}, R),
        (AlertKind.DRIFT_UNKNOWN, {"corrupted": unknown(0)}, R),
    ],
)
def test_each_kind_has_its_thresholds(kind: AlertKind, changed: dict[str, Any], reading: Reading) -> None:
    """Between raising and clearing lies a band in which nothing changes."""
    found = judge(kind, **changed)
    assert found.reading is reading, found.reason
    assert found.scope == "s"


def test_an_echo_says_which_of_the_two_it_is() -> None:
    """Where nothing was corrected, nobody is told that what was corrected still answers."""
    assert judge(AlertKind.ECHO).reason.startswith("the bank echoes what its own grades inflate")
    assert judge(AlertKind.ECHO, superseded_of_top_k=about(0.08)).reason.startswith("what was corrected still answers")


def trend(*values: float, every: timedelta = timedelta(days=1)) -> list[TrendPoint]:
    """Give looks of the days before."""
    return [TrendPoint(START - (len(values) - place) * every, about(value)) for place, value in enumerate(values)]


@pytest.mark.parametrize(
    ("changed", "reading"),
    [
        ({"series": trend(0.3, 0.33, 0.36), "corrupted": about(0.4)}, R),
        ({"series": trend(0.1, 0.15, 0.2), "corrupted": about(0.25)}, B),  # it only fills up to p0
        ({"series": trend(0.38), "corrupted": about(0.41)}, B),
        ({"series": trend(0.4), "corrupted": about(0.41)}, C),
        ({"series": trend(0.2, *[0.4] * 8), "corrupted": about(0.41)}, C),  # the rise was before the window
        ({"series": [], "corrupted": about(0.4)}, U),
        ({"series": trend(0.3), "corrupted": unknown(2)}, U),
        ({"series": trend(0.3), "corrupted": about(0.4), "episodes": {"one_shot": unknown(2)}}, U),
    ],
)
def test_a_rise_counts_above_what_a_bank_comes_to_by_itself(changed: dict[str, Any], reading: Reading) -> None:
    """Over the window, and where the two ends are apart."""
    assert judge(AlertKind.RISING, **changed).reading is reading


def test_an_unknown_bank_raises_that_alone() -> None:
    """No figure of a bank without labels is taken for good or for bad."""
    nothing = DriftEstimate(episodes=0, **{name: unknown(0) for name in DriftEstimate.__slots__ if name != "episodes"})
    found = judge_bank(BankFigures(episodes=nothing, evidence=FeedbackEvidence()), scope=None, policy=POLICY)
    assert {one.kind: one.reading for one in found if one.reading is not U} == {AlertKind.DRIFT_UNKNOWN: R}


def test_reasons_carry_their_figures() -> None:
    """What is told can be acted upon without looking elsewhere, and is a number where it is known."""
    found = judge(AlertKind.ATTRACTOR_ABOVE_ONE_SHOT)
    assert "p* 0.450 (0.430 .. 0.470, n=500)" in found.reason
    assert (found.figures["attractor"], found.figures["attractor_low"], found.figures["attractor_n"]) == (0.45, 0.43, 500)


def test_there_is_no_way_to_go_where_nothing_compounds() -> None:
    """None, not infinity."""
    assert measure_way(about(0.3), replace(KNOWN, attractor=about(0.28))) is None
    assert measure_way(about(0.365), KNOWN) == pytest.approx(0.5)


def label(number: int, *, echoes: bool) -> Labelled:
    """Give a labelled record, and what a channel says that echoes the grade or knows the truth."""
    truth, grade = float(number % 3 > 0), float(number % 2)
    return Labelled(space="s", grade=grade, truth=truth, verdicts={"x": grade if echoes else truth})


def test_a_channel_that_repeats_the_agent_is_told_where_it_is_believed() -> None:
    """One that knows the truth is not, one nobody believes is not, and one of which too little is known is neither."""
    echo, honest, few = (
        assess_all([label(number, echoes=echoes) for number in range(size)], resamples=50).channels
        for echoes, size in ((True, 120), (False, 120), (True, 20))
    )
    assert judge_channels(echo, believes=lambda _: True).reading is R
    assert judge_channels(echo, believes=lambda _: False).reading is C
    assert judge_channels(honest, believes=lambda _: True).reading is C
    assert judge_channels(few, believes=lambda _: True).reading is U


def test_work_is_judged_where_it_is_known() -> None:
    """What a broker that is away cannot tell neither raises nor resolves."""
    away = judge_work(WorkFigures(is_store_up=False, is_model_up=True), policy=POLICY)
    assert {one.kind: one.reading for one in away} == {
        AlertKind.LAG: U,
        AlertKind.DEAD_LETTERS: U,
        AlertKind.STORE_AWAY: R,
        AlertKind.MODEL_AWAY: C,
    }
    busy = judge_work(WorkFigures(lag=10_000, letters_an_hour=30), policy=POLICY)
    assert [one.reading for one in busy] == [R, B, U, U]


@pytest.mark.parametrize(("refused", "reading"), [(20, R), (19, B), (5, B), (4, C)])
def test_refused_claims_are_counted(refused: int, reading: Reading) -> None:
    """By their number within a day."""
    assert judge_refused(refused, scope="s", policy=POLICY).reading is reading
