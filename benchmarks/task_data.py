"""Labelled questions for the task classifier: our own, MemSyco-Bench's, and the same ones in other styles.

Three labels a question, each true, false or None where it is neither: whether the answer has to establish an objective fact,
whether it may be personalised, and whether the choice is others', too. The last is learnt from our own personal questions alone: the benchmark has
no label for it, so that what it calls scope can judge it.

MemSyco-Bench's rows are read from a folder and are not in this repository. Its five tasks are written in five styles, so that a
head can learn the style instead of the question. Against this, openings are taken from questions of one kind and
put before questions of the other, and our own questions weigh more.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz, process

from benchmarks.memsyco_rows import is_looked_at
from guardian.read.task.turn import resolve_question

OWN = Path(__file__).parent / "task_questions"
TRAIN, DEVELOPMENT, OPENINGS = OWN / "train.jsonl", OWN / "development.jsonl", OWN / "openings.txt"
# Written later, to teach what the others leave out: long plans, questions that point back, whom a choice concerns.
LESSONS = OWN / "lessons.jsonl"
HELD_OUT = Path(__file__).parents[1] / "tests" / "data" / "questions" / "held_out.jsonl"
HELD_OUT_OTHERS = HELD_OUT.with_name("held_out_others.jsonl")

# Objective fact, personal. A choice between products that evidence must decide is a question of fact whose wording and constraints
# may follow the person; what MemSyco-Bench calls scope, update and use is the person's own affair.
MEMSYCO_LABELS = {
    "objective_fact_judgment": (True, False),
    "memory_evidence_conflict": (True, True),
    "contextual_scope_control": (False, True),
    "valid_memory_selection": (False, True),
    "personalized_memory_use": (False, True),
}
# Weight of a benchmark row and of a restyled one beside 1 for an own question; chosen on the development questions.
MEMSYCO_WEIGHT, RESTYLED_WEIGHT = 0.2, 0.2
# Questions put behind each turn beside its own.
_ASKED_ANEW = 4
# Tasks whose questions have openings to borrow: a frame and a colon, sentences about the asker.
_FRAMED, _TOLD = {"objective_fact_judgment"}, {"valid_memory_selection"}
# From this token-sort ratio on, a question of an outside set counts as seen in training.
_SAME_QUESTION = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One labelled question.

    Attributes:
        text: As it is to be understood: behind the turn it points back to, if it does.
        turns: What the asker said before.
        source: Set it comes from; MemSyco-Bench's tasks are sets of their own.
        topic: What it is about, for people.
        origin: Text of the question it restyles, empty for itself; both are held out together.
        opening: Task from whose questions its opening was taken, if any.
        weight: In training.
    """

    text: str
    source: str
    language: str = "en"
    requires_objective_fact: bool | None = None
    personalization_allowed: bool | None = None
    concerns_others: bool | None = None
    is_history: bool | None = None
    turns: tuple[str, ...] = ()
    topic: str = ""
    origin: str = ""
    opening: str = ""
    weight: float = 1.0


def load_own(path: Path) -> list[Question]:
    """Read one of our own sets."""
    return [_read_own(json.loads(line), path.stem) for line in path.read_text(encoding="utf-8").splitlines()]


def _read_own(row: dict[str, Any], source: str) -> Question:
    turns = tuple(row.pop("turns", ()))
    return Question(source=source, turns=turns, **row | {"text": resolve_question(row["text"], turns)})


def load_memsyco(folder: Path, *, of_half: bool = False) -> list[Question]:
    """Read the benchmark's questions, each once; with `of_half` those of the rows that were looked at alone."""
    found: dict[str, Question] = {}
    for task, (objective, personal) in MEMSYCO_LABELS.items():
        for line in (folder / f"{task}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if of_half and not is_looked_at(row["id"]):
                continue
            text = row["question"]
            found[text] = Question(
                text=text,
                source=task,
                requires_objective_fact=objective,
                personalization_allowed=personal,
                weight=MEMSYCO_WEIGHT,
            )
    return list(found.values())


def restyle(own: Iterable[Question], memsyco: Sequence[Question], *, seed: int) -> list[Question]:
    """Give English questions in the styles of other kinds: behind openings, bare, without capitals and marks.

    The openings come from our own list and from the benchmark's questions, whose labels do not go with them.
    """
    drawn = random.Random(seed)
    framed = [question for question in memsyco if question.source in _FRAMED and ": " in question.text]
    openings = {"": OPENINGS.read_text(encoding="utf-8").splitlines()}
    openings["objective_fact_judgment"] = [question.text.rsplit(": ", 1)[0] + ":" for question in framed]
    openings["valid_memory_selection"] = [
        talk for question in memsyco if question.source in _TOLD if (talk := _opening(question.text))
    ]
    copies = [_as(question, question.text.rsplit(": ", 1)[1]) for question in framed]
    english = [question for question in own if question.language == "en" and question.requires_objective_fact is not None]
    for question in english:
        if not question.turns:
            copies += _restyle_one(question, openings, drawn)
    return copies + _ask_anew([question for question in english if question.turns], drawn)


def _ask_anew(told: Sequence[Question], drawn: random.Random) -> list[Question]:
    """Put other questions behind each turn: what is asked is told by the question, whom a wish concerns by the turn."""
    copies = []
    for question in told:
        for other in drawn.sample(told, min(_ASKED_ANEW, len(told))):
            is_wish = question.requires_objective_fact is False and other.requires_objective_fact is False
            copies.append(
                replace(
                    _as(question, f"{question.turns[-1]}\n{other.text.rsplit(chr(10), 1)[-1]}"),
                    requires_objective_fact=other.requires_objective_fact,
                    personalization_allowed=other.personalization_allowed,
                    concerns_others=question.concerns_others if is_wish else None,
                )
            )
    return copies


def _restyle_one(question: Question, openings: dict[str, list[str]], drawn: random.Random) -> Iterator[Question]:
    """Put the question behind one opening of each kind, and behind two of our own; write it without capitals and marks.

    An opening may name others ("I've got visitors coming"): whom the choice concerns is then no longer known.
    """
    for kind in ("", *openings):
        if openings[kind]:
            opened = _as(question, f"{drawn.choice(openings[kind])} {question.text}", opening=kind)
            yield replace(opened, concerns_others=None)
    yield _as(question, question.text.lower().rstrip("?.! "))


def _opening(text: str) -> str:
    """Give all sentences but the last."""
    return " ".join(re.split(r"(?<=[.!?]) ", text)[:-1])


def _as(question: Question, text: str, *, opening: str = "") -> Question:
    return replace(question, text=text, origin=question.text, opening=opening, weight=RESTYLED_WEIGHT)


def load_truthfulqa(folder: Path) -> list[Question]:
    """Read TruthfulQA's questions: all of objective facts."""
    questions: list[Question] = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            texts = {row["Question"] for row in csv.DictReader(file)}
        questions += [_fact(text, "truthfulqa") for text in sorted(texts)]
    return questions


def load_memento(folder: Path) -> list[Question]:
    """Read the questions of Memento's case bank, from public question sets: all of objective facts."""
    texts: set[str] = set()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            texts.update(row[name] for name in ("query", "case", "question") if row.get(name))
    return [_fact(text, "memento") for text in sorted(texts)]


def load_letta(folder: Path) -> list[Question]:
    """Read what users asked in Letta's agent files; without labels."""
    texts: set[str] = set()
    for path in sorted(folder.glob("*.af")):
        content = json.loads(path.read_text(encoding="utf-8"))
        texts.update(_user_texts(json.loads(content) if isinstance(content, str) else content))
    return [Question(text=text, source="letta") for text in sorted(texts)]


def _user_texts(content: object) -> Iterator[str]:
    if isinstance(content, list):
        for item in content:
            yield from _user_texts(item)
    elif isinstance(content, dict):
        if content.get("role") == "user":
            yield from _messages(content.get("content"))
        for item in content.values():
            yield from _user_texts(item)


def _messages(parts: object) -> Iterator[str]:
    """Give what a person wrote, out of the wrapping of time and type."""
    for part in parts if isinstance(parts, list) else []:
        try:
            wrapped = json.loads(part["text"])
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(wrapped, dict) and wrapped.get("type") == "user_message":
            yield str(wrapped["message"]).strip()


def _fact(text: str, source: str) -> Question:
    return Question(text=text, source=source, requires_objective_fact=True, personalization_allowed=False)


def drop_seen(questions: list[Question], trained: Iterable[Question]) -> list[Question]:
    """Leave out what training has seen in nearly these words, also behind a benchmark's opening."""
    seen = [question.text.rsplit(": ", 1)[-1].lower() for question in trained]
    texts = [question.text.lower() for question in questions]
    best = process.cdist(texts, seen, scorer=fuzz.token_sort_ratio, score_cutoff=_SAME_QUESTION).max(axis=1)
    return [question for question, ratio in zip(questions, best, strict=True) if ratio == 0]


def digest(paths: Iterable[Path]) -> dict[str, str]:
    """Give the SHA-256 of each file by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
