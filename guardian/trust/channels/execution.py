"""Execution: a query that fails, takes too long, is no single read, or gives something else at each run is wrong; needs no answer key.

A query that runs is not thereby right: this channel speaks of the wrong ones it can see ("Memory Reward Inflation in Self-Improving LLM
Agents", answer-free channels).
"""

from __future__ import annotations

from typing import ClassVar

from guardian.trust.channel import Case, Finding
from guardian.trust.sql.sandbox import Run, Sandbox, Status

# Characters of a refusal that are shown.
_SHOWN = 200


class Execution:
    """Whether a query runs, and runs alike."""

    name: ClassVar[str] = "execution"
    version: ClassVar[str] = "1"
    grows: ClassVar[bool] = False

    def __init__(self, sandbox: Sandbox, *, runs: int = 2) -> None:
        self._sandbox = sandbox
        self._runs = runs

    async def judge(self, case: Case) -> Finding | None:
        """Judge a SQL answer by running it."""
        if case.answer is None or case.language != "sql":
            return None
        first = await self._sandbox.run(case.answer)
        if first.status is not Status.OK:
            return Finding(value=0.0, reason=first.status.value, evidence={"detail": _tell_fault(first)})
        for _ in range(self._runs - 1):
            again = await self._sandbox.run(case.answer)
            if again.members != first.members:
                return Finding(value=0.0, reason="differs_between_runs", evidence={"rows": [first.rows, again.rows]})
        return Finding(value=1.0, reason="runs", evidence=_describe(first))


def _tell_fault(run: Run) -> str:
    """Tell what was wrong with a query. Of a database's error only its name: messages quote the rows they stumbled over."""
    return run.detail.partition(":")[0] if run.status is Status.FAILED else run.detail[:_SHOWN]


def _describe(run: Run) -> dict[str, int]:
    return {"rows": run.rows, "columns": run.columns}
