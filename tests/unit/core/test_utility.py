"""Utility: what an episode is worth beyond what the agent says of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.model import ChannelTrust
from guardian.core.policy import WRONG_BELOW, Policy
from guardian.core.rules.utility import deflate, score_utility
from tests.builders import audited, retracted, written
from tests.unit.core.worlds import build_world, revision

units = st.floats(0, 1)
channels = st.dictionaries(st.sampled_from(("gold", "execution", "grounding")), st.lists(units, max_size=3))
trusts = st.builds(
    ChannelTrust,
    alpha=st.sampled_from((0.0, 0.25, 0.5, 1.0)),
    payoff=st.sampled_from((0.0, 0.1, 0.2)),
    passes=st.sampled_from((True, True, False)),
    detects=st.booleans(),
)
calibrations = st.dictionaries(st.sampled_from(("execution", "grounding", "x")), trusts)


@given(units, units, units)
def test_deflation_moves_towards_the_verdict(grade: float, verdict: float, alpha: float) -> None:
    """The result lies between grade and verdict: at alpha 0 it is the one, at 1 the other."""
    low, high = sorted((grade, verdict))
    assert low - 1e-9 <= deflate(grade, verdict, alpha) <= high + 1e-9
    assert deflate(grade, verdict, 0) == grade
    assert deflate(grade, verdict, 1) == pytest.approx(verdict)


@given(st.lists(units, max_size=3), channels, st.randoms(use_true_random=False))
def test_a_utility_is_a_share_and_free_of_order(grades: list[float], verdicts: dict[str, list[float]], random: object) -> None:
    """It lies in [0, 1] whatever was said, is none exactly when nothing was, and does not hang on the order."""
    policy = Policy(alphas={"execution": 0.9})
    utility, basis = score_utility(grades, verdicts, policy)
    assert (utility is None) == (basis is None) == (not grades and not any(verdicts.values()))
    assert utility is None or -1e-9 <= utility <= 1 + 1e-9
    turned = {name: values[::-1] for name, values in reversed(verdicts.items())}
    assert score_utility(grades[::-1], turned, policy) == (utility, basis)


@given(st.lists(units, max_size=3), channels)
def test_a_utility_survives_an_engine(grades: list[float], verdicts: dict[str, list[float]]) -> None:
    """It has nine decimals at most: the embedded engine gives some numbers of more digits back a step away."""
    utility, _ = score_utility(grades, verdicts, Policy())
    assert utility is None or utility == round(utility, 9)


def test_the_truth_beats_every_channel() -> None:
    """Gold is the utility; then the channel believed most; then the grade alone, marked unaudited."""
    policy = Policy(alphas={"grounding": 0.9})
    assert score_utility([0.9], {"gold": [0.0, 0.5], "grounding": [1.0]}, policy) == (0.25, "gold")
    assert score_utility([0.9], {"execution": [0.1], "grounding": [0.0]}, policy) == (pytest.approx(0.09), "grounding")
    assert score_utility([0.9, 0.7], {}, policy) == (pytest.approx(0.8), "unaudited")
    assert score_utility([], {"execution": [0.25]}, policy) == (0.25, "execution")


@given(st.lists(units, max_size=2), channels, calibrations)
def test_detectors_never_raise_a_utility(
    grades: list[float], verdicts: dict[str, list[float]], trusts: dict[str, ChannelTrust]
) -> None:
    """Whatever they say, and beside whatever scores: with them it is what it is without them, or lower."""
    scores = {name: one for name, one in trusts.items() if not one.detects}
    utility, basis = score_utility(grades, verdicts, Policy(calibration="cal", channels=trusts))
    without, other = score_utility(grades, verdicts, Policy(calibration="cal", channels=scores))
    if basis in scores or basis == "unaudited":
        assert (utility, basis) == (without, other)
    assert without is None or (utility is not None and utility <= without)


@given(st.lists(units, max_size=2), channels, calibrations, st.sampled_from(("execution", "x")), st.floats(WRONG_BELOW, 1))
def test_the_silence_of_a_detector_changes_nothing(
    grades: list[float], verdicts: dict[str, list[float]], trusts: dict[str, ChannelTrust], name: str, value: float
) -> None:
    """A verdict of one half or more is as if it were not there, however far the detector is believed; the same with the settings' lines."""
    heard = trusts | {name: ChannelTrust(alpha=1.0, payoff=1.0, passes=True, detects=True)}
    silent = {channel: values for channel, values in verdicts.items() if channel != name}
    for policy in (
        Policy(calibration="cal", channels=heard),
        Policy(calibration="cal", alphas={name: 1.0, "grounding": 0.5}, detectors=frozenset({name})),
        Policy(alphas={name: 1.0}, detectors=frozenset({name})),
    ):
        assert score_utility(grades, silent | {name: [value]}, policy) == score_utility(grades, silent, policy)


def test_a_verdict_belongs_to_the_text_it_judged() -> None:
    """Without a revision it is the one in force at its time; with one it is that one; retracted it is gone."""
    first, second = written("a", "One", grade=0.9), written("a", "Two", grade=0.9, t=10)
    early, late = audited("a", 0.25, t=5), audited("a", 0.75, t=15)
    world = build_world(first, second, early, late)
    assert [node.utility for node in world.revisions("a")] == [0.25, 0.75]
    named = audited("a", 0.0, t=15, revision=revision(world, "a", 0).revision)
    assert [node.utility for node in build_world(first, second, named).revisions("a")] == [0.0, 0.9]
    assert [node.utility for node in build_world(early, late, retracted(early), first, second).revisions("a")] == [0.9, 0.75]


def test_a_grade_given_in_use_is_one_among_others() -> None:
    """Channel `self` moves the grade and audits nothing."""
    node = revision(build_world(written("a", grade=0.9), audited("a", 0.5, channel="self", t=1)), "a")
    assert (node.utility, node.utility_basis) == (pytest.approx(0.7), "unaudited")
