"""Outcome: what a tool or an environment reported of the task: tests passed, a reward, success.

Reports come in two ways: a tool wrote the episode with its outcome, or tools write it later as records of their own, found by the task's id
(see `guardian.trust.case`). With later reports the episode's own counts no more. Of several reports the mean is taken.

What a report says is read by a table of words and figures, whole: a text that is not of the table says nothing, for a story about failing
is no failure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import ClassVar

from guardian.trust.channel import Case, Finding

# Longest report looked at, characters: an outcome is a word or a line.
MAX_CHARACTERS = 2_000
_NUMBER = r"([-+]?\d+(?:\.\d+)?)"
_GOOD = (
    "pass|passed|passing|success|successful|succeeded|solved|resolved|correct|ok|done|completed|complete|true|yes|won|win|"
    "accepted|right|all tests passed|tests passed|task succeeded|task completed|all tests pass"
)
_BAD = (
    "fail|failed|failing|failure|unsuccessful|unsolved|unresolved|incorrect|wrong|error|errored|timeout|timed out|crashed|"
    "aborted|cancelled|false|no|lost|loss|rejected|not solved|not resolved|not completed|tests failed|task failed"
)
_LABEL = r"(?:(?:status|result|outcome|verdict|state|test result|tests?)\s*[:=]\s*)?"
_SCORE = r"(?:(?:reward|score|value|accuracy|success|pass rate|success rate)\s*[:=]?\s*)"


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 and 0 <= part <= whole else None


def _unit(value: float) -> float | None:
    return value if 0 <= value <= 1 else None


# In order; the first that fits the whole text speaks. Counts of tests: one that fails fails the run, as every test runner has it.
_TABLE: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], float | None]], ...] = (
    (re.compile(rf"{_LABEL}(?:{_GOOD})"), lambda _: 1.0),
    (re.compile(rf"{_LABEL}(?:{_BAD})"), lambda _: 0.0),
    (re.compile(r"(?:success|succeeded|solved|passed|resolved|completed|correct)\s*[:=]\s*(?:true|yes)"), lambda _: 1.0),
    (re.compile(r"(?:success|succeeded|solved|passed|resolved|completed|correct)\s*[:=]\s*(?:false|no)"), lambda _: 0.0),
    (re.compile(rf"{_SCORE}{_NUMBER}\s*%"), lambda found: _unit(float(found[1]) / 100)),
    (re.compile(rf"{_SCORE}?{_NUMBER}"), lambda found: _unit(float(found[1]))),
    (re.compile(rf"{_SCORE}{_NUMBER}\s*/\s*{_NUMBER}"), lambda found: _share(float(found[1]), float(found[2]))),
    (
        re.compile(rf"{_LABEL}{_NUMBER}\s*(?:/|of|out of)\s*{_NUMBER}\s*(?:tests?|checks?|cases?)?\s*(?:passed|pass)"),
        lambda found: None if (share := _share(float(found[1]), float(found[2]))) is None else float(share == 1),
    ),
    (
        # pytest: `12 passed, 1 failed, 3 warnings in 2.1s`
        re.compile(r"=*\s*((?:\d+ (?:passed|failed|errors?|skipped|warnings?|deselected|xfailed|xpassed)(?:, )?)+)(?:\s*in [\d.:]+ ?s?.*)?"),
        lambda found: _read_counts(found[1]),
    ),
)  # fmt: skip
_COUNT = re.compile(r"(\d+) (passed|failed|error)")


class ReportedOutcome:
    """What was reported of the task."""

    name: ClassVar[str] = "outcome"
    version: ClassVar[str] = "1"
    grows: ClassVar[bool] = True

    async def judge(self, case: Case) -> Finding | None:
        """Judge by the reports; nothing to say when there is none, or none that the table reads."""
        read = [(report.id, value) for report in case.reports if (value := read_outcome(report.text)) is not None]
        if not read:
            own = None if case.outcome is None else read_outcome(case.outcome)
            return None if own is None else _find([own], reported_in="episode", basis="")
        ids = sorted(report_id for report_id, _ in read)
        basis = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]
        return _find([value for _, value in read], reported_in="records", basis=basis)


def read_outcome(text: str) -> float | None:
    """Read a report: 1 for success, 0 for failure, a figure between; None where it says neither."""
    plain = " ".join(text[: MAX_CHARACTERS + 1].lower().split()).strip(" .!=")
    if not plain or len(text) > MAX_CHARACTERS:
        return None
    for pattern, read in _TABLE:
        found = pattern.fullmatch(plain)
        if found is not None:
            return read(found)
    return None


def _read_counts(text: str) -> float | None:
    counts = {word: int(number) for number, word in _COUNT.findall(text)}
    if counts.get("failed") or counts.get("error"):
        return 0.0
    return 1.0 if counts.get("passed") else None


def _find(values: list[float], *, reported_in: str, basis: str) -> Finding:
    value = sum(values) / len(values)
    reason = "succeeded" if value >= 1 else "failed" if value <= 0 else "partly"
    return Finding(
        value=round(value, 9), reason=reason, evidence={"reports": len(values), "reported_in": reported_in}, basis=basis
    )
