"""Degeneracy: a query whose result is empty, all NULL or a lone 0 where its question expects an answer is likely wrong; needs no answer key.

A count over a filter that nothing meets is the empty result of questions that ask how many: whoever asks about something supposes that it is there.
"""

from __future__ import annotations

import re
from typing import ClassVar

from guardian.trust.channel import Case, Finding
from guardian.trust.sql.sandbox import Run, Sandbox, Status

# Questions that nothing may answer: "are there any …", "which, if any".
_MAY_BE_EMPTY = re.compile(
    r"\b(?:if any|any\b.*\?|is there|are there|whether|does any|do any|without|missing|no\b|none|never)\b", re.IGNORECASE
)


class Degeneracy:
    """Whether a result is there at all."""

    name: ClassVar[str] = "degeneracy"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def judge(self, case: Case) -> Finding | None:
        """Judge a SQL answer by its result; nothing to say when it does not run, or when an empty result may be right."""
        if case.answer is None or case.task is None or case.language != "sql" or _MAY_BE_EMPTY.search(case.task):
            return None
        run = await self._sandbox.run(case.answer)
        if run.status is not Status.OK:
            return None
        reason = _name_fault(run)
        evidence = {"rows": run.rows, "columns": run.columns}
        return Finding(value=0.0 if reason else 1.0, reason=reason or "has_answer", evidence=evidence)


def _name_fault(run: Run) -> str | None:
    if not run.rows:
        return "empty"
    if run.is_null:
        return "all_null"
    return "zero" if run.is_zero and run.rows == 1 and run.columns == 1 else None
