"""Does the check of answers let right ones pass and take out those with one invented noun? Real texts, no model.

*Right* answers are of three sorts. Statements of MemSyco-Bench's reference answers, each on the excerpts of the dialogue's tools that it was drawn from: near
their words, as the prompt of the stage asks. Memories that a model distilled from a person's turns, each on those turns. Memories said again with
other verbs (`benchmarks.recaps.reword`), each on itself. *Invented*: the same with one lower-case noun put in where the sentence has room,
a name that neither record nor question has, or a word of the other texts.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rapidfuzz.fuzz import token_set_ratio

from benchmarks.laps import Advance
from benchmarks.memsyco_rows import Seen, split_row
from benchmarks.real_data import find_real
from benchmarks.recaps import reword
from benchmarks.report import Report
from guardian.core.lexicon import FUNCTION_WORDS
from guardian.core.numbers.interval import estimate_share
from guardian.read import Task
from guardian.read.stage.check import Fault, Ground, check_span
from guardian.read.stage.form import CiteAnswer, Claim, SpanAnswer, Use
from guardian.read.stage.source import Source
from guardian.read.stage.wording import split_sentences

_NAMES: Final = [
    "arabica",
    "robusta",
    "acme",
    "globex",
    "initech",
    "zephyr",
    "kubernetes",
    "postgres",
    "nimbus",
    "quokka",
    "lisbon",
    "jakarta",
    "tiramisu",
    "fentanyl",
    "saxophone",
    "trombone",
    "kayak",
    "walnut",
    "oboe",
    "basil",
    "thyme",
    "cedar",
    "otter",
    "falcon",
    "mirage",
    "garnet",
    "comet",
    "lotus",
    "puma",
    "bison",
]
# What introduces a statement in a reference answer and is none.
_LEAD: Final = re.compile(r"^(?:The answer should acknowledge the preference-aligned advantage|Main caveat): ")
_HANDLE: Final = "S1"
# Most sentences of a record that one statement is drawn from.
_QUOTES: Final = 2


@dataclass(frozen=True, slots=True)
class Case:
    """A right answer of one statement, the texts that it rests on, and the question."""

    text: str
    record: str
    question: str


async def measure_answers(*, advance: Advance) -> Report:
    """Measure the share of right answers that stand, and of those with one invented noun that pass."""
    report = Report(name="answers", title="one statement on its record, by code alone")
    folder = find_real("memsyco-bench")
    advance("answers")
    sorts = {
        "statements of reference answers": list(dict.fromkeys(iter_stated(folder))),
        "memories distilled from turns": list(dict.fromkeys(iter_distilled(folder))),
        "memories with other verbs": list(dict.fromkeys(iter_reworded(folder))),
    }
    bag = sorted({word for cases in sorts.values() for case in cases for word in _list_nouns(case.text)})
    for sort, cases in sorts.items():
        _report_sort(report, sort, cases, bag)
    report.notes.append("without: the same check that asks for marks, names with a capital, negation and overlap alone")
    return report


def iter_stated(folder: Path) -> Iterator[Case]:
    """Yield the statements of reference answers, each on the three excerpts of tools that are nearest."""
    for row, seen in _iter_rows(folder, "memory_evidence_conflict"):
        for sentence in split_sentences(row["evaluation"]["reference_answer"]):
            text = _LEAD.sub("", sentence)
            yield Case(text, "\n".join(_find_nearest(text, seen.evidence, 3)), seen.question)


def iter_distilled(folder: Path) -> Iterator[Case]:
    """Yield what was distilled from a person's turns, each on the two turns that are nearest."""
    for _, seen in _iter_rows(folder, "personalized_memory_use"):
        turns = [turn.text for turn in seen.dialogue if turn.role == "user"]
        for item in seen.items if turns else ():
            yield Case(item, "\n".join(_find_nearest(item, turns, 2)), seen.question)


def iter_reworded(folder: Path) -> Iterator[Case]:
    """Yield the memories that other verbs change, each on itself."""
    for _, seen in _iter_rows(folder, ""):
        for item in seen.items:
            if (text := reword(item)) != item:
                yield Case(text, item, "")


def stands(case: Case, *, checks_words: bool) -> bool:
    """Tell whether a statement stands on the best sentences of its record, or on the whole of it."""
    best = _find_nearest(case.text, split_sentences(case.record), _QUOTES)
    return any(not _list_faults(case, quotes) - (set() if checks_words else {Fault.ADDED_WORD}) for quotes in (best[:1], best))


def _list_faults(case: Case, quotes: Sequence[str]) -> set[Fault]:
    source = Source(handle=_HANDLE, text=case.record, use=Use.SUPPORT, given_by="record")
    ground = Ground(question=case.question, task=Task(requires_objective_fact=True), sources={_HANDLE: source})
    cites = [CiteAnswer(handle=_HANDLE, quote=quote) for quote in quotes]
    return set(check_span(SpanAnswer(text=case.text, claim=Claim.FACT, support=cites), ground).all_faults)


def _report_sort(report: Report, sort: str, cases: Sequence[Case], bag: Sequence[str]) -> None:
    draw = random.Random(3)
    for way, checks in (("", True), (", without", False)):
        held = sum(stands(case, checks_words=checks) for case in cases)
        report.add_estimate(f"{sort}: right ones that stand{way}", estimate_share(held, len(cases)))
    right = [case for case in cases if stands(case, checks_words=True)]
    for what, nouns in (("an invented name", _NAMES), ("another text's word", bag)):
        wrong = [_invent(case, draw.choice(nouns), draw) for case in right]
        wrong = [case for case in wrong if case is not None]
        for way, checks in (("", True), (", without", False)):
            passed = sum(stands(case, checks_words=checks) for case in wrong)
            report.add_estimate(f"{sort}: {what} passes{way}", estimate_share(passed, len(wrong)))


def _invent(case: Case, noun: str, draw: random.Random) -> Case | None:
    """Put a noun somewhere behind the first word; None if record or question has it."""
    if noun in f"{case.record} {case.question}".lower():
        return None
    words = case.text.split()
    words.insert(draw.randrange(1, len(words) + 1), noun)
    return Case(" ".join(words), case.record, case.question)


def _iter_rows(folder: Path, task: str) -> Iterator[tuple[dict[str, Any], Seen]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if task in {"", row["task"]}:
                yield row, split_row(row)[0]


def _find_nearest(text: str, parts: Sequence[str], limit: int) -> list[str]:
    return sorted(parts, key=lambda part: -token_set_ratio(text, part))[:limit]


def _list_nouns(text: str) -> list[str]:
    return [word for word in re.findall(r"\b[a-z]{4,}\b", text) if word not in FUNCTION_WORDS]
