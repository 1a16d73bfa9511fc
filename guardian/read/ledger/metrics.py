"""Figures of reading, computed from ledger lines; pure but for what it counts up.

What they are called in the literature on admission (MemAdapter, arXiv 2610.05162; MemSyco-Bench, arXiv 2607.01071; MEchoBench) and what
is counted here:

- *objective-fact contamination*: of the questions of fact, the share in which a record stood as evidence that may not establish one; and
  the wider share in which any such record was rendered at all, in whatever section.
- *superseded render rate*: of the records rendered for questions that do not ask for history, the share that was superseded.
- *rejected-memory audit coverage*: of the records that the searches found and that were not rendered, the share that the line lists, each
  with a reason out of the closed set.
- *retrieved but wrong*: of the judged answers that were wrong, the share that was given any memory; and each memory's part in it.
- *override rate*: of the judged answers, the share that went against what was decided.

A share of nothing is unknown, never zero. Memory grows with the number of memories and of lines, not with their size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from guardian.contracts.ledger import ContextGiven, ContextJudged
from guardian.contracts.role import Role
from guardian.core.model import Status
from guardian.core.numbers.interval import Estimate, estimate_share

# Answers below were wrong.
WRONG_BELOW = 0.5
# Figures that are shares of cases.
FIGURES = (
    "objective_fact_contamination",
    "objective_fact_touched",
    "superseded_render",
    "rejected_audit_coverage",
    "retrieved_but_wrong",
    "override",
)


@dataclass(frozen=True, slots=True)
class Tally:
    """What one line adds to a figure: cases, and those of them in which it came to that."""

    hits: int
    cases: int


def tally_given(line: ContextGiven) -> Mapping[str, Tally]:
    """Count what one context adds to each figure that it says anything of."""
    shown = [record for record in line.records if record.rendered]
    barred = [record for record in shown if not record.may_be_evidence]
    found = {
        # A line whose reason is no word of the set cannot be read, so every record that it lists has one.
        "rejected_audit_coverage": Tally(len(line.records) - len(shown), max(0, line.retrieved - len(shown)))
    }
    if not line.task.is_history:
        found["superseded_render"] = Tally(sum(record.status is Status.SUPERSEDED for record in shown), len(shown))
    if line.task.requires_objective_fact:
        is_contaminated = any(record.role is Role.EVIDENCE_CANDIDATE for record in barred)
        found["objective_fact_contamination"] = Tally(int(is_contaminated), 1)
        found["objective_fact_touched"] = Tally(int(bool(barred)), 1)
    return found


def tally_judged(line: ContextJudged, *, had_memory: bool | None) -> Mapping[str, Tally]:
    """Count what one outcome adds to each figure.

    Args:
        line: The outcome.
        had_memory: Whether its context held any; None where nobody knows, and nothing is said of it then.
    """
    found = {"override": Tally(int(line.overridden), 1)}
    if line.value < WRONG_BELOW and had_memory is not None:
        found["retrieved_but_wrong"] = Tally(int(had_memory), 1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """One memory's part in wrong answers.

    Attributes:
        wrong: Wrong answers that it was given to, or went into where that is known.
        judged: Judged answers likewise.
    """

    space: str
    memory_id: str
    wrong: int
    judged: int


@dataclass(slots=True)
class LedgerAccount:
    """Counts ledger lines up; `add` each, then ask for the figures."""

    calls: int = 0
    rendered: int = 0
    judged: int = 0
    unmatched: int = 0
    wrong: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    cases: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    latencies_ms: list[float] = field(default_factory=list)
    _given: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _early: dict[str, ContextJudged] = field(default_factory=dict)
    _blame: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, line_id: str, line: ContextGiven | ContextJudged) -> None:
        """Count one line; the same line again counts nothing."""
        if line_id in self._seen:
            return
        self._seen.add(line_id)
        if isinstance(line, ContextGiven):
            self._add_given(line_id, line)
        elif (line.space, line.context) in self._given:
            self._add_judged(line)
        else:
            self._early[line_id] = line  # its context may come later

    def _add_given(self, line_id: str, line: ContextGiven) -> None:
        shown = [record for record in line.records if record.rendered]
        self.calls += 1
        self.latencies_ms.append(line.latency_ms)
        self.roles.update(record.role.value for record in line.records)
        self.reasons.update(record.reason.value for record in line.records)
        self.rendered += len(shown)
        self._count(tally_given(line))
        self._given[(line.space, line_id)] = tuple(dict.fromkeys(record.memory_id for record in shown))

    def _add_judged(self, line: ContextJudged) -> None:
        is_wrong = line.value < WRONG_BELOW
        given = self._given[(line.space, line.context)]
        self.judged += 1
        self.wrong += is_wrong
        self._count(tally_judged(line, had_memory=bool(given)))
        for memory_id in dict.fromkeys(given if line.used is None else line.used):
            counts = self._blame.setdefault((line.space, memory_id), [0, 0])
            counts[0] += is_wrong
            counts[1] += 1

    def _count(self, tallies: Mapping[str, Tally]) -> None:
        for figure, tally in tallies.items():
            self.hits[figure] += tally.hits
            self.cases[figure] += tally.cases

    def settle(self) -> None:
        """Take in the outcomes whose context came after them; those without any are counted as unmatched."""
        for line in self._early.values():
            if (line.space, line.context) in self._given:
                self._add_judged(line)
            else:
                self.unmatched += 1
        self._early.clear()

    def figures(self) -> dict[str, Estimate]:
        """Give each figure with its interval and size."""
        return {figure: estimate_share(self.hits[figure], self.cases[figure]) for figure in FIGURES}

    def list_blame(self, limit: int) -> list[Blame]:
        """List the memories with most wrong answers, then the largest share of them."""
        found = [
            Blame(space=space, memory_id=memory_id, wrong=wrong, judged=judged)
            for (space, memory_id), (wrong, judged) in self._blame.items()
            if wrong
        ]
        return sorted(found, key=lambda blame: (-blame.wrong, blame.judged, blame.space, blame.memory_id))[:limit]

    def percentile_ms(self, share: float) -> float | None:
        """Give the latency that this share of the calls did not exceed; None without calls."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def build_account(lines: Iterable[tuple[str, ContextGiven | ContextJudged]]) -> LedgerAccount:
    """Count all lines, in any order and however often they come."""
    account = LedgerAccount()
    for line_id, line in lines:
        account.add(line_id, line)
    account.settle()
    return account
