"""Read the case bank of Memento: cases that were tried and how they ended, and which cases were retrieved for a query.

```
{case, plan, case_label}                       a case of the bank, labelled positive or negative
{question, plan, reward}                       the same in the bank that is not trained; reward 0 or 1
{query, case, case_label, plan, truth_label}   one row for each case retrieved for a query
```

A case is a memory of kind `episode`; its id is its content, for the files have no ids and a run appends again what
stands there. Its grade comes from a model that compared the answer with the reference (and gave 0 where it could not
judge): a verdict of the channel `answer_judge`, not the agent's own grade.

Rows of one query that follow each other are one retrieval, a read. `truth_label` says how the *query* ended and is
copied to every case retrieved for it; it is kept with the read and credited to no case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, RowChange, Skipped, SourceOptions
from guardian.sources.reading.channel import Channel
from guardian.sources.reading.envelope import digest_parts, dump_text
from guardian.sources.reading.framing import iter_rows, sniff_objects
from guardian.sources.reading.row_fields import keep_fields, parse_row, require_text
from guardian.sources.reading.series import (
    Dialect,
    Entry,
    Memory,
    Retrieval,
    Statement,
    Verdict,
    break_row,
    iter_change,
    iter_series,
)
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="memento:cases", label="memento.cases", space="memento")
_LABELS = {"positive": 1.0, "negative": 0.0}
# Characters of a question that an id shows; the digest behind it is over all of it.
_LABEL_CHARS = 80
# Rows of one query that are taken together; Memento retrieves eight.
_MAX_RETRIEVED = 256
_CASE_KEYS = frozenset({"case", "plan", "case_label"})
_REWARD_KEYS = frozenset({"question", "plan", "reward"})
_READ = _CASE_KEYS | _REWARD_KEYS | {"query", "truth_label"}


@dataclass(frozen=True, slots=True)
class MementoSource:
    """Case banks of Memento."""

    name: ClassVar[str] = "memento"
    title: ClassVar[str] = "case bank of Memento, with rewards or labels, or its training rows"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of a case."""
        return any(_is_case(row) for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the cases, their verdicts and the retrievals; several files are parts of one bank."""
        return iter_series(_DIALECT, paths, options, _read_file)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of a case."""
        return _is_case(change.after or change.before or {})

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one row; a training row alone retrieves one case."""

        def read(row: dict[str, Any], position: str) -> Entry:
            group = _Group(query=_find_query(row))
            group.add(row, position)
            return group.finish()

        return iter_change(_DIALECT, change, options, read)


def _is_case(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _CASE_KEYS or (row.keys() >= _REWARD_KEYS and "agent_planning" not in row)


def _read_file(path: Path) -> Iterator[Entry | Skipped | Broken]:
    group = _Group(query=None)
    for row in iter_rows(path):
        position = f"{path.name} row {row.number}"
        try:
            case = parse_row(row)
            query = _find_query(case)
            if group.rows and not group.goes_on(query):
                yield group.finish()
                group = _Group(query=query)
            group.query = query
            group.add(case, position)
        except RecordError as error:
            yield break_row(error, position, row.raw)
    if group.rows:
        yield group.finish()


def _find_query(row: Mapping[str, Any]) -> str | None:
    return require_text(row, "query") if "query" in row else None


@dataclass(slots=True)
class _Group:
    """Rows that follow each other and were retrieved for one query; without a query, one row."""

    query: str | None
    rows: int = 0
    position: str = ""
    case_ids: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    truths: list[Any] = field(default_factory=list)

    def goes_on(self, query: str | None) -> bool:
        """Tell whether a row with this query belongs here."""
        return query is not None and query == self.query and self.rows < _MAX_RETRIEVED

    def add(self, row: Mapping[str, Any], position: str) -> None:
        """Take in one row.

        Raises:
            RecordError: It is no case; then nothing of it is taken.
        """
        memory = _read_case(row)
        self.statements += [memory, _read_grade(row, memory.memory_id, position)]
        self.case_ids.append(memory.memory_id)
        self.truths.append(row.get("truth_label"))
        self.rows += 1
        self.position = self.position or position

    def finish(self) -> Entry:
        """Give what the rows state."""
        statements = self.statements
        if self.query is not None:
            # All rows of a query carry one label; where they do not, it is nobody's.
            truth = self.truths[0] if len({repr(value) for value in self.truths}) == 1 else None
            fields = {"query": self.query, **({} if truth is None else {"truth_label": truth})}
            statements = [*statements, Retrieval(retrieved=tuple(dict.fromkeys(self.case_ids)), fields=fields)]
        return Entry(position=self.position, statements=statements, rows=self.rows)


def _read_case(row: Mapping[str, Any]) -> Memory:
    question = require_text(row, "case" if "case" in row else "question")
    plan = row.get("plan")
    raw_plan = plan if isinstance(plan, str) else dump_text(plan)
    grade = row.get("case_label", row.get("reward"))
    return Memory(
        memory_id=f"case:{question[:_LABEL_CHARS]}#{digest_parts('case', question, raw_plan, size=16)}",
        text=f"{question}\n{_render_plan(plan)}" if question.strip() else question,
        kind=SourceKind.AGENT,
        fields={
            "kind": MemoryKind.EPISODE.value,
            "episode": {"task": question, "answer": raw_plan, **({} if grade is None else {"outcome": str(grade)})},
        },
        metadata=keep_fields(row, _READ),
    )


def _render_plan(plan: Any) -> str:
    """Give the steps of a plan, one a line; a plan is JSON in a text, and stays as it is where it cannot be read."""
    steps = plan
    if isinstance(plan, str):
        try:
            steps = orjson.loads(plan)
        except orjson.JSONDecodeError:
            return plan
    if isinstance(steps, dict):
        steps = steps.get("plan")
    lines = [step.get("description") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    if not lines or not all(isinstance(line, str) for line in lines):
        return plan if isinstance(plan, str) else dump_text(plan)
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _read_grade(row: Mapping[str, Any], memory_id: str, position: str) -> Verdict | Skipped:
    grade = row.get("case_label", row.get("reward"))
    value = _LABELS.get(grade) if isinstance(grade, str) else grade
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        detail = f"the grade {str(grade)[:80]!r} is neither positive nor negative, and no share in [0, 1]"
        return Skipped(position=position, reason=SourceReason.GRADE_UNKNOWN, detail=detail)
    return Verdict(memory_id=memory_id, channel=Channel.ANSWER_JUDGE, value=float(value), evidence={"grade": grade})
