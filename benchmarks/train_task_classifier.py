"""`python -m benchmarks.train_task_classifier --memsyco FOLDER`: train the task classifier and write its model file.

What is learnt from what:

- weights: our own questions (training and development), MemSyco-Bench's rows, and restyled copies, by logistic regression;
- Platt scales and thresholds: predictions for our own questions by heads that saw neither them nor their restyled copies (out of fold);
- the questions in `tests/data/questions` and the outside sets: nothing. They are for `python -m benchmarks.task_classifier`.

Which features and weights to use was chosen by training on the training questions and looking at the development ones, before
the two were joined, and by training without each of MemSyco-Bench's tasks in turn. Run with `OMP_NUM_THREADS=1`: the same versions and seed then give the same file.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from benchmarks.task_data import (
    DEVELOPMENT,
    LESSONS,
    MEMSYCO_LABELS,
    OPENINGS,
    TRAIN,
    Question,
    digest,
    load_memsyco,
    load_own,
    restyle,
)
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.read.task.cue import ENGLISH, read_cues, words_digest
from guardian.read.task.head import FORMAT, VECTOR_SCALE, compute_digest

MODEL = Path(__file__).parents[1] / "guardian" / "read" / "task" / "model.json"
VERSION = "2"
LABELS = ("requires_objective_fact", "personalization_allowed", "concerns_others")
SEED = 1
_FOLDS = 10
_STRENGTH = 1.0  # inverse of the regularisation; 0.3 to 3 were alike on the development questions
_LANDMARKS = 96
# Share of training questions, out of fold, that the guard against the unseen may take for far.
_FAR_SHARE = 0.02
# English questions teach the cues of other languages, too, with less weight.
_ENGLISH_AS_OTHER = 0.3
# Largest share of the questions of the other kind that an answer may be given to, wrongly, out of fold. The side that does harm
# is judged harder: "no objective fact" lets hearsay in as evidence, "personal" lets taste into an answer.
_BUDGETS = {
    "requires_objective_fact": {"yes": 0.03, "no": 0.015},
    "personalization_allowed": {"yes": 0.02, "no": 0.03},
    "concerns_others": {"yes": 0.1, "no": 0.05},
}
# And whatever the budgets allow: what lets memory in is not said with less certainty than this. Raised from 0.9, but for what is personal in other languages,
# when advice got a gate of its own (`classifier`) and English lessons were added: the careful side was not to pay for either.
_LEAST_SURE = {
    "requires_objective_fact": {"english": 0.91, "other": 0.92},
    "personalization_allowed": {"english": 0.95, "other": 0.9},
    "concerns_others": {"english": 0.5, "other": 0.5},
}
# Lessons were written to teach, many of them alike and easy: a threshold set on them would let more through than its budget says. Whom a choice concerns
# is told in few other questions.
_GATED_BY_FIRST = {"requires_objective_fact", "personalization_allowed"}

# The answer that lets memory in, where there is one.
_OPENING = {"requires_objective_fact": False, "personalization_allowed": True}

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Questions with their features, one row each; vectors of unit length."""

    questions: list[Question]
    vectors: Floats
    cues: Floats
    languages: list[str | None]

    def take(self, keep: Callable[[int], bool]) -> Examples:
        """Give some of them."""
        rows = [row for row in range(len(self.questions)) if keep(row)]
        return Examples(
            questions=[self.questions[row] for row in rows],
            vectors=self.vectors[rows],
            cues=self.cues[rows],
            languages=[self.languages[row] for row in rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One fitted line: weights and bias."""

    weights: Floats
    bias: float


@dataclass(slots=True, kw_only=True)
class Scores:
    """Out-of-fold scores of one head on own questions, with the truth."""

    scores: list[float] = field(default_factory=list)
    truths: list[bool] = field(default_factory=list)


async def build_examples(questions: Sequence[Question]) -> tuple[Examples, str]:
    """Embed questions and read their cues; gives the embedder's identity, too."""
    embedder = await open_sentence_transformers(device="cpu")
    try:
        vectors = np.array(await embedder.embed([question.text for question in questions]), dtype=np.float64)
    finally:
        await embedder.close()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cues = [read_cues(question.text) for question in questions]
    examples = Examples(
        questions=list(questions),
        vectors=vectors,
        cues=np.array([found.values for found in cues]),
        languages=[found.language for found in cues],
    )
    return examples, embedder.identity


def fit_line(examples: Examples, label: str, *, is_english: bool) -> Line:
    """Fit one head: over vectors and cues on English, over the cues on all languages."""
    used = examples.take(
        lambda row: (
            getattr(examples.questions[row], label) is not None
            and (examples.languages[row] == ENGLISH if is_english else examples.languages[row] is not None)
        )
    )
    weights = [question.weight for question in used.questions]
    if not is_english:
        weights = [
            weight * (_ENGLISH_AS_OTHER if language == ENGLISH else 1.0)
            for weight, language in zip(weights, used.languages, strict=True)
        ]
    truths = [getattr(question, label) for question in used.questions]
    fitted = LogisticRegression(C=_STRENGTH, max_iter=5_000, tol=1e-8)
    fitted.fit(features(used, is_english=is_english), truths, sample_weight=weights)
    return Line(weights=fitted.coef_[0], bias=float(fitted.intercept_[0]))


def features(examples: Examples, *, is_english: bool) -> Floats:
    """Give what a head sees."""
    return np.hstack([examples.vectors * VECTOR_SCALE, examples.cues]) if is_english else examples.cues


def score_out_of_fold(examples: Examples, label: str, *, is_english: bool) -> Scores:
    """Score own questions of one language group by heads that did not see them, restyled or not."""
    folds = _fold(examples.questions)
    found = Scores()
    for fold in range(_FOLDS):
        line = fit_line(examples.take(lambda row, fold=fold: folds[row] != fold), label, is_english=is_english)
        left = examples.take(
            lambda row, fold=fold: (
                folds[row] == fold
                and examples.questions[row].weight == 1
                and (examples.questions[row].source != LESSONS.stem or label not in _GATED_BY_FIRST)
                and getattr(examples.questions[row], label) is not None
                and examples.languages[row] is not None
                and (examples.languages[row] == ENGLISH) == is_english
            )
        )
        if left.questions:
            found.scores += (features(left, is_english=is_english) @ line.weights + line.bias).tolist()
            found.truths += [getattr(question, label) for question in left.questions]
    return found


def _fold(questions: Sequence[Question]) -> list[int]:
    """Give each own question its fold, and its restyled copies the same; the benchmark's rows are always learnt from."""
    own = {TRAIN.stem, DEVELOPMENT.stem, LESSONS.stem}
    return [
        zlib.crc32((question.origin or question.text).encode()) % _FOLDS if question.source in own else -1
        for question in questions
    ]


def fit_gate(
    found: Scores, budgets: dict[str, float], *, opening: bool | None = None, least_sure: float = 0.9
) -> dict[str, float]:
    """Fit Platt's scale and set the thresholds by the budgets of wrong answers.

    Args:
        found: Out-of-fold scores.
        budgets: Share of wrong answers that each side may give.
        opening: The answer that lets memory in, if one does.
        least_sure: Probability from which that answer may be given, whatever its budget allows.
    """
    scores, truths = np.array(found.scores), np.array(found.truths)
    platt = LogisticRegression(C=10.0).fit(scores[:, None], truths)
    slope, offset = float(platt.coef_[0, 0]), float(platt.intercept_[0])
    sure = 1 / (1 + np.exp(-(slope * scores + offset)))
    return {
        "slope": _round(slope),
        "offset": _round(offset),
        "yes_from": _round(max(least_sure if opening is True else 0.5, _threshold(sure[~truths], budgets["yes"]))),
        "no_below": _round(1 - max(least_sure if opening is False else 0.5, _threshold(1 - sure[truths], budgets["no"]))),
    }


def _threshold(wrong: Floats, budget: float) -> float:
    """Give the probability that only the budgeted share of the wrong kind exceeds."""
    return float(np.sort(wrong)[::-1][int(budget * len(wrong))]) + 1e-4


def find_landmarks(examples: Examples) -> tuple[NDArray[np.int8], float]:
    """Cluster the English vectors; gives the centres and the least cosine that nearly all left-out questions keep."""
    english = examples.take(lambda row: examples.languages[row] == ENGLISH)
    own = np.array([question.weight == 1 for question in english.questions])
    folds = np.array(_fold(english.questions))
    nearest: list[float] = []
    for fold in range(_FOLDS):
        left = english.vectors[(folds == fold) & own]
        if len(left):
            nearest += (left @ _centres(english.vectors[folds != fold]).T).max(axis=1).tolist()
    centres = _centres(english.vectors)
    return np.rint(centres / np.abs(centres).max() * 127).astype(np.int8), float(np.quantile(nearest, _FAR_SHARE))


def _centres(vectors: Floats) -> Floats:
    centres = KMeans(n_clusters=_LANDMARKS, n_init=4, random_state=SEED).fit(vectors).cluster_centers_
    return np.asarray(centres / np.linalg.norm(centres, axis=1, keepdims=True))


def build_model(examples: Examples, *, embedder: str, digests: dict[str, str]) -> dict[str, Any]:
    """Train everything; gives the model file's content."""
    landmarks, least_similarity = find_landmarks(examples)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "embedder": embedder,
        "size": examples.vectors.shape[1],
        "words": words_digest(),
        "training": {"digests": digests, "rows": sum(question.weight != 0 for question in examples.questions), "seed": SEED},
        "landmarks": base64.b64encode(landmarks.tobytes()).decode(),
        "least_similarity": _round(least_similarity),
    }
    for label in LABELS:
        content[label] = {name: _build_head(examples, label, is_english=name == "english") for name in ("english", "other")}
    return content | {"digest": compute_digest(orjson.loads(orjson.dumps(content)))}


def _build_head(examples: Examples, label: str, *, is_english: bool) -> dict[str, Any]:
    line = fit_line(examples, label, is_english=is_english)
    split = examples.vectors.shape[1] if is_english else 0
    found = score_out_of_fold(examples, label, is_english=is_english)
    least_sure = _LEAST_SURE[label]["english" if is_english else "other"]
    return {
        "bias": _round(line.bias),
        "vector": [_round(weight) for weight in line.weights[:split]],
        "cues": [_round(weight) for weight in line.weights[split:]],
        "gate": fit_gate(found, _BUDGETS[label], opening=_OPENING.get(label), least_sure=least_sure),
    }


def _round(value: float) -> float:
    """Keep four decimals: less than what one training question moves, and the same on every machine."""
    return round(float(value), 4)


def load_training(memsyco: Path, *, of_half: bool = False) -> list[Question]:
    """Give all questions that training sees, restyled ones at the end; of the benchmark's rows, if asked, the half that was looked at."""
    own = load_own(TRAIN) + load_own(DEVELOPMENT) + load_own(LESSONS)
    benchmark = load_memsyco(memsyco, of_half=of_half)
    return own + benchmark + restyle(own, benchmark, seed=SEED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_task_classifier", description=__doc__)
    parser.add_argument("--memsyco", type=Path, required=True, help="Folder with MemSyco-Bench's five .jsonl files.")
    parser.add_argument("--output", type=Path, default=MODEL)
    parser.add_argument("--of-half", action="store_true", help="Learn from half of its rows, to judge on the other; not for use.")
    given = parser.parse_args(arguments)
    questions = load_training(given.memsyco, of_half=given.of_half)
    examples, embedder = asyncio.run(build_examples(questions))
    paths = [TRAIN, DEVELOPMENT, LESSONS, OPENINGS, *(given.memsyco / f"{task}.jsonl" for task in MEMSYCO_LABELS)]
    model = build_model(examples, embedder=embedder, digests=digest(paths))
    given.output.write_bytes(orjson.dumps(model, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    for label in LABELS:
        for name, head in model[label].items():
            print(label, name, head["gate"])
    print(f"{len(questions)} questions; {given.output}, {given.output.stat().st_size:,} bytes, digest {model['digest'][:12]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
