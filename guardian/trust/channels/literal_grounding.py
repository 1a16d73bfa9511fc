"""Literal grounding: filters of a query on entity-like literals that stand neither in its question nor in its declared evidence.

`WHERE country = 'Brazil'` under a question that names no Brazil is a literal copied from another episode, the commonest way in which a reused
query is wrong. Looked at are string literals compared with a column (`=`, `<>`, `IN`, `LIKE`), read with a parser; short codes, yes/no and
formats are passed over, since a schema may demand them. Needs neither the answer nor the database.
"""

from __future__ import annotations

import asyncio
import re
from typing import ClassVar

from sqlglot import exp

from guardian.core.signature import build_signature
from guardian.trust.channel import Case, Finding
from guardian.trust.sql.statement import Dialect, Refused, admit

# Shorter ones are codes of a schema (`F`, `USA`, `en`), not entities of a question.
_LEAST_CHARACTERS = 4
_COMPARISONS = (exp.EQ, exp.NEQ, exp.In, exp.Like, exp.ILike, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_FORMAT = re.compile(r"^[%_\s\W\dYmdHMS:-]*$")
_WORD_OF_SCHEMA = frozenset(
    {"true", "false", "none", "null", "male", "female", "active", "inactive", "start of month", "start of year"}
)
_SHOWN, _SHOWN_CHARS = 10, 100


class LiteralGrounding:
    """Whether a query's filters name only what its question and evidence name."""

    name: ClassVar[str] = "literal_grounding"
    version: ClassVar[str] = "1"
    grows: ClassVar[bool] = False

    def __init__(self, dialect: Dialect = Dialect.SQLITE) -> None:
        self._dialect = dialect

    async def judge(self, case: Case) -> Finding | None:
        """Judge a SQL answer; nothing to say when it is none, cannot be read, or filters on no entity."""
        if case.answer is None or case.task is None or case.language != "sql":
            return None
        return await asyncio.to_thread(self._judge, case.answer, case)  # off the loop, which may be a guard's as well

    def _judge(self, query: str, case: Case) -> Finding | None:
        tree = admit(query, self._dialect)
        if isinstance(tree, Refused):
            return None
        literals = read_filters(tree)
        if not literals:
            return None
        said = " ".join(build_signature(text).text for text in (case.task or "", *case.evidence))
        lacking = [literal for literal in literals if not is_said(literal, said)]
        evidence = {"filters": len(literals), "lacking": [one[:_SHOWN_CHARS] for one in lacking[:_SHOWN]]}
        return Finding(value=0.0 if lacking else 1.0, reason="literal_unsaid" if lacking else "grounded", evidence=evidence)


def read_filters(tree: exp.Expr) -> list[str]:
    """Read the entity-like string literals that are compared with something, in order, each once."""
    found: dict[str, None] = {}
    for comparison in tree.find_all(*_COMPARISONS):
        for literal in comparison.find_all(exp.Literal):
            text = str(literal.this).strip("%_ ")
            if (
                literal.is_string
                and len(text) >= _LEAST_CHARACTERS
                and not _FORMAT.match(text)
                and text.lower() not in _WORD_OF_SCHEMA
            ):
                found.setdefault(text)
    return list(found)


def is_said(literal: str, said: str) -> bool:
    """Tell whether all words of a literal stand in the text, singular or plural; `said` is normalised."""
    words = set(said.split())
    parts = build_signature(literal).text.split()
    return bool(parts) and all(any(form in words for form in (part, part.rstrip("s"), f"{part}s", f"{part}es")) for part in parts)
