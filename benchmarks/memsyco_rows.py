"""MemSyco-Bench's rows (arXiv 2607.01071, MIT), cut in two: what a reader may see, and the benchmark's solution.

`split_row` is the only door. `Seen` has no field for `task`, `id`, `policy`, `type`, `status`, `evaluation` or `metadata`, and everything that
runs (`build_bank`, `find_reversals`, the read) is given a `Seen` and a number. The `Solution` is looked at afterwards, when the
figures are counted, and in the two places that are reported apart: a caller who says what sort of task it is, and corrections by label.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from benchmarks.bank import START, wrap
from guardian.errors import ConfigError
from guardian.read import Task

USER = "person"
_EVIDENCE = re.compile(r"<information>(.*?)</information>", re.DOTALL)


class Policy(StrEnum):
    """What the benchmark says should become of a memory."""

    IGNORE = "ignore_as_evidence"
    DEFER = "defer_to_evidence"
    CONSTRAIN = "constrain_to_scope"
    UPDATE = "update"
    USE = "use"


# What a caller says who knows what is asked: the three things a `Task` has for it, and nothing else of the row.
TASKS = {
    "objective_fact_judgment": Task(
        requires_objective_fact=True, personalization_allowed=False, concerns_others=False, user=USER
    ),
    "memory_evidence_conflict": Task(
        requires_objective_fact=True, personalization_allowed=True, concerns_others=False, user=USER
    ),
    "contextual_scope_control": Task(
        requires_objective_fact=False, personalization_allowed=True, concerns_others=True, user=USER
    ),
    "valid_memory_selection": Task(requires_objective_fact=False, personalization_allowed=True, concerns_others=False, user=USER),
    "personalized_memory_use": Task(
        requires_objective_fact=False, personalization_allowed=True, concerns_others=False, user=USER
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a dialogue; `role` is `user` or `assistant`."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that may be known of a row before it is answered.

    Attributes:
        items: The texts of its memory items, in the order of the row, which is taken for the order of time.
    """

    question: str
    dialogue: tuple[Turn, ...]
    items: tuple[str, ...]

    @property
    def evidence(self) -> tuple[str, ...]:
        """What tools said in the dialogue: the excerpts of its `<information>` blocks, one each."""
        blocks = (block for turn in self.dialogue if turn.role == "assistant" for block in _EVIDENCE.findall(turn.text))
        return tuple(part.strip() for block in blocks for part in block.split("\n\n") if part.strip())

    @property
    def turns(self) -> tuple[str, ...]:
        """What the user said before the question."""
        return tuple(turn.text for turn in self.dialogue if turn.role == "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What the run must not see.

    Attributes:
        statuses: One for each item: `active`, `current` or `outdated`.
        is_development: Whether the row is of the half that was looked at (`is_looked_at`).
    """

    task: str
    policy: Policy
    statuses: tuple[str, ...]
    is_development: bool

    @property
    def reversals(self) -> frozenset[tuple[int, int]]:
        """Pairs of items, of which the first is outdated by the second."""
        old = [place for place, status in enumerate(self.statuses) if status == "outdated"]
        new = [place for place, status in enumerate(self.statuses) if status == "current"]
        return frozenset((one, other) for one in old for other in new)


def is_looked_at(row_id: str) -> bool:
    """Tell whether a row is of the half, by a digest of its id, that was looked at while words and thresholds were chosen."""
    return hashlib.sha256(row_id.encode()).digest()[-1] % 2 == 0


def split_row(row: dict[str, Any]) -> tuple[Seen, Solution]:
    """Cut a row in two; what is named in neither (`evaluation`, `metadata`) is dropped."""
    items = row["memory"]["items"]
    seen = Seen(
        question=row["question"],
        dialogue=tuple(Turn(role=turn["role"], text=turn["content"]) for turn in row["dialogue"]),
        items=tuple(item["content"] for item in items),
    )
    solution = Solution(
        task=row["task"],
        policy=Policy(row["memory"]["policy"]),
        statuses=tuple(item["status"] for item in items),
        is_development=is_looked_at(row["id"]),
    )
    return seen, solution


def load_rows(folder: Path, *, each: int | None = None) -> list[tuple[Seen, Solution]]:
    """Read the rows of all five tasks, or the first `each` of every one.

    Raises:
        ConfigError: The folder holds none.
    """
    rows = []
    for path in sorted(folder.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        rows += [split_row(json.loads(line)) for line in lines[:each]]
    if not rows:
        raise ConfigError(f"{folder} holds no rows of MemSyco-Bench; skipped.", mend="name the folder of its *.jsonl files.")
    return rows


def build_bank(
    seen: Seen, number: int, *, corrections: Sequence[tuple[int, int]] = (), has_turns: bool = False
) -> list[dict[str, Any]]:
    """Build the events of one row's bank: what an agent's memory would hold of it, in a space of its own.

    Each item is the user's own statement, written down as a preference, as memories of a person usually are; the excerpts that a tool gave are facts
    of a tool, unverified. With `has_turns` every turn is a memory of its speaker, too. A correction is the user's: the later item instead of the earlier.
    """
    bank = _Bank(space=f"bank-{number}")
    for place, turn in enumerate(seen.dialogue if has_turns else ()):
        bank.write(f"turn-{place}", turn.text, source={"kind": "user" if turn.role == "user" else "agent", "actor": turn.role})
    for place, excerpt in enumerate(seen.evidence):
        bank.write(f"evidence-{place}", excerpt, kind="fact", source={"kind": "tool", "ref": f"search-{place}"})
    for place, text in enumerate(seen.items):
        bank.write(name_item(place), text, kind="preference", source={"kind": "user", "actor": USER}, scope={"user_id": USER})
    for old, new in corrections:
        authority = {"kind": "user", "actor": USER}
        bank.add("memory.corrected", {"targets": [name_item(old)], "replacement": name_item(new), "authority": authority})
    return bank.events


def name_item(place: int) -> str:
    """Name the memory of an item by its place in the row."""
    return f"item-{place}"


class _Bank:
    """Numbers the events of one space, a minute apart."""

    def __init__(self, space: str) -> None:
        self._space = space
        self.events: list[dict[str, Any]] = []

    def add(self, kind: str, content: dict[str, Any]) -> None:
        number = len(self.events)
        time = (START + timedelta(minutes=number)).isoformat()
        self.events.append(wrap(self._space, kind, number, content) | {"id": f"{self._space}-{number}", "time": time})

    def write(self, memory_id: str, text: str, **content: Any) -> None:
        self.add("memory.written", {"memory_id": memory_id, "text": text, **content})


def iter_policies(rows: Sequence[tuple[Seen, Solution]]) -> Iterator[tuple[Policy, list[int]]]:
    """Yield each policy with the places of its rows."""
    for policy in Policy:
        yield policy, [place for place, (_, solution) in enumerate(rows) if solution.policy is policy]


ASKED_AT: datetime = START + timedelta(days=1)
