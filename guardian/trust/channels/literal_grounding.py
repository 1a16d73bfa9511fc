"""Literal grounding: filters of a query on entity-like literals that stand neither in its question nor in its declared evidence.

`WHERE country = 'Brazil'` under a question that names no Brazil is a literal copied from another episode, the commonest way in which a reused
query is wrong. Looked at are string literals compared with a column (`=`, `<>`, `IN`, `LIKE`), read with a parser; short codes, yes/no and
formats are passed over, since a schema may demand them. Where a question names years, the dates of a query must lie in these, or end a range
that does (1 January of the year after, 31 December of the year before). Needs neither the answer nor the database.
"""

from __future__ import annotations

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
# How words made of names end: Canadian, Japanese, Danish.
_DERIVED = ("an", "ese", "ish")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# A date, or as much of one as a filter compares: a year, a month of a year.
_DATE = re.compile(r"(?:19|20)\d\d(?=$|-)")
_SHOWN = 10


class LiteralGrounding:
    """Whether a query's filters name only what its question and evidence name."""

    name: ClassVar[str] = "literal_grounding"

    def __init__(self, dialect: Dialect = Dialect.SQLITE) -> None:
        self._dialect = dialect

    async def judge(self, case: Case) -> Finding | None:
        """Judge a SQL answer; nothing to say when it is none, cannot be read, or filters on no entity."""
        if case.answer is None or case.task is None or case.language != "sql":
            return None
        tree = admit(case.answer, self._dialect)
        if isinstance(tree, Refused):
            return None
        said = " ".join(build_signature(text).text for text in (case.task, *case.evidence))
        years = {int(year) for year in _YEAR.findall(said)}
        literals, dates = read_filters(tree), read_dates(tree) if years else []
        if not literals and not dates:
            return None
        lacking = [literal for literal in literals if not is_said(literal, said)]
        lacking += [date for date in dates if not is_within(date, years)]
        evidence = {"filters": len(literals) + len(dates), "lacking": lacking[:_SHOWN]}
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


def read_dates(tree: exp.Expr) -> list[str]:
    """Read the dates that are compared with something, or as much of them as is: a year, a month of a year."""
    literals = (literal for one in tree.find_all(*_COMPARISONS) for literal in one.find_all(exp.Literal) if literal.is_string)
    return list(dict.fromkeys(str(literal.this) for literal in literals if _DATE.match(str(literal.this))))


def is_within(date: str, years: set[int]) -> bool:
    """Tell whether a date lies in one of the years, or bounds a range that ends or begins with one."""
    year = int(date[:4])
    return (
        year in years
        or (year - 1 in years and date[4:].startswith("-01-01"))
        or (year + 1 in years and date[4:].startswith("-12-31"))
    )


def is_said(literal: str, said: str) -> bool:
    """Tell whether all words of a literal stand in the text, singular or plural, or what is derived from them; `said` is normalised."""
    words = set(said.split())
    parts = build_signature(literal).text.split()
    return bool(parts) and all(_is_word_said(part, words) for part in parts)


def _is_word_said(part: str, words: set[str]) -> bool:
    forms = {part, part.rstrip("s"), f"{part}s", f"{part}es"}
    return bool(forms & words) or any(_is_derived(word, part) for word in words)


def _is_derived(word: str, name: str) -> bool:
    """Tell whether a word is made of a name, as Canadian is of Canada: what they begin with alike leaves out at most two letters of the name."""
    stem = max(_LEAST_CHARACTERS, len(name) - 2)
    return word.rstrip("s").endswith(_DERIVED) and len(name) >= stem and word[:stem] == name[:stem]
