"""Laws of reported outcomes: a report is read whole by a table or not at all, and what tools say later counts before what an episode says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.trust.channel import Case, Report
from guardian.trust.channels.outcome import MAX_CHARACTERS, ReportedOutcome, read_outcome


def case(**fields: Any) -> Case:
    """Build a case."""
    return Case(space="s", memory_id="e", revision="r", **fields)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("passed", 1.0),
        ("Tests passed.", 1.0),
        ("status: SUCCESS", 1.0),
        ("success: true", 1.0),
        ("failed", 0.0),
        ("Result = failure!", 0.0),
        ("timed out", 0.0),
        ("solved: no", 0.0),
        ("reward: 0.75", 0.75),
        ("score 85%", 0.85),
        ("score 3/4", 0.75),
        ("0.3", 0.3),
        ("1", 1.0),
        ("4/4 tests passed", 1.0),
        ("3 of 4 tests passed", 0.0),
        ("== 12 passed in 3.21s ==", 1.0),
        ("12 passed, 1 failed, 3 warnings in 2.1s", 0.0),
        ("1 error in 0.2s", 0.0),
    ],
)
def test_what_runners_and_environments_write_is_read(text: str, value: float) -> None:
    """Words, figures, shares, and the last line of a test run: one that failed failed it."""
    assert read_outcome(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the failure was interesting",
        "it passed through Rome",
        "not sure",
        "1.7",
        "-1",
        "reward: 40",
        "5/4 tests passed",
        "5 skipped in 1s",
        "0 passed in 1s",
        "passed" + " " * 10 + "by",
        "passed\n" * (MAX_CHARACTERS // 4),
    ],
)
def test_a_story_says_nothing(text: str) -> None:
    """What is not of the table is no report, and a figure without a known scale no share."""
    assert read_outcome(text) is None


@given(st.text(max_size=80))
def test_whatever_is_written_gives_a_share_or_nothing(text: str) -> None:
    """Never an error, never outside [0, 1]."""
    value = read_outcome(text)
    assert value is None or 0 <= value <= 1


async def test_later_reports_count_before_what_the_episode_says() -> None:
    """The agent's note that all passed is worth nothing beside the runner's."""
    channel = ReportedOutcome()
    own = await channel.judge(case(outcome="passed"))
    assert own is not None
    assert (own.value, own.evidence["reported_in"], own.basis) == (1.0, "episode", "")
    later = await channel.judge(
        case(outcome="passed", reports=(Report(id="a", text="failed"), Report(id="b", text="reward: 0.5")))
    )
    assert later is not None
    assert (later.value, later.evidence, later.reason) == (0.25, {"reports": 2, "reported_in": "records"}, "partly")


async def test_a_finding_is_another_when_more_is_reported_and_the_same_in_any_order() -> None:
    """The basis is the set of reports that could be read."""
    channel = ReportedOutcome()
    a, b, story = Report(id="a", text="failed"), Report(id="b", text="passed"), Report(id="c", text="we tried")
    one = await channel.judge(case(reports=(a,)))
    two = await channel.judge(case(reports=(a, b)))
    assert one is not None
    assert two is not None
    assert one.basis != two.basis
    assert await channel.judge(case(reports=(b, story, a))) == two
    assert await channel.judge(case(reports=(story,))) is None
