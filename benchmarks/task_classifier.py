"""`python -m benchmarks.task_classifier FOLDER`: judge the task classifier on questions from elsewhere.

FOLDER holds `truthfulqa/*.csv`, `memento/*.jsonl`, `letta_af/*.af` and `memsyco-bench/*.jsonl`, as far as they are there; without it
only the held-out questions of this repository are judged. What training has seen in nearly the same words is left out.

For each set and each of the three labels: the share of questions that got an answer (coverage); how many of these answers were
right; what the classifier is good for: of the questions that let memory in (not objective; personal), the share for which it says so;
and the harm: the share of the others for which it says so, too. With 95 % Wilson intervals. The opposite error does no
more than silence does, for unknown is read as objective and not personal. Whom a choice concerns lets nothing in: there the first share is what is
found of the choices that are others', too (what is missed enters as a free wish), the second how many of the asker's own are taken for such.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sklearn.linear_model import LogisticRegression

from benchmarks.task_data import (
    DEVELOPMENT,
    HELD_OUT,
    HELD_OUT_OTHERS,
    LESSONS,
    MEMSYCO_LABELS,
    TRAIN,
    Question,
    drop_seen,
    load_letta,
    load_memento,
    load_memsyco,
    load_own,
    load_truthfulqa,
)
from benchmarks.train_task_classifier import LABELS, build_examples, build_model, load_training
from guardian.read.task.classifier import QuestionClassifier, TaskGuess
from guardian.read.task.head import ModelFile, TaskModel, load_task_model

_Z = 1.96
# The answer of each label that changes what unknown would give.
_OPENING = {"requires_objective_fact": False, "personalization_allowed": True, "concerns_others": True}
_NAMES = {
    "requires_objective_fact": ("not objective", "objective"),
    "personalization_allowed": ("personal", "impersonal"),
    "concerns_others": ("others', too", "the asker's alone"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A question and what the classifier made of it."""

    question: Question
    guess: TaskGuess


def compute_wilson(hits: int, total: int) -> tuple[float, float]:
    """Give the 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    share, z2 = hits / total, _Z * _Z
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    return max(0.0, middle - half), min(1.0, middle + half)


async def judge(questions: Sequence[Question], classifier: QuestionClassifier) -> list[Judged]:
    """Classify questions."""
    examples, embedder = await build_examples(questions)
    return [
        Judged(question=question, guess=classifier.guess(question.text, vector.tolist(), embedder=embedder))
        for question, vector in zip(questions, examples.vectors, strict=True)
    ]


def describe(name: str, judged: Sequence[Judged], label: str) -> str:
    """Give one row of a table."""
    pairs = [(getattr(item.question, label), getattr(item.guess, label)) for item in judged]
    labelled = [(truth, said) for truth, said in pairs if truth is not None]
    answered = [(truth, said) for truth, said in labelled if said is not None]
    right = sum(truth == said for truth, said in answered)
    opening = _OPENING[label]
    open_to = [said for truth, said in labelled if truth is opening]
    closed_to = [said for truth, said in labelled if truth is not opening]
    cells = (
        name,
        str(len(pairs)),
        _share(sum(said is not None for _, said in pairs), len(pairs)),
        _interval(right, len(answered)),
        _share(sum(said is opening for said in open_to), len(open_to)),
        _interval(sum(said is opening for said in closed_to), len(closed_to)),
    )
    return f"| {' | '.join(cells)} |"


def _share(hits: int, total: int) -> str:
    return f"{hits / total:.3f}" if total else "-"


def _interval(hits: int, total: int) -> str:
    low, high = compute_wilson(hits, total)
    return f"{hits}/{total} = {hits / total:.3f} [{low:.3f}, {high:.3f}]" if total else "-"


def print_tables(title: str, groups: dict[str, list[Judged]]) -> None:
    """Print one table a label."""
    for label in LABELS:
        if all(getattr(item.question, label) is None for judged in groups.values() for item in judged):
            continue
        opened, closed = _NAMES[label]
        print(f"\n### {title}: `{label}`\n")
        print(f"| questions | number | coverage | right, of the answered | {opened}: said so | {closed}: said {opened} |")
        print("| --- | ---: | ---: | --- | ---: | --- |")
        for name, judged in groups.items():
            print(describe(name, judged, label))


def group(judged: Iterable[Judged], key: Callable[[Judged], str]) -> dict[str, list[Judged]]:
    """Group in order of first appearance."""
    groups: dict[str, list[Judged]] = {}
    for item in judged:
        groups.setdefault(key(item), []).append(item)
    return groups


async def judge_outside(folder: Path, classifier: QuestionClassifier, trained: list[Question]) -> None:
    """Judge the sets of the folder."""
    loaders = {"truthfulqa": load_truthfulqa, "memento": load_memento, "letta_af": load_letta}
    for name, load in loaders.items():
        if not (folder / name).is_dir():
            continue
        found = load(folder / name)
        kept = drop_seen(found, trained)
        judged = await judge(kept, classifier)
        print_tables(f"{name} ({len(found) - len(kept)} of {len(found)} left out as seen)", {name: judged})
        _print_wrong(judged)


def _print_wrong(judged: Iterable[Judged], most: int = 25) -> None:
    """Show the harmful errors, and whatever has no labels."""
    for item in judged:
        unlabelled = item.question.requires_objective_fact is None and item.question.personalization_allowed is None
        wrong = any(
            getattr(item.guess, label) is opening and getattr(item.question, label) not in {None, opening}
            for label, opening in list(_OPENING.items())[:2]
        )
        if (wrong or unlabelled) and most:
            most -= 1
            print(
                f"  {item.guess.requires_objective_fact!s:5} {item.guess.personalization_allowed!s:5} {item.question.text[:110]}"
            )


async def judge_plain(folder: Path, questions: Sequence[Question]) -> None:
    """Judge what the benchmark alone would teach: a line over its vectors, without cues, own questions or silence."""
    benchmark, embedder = await build_examples(load_memsyco(folder))
    asked, _ = await build_examples(questions)
    answers = {}
    for label in LABELS[:2]:
        line = LogisticRegression(max_iter=5_000).fit(benchmark.vectors, [getattr(row, label) for row in benchmark.questions])
        answers[label] = line.predict(asked.vectors).tolist()
    judged = [
        Judged(question=question, guess=TaskGuess(**{label: answers[label][row] for label in LABELS[:2]}))
        for row, question in enumerate(questions)
    ]
    print_tables(f"a line over {embedder} from MemSyco-Bench alone", group(judged, _by_english))


def _by_english(item: Judged) -> str:
    return "English" if item.question.language == "en" else "not English"


async def judge_left_out_tasks(folder: Path) -> None:
    """Train without each of MemSyco-Bench's tasks in turn, and judge on it: what the heads know beyond that task's style."""
    examples, embedder = await build_examples(load_training(folder))
    groups: dict[str, list[Judged]] = {}
    for task in MEMSYCO_LABELS:
        rest = examples.take(lambda row, task=task: task not in {examples.questions[row].source, examples.questions[row].opening})
        model = TaskModel(ModelFile.model_validate(build_model(rest, embedder=embedder, digests={})))
        without = QuestionClassifier(model)
        groups[task] = [
            Judged(
                question=question,
                guess=without.guess(question.text, examples.vectors[row].tolist(), embedder=embedder),
            )
            for row, question in enumerate(examples.questions)
            if question.source == task and not question.origin
        ]
    print_tables("MemSyco-Bench, each task left out of training", groups)


async def judge_others(classifier: QuestionClassifier) -> None:
    """Judge the second held-out set: whom a choice concerns, long requests, questions that point back, questions about the past."""
    judged = await judge(load_own(HELD_OUT_OTHERS), classifier)
    rest = [item for item in judged if item.question.topic not in {"long", "back"}]
    print_tables(
        "held-out questions, second set",
        {"all": judged}
        | group(rest, _by_english)
        | {topic: [item for item in judged if item.question.topic == topic] for topic in ("long", "back")},
    )
    past = [(item.question.is_history is True, item.guess.is_history is True) for item in judged]
    print("\nasks for the past:", _interval(sum(t and g for t, g in past), sum(t for t, _ in past)), end="; ")
    print("said of others:", _interval(sum(g and not t for t, g in past), sum(not t for t, _ in past)))
    _print_others(judged)


def _print_others(judged: Iterable[Judged]) -> None:
    """Show where it was wrong about whom a choice concerns, or said nothing."""
    for item in judged:
        if item.question.concerns_others is not None and item.guess.concerns_others is not item.question.concerns_others:
            print(f"  {item.guess.concerns_others!s:5} {item.question.text[-110:]!r}")


async def run(given: argparse.Namespace) -> None:
    """Judge everything."""
    classifier = QuestionClassifier(load_task_model())
    trained = load_own(TRAIN) + load_own(DEVELOPMENT) + load_own(LESSONS)
    judged = await judge(load_own(HELD_OUT), classifier)
    foreign = [item for item in judged if item.question.language != "en"]
    print_tables(
        "held-out questions", {"all": judged, "not English": foreign} | group(judged, lambda item: item.question.language)
    )
    silent = group(judged, lambda item: str(item.guess.silence))
    print("\nsilence:", {name: len(items) for name, items in silent.items()})
    _print_wrong(item for item in judged if item.question.requires_objective_fact is not None)
    await judge_others(classifier)
    if given.folder is None:
        return
    memsyco = given.folder / "memsyco-bench"
    await judge_outside(given.folder, classifier, trained + (load_memsyco(memsyco) if memsyco.is_dir() else []))
    if memsyco.is_dir():
        await judge_plain(memsyco, [item.question for item in judged])
    if given.left_out_tasks:
        await judge_left_out_tasks(memsyco)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge and print Markdown tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.task_classifier", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="Outside sets.")
    parser.add_argument("--left-out-tasks", action="store_true", help="Also train without each MemSyco-Bench task; minutes.")
    asyncio.run(run(parser.parse_args(arguments)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
