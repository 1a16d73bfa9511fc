"""Laws of the retrieval verifier: documents bear an answer out, gainsay it, or are silent; silence is never held against it."""

from __future__ import annotations

from typing import Any

import pytest

from guardian.trust.channel import Case
from guardian.trust.channels.retrieval import RetrievalVerifier, split_claims
from tests.builders import corrected, written
from tests.property.bank import Bank

PAGES = [
    "The Harbour Museum opens at nine in the morning on weekdays and at ten on Sundays.",
    "A ticket for the Harbour Museum costs 12.50 EUR for adults.",
    "Dogs are not allowed inside the Harbour Museum.",
    "Arabica Blend is delivered by Southfield Farms every Tuesday.",
]


@pytest.fixture
async def bank() -> Bank:
    """Give a collection in a space of its own, with a chat about it that is no document."""
    made = Bank()
    await made.send(*(written(f"page-{n}", text, src="document", kind="fact", space="docs") for n, text in enumerate(PAGES)))
    await made.send(written("chat", "A ticket for the Harbour Museum costs 3 EUR for adults.", src="user", space="docs"))
    return made


async def judge(bank: Bank, answer: str, task: str | None = None, **fields: Any) -> tuple[float, str] | None:
    """Give value and reason of a finding."""
    case = Case(space="s", memory_id="e", revision="r", task=task, answer=answer, **fields)
    finding = await RetrievalVerifier(bank.store, space="docs").judge(case)
    return None if finding is None else (finding.value, finding.reason)


async def test_what_a_document_says_is_borne_out(bank: Bank) -> None:
    """By its words and its figures."""
    found = await judge(bank, "An adult ticket of the Harbour Museum costs 12.50 EUR.")
    assert found is not None
    assert found[0] > 0.7
    assert found[1] == "supported"


@pytest.mark.parametrize(
    "answer",
    [
        "An adult ticket of the Harbour Museum costs 14 EUR.",
        "An adult ticket of the Harbour Museum costs 12.50 USD.",
        "Dogs are allowed inside the Harbour Museum.",
    ],
)
async def test_another_figure_or_the_opposite_is_gainsaid(bank: Bank, answer: str) -> None:
    """All the words of a passage and another price, currency or negation are no support; what a user said is no document."""
    assert await judge(bank, answer) == (0.0, "contradicted")


@pytest.mark.parametrize("answer", ["The ferry to the island leaves at noon from pier 4.", "Yes.", "42", "好的"])
async def test_silence_is_nothing_to_say(bank: Bank, answer: str) -> None:
    """A collection is never complete."""
    assert await judge(bank, answer) is None


async def test_a_short_answer_is_read_with_its_question(bank: Bank) -> None:
    """A price alone is about nothing."""
    task = "What does a ticket for adults of the Harbour Museum cost?"
    right, wrong = await judge(bank, "12.50 EUR", task), await judge(bank, "15 EUR", task)
    assert right is not None
    assert right[0] > 0.5
    assert wrong == (0.0, "contradicted")


async def test_each_sentence_counts_by_itself_and_those_about_something_else_do_not(bank: Bank) -> None:
    """Half right is half, and a greeting costs nothing."""
    answer = (
        "Happy to help with your trip! A ticket for the Harbour Museum costs 12.50 EUR for adults. "
        "Arabica Blend is delivered by Southfield Farms every Friday."
    )
    assert await judge(bank, answer) == (0.5, "partly_supported")


async def test_an_answer_does_not_bear_itself_out() -> None:
    """Neither its own record nor what derives from it is a document about it, whatever it calls itself."""
    bank = Bank()
    text = "The Harbour Museum opens at six in the morning."
    await bank.send(
        written("e", text, src="document", kind="fact"), written("recap", text, src="document", kind="summary", parents=["e"])
    )
    case = Case(space="s", memory_id="e", revision="r", answer=text)
    assert await RetrievalVerifier(bank.store).judge(case) is None


async def test_a_superseded_document_says_nothing(bank: Bank) -> None:
    """An old price is no evidence."""
    await bank.send(corrected(["page-1"], t=9, space="docs"))
    assert await judge(bank, "An adult ticket of the Harbour Museum costs 12.50 EUR.") is None


def test_an_answer_is_split_into_sentences_and_lines() -> None:
    """Lists and scripts without spaces, too; a figure's point ends nothing."""
    assert split_claims("It costs 12.50. Really!\n- one\n* two\n\n早上九点开门。十点关门。") == [
        "It costs 12.50.",
        "Really!",
        "one",
        "two",
        "早上九点开门。",
        "十点关门。",
    ]
    assert len(split_claims("a. " * 500)) == 20
