"""Text grounding: numbers, dates, codes and names of an answer that neither its question nor its cited evidence contains.

An answer may use any words, but a literal that stands nowhere in what it rests on was made up, or came from elsewhere. Literals are the marks
of `core.mark` (numbers, dates, times, codes) and names: capitalised words inside a sentence. Needs no answer key, and errs where evidence
says a thing in other literals, so it speaks of presence, not of truth.
"""

from __future__ import annotations

import asyncio
import re
from typing import ClassVar

from guardian.core.mark import MarkKind
from guardian.core.signature import build_signature
from guardian.trust.channel import Case, Finding

_KINDS = (MarkKind.NUMBER, MarkKind.DATE, MarkKind.TIME, MarkKind.CODE)
# A capitalised word that does not begin a sentence; all scripts that have capitals.
_NAME = re.compile(r"(?<![.!?:\n]\s)(?<!^)(?<![\"'\u201c(])\b[^\W\d_][\w'\u2019-]+", re.MULTILINE)
# Literals named in the finding; the number of all of them is told beside.
_SHOWN, _SHOWN_CHARS = 10, 100


class TextGrounding:
    """The share of an answer's literals that its question and evidence contain."""

    name: ClassVar[str] = "text_grounding"
    version: ClassVar[str] = "1"
    grows: ClassVar[bool] = False

    async def judge(self, case: Case) -> Finding | None:
        """Judge a text answer with evidence; nothing to say without evidence, or without a literal in the answer."""
        if case.answer is None or not case.evidence or case.language not in {None, "text"}:
            return None
        return await asyncio.to_thread(_judge, case.answer, case)  # off the loop, which may be a guard's as well


def _judge(answer: str, case: Case) -> Finding | None:
    literals = read_literals(answer)
    if not literals:
        return None
    known = read_literals(case.task or "").union(*map(read_literals, case.evidence))
    words = _words(" ".join([case.task or "", *case.evidence]))
    lacking = sorted(one for one in literals - known if not _is_named(one, words))
    share = 1 - len(lacking) / len(literals)
    reason = "not_in_evidence" if lacking else "grounded"
    return Finding(
        value=round(share, 9),
        reason=reason,
        evidence={"literals": len(literals), "lacking": [one[:_SHOWN_CHARS] for one in lacking[:_SHOWN]]},
    )


def read_literals(text: str) -> frozenset[str]:
    """Read the literals of a text, each as `kind:value`."""
    marks = {mark for mark in build_signature(text).marks if mark.partition(":")[0] in _KINDS and mark != "number:%"}
    names = {f"name:{word.casefold()}" for word in _NAME.findall(text) if word[0].isupper()}
    return frozenset(marks | names)


def _words(text: str) -> frozenset[str]:
    return frozenset(build_signature(text).text.split())


def _is_named(literal: str, words: frozenset[str]) -> bool:
    """Tell whether a name stands in the evidence in whatever case."""
    kind, _, value = literal.partition(":")
    return kind == "name" and set(build_signature(value).text.split()) <= words
