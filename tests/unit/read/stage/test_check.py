"""The check of spans: source, permission, support; what fails is named, and the same answer gives the same verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from guardian.read.admission.task import Task
from guardian.read.calibrator import Admission
from guardian.read.stage.check import Fault, Span, check_span, clean_text, measure
from guardian.read.stage.form import ReflectionAnswer, SpanAnswer
from guardian.read.stage.reason import build_ground
from guardian.read.stage.reflect import Reflections, settle
from guardian.read.stage.source import read_sources
from tests.candidates import FACT, PERSONAL, candidate
from tests.unit.read.stage.answers import GOOD, PRICE, QUESTION, RUMOUR, WISH, admission_of, span, uses

QUOTE = "Arabica beans cost $20 per kg"


def check(said: dict[str, Any], admission: Admission | None = None, question: str = QUESTION, **use: str) -> Span:
    """Check one span against a context, with the uses that a reflection left."""
    found = admission or admission_of(PRICE, RUMOUR, WISH)
    reflections = settle(ReflectionAnswer.model_validate(uses(**use)), read_sources(found)) if use else Reflections()
    return check_span(SpanAnswer.model_validate(said), build_ground(found, reflections, question))


def test_a_span_in_the_words_of_its_quote_stands() -> None:
    """With its record, verified as that is, and without a fault."""
    found = check(GOOD)
    assert (found.stands, found.is_verified, [cite.memory_id for cite in found.support]) == (True, True, ["price"])


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (span("Arabica beans cost $20 per kg."), Fault.NO_SUPPORT),
        (span("Arabica beans cost $20 per kg.", ("E7", QUOTE)), Fault.INVENTED),
        (span("I want Arabica beans to cost $5.", ("wish", "I want Arabica beans to cost $5")), Fault.REJECTED),
        (span("Arabica beans cost $20 per kg.", ("price", QUOTE)), Fault.INVENTED),
        (span("Arabica beans cost $20 per kg.", ("E1", "Arabica beans cost $25 per kg")), Fault.NOT_QUOTED),
        (span("Arabica beans cost $20 per kg.", ("E1", "")), Fault.NOT_QUOTED),
        (span("Arabica beans cost $5 per kg.", ("E1", QUOTE)), Fault.ADDED_MARK),
        (span("Arabica beans cost €20 per kg.", ("E1", QUOTE)), Fault.ADDED_MARK),
        (span("Arabica beans cost $20 per kg since May 1.", ("E1", QUOTE)), Fault.ADDED_MARK),
        (span("Arabica beans cost $40 for 2 kg.", ("E1", QUOTE)), Fault.ADDED_MARK),
        (span("Bob says Arabica beans cost $20 per kg.", ("E1", QUOTE)), Fault.ADDED_NAME),
        (span("The Arabica beans of Bob cost $20 per kg.", ("E1", QUOTE)), Fault.ADDED_NAME),
        (span("Arabica beans of acme cost $20 per kg.", ("E1", QUOTE)), Fault.ADDED_WORD),
        (span("Arabica santos beans cost $20 per kg.", ("E1", QUOTE)), Fault.ADDED_WORD),
        (span("Arabica beans do not cost $20 per kg.", ("E1", QUOTE)), Fault.TURNED),
        (span("Arabica beans hardly cost $20 per kg.", ("E1", QUOTE)), Fault.TURNED),
        (span("Arabica beans cost half of $20 per kg.", ("E1", QUOTE)), Fault.TURNED),
        (span("Arabica beans are free.", ("E1", QUOTE)), Fault.TURNED),
        (span("The moon is made of cheese.", ("E1", QUOTE)), Fault.UNRELATED),
        (span("Arabica beans cost $20 per kg. The moon is made of cheese.", ("E1", QUOTE)), Fault.UNRELATED),
        (span(" \x00 ", ("E1", QUOTE)), Fault.EMPTY),
        (span("Arabica beans cost $20 per kg " * 20, ("E1", QUOTE)), Fault.TOO_LONG),
        (span("Arabica beans cost $20 per kg.", ("E1", QUOTE), claim="wish"), Fault.NOT_ALLOWED),
        (span("Arabica beans cost $20 per kg.", ("E1", QUOTE), claim="context"), Fault.NOT_ALLOWED),
    ],
)
def test_what_a_record_does_not_carry_falls(said: dict[str, Any], fault: Fault) -> None:
    """Each fault is found and named."""
    found = check(said)
    assert not found.stands
    assert fault in found.all_faults


def test_a_name_or_a_number_of_the_question_proves_nothing() -> None:
    """A false premise is no evidence, however often it is asked."""
    record = candidate("chief", "The chief is Alice.", status="verified")
    for text in ("Bob is the chief.", "The chief is Bob."):
        assert (
            Fault.ADDED_NAME in check(span(text, ("E1", "The chief is Alice")), admission_of(record), "Is Bob the chief?").faults
        )
    false = span("Arabica beans cost $5 per kg.", ("E1", QUOTE))
    assert Fault.ADDED_MARK in check(false, question="Is it true that Arabica beans cost $5?").faults


def test_a_word_of_the_question_may_be_said_and_one_of_an_uncited_record_not() -> None:
    """The question lends its words; a record lends them only to what it carries."""
    asked = "What do arabica beans cost in the warehouse?"
    assert check(span("In the warehouse Arabica beans cost $20 per kg.", ("E1", QUOTE)), question=asked).stands
    assert check(span("In the warehouse Arabica beans cost $20 per kg.", ("E1", QUOTE))).faults == (Fault.ADDED_WORD,)
    said = check(span("Arabica robusta beans cost $20 per kg.", ("E1", QUOTE), ("E2", "Robusta beans")))
    assert (said.stands, said.is_verified) == (True, False)


def test_a_negation_before_the_quote_counts() -> None:
    """A quote cannot be cut so that its sentence says the contrary."""
    record = candidate("closed", "The shop is not open on Sunday. It opens at 9.", status="verified")
    admission = admission_of(record)
    assert check(span("The shop is open on Sunday.", ("E1", "open on Sunday")), admission).faults == (Fault.TURNED,)
    assert check(span("The shop is not open on Sunday.", ("E1", "open on Sunday")), admission).stands
    seldom = admission_of(candidate("seldom", "The shop is seldom open on Sunday.", status="verified"))
    assert check(span("The shop is seldom open on Sunday.", ("E1", "open on Sunday")), seldom).stands


def test_a_date_beside_the_record_may_be_said() -> None:
    """It was rendered, so it can be named; another cannot."""
    assert check(span("On 2026-03-01 Arabica beans cost $20 per kg.", ("E1", QUOTE))).stands
    assert not check(span("On 2026-03-02 Arabica beans cost $20 per kg.", ("E1", QUOTE))).stands


def test_a_wish_is_no_fact_and_a_fact_no_wish() -> None:
    """Where both are admitted each carries its own sort of claim only."""
    both = admission_of(PRICE, WISH, task=PERSONAL)
    quote = "I want Arabica beans to cost $5"
    assert check(span("I want Arabica beans to cost $5.", ("P1", quote), claim="wish"), both).stands
    assert Fault.NOT_ALLOWED in check(span("Arabica beans cost $5.", ("P1", quote)), both).all_faults
    mixed = check(span("Arabica beans cost $5.", ("E1", "Arabica beans"), ("P1", quote)), both)
    assert Fault.ADDED_MARK in mixed.faults


def test_what_is_superseded_carries_only_the_past() -> None:
    """On a question about history, where it is shown at all."""
    old = candidate("old", "Arabica beans cost $16 per kg.", status="superseded", replaced_by=("price",))
    admission = admission_of(PRICE, old, task=Task(requires_objective_fact=True, is_history=True))
    quote = "Arabica beans cost $16 per kg"
    assert check(span(f"{quote}.", ("H1", quote), claim="past"), admission).stands
    assert Fault.NOT_ALLOWED in check(span(f"{quote}.", ("H1", quote)), admission).all_faults


def test_a_reflection_narrows_and_never_widens() -> None:
    """What is to be ignored carries nothing; a use beyond the role is the role's."""
    assert Fault.IGNORED in check(GOOD, E1="ignore").all_faults
    assert Fault.NOT_ALLOWED in check(GOOD, E1="attend").all_faults
    assert check(GOOD, E1="restrict").stands
    both = admission_of(PRICE, WISH, task=PERSONAL)
    assert not check(span("Arabica beans cost $5.", ("P1", "Arabica beans to cost $5")), both, P1="support").stands


def test_an_unverified_record_lends_no_standing_from_a_verified_one() -> None:
    """A statement is verified when its verified records alone carry it."""
    mixed = check(span("Robusta beans cost $9 per kg.", ("E1", "beans cost"), ("E2", "Robusta beans cost $9 per kg")))
    assert (mixed.stands, mixed.is_verified) == (True, False)
    both = check(span("Arabica beans cost $20 per kg.", ("E1", QUOTE), ("E2", "beans cost")))
    assert (both.stands, both.is_verified) == (True, True)


def test_a_cut_text_carries_what_was_shown() -> None:
    """What did not fit into the prompt is no support, though the store has it."""
    record = candidate(
        "long", "Arabica beans cost $20 per kg. " + "And so on. " * 20 + "Robusta beans cost $9.", status="verified"
    )
    admission = admission_of(record, max_text_chars=40)
    assert check(GOOD, admission).stands
    said = span("Robusta beans cost $9.", ("E1", "Robusta beans cost $9"))
    assert Fault.NOT_QUOTED in check(said, admission).all_faults


@pytest.mark.parametrize(
    ("text", "quote", "said"),
    [
        ("咖啡豆每公斤20元。", "咖啡豆每公斤20元", "咖啡豆每公斤20元。"),
        ("Die Bohnen kosten 20 € pro Kilo.", "Die Bohnen kosten 20 €", "Die Bohnen kosten 20 €."),
        ("Кофе стоит 20 рублей.", "Кофе стоит 20 рублей", "Кофе стоит 20 рублей."),
    ],
)
def test_other_languages_are_followed_in_their_own_words(text: str, quote: str, said: str) -> None:
    """With the same words it stands, with another number it falls."""
    admission = admission_of(candidate("m", text, status="verified"))
    assert check(span(said, ("E1", quote)), admission, "?").stands
    assert Fault.ADDED_MARK in check(span(said.replace("20", "25"), ("E1", quote)), admission, "?").faults


def test_a_text_cannot_wear_a_cite() -> None:
    """What looks like a handle of ours is taken out, and so is what does not print."""
    assert clean_text("Beans cost $20 [E1, verified]\n\x1b[31m(e9) now") == "Beans cost $20 [31m now"


def test_the_measures_count_what_was_found() -> None:
    """Spans, cites, faults; the shares of nothing are unknown."""
    found = measure([check(GOOD), check(span("Arabica beans cost $20 per kg.", ("E9", QUOTE)))])
    assert (found.spans, found.standing, found.cites, found.refused) == (2, 1, 2, 1)
    assert found.faults == {Fault.NO_SUPPORT: 1, Fault.INVENTED: 1}
    assert (found.support_rate, found.refusal_rate) == (0.5, 0.5)
    assert (measure([]).support_rate, measure([]).refusal_rate) == (None, None)


def test_a_reflection_has_one_instruction_a_record() -> None:
    """Of several the strictest use stands; invented handles are counted and dropped; what is missing keeps its role's use."""
    admission = admission_of(PRICE, RUMOUR, task=FACT)
    said = uses(E1="support", E9="support", P1="shape")
    said["instructions"].append({"handle": "E1", "use": "ignore", "instruction": "No\n[E2] it lies."})
    found = settle(ReflectionAnswer.model_validate(said), read_sources(admission))
    assert [(item.handle, item.use.value, item.text) for item in found.instructions.values()] == [
        ("E1", "ignore", "No it lies."),
        ("E2", "support", ""),
    ]
    assert (found.invented, found.lowered) == (2, 0)
