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
from collections.abc import Iterable
from dataclasses import dataclass, field

from guardian.contracts.ledger import ContextGiven, ContextJudged
from guardian.contracts.role import Role
from guardian.core.model import Status
from guardian.core.numbers.interval import Estimate, estimate_share

# Answers below were wrong.
WRONG_BELOW = 0.5


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
    fact_calls: int = 0
    contaminated: int = 0
    touched: int = 0
    rendered: int = 0
    rendered_now: int = 0
    superseded: int = 0
    rejected: int = 0
    explained: int = 0
    judged: int = 0
    unmatched: int = 0
    wrong: int = 0
    wrong_with_memory: int = 0
    overridden: int = 0
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
        hidden = [record for record in line.records if not record.rendered]
        self.calls += 1
        self.latencies_ms.append(line.latency_ms)
        self.roles.update(record.role.value for record in line.records)
        self.reasons.update(record.reason.value for record in line.records)
        self.rendered += len(shown)
        self.rejected += max(0, line.retrieved - len(shown))
        self.explained += len(hidden)  # a line whose reason is no word of the set cannot be read
        if not line.task.is_history:
            self.rendered_now += len(shown)
            self.superseded += sum(record.status is Status.SUPERSEDED for record in shown)
        if line.task.requires_objective_fact:
            barred = [record for record in shown if not record.may_be_evidence]
            self.fact_calls += 1
            self.contaminated += any(record.role is Role.EVIDENCE_CANDIDATE for record in barred)
            self.touched += bool(barred)
        self._given[(line.space, line_id)] = tuple(dict.fromkeys(record.memory_id for record in shown))

    def _add_judged(self, line: ContextJudged) -> None:
        is_wrong = line.value < WRONG_BELOW
        given = self._given[(line.space, line.context)]
        self.judged += 1
        self.overridden += line.overridden
        self.wrong += is_wrong
        self.wrong_with_memory += is_wrong and bool(given)
        for memory_id in dict.fromkeys(given if line.used is None else line.used):
            counts = self._blame.setdefault((line.space, memory_id), [0, 0])
            counts[0] += is_wrong
            counts[1] += 1

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
        return {
            "objective_fact_contamination": estimate_share(self.contaminated, self.fact_calls),
            "objective_fact_touched": estimate_share(self.touched, self.fact_calls),
            "superseded_render": estimate_share(self.superseded, self.rendered_now),
            "rejected_audit_coverage": estimate_share(self.explained, self.rejected),
            "retrieved_but_wrong": estimate_share(self.wrong_with_memory, self.wrong),
            "override": estimate_share(self.overridden, self.judged),
        }

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
