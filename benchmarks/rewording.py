"""Does an undeclared rewording get its parent, and an unrelated text none? The lexical rules on real pairs, without a bank or a model.

*Rewordings* are an agent's own: Memento's plans say again in other words what the question asked that the agent had just been given. *Unrelated* pairs are
any two texts of a real bank; a few of them do say one thing, so the share of those tied is an upper bound. *Summaries* join texts of a bank with the
lifecycle benchmark's verbs, among the texts nearest to the first, and what is *said in other nouns and adjectives* is so by its words.
None of the texts is among the claims of the lifecycle benchmark, and the figures of `core.rules.restate` and `core.rules.recap` were chosen on them.
"""

from __future__ import annotations

import csv
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.process import extract

from benchmarks.laps import Advance
from benchmarks.memsyco_rows import load_rows
from benchmarks.real_data import find_real
from benchmarks.recaps import FRAMES, reword, reword_freely
from benchmarks.report import Report
from guardian.core.likeness import bind_find_sources
from guardian.core.numbers.interval import estimate_share
from guardian.core.policy import Policy
from guardian.core.rules.restate import build_signature, recalls, restates

_READ = 10  # texts that were read before one is written
_OTHER_TASKS = {"personalized_memory_use", "contextual_scope_control", "memory_evidence_conflict"}


@dataclass(slots=True)
class _Session:
    """What became of texts written after reads: by kind of text, one entry a text."""

    found: dict[str, list[bool]] = field(default_factory=dict)

    def note(self, what: str, *, holds: bool) -> None:
        self.found.setdefault(what, []).append(holds)


async def measure_rewording(*, pairs: int, sessions: int, advance: Advance) -> Report:
    """Measure rewordings, pairs and summaries of real texts."""
    report = Report(name="rewording", title=f"real texts: {pairs:,} pairs and {sessions} sessions a bank at most")
    advance("rewordings")
    reworded = list(iter_rewordings())
    _report_pairs(report, "an agent's rewordings of questions", reworded)
    shuffled = random.Random(1).sample(reworded, len(reworded))
    _report_pairs(
        report,
        "the same, each with another's question",
        [(one[0], other[1]) for one, other in zip(reworded, shuffled, strict=True) if one != other],
    )
    for name, texts in load_banks().items():
        advance(name)
        _report_pairs(report, f"pairs of {name}", draw_pairs(texts, pairs))
        _report_sessions(report, name, texts, sessions)
        if freely := [(text, said) for text in texts if (said := reword_freely(text)) != text]:
            _report_pairs(report, f"{name} said in other nouns and adjectives", freely)
    report.notes.append("restates: the ratio alone, as of texts that nobody had read; recalls: of a text just read")
    return report


def iter_rewordings() -> Iterator[tuple[str, str]]:
    """Yield the questions of Memento that have plans of one step, each once, with that step."""
    seen = set()
    for path in sorted(find_real("memento").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            question, plan = row.get("case") or row.get("question"), _read_plan(row.get("plan"))
            if question and question not in seen and len(plan) == 1:
                seen.add(question)
                yield question, plan[0]


def _read_plan(plan: object) -> list[str]:
    try:
        steps = json.loads(plan)["plan"] if isinstance(plan, str) else []
        return [step["description"] for step in steps]
    except (ValueError, KeyError, TypeError):  # a model wrote them; some are broken
        return []


def load_banks() -> dict[str, list[str]]:
    """Load the distinct texts of real banks."""
    rows = load_rows(find_real("memsyco-bench"))
    personal = {text for seen, solution in rows if solution.task in _OTHER_TASKS for text in seen.items}
    with find_real("truthfulqa", "tqa_K650.csv").open(encoding="utf-8", newline="") as file:
        facts = {row["Best Answer"] for row in csv.DictReader(file)}
    graph = sorted(find_real("mcp_memory_graph").glob("*.jsonl"))[-1]
    entities = [json.loads(line) for line in graph.read_text(encoding="utf-8").splitlines()]
    notes = {text for entity in entities for text in entity.get("observations", ()) if isinstance(text, str)}
    banks = {"personal memories": personal, "answers of TruthfulQA": facts, "notes of a project": notes}
    return {name: sorted(texts) for name, texts in banks.items()}


def draw_pairs(texts: Sequence[str], limit: int) -> list[tuple[str, str]]:
    """Give all pairs of a bank, or so many of them."""
    drawn = list(itertools.combinations(texts, 2))
    return random.Random(1).sample(drawn, min(limit, len(drawn)))


def _report_pairs(report: Report, what: str, pairs: Sequence[tuple[str, str]]) -> None:
    signed = [(build_signature(one), build_signature(other)) for one, other in pairs]
    for rule in (restates, recalls):
        tied = sum(rule(one, other) is not None for one, other in signed)
        report.add_estimate(f"{what}: {rule.__name__}", estimate_share(tied, len(signed)))


def _report_sessions(report: Report, name: str, texts: Sequence[str], sessions: int) -> None:
    draw, session = random.Random(2), _Session()
    for number in range(sessions):
        _write_after_reads(session, draw.choice(texts), texts, draw, number)
    for what, found in sorted(session.found.items()):
        report.add_estimate(f"{name}: {what}", estimate_share(sum(found), len(found)))


def _write_after_reads(session: _Session, first: str, texts: Sequence[str], draw: random.Random, number: int) -> None:
    """Read what is nearest to a text, and write the text reworded, joined with others, or without having read it."""
    find = bind_find_sources(Policy())
    near = [
        texts[place] for _, _, place in extract(first, texts, scorer=token_set_ratio, limit=_READ + 1) if texts[place] != first
    ]
    far = draw.sample([text for text in texts if text != first], _READ)
    before, behind = FRAMES[number % len(FRAMES)]
    for where, others in (("nearest", near), ("any", far)):
        session.note(f"not read, {where} texts read: given a parent", holds=bool(find(first, others)))
        for joined in (1, 2, 3):
            parts = [reword(text).rstrip(".") for text in (first, *others[: joined - 1])]
            sources = {place for place, _ in find(f"{before}{'; also: '.join(parts)}.{behind}", [first, *others[: _READ - 1]])}
            session.note(f"{joined} joined, {where} texts read: all found", holds=sources >= set(range(joined)))
            session.note(f"{joined} joined, {where} texts read: another given, too", holds=bool(sources - set(range(joined))))
