"""Laws of text grounding: a literal that stands nowhere in what an answer rests on is seen; words alone say nothing."""

from __future__ import annotations

import pytest

from guardian.trust.channel import Case
from guardian.trust.channels.text_grounding import TextGrounding

EVIDENCE = ("The invoice 188 of 1 April 2026 says $20 per kg.", "Delivered by Southfield Farms at gate 4.")


def case(answer: str, *, evidence: tuple[str, ...] = EVIDENCE, task: str = "What does it cost?") -> Case:
    """Build a case with a text answer."""
    return Case(space="s", memory_id="e", revision="r", task=task, answer=answer, evidence=evidence)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("It costs $20 per kg.", 1.0),
        ("It costs $25 per kg.", 0.0),
        ("By invoice 188 it costs $20, delivered by Southfield Farms.", 1.0),
        ("By invoice 188 it costs $20, delivered by Northfield Mills.", 0.5),
        ("It has cost $20 since 2026-04-01.", 1.0),
    ],
)
async def test_the_share_of_grounded_literals_is_the_value(answer: str, value: float) -> None:
    """Numbers, dates and names, in whatever spelling the evidence has them."""
    found = await TextGrounding().judge(case(answer))
    assert found is not None
    assert found.value == pytest.approx(value)
    assert (found.reason == "grounded") == (value == 1)


async def test_the_question_grounds_too() -> None:
    """What was asked with a number may be answered with it."""
    found = await TextGrounding().judge(case("For 12 people it costs $20.", task="What for 12 people?"))
    assert found is not None
    assert found.value == 1


@pytest.mark.parametrize("answer", ["It is expensive.", "", "Yes"])
async def test_an_answer_without_literals_says_nothing(answer: str) -> None:
    """No value is better than a guess."""
    assert await TextGrounding().judge(case(answer)) is None


async def test_without_evidence_nothing_is_said() -> None:
    """There is nothing to compare with."""
    assert await TextGrounding().judge(case("It costs $20.", evidence=())) is None
