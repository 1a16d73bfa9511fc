"""Laws of turns: only what points back is read behind one, and only behind what says something."""

# ruff: noqa: RUF001 - a question in another script is what is tested

from __future__ import annotations

import pytest

from guardian.read.task.turn import resolve_question

TURN = "My cousins arrive tomorrow and the flat is small."


@pytest.mark.parametrize(
    "question",
    [
        "For the situation we discussed, what would you do?",
        "Was würdest du in der beschriebenen Lage tun?",
        "Dans ce cas, que me conseillerais-tu ?",
        "En el caso que te conté, ¿qué harías?",
        "在这种情况下该怎么办？",
    ],
)
def test_a_question_that_points_back_stands_behind_the_latest_turn(question: str) -> None:
    """In several languages; a mere thanks is passed over."""
    assert resolve_question(question, ["An older turn, long enough to be one.", TURN, "ok, thanks"]) == f"{TURN}\n{question}"


@pytest.mark.parametrize("question", ["What is the capital of Peru?", "What should I cook tonight?", "Wie hoch ist der Turm?"])
def test_any_other_question_stands_alone(question: str) -> None:
    """What was said before does not colour a question that has words of its own."""
    assert resolve_question(question, [TURN]) == question


def test_without_a_turn_that_says_something_the_question_stands_alone() -> None:
    """No turns, or empty ones."""
    question = "What would you do in this situation?"
    assert resolve_question(question, []) == question
    assert resolve_question(question, ["", "   ", "yes please"]) == question


def test_of_a_long_turn_the_end_counts() -> None:
    """And the question is whole behind it, however long the turn."""
    question = "What would you do in this situation?"
    meant = resolve_question(question, ["x" * 100_000 + TURN])
    assert meant.endswith(f"{TURN}\n{question}")
    assert len(meant) < 1_000
