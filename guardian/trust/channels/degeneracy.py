"""Degeneracy: a query whose result is empty or all NULL where its question expects an answer is likely wrong; needs no answer key."""

from __future__ import annotations

import re
from typing import ClassVar

from guardian.trust.channel import Case, Finding
from guardian.trust.sql.sandbox import Sandbox, Status

# Questions that nothing may answer: "are there any …", "which, if any".
_MAY_BE_EMPTY = re.compile(
    r"\b(?:if any|any\b.*\?|is there|are there|whether|does any|do any|without|missing|no\b|none|never)\b", re.IGNORECASE
)


class Degeneracy:
    """Whether a result is there at all."""

    name: ClassVar[str] = "degeneracy"
    version: ClassVar[str] = "1"
    grows: ClassVar[bool] = False

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def judge(self, case: Case) -> Finding | None:
        """Judge a SQL answer by its result; nothing to say when it does not run, or when an empty result may be right."""
        if case.answer is None or case.task is None or case.language != "sql" or _MAY_BE_EMPTY.search(case.task):
            return None
        run = await self._sandbox.run(case.answer)
        if run.status is not Status.OK:
            return None
        is_degenerate = not run.rows or run.is_null
        reason = "empty" if not run.rows else "all_null" if run.is_null else "has_answer"
        return Finding(value=0.0 if is_degenerate else 1.0, reason=reason, evidence={"rows": run.rows, "columns": run.columns})
