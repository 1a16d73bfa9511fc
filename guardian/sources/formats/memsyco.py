"""Read the rows of MemSyco-Bench: what an assistant remembers of a user, and the talk it was drawn from.

`{id, task, dialogue: [{role, content}], question, memory: {policy, items: [{content, type, status}]}, evaluation, …}`

Each row is a memory bank of its own unless one is named. Its memory items are memories under their place; a `current`
item claims to replace the `outdated` ones before it (a claim: nothing in the row verifies it). The turns of the dialogue
are memories of their speaker. Which turn an item was drawn from is not stated, so items have no parents. The question,
the policy that the answer should follow, and the evaluation are the benchmark's solutions and never imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Item, Skipped, SourceOptions
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.row_fields import read_text, require_id, require_object
from guardian.sources.reading.series import Dialect, Entry, Memory, Statement, iter_entries, iter_series
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="memsyco:rows", label="memsyco.rows", space="memsyco")
_KEYS = frozenset({"id", "task", "dialogue", "memory"})
_ROLES = {"user": SourceKind.USER, "assistant": SourceKind.AGENT}


@dataclass(frozen=True, slots=True)
class MemSycoSource:
    """Memory items and dialogues of MemSyco-Bench."""

    name: ClassVar[str] = "memsyco"
    title: ClassVar[str] = "memory items and dialogues of MemSyco-Bench"

    def detect(self, path: Path) -> bool:
        """Tell by a row with a dialogue and memory items."""
        return any(
            row.keys() >= _KEYS and isinstance(row["memory"], dict) and "items" in row["memory"] for row in sniff_objects(path)
        )

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the turns of each row, then its memory items."""
        return iter_series(_DIALECT, paths, options, partial(iter_entries, read=_read_row))


def _read_row(row: dict[str, Any], position: str) -> Entry:
    row_id, memory = require_id(row, "id"), require_object(row.get("memory"), "`memory`")
    turns, items = row.get("dialogue"), memory.get("items")
    if not isinstance(turns, list) or not isinstance(items, list):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "`dialogue` or `memory.items` is no list", path="memory.items")
    statements: list[Statement] = [_read_turn(row_id, n, turn, position) for n, turn in enumerate(turns, start=1)]
    outdated: list[str] = []
    for number, item in enumerate(items, start=1):
        statement = _read_item(row_id, number, item, outdated, position)
        if isinstance(statement, Memory) and statement.metadata.get("status") == "outdated":
            outdated.append(statement.memory_id)
        statements.append(statement)
    detail = "its question, policy and evaluation are the benchmark's solutions"
    statements.append(Skipped(position=f"{position} evaluation", reason=SourceReason.EVALUATION_ONLY, detail=detail))
    return Entry(position=position, statements=statements)


def _read_turn(row_id: str, number: int, turn: Any, position: str) -> Statement:
    fields: Mapping[str, Any] = turn if isinstance(turn, dict) else {}
    text, role = read_text(fields.get("content")), read_text(fields.get("role"))
    if text is None:
        return Skipped(position=f"{position} turn {number}", reason=SourceReason.EMPTY_ROW, detail="a turn without words")
    return Memory(
        memory_id=f"turn:{row_id}:{number}",
        text=text,
        kind=_ROLES.get(role or ""),
        metadata={"role": role},
        space=f"memsyco/{row_id}",
    )


def _read_item(row_id: str, number: int, item: Any, outdated: Sequence[str], position: str) -> Statement:
    fields: Mapping[str, Any] = item if isinstance(item, dict) else {}
    text, kind, status = (read_text(fields.get(key)) for key in ("content", "type", "status"))
    if text is None:
        return Skipped(position=f"{position} item {number}", reason=SourceReason.EMPTY_ROW, detail="an item without words")
    is_preference = kind is not None and kind.endswith("preference")
    return Memory(
        memory_id=f"item:{row_id}:{number}",
        text=text,
        fields={
            **({"kind": MemoryKind.PREFERENCE.value} if is_preference else {}),
            **({"supersedes": list(outdated)} if status == "current" and outdated else {}),
        },
        metadata={"type": kind, "status": status},
        space=f"memsyco/{row_id}",
    )
