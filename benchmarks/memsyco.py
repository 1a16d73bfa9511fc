"""MemSyco-Bench through the real path, without a model: events, pipeline, store, calibrated read.

`python -m benchmarks.memsyco FOLDER` for another folder of rows; `python -m benchmarks --only memsyco` for the one in GUARDIAN_REAL_DATA. Each row is a
memory bank of its own (`memsyco_rows.build_bank`). Every row is read four times: with the sort of task given by the caller and
guessed from the question and what the user said before it; with corrections that a detector finds in the items (`reversal`) and with those that the label tells. Every fifth row is read a fifth time,
with every turn of the talk a memory, too. What is right is counted from the solutions, after the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from benchmarks.bank import batched, decode_events
from benchmarks.laps import Advance
from benchmarks.memsyco_rows import ASKED_AT, TASKS, USER, Policy, Seen, Solution, build_bank, load_rows, name_item
from benchmarks.real_data import find_real
from benchmarks.report import Aim, Report
from benchmarks.reversal import find_reversals, list_texts
from guardian.core.card import ConflictPolicy
from guardian.core.numbers.interval import estimate_share
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.ports import Fence
from guardian.read import Admission, Calibrator, Role, Task
from guardian.read.admission.decision import Decision
from guardian.read.ledger.metrics import build_account
from guardian.read.task.classifier import QuestionClassifier
from guardian.read.task.head import load_task_model
from guardian.read.task.local import LocalTaskClassifier
from guardian.settings import Settings
from guardian.store.memory import MemoryStore
from guardian.wiring import build_identity, build_pipeline

FOLDER = "memsyco-bench"
TALKS = Path(__file__).parent / "change_talks"
Row = tuple[Seen, Solution]
# A harder bank, beside the others: every turn of the talk competes with what was drawn from it.
WITH_TURNS = "corrections by label, every turn a memory"
# Of every fifth row only: turns are long, and there are ten times as many of them as of items.
_TURNS_EACH = 5
TaskOf = Callable[[Row], Task]
# Which of the read's policies the benchmark's amounts to, where it names an order between memory and something else.
_ORDERS = {
    Policy.IGNORE: ConflictPolicy.CURRENT_EVIDENCE_WINS,
    Policy.DEFER: ConflictPolicy.CURRENT_EVIDENCE_WINS,
    Policy.UPDATE: ConflictPolicy.LATEST_MEMORY_WINS,
    Policy.USE: ConflictPolicy.LATEST_MEMORY_WINS,
}
_NEARLY_ALL = Aim(value=0.95)
_ALL = Aim(value=1.0)
_NONE = Aim(value=0.0, is_ceiling=True)
_EVENTS_A_BATCH = 500
# The two ways to know what is asked: the caller says it, or says nothing but who asks, and the classifier guesses.
CALLERS: dict[str, TaskOf] = {"given": lambda row: TASKS[row[1].task], "guessed": lambda _: Task(user=USER)}


@dataclass(slots=True)
class Tally:
    """Hits and trials of each figure, by name."""

    hits: Counter[str] = field(default_factory=Counter)
    trials: Counter[str] = field(default_factory=Counter)

    def note(self, name: str, *, is_hit: bool) -> None:
        """Count one trial."""
        self.trials[name] += 1
        self.hits[name] += is_hit


FIGURES: dict[str, Aim | None] = {
    "fact: a person's memory as evidence": _NONE,
    "fact, not personal: memory shown at all": _NONE,
    "outdated memory shown": _NONE,
    "valid memory shown as preference": _NEARLY_ALL,
    "conflict policy right": _NEARLY_ALL,
    "tool evidence shown as evidence": _NEARLY_ALL,
    "others' choice: memory as constraint": _ALL,
    "others' choice: memory as free preference": None,
    "own choice: memory as constraint": None,
}


async def measure_memsyco(*, each: int | None, advance: Advance, folder: Path | None = None) -> Report:
    """Read every row four times and count what became of its memories."""
    rows = load_rows(folder or find_real(FOLDER), each=each)
    report = Report(name="memsyco", title=f"MemSyco-Bench, {len(rows)} rows, no model")
    embedder = await open_sentence_transformers()
    try:
        await measure_rows(report, rows, embedder, advance)
    finally:
        await embedder.close()
    return report


async def measure_rows(report: Report, rows: Sequence[Row], embedder: Embedder, advance: Advance) -> None:
    """Measure all runs over these rows."""
    advance("embedding items")
    found = await _detect(embedder, [(seen.turns, seen.items) for seen, _ in rows])
    judge_detector(report, rows, found)
    await judge_talks(report, embedder)
    labels = [sorted(solution.reversals) for _, solution in rows]
    for bank, pairs, names, step in (
        ("corrections found", found, tuple(CALLERS), 1),
        ("corrections by label", labels, tuple(CALLERS), 1),
        (WITH_TURNS, labels, ("given",), _TURNS_EACH),
    ):
        advance(f"{bank}: writing")
        picked, is_harder = rows[::step], bank is WITH_TURNS
        store = MemoryStore(build_identity(embedder))
        await store.open()
        await _write(store, embedder, picked, pairs[::step], has_turns=is_harder)
        for name in names:
            advance(f"{bank}: reading, task {name}")
            admissions = await _read(store, embedder, picked, CALLERS[name])
            judge_run(report, f"task {name}, {bank}", picked, admissions, has_aims=not is_harder)
        await store.close()
    report.notes.append(
        "the classifier was trained on these rows' questions, but for whom a choice concerns: of that it has seen nothing here"
    )


async def _detect(embedder: Embedder, banks: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[list[tuple[int, int]]]:
    """Find the reversals of each bank, by what was said and what is stored."""
    texts = list(dict.fromkeys(text for turns, items in banks for text in list_texts(turns, items)))
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    return [find_reversals(turns, items, vectors.__getitem__) for turns, items in banks]


async def judge_talks(report: Report, embedder: Embedder) -> None:
    """Compare what the detector finds in talks of our own, everyday ones, with what they say; the held-out ones taught it nothing."""
    for path in sorted(TALKS.glob("*.jsonl")):
        talks = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = await _detect(embedder, [(talk["turns"], talk["items"]) for talk in talks])
        told = [{(old, new) for old, new in talk["reversed"]} for talk in talks]
        right = sum(len(pairs & set(one)) for pairs, one in zip(told, found, strict=True))
        which = f"own talks, {path.stem.replace('_', ' ')}"
        report.add_estimate(f"reversals found, precision, {which}", estimate_share(right, sum(len(one) for one in found)))
        report.add_estimate(f"reversals found, recall, {which}", estimate_share(right, sum(len(pairs) for pairs in told)))


async def _write(
    store: MemoryStore, embedder: Embedder, rows: Sequence[Row], pairs: Sequence[Sequence[tuple[int, int]]], *, has_turns: bool
) -> None:
    pipeline = build_pipeline(Settings(), store, embedder, None)
    events = [
        event
        for number, ((seen, _), found) in enumerate(zip(rows, pairs, strict=True))
        for event in build_bank(seen, number, corrections=found, has_turns=has_turns)
    ]
    for batch in batched(decode_events(events), _EVENTS_A_BATCH):
        await pipeline.process(batch, fence=Fence())


async def _read(store: MemoryStore, embedder: Embedder, rows: Sequence[Row], task_of: TaskOf) -> list[Admission]:
    classifier = LocalTaskClassifier(QuestionClassifier(load_task_model()), embedder.identity)
    calibrator = Calibrator(store, embedder=embedder, classifier=classifier, clock=lambda: ASKED_AT)
    return [
        await calibrator.context(row[0].question, task_of(row), space=f"bank-{number}", turns=row[0].turns)
        for number, row in enumerate(rows)
    ]


def judge_detector(report: Report, rows: Sequence[Row], found: Sequence[Sequence[tuple[int, int]]]) -> None:
    """Compare the reversals that were found with the labels, over rows of several items; apart for the half that nobody looked at."""
    for which, halves in (("all rows", (True, False)), ("the half not looked at", (False,))):
        picked = [
            (set(pairs), solution)
            for (seen, solution), pairs in zip(rows, found, strict=True)
            if len(seen.items) > 1 and solution.is_development in halves
        ]
        right = sum(len(pairs & solution.reversals) for pairs, solution in picked)
        report.add_estimate(f"reversals found, precision, {which}", estimate_share(right, sum(len(pairs) for pairs, _ in picked)))
        report.add_estimate(
            f"reversals found, recall, {which}", estimate_share(right, sum(len(one.reversals) for _, one in picked))
        )
        calm = [bool(pairs) for pairs, solution in picked if not solution.reversals]
        report.add_estimate(f"rows without a reversal where one was found, {which}", estimate_share(sum(calm), len(calm)))


def judge_run(report: Report, name: str, rows: Sequence[Row], admissions: Sequence[Admission], *, has_aims: bool) -> None:
    """Count one run and add its figures, the ledger's own among them."""
    for which, halves in (("", (True, False)), (", the half not looked at", (False,))):
        tally = Tally()
        for (_, solution), admission in zip(rows, admissions, strict=True):
            if solution.is_development in halves:
                judge_row(tally, solution, admission)
        for what, aim in FIGURES.items():
            if tally.trials[what]:
                share = estimate_share(tally.hits[what], tally.trials[what])
                report.add_estimate(f"{name}: {what}{which}", share, aim=aim if has_aims else None)
    account = build_account((admission.id, admission.entry) for admission in admissions)
    figures = account.figures()
    for what, aim in (
        ("objective_fact_contamination", _NONE),
        ("superseded_render", _NONE),
        ("rejected_audit_coverage", _ALL),
    ):
        report.add_estimate(f"{name}: ledger, {what}", figures[what], aim=aim)


def judge_row(tally: Tally, solution: Solution, admission: Admission) -> None:
    """Compare what became of one row's memories with its policy."""
    decided = {decision.candidate.memory_id: decision for decision in admission.decisions}
    items = [decided.get(name_item(place)) for place in range(len(solution.statuses))]
    _judge_use(tally, solution, items)
    if solution.policy in _ORDERS:
        is_right = admission.ruling.conflict_policy is _ORDERS[solution.policy]
        tally.note("conflict policy right", is_hit=is_right)
    if solution.policy is Policy.DEFER:
        has_evidence = any(
            one.role is Role.EVIDENCE_CANDIDATE and name.startswith("evidence-")
            for name, one in decided.items()
            if one.is_rendered
        )
        tally.note("tool evidence shown as evidence", is_hit=has_evidence)


def _judge_use(tally: Tally, solution: Solution, items: Sequence[Decision | None]) -> None:
    """Count in which role each item was shown."""
    for status, item in zip(solution.statuses, items, strict=True):
        role = item.role if item is not None and item.is_rendered else None
        if solution.policy in {Policy.IGNORE, Policy.DEFER}:
            tally.note("fact: a person's memory as evidence", is_hit=role is Role.EVIDENCE_CANDIDATE)
        if solution.policy is Policy.IGNORE:
            tally.note("fact, not personal: memory shown at all", is_hit=role is not None)
        elif status == "outdated":
            tally.note("outdated memory shown", is_hit=role is not None)
        elif solution.policy is Policy.CONSTRAIN:
            tally.note("others' choice: memory as constraint", is_hit=role is Role.SCOPE_CONSTRAINT)
            tally.note("others' choice: memory as free preference", is_hit=role is Role.PREFERENCE)
        elif solution.policy in {Policy.USE, Policy.UPDATE}:
            tally.note("valid memory shown as preference", is_hit=role is Role.PREFERENCE)
            tally.note("own choice: memory as constraint", is_hit=role is Role.SCOPE_CONSTRAINT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it on a folder of rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.memsyco", description="MemSyco-Bench through the guard and the calibrated read."
    )
    parser.add_argument("folder", type=Path, help="Folder of the benchmark's *.jsonl files.")
    parser.add_argument("--each", type=int, default=None, help="Rows of each task; all by default.")
    given = parser.parse_args(arguments)
    report = asyncio.run(measure_memsyco(each=given.each, folder=given.folder, advance=lambda _: None))
    Console(width=170).print(report.table(), *(f"  {note}" for note in report.notes), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
