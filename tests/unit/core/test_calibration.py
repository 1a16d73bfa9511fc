"""Calibrations of a space: which channels may demote is said by an event that can be taken back, and no utility changes behind anybody's back."""

from __future__ import annotations

import hashlib

import orjson
import pytest

from guardian.core.calibration import build_calibration, dump_calibration, load_calibration
from guardian.core.intake import Disposition
from guardian.core.model import ChannelTrust, Event
from guardian.core.policy import Policy, name_calibration
from guardian.core.rules.utility import score_utility
from tests.builders import audited, calibrated, rated, retracted, trust, written
from tests.property.bank import Bank

GRADED = written("a", grade=0.9)
BY_X, BY_Y = audited("a", 0.1, channel="x", t=1), audited("a", 0.5, channel="y", t=1)


async def rate(bank: Bank, *events: Event) -> tuple[float, str, str]:
    """Send events one by one and give the utility of `a`, what it rests on, and the calibration it was made by."""
    await bank.send_each(*events)
    row = await bank.row("a")
    return row["utility"], row["utility_basis"], row["calibration"]


def policy_of(**channels: ChannelTrust) -> Policy:
    """Give a policy under a calibration."""
    return Policy(calibration="cal", channels=channels)


def test_only_what_passes_demotes_and_of_several_the_largest_payoff() -> None:
    """Not the most believed, and not by name; who fails or is not named is as if it had said nothing."""
    believed = ChannelTrust(alpha=1.0, payoff=0.1, passes=True)
    useful = ChannelTrust(alpha=0.5, payoff=0.2, passes=True)
    failed = ChannelTrust(alpha=1.0, payoff=0.9, passes=False)
    verdicts = {"a": [0.0], "b": [0.4], "c": [0.0], "d": [0.0]}
    assert score_utility([0.8], verdicts, policy_of(a=believed, b=useful, c=failed)) == (0.6, "b")
    assert score_utility([0.8], verdicts, policy_of(c=failed)) == (0.8, "unaudited")
    assert score_utility([], verdicts, policy_of(c=failed)) == (None, None)
    assert score_utility([], verdicts, policy_of(b=useful)) == (0.4, "b")
    assert score_utility([0.8], {"gold": [0.25], **verdicts}, policy_of(b=useful)) == (0.25, "gold")


def test_a_mean_counts_where_all_its_members_judged() -> None:
    """Each member by the mean of its own verdicts, however many these are."""
    policy = policy_of(**{"x+y": ChannelTrust(alpha=1.0, payoff=0.3, passes=True, members=("x", "y"))})
    assert score_utility([0.9], {"x": [0.0, 0.0, 0.0], "y": [0.5]}, policy) == (0.25, "x+y")
    assert score_utility([0.9], {"x": [0.0]}, policy) == (0.9, "unaudited")


def test_of_detectors_that_flag_the_largest_payoff_is_used() -> None:
    """Any of several that flags is enough; a score that removes more goes before, and a flag that lowers nothing is none."""
    useful = ChannelTrust(alpha=0.5, payoff=0.2, passes=True, detects=True)
    believed = ChannelTrust(alpha=1.0, payoff=0.1, passes=True, detects=True)
    policy = policy_of(a=useful, b=believed)
    assert score_utility([0.8], {"a": [0.0], "b": [0.0]}, policy) == (0.4, "a")
    assert score_utility([0.8], {"a": [1.0], "b": [0.0]}, policy) == (0.0, "b")
    assert score_utility([0.8], {"a": [0.5], "b": [0.9]}, policy) == (0.8, "unaudited")
    assert score_utility([], {"a": [0.0]}, policy) == (0.0, "a")
    assert score_utility([], {"a": [1.0]}, policy) == (None, None)
    assert score_utility([0.2], {"a": [0.4]}, policy) == (0.2, "unaudited")
    better, worse = (ChannelTrust(alpha=0.5, payoff=payoff, passes=True) for payoff in (0.3, 0.05))
    assert score_utility([0.8], {"a": [0.0], "s": [1.0]}, policy_of(a=useful, s=better)) == (0.9, "s")
    assert score_utility([0.8], {"a": [0.0], "s": [1.0]}, policy_of(a=useful, s=worse)) == (0.4, "a")
    assert score_utility([0.8], {"a": [0.4], "s": [0.0]}, policy_of(a=useful, s=worse)) == (0.4, "s")


def test_what_was_stored_before_there_were_detectors_still_loads() -> None:
    """An activation without one is stored as it was then, byte for byte, and has the mark it had; one with a detector goes round."""
    event = calibrated(x=trust(0.75), y=trust(0.5, detects=True))
    stored = dump_calibration(build_calibration(event), "s")
    assert load_calibration("k", stored).channels == event.channels
    assert orjson.loads(stored["facts"])["c"] == {"x": [0.75, 0.1, True, []], "y": [0.5, 0.1, True, [], True]}
    assert load_calibration("k", stored).channels["x"] == ChannelTrust(alpha=0.75, payoff=0.1, passes=True, detects=False)
    assert Policy(calibration="cal", alphas={"x": 0.5}).mark == "cal#" + hashlib.sha256(b'{"x":[0.5,0.0]}').hexdigest()[:12]
    as_score, as_detector = (
        Policy(calibration="cal", alphas={"x": 0.5}, detectors=names) for names in (frozenset(), frozenset({"x"}))
    )
    assert as_score.mark != as_detector.mark


def test_settings_make_a_calibration_too() -> None:
    """Lines without payoffs rank by alpha; without an id of a calibration everything stays as it was."""
    policy = Policy(calibration="cal", alphas={"x": 0.5, "y": 0.75, "z": 0.0})
    assert score_utility([1.0], {"x": [0.0], "y": [0.0], "z": [0.0]}, policy) == (0.25, "y")
    assert score_utility([1.0], {"z": [0.0], "other": [0.0]}, policy) == (1.0, "unaudited")
    ranked = Policy(calibration="cal", alphas={"x": 0.5, "y": 0.75}, payoffs={"x": 0.2, "y": 0.1})
    assert score_utility([1.0], {"x": [0.0], "y": [0.0]}, ranked) == (0.5, "x")
    assert score_utility([1.0], {"other": [0.0]}, Policy(alphas={"x": 0.75})) == (0.5, "other")


async def test_an_activation_rewrites_nothing_until_a_memory_is_rated() -> None:
    """The record says by which calibration its utility was made; `memory.rated` brings it on, a second time does nothing."""
    bank = Bank()
    assert await rate(bank, GRADED, BY_X, BY_Y) == (0.5, "x", "default")
    activation = calibrated(t=2, y=trust(1.0))
    assert await rate(bank, activation) == (0.5, "x", "default")
    report = await bank.send(rated("a", t=3))
    assert report.dispositions == {Disposition.APPLIED: 1}
    assert await rate(bank) == (0.5, "y", "cal-1")
    again = await bank.send(rated("a", t=3), activation)
    assert again.dispositions == {Disposition.DUPLICATE: 2}


async def test_a_new_verdict_is_rated_by_the_calibration_in_force() -> None:
    """Whatever memory an event touches follows; another space does not."""
    bank = Bank()
    await bank.send(GRADED, BY_X, calibrated(t=2, y=trust(1.0)), calibrated(t=2, space="other", x=trust(0.25)))
    assert await rate(bank) == (0.9, "unaudited", "cal-1")
    assert await rate(bank, audited("a", 0.3, channel="y", t=3)) == (0.3, "y", "cal-1")


async def test_the_last_to_take_effect_holds_and_can_be_taken_back() -> None:
    """In every order of arrival; taken back, the one before holds again, and in the end the settings'."""
    first, second = calibrated("one", t=5, effective=2, x=trust(1.0)), calibrated("two", t=4, effective=3, y=trust(1.0))
    for events in ((first, second), (second, first)):
        bank = Bank()
        assert await rate(bank, GRADED, BY_X, BY_Y, *events, rated("a", t=6)) == (0.5, "y", "two")
        assert await rate(bank, retracted(second, t=7), rated("a", t=8)) == (0.1, "x", "one")
        assert await rate(bank, retracted(first, t=9), rated("a", t=10)) == (0.5, "x", "default")
        assert await rate(bank, first, second, rated("a", t=11)) == (0.5, "x", "default")
        assert not [p for p in bank.payloads().values() if p["point"] == "calibration"]


async def test_default_gives_a_space_back_to_the_settings() -> None:
    """Without taking anything back."""
    bank = Bank(policy=Policy(calibration="of-the-settings", alphas={"y": 1.0}))
    events = (GRADED, BY_X, BY_Y, calibrated(t=2, x=trust(1.0)), calibrated("default", t=3), rated("a", t=4))
    assert await rate(bank, *events) == (0.5, "y", "of-the-settings")


@pytest.mark.parametrize("by", ["agent", "unknown", None])
async def test_an_activation_without_authority_is_a_dispute(by: str | None) -> None:
    """It changes nothing, leaves nothing, and is shown to a person."""
    bank = Bank()
    await bank.send(GRADED, BY_X, calibrated(t=2, by=by, x=trust(0.0)), rated("a", t=3))
    assert await rate(bank) == (0.5, "x", "default")
    (question,) = [question for outcome in bank.outcomes for question in outcome.questions]
    assert (question.kind, question.detail["asked"], question.detail["calibration"]) == ("dispute", "calibrated", "cal-1")


async def test_one_id_for_two_calibrations_is_seen() -> None:
    """A record keeps a digest of the figures with the id, so what was made by the other is found and rated again."""
    bank = Bank()
    await rate(bank, GRADED, BY_X, calibrated("same", t=2, x=trust(1.0)), rated("a", t=3))
    await bank.send(calibrated("same", t=4, x=trust(0.5)))
    assert await bank.recalibrate() == 1
    assert await rate(bank) == (0.5, "x", "same")
    assert await bank.recalibrate() == 0


async def test_what_hangs_on_no_calibration_names_none() -> None:
    """A grade alone, and the truth: an activation makes no work there."""
    bank = Bank()
    await bank.send(GRADED, written("b", grade=0.9), audited("b", 0.1, t=1), audited("b", 0.1, channel="x", t=1))
    await bank.send(calibrated(t=2, x=trust(1.0)))
    assert await bank.recalibrate() == 0
    assert {row["calibration"] for row in await bank.rows()} == {None}
    assert name_calibration(None) == "default"


async def test_gold_is_believed_from_named_sources_alone() -> None:
    """Where a setting names them: the truth and grades from elsewhere are disputes, other channels are not."""
    bank = Bank(policy=Policy(gold_sources=("/desk/*",)))
    await bank.send(GRADED, audited("a", 0.0, t=1), audited("a", 0.0, channel="self", t=1), audited("a", 0.1, channel="x", t=1))
    assert await rate(bank) == (0.5, "x", "default")
    assert [question.kind for outcome in bank.outcomes for question in outcome.questions] == ["dispute", "dispute"]
    assert await rate(bank, audited("a", 0.25, t=2, source="/desk/ann")) == (0.25, "gold", None)
