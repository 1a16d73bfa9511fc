"""Laws of training and judging the task classifier: what is held out stays out, thresholds keep their budgets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="training needs the extra sentence-transformers, which brings scikit-learn")

from benchmarks.memsyco_rows import is_looked_at
from benchmarks.task_classifier import Judged, compute_wilson, describe
from benchmarks.task_data import (
    MEMSYCO_LABELS,
    RESTYLED_WEIGHT,
    Question,
    drop_seen,
    load_letta,
    load_memsyco,
    load_truthfulqa,
    restyle,
)
from benchmarks.train_task_classifier import Examples, Scores, fit_gate, fit_line, score_out_of_fold
from guardian.read.task.classifier import TaskGuess
from guardian.read.task.cue import NAMES
from guardian.read.task.head import Gate


def fact(text: str, **more: object) -> Question:
    """Give a question of fact."""
    return Question(text=text, source="train", requires_objective_fact=True, personalization_allowed=False, **more)


def wish(text: str, **more: object) -> Question:
    """Give a personal question."""
    return Question(text=text, source="train", requires_objective_fact=False, personalization_allowed=True, **more)


def test_restyled_questions_keep_their_own_labels_behind_the_others_openings() -> None:
    """A frame is no label: a wish behind the frame of a question of fact stays a wish."""
    framed = Question(
        text="I tidied my desk. It says: Who was first?", source="objective_fact_judgment", requires_objective_fact=True
    )
    talk = Question(text="I love the sea. Where shall I go?", source="valid_memory_selection", requires_objective_fact=False)
    made = restyle([wish("What should I read?"), fact("How deep is it?")], [framed, talk], seed=3)
    labels = {question.text: question.requires_objective_fact for question in made}
    assert labels["I tidied my desk. It says: What should I read?"] is False
    assert labels["I love the sea. How deep is it?"] is True
    assert labels["Who was first?"] is True
    assert labels["what should i read"] is False
    ours = [question for question in made if question.source == "train" and question.opening == "" and " " in question.text[:-20]]
    assert sum(question.text.endswith(" What should I read?") for question in ours) == 2
    assert {question.opening for question in made} == {"", "objective_fact_judgment", "valid_memory_selection"}
    assert {question.weight for question in made} == {RESTYLED_WEIGHT}
    assert {question.origin for question in made if question.source == "train"} == {"What should I read?", "How deep is it?"}
    assert made == restyle([wish("What should I read?"), fact("How deep is it?")], [framed, talk], seed=3)


def test_asked_anew_the_question_says_what_is_asked_and_the_turn_whom_it_concerns() -> None:
    """Behind another's turn a question of fact stays one, and a wish concerns whom the turn names."""
    told = [
        wish("Guests come.\nWhat now?", turns=("Guests come.",), concerns_others=True),
        wish("I am alone.\nWhat then?", turns=("I am alone.",), concerns_others=False),
        fact("I saw a film.\nWho made it?", turns=("I saw a film.",)),
    ]
    made = {question.text: question for question in restyle(told, [], seed=3)}
    assert len(made) == 9  # each turn with each question; no openings, no bare copies
    assert made["Guests come.\nWhat then?"].concerns_others is True
    assert made["I am alone.\nWhat now?"].concerns_others is False
    assert made["Guests come.\nWho made it?"].requires_objective_fact is True
    assert made["Guests come.\nWho made it?"].concerns_others is None
    assert {question.origin for question in made.values()} == {question.text for question in told}


def test_an_opening_leaves_open_whom_a_choice_concerns() -> None:
    """Visitors may be named before a choice of one's own; the copy then teaches nothing of it."""
    made = restyle([wish("What shall I cook?", concerns_others=False)], [], seed=3)
    assert {question.concerns_others for question in made if len(question.text) > 20} == {None}
    assert [question.concerns_others for question in made if question.text == "what shall i cook"] == [False]


def test_what_lets_memory_in_is_never_said_with_little_certainty() -> None:
    """However far apart the kinds lie on the scores at hand."""
    found = Scores(scores=[-3.0] * 50 + [3.0] * 50, truths=[False] * 50 + [True] * 50)
    free = fit_gate(found, {"yes": 0.03, "no": 0.03})
    assert free["yes_from"] < 0.9
    assert free["no_below"] > 0.1
    assert fit_gate(found, {"yes": 0.03, "no": 0.03}, opening=True)["yes_from"] == 0.9
    assert fit_gate(found, {"yes": 0.03, "no": 0.03}, opening=False)["no_below"] == pytest.approx(0.1)
    assert fit_gate(found, {"yes": 0.03, "no": 0.03}, opening=False, least_sure=0.92)["no_below"] == pytest.approx(0.08)


def test_a_benchmarks_question_counts_once(tmp_path: Path) -> None:
    """Rows that repeat a question do not weigh it."""
    for task in MEMSYCO_LABELS:
        row = {"question": "For what we discussed, what now?" if task == "contextual_scope_control" else f"Question of {task}"}
        (tmp_path / f"{task}.jsonl").write_text((json.dumps(row) + "\n") * 3)
    found = load_memsyco(tmp_path)
    assert sorted(question.source for question in found) == sorted(MEMSYCO_LABELS)


def test_of_a_half_only_the_rows_that_were_looked_at_teach(tmp_path: Path) -> None:
    """So that the other half can judge."""
    for task in MEMSYCO_LABELS:
        rows = [{"id": f"{task}-{number}", "question": f"{task}, {number}?"} for number in range(20)]
        (tmp_path / f"{task}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    half = load_memsyco(tmp_path, of_half=True)
    assert {question.text for question in half} == {
        f"{task}, {number}?" for task in MEMSYCO_LABELS for number in range(20) if is_looked_at(f"{task}-{number}")
    }
    assert 0 < len(half) < len(load_memsyco(tmp_path))


def test_outside_questions_seen_in_training_are_dropped() -> None:
    """Also behind an opening and with small changes of wording."""
    trained = [fact("Half a note is left: What did the Romans use vomitoriums for?"), fact("Who painted Guernica?")]
    outside = [fact("What did Romans use vomitoriums for?"), fact("who painted guernica"), fact("What is the deepest lake?")]
    assert [question.text for question in drop_seen(outside, trained)] == ["What is the deepest lake?"]


def test_outside_sets_are_read(tmp_path: Path) -> None:
    """TruthfulQA by its column, Letta by what a person wrote."""
    (tmp_path / "tqa.csv").write_text('Question,Best Answer\n"Is it so, really?",No\n"Is it so, really?",No\n')
    assert [question.text for question in load_truthfulqa(tmp_path)] == ["Is it so, really?"]
    wrapped = [
        json.dumps({"type": kind, "message": text}) for kind, text in (("user_message", " hello? "), ("heartbeat", "tick"))
    ]
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in [*wrapped, "no JSON"]]
    (tmp_path / "agent.af").write_text(json.dumps(json.dumps({"agents": [{"messages": messages}]})))
    assert [question.text for question in load_letta(tmp_path)] == ["hello?"]


def test_thresholds_keep_their_budgets() -> None:
    """Of each kind at most the budgeted share gets the wrong answer on the scores they were set by."""
    drawn = np.random.default_rng(5)
    truths = drawn.random(400) < 0.6
    scores = drawn.normal(np.where(truths, 1.0, -1.0), 1.2)
    found = Scores(scores=scores.tolist(), truths=truths.tolist())
    gate = Gate(**fit_gate(found, {"yes": 0.03, "no": 0.01}))
    said = [gate.decide(gate.score_probability(score)) for score in scores]
    wrong_yes = sum(answer is True and not truth for answer, truth in zip(said, truths, strict=True))
    wrong_no = sum(answer is False and bool(truth) for answer, truth in zip(said, truths, strict=True))
    assert wrong_yes <= 0.03 * (~truths).sum()
    assert wrong_no <= 0.01 * truths.sum()
    assert 0 < sum(answer is None for answer in said) < len(said)


def build_small_examples(questions: list[Question]) -> Examples:
    """Give examples whose vector tells nothing and whose first cue tells the label, but for the last question."""
    cues = np.zeros((len(questions), len(NAMES)))
    for row, question in enumerate(questions):
        cues[row, 0] = float(question.requires_objective_fact is True)
    return Examples(questions=questions, vectors=np.ones((len(questions), 2)), cues=cues, languages=["en"] * len(questions))


def test_a_line_learns_what_tells_the_label() -> None:
    """The telling cue gets the weight; the constant vector none."""
    examples = build_small_examples([fact(f"f{number}") for number in range(20)] + [wish(f"w{number}") for number in range(20)])
    line = fit_line(examples, "requires_objective_fact", is_english=True)
    assert line.weights[2] > 1
    assert abs(line.weights[0]) < 0.01


def test_out_of_fold_scores_come_from_heads_that_did_not_see_the_question() -> None:
    """One mislabelled question among many is judged by the others, also when its restyled copy repeats the label."""
    questions = [fact(f"f{number}") for number in range(30)] + [wish(f"w{number}") for number in range(30)]
    odd = wish("odd one")
    copies = [wish(f"odd one again {number}", origin="odd one", weight=0.2) for number in range(400)]
    examples = build_small_examples([*questions, odd, *copies])
    examples.cues[60:, 0] = 1.0  # looks like a fact, is labelled a wish, 401 times
    found = score_out_of_fold(examples, "requires_objective_fact", is_english=True)
    assert len(found.scores) == 61
    by_truth = [score for score, truth in zip(found.scores, found.truths, strict=True) if not truth]
    assert max(by_truth) > 0  # only unseen is it taken for what it looks like


def test_wilson_intervals_are_the_textbooks() -> None:
    """Values from a table, and the bounds at nothing and all."""
    assert compute_wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert compute_wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert compute_wilson(0, 0) == (0.0, 1.0)


def test_a_row_counts_answers_rights_and_harm() -> None:
    """Unlabelled questions count for coverage alone."""
    judged = [
        Judged(question=fact("a"), guess=TaskGuess(requires_objective_fact=True)),
        Judged(question=fact("b"), guess=TaskGuess(requires_objective_fact=False)),
        Judged(question=wish("c"), guess=TaskGuess(requires_objective_fact=False)),
        Judged(question=wish("d"), guess=TaskGuess()),
        Judged(question=Question(text="e", source="x"), guess=TaskGuess(requires_objective_fact=False)),
    ]
    row = describe("some", judged, "requires_objective_fact")
    assert row.startswith("| some | 5 | 0.800 | 2/3 = 0.667 ")
    assert "| 0.500 | 1/2 = 0.500 " in row
