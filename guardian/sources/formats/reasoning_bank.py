"""Read the memory of ReasoningBank: what an agent did on a task, how it graded itself, and the strategies it drew from it.

`{task_id, query, think_list, action_list, status, memory_items, template_id}` (WebArena) and
`{task_id, query, memory_items, status}` (SWE-bench), one row a task.

The task is a memory of kind `episode`; each memory item is one of kind `skill`, derived from it. `memory_items` is what
a model wrote, cut at every blank line into a list, or (as the SWE-bench writer has it) one text, which the program's own
reader then takes letter by letter. Both are put together again and cut where an item's heading stands. `status` is a self-grade: in SWE-bench the agent's own model judges, in WebArena a model unless the run was told
otherwise, which no row says; so the claim that carries less is taken. Runs append again: identity is content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.sources.port import Item, RowChange, Skipped, SourceOptions
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.row_fields import keep_fields, read_texts, require_id, require_text
from guardian.sources.reading.series import Dialect, Entry, Memory, Statement, iter_change, iter_entries, iter_series
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="reasoning-bank:memory", label="reasoning-bank.memory", space="reasoning-bank")
_KEYS = frozenset({"task_id", "query", "memory_items", "status"})
_READ = _KEYS | {"action_list"}
_GRADES = {"success": 1.0, "fail": 0.0, "failure": 0.0}
# Begins an item in a text that holds several.
_HEADING = re.compile(r"^(?=#+ Memory Item\b)", re.MULTILINE)
# A line that opens or closes a block of Markdown, as the model was shown it around the items.
_FENCE = re.compile(r"^```\w*[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ReasoningBankSource:
    """Memory of ReasoningBank."""

    name: ClassVar[str] = "reasoning-bank"
    title: ClassVar[str] = "memory of ReasoningBank (JSON lines with memory_items and status)"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of a task."""
        return any(row.keys() >= _KEYS for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield tasks and what was drawn from them; several files are parts of one bank."""
        return iter_series(_DIALECT, paths, options, partial(iter_entries, read=_read_row))

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of a task."""
        return (change.after or change.before or {}).keys() >= _KEYS

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one task."""
        return iter_change(_DIALECT, change, options, _read_row)


def _read_row(row: dict[str, Any], position: str) -> Entry:
    task_id, query, status = require_id(row, "task_id"), require_text(row, "query"), row.get("status")
    actions = read_texts(row.get("action_list"))
    items = _split_items(row.get("memory_items"))
    run = digest_parts("task", task_id, query, str(status), *actions, "|", *items, size=16)
    grade = _GRADES.get(status.strip().lower()) if isinstance(status, str) else None
    episode_id = f"task:{task_id}#{run}"
    episode = {"task": query, "answer": "\n".join(actions), "outcome": status if isinstance(status, str) else None}
    memory = Memory(
        memory_id=episode_id,
        text="\n".join([query, *actions]),
        kind=SourceKind.AGENT,
        fields={
            "kind": MemoryKind.EPISODE.value,
            "episode": {key: value for key, value in episode.items() if value},
            **({} if grade is None else {"self_grade": grade}),
        },
        metadata={"task_id": task_id, **keep_fields(row, _READ)},
    )
    statements: list[Statement] = [memory, *(_read_item(text, task_id, number, memory) for number, text in enumerate(items))]
    if grade is None:
        detail = f"the status {str(status)[:80]!r} is neither success nor fail"
        statements.append(Skipped(position=position, reason=SourceReason.GRADE_UNKNOWN, detail=detail))
    return Entry(position=position, statements=statements)


def _split_items(items: Any) -> list[str]:
    """Give the items of a text: cut at their headings, else as they stand.

    Lists are what is left of one text that was cut at every blank line, so that an item may be spread over elements.
    """
    texts = [items] if isinstance(items, str) else read_texts(items)
    whole = "\n\n".join(texts)
    if _HEADING.search(whole):
        texts = _HEADING.split(whole)
    bare = (_FENCE.sub("", text).strip() for text in texts)
    return [text for text in bare if text]


def _read_item(text: str, task_id: str, number: int, episode: Memory) -> Memory:
    task: Mapping[str, Any] = episode.fields["episode"]
    return Memory(
        memory_id=f"item:{task_id}:{number}#{digest_parts('item', episode.memory_id, text, size=16)}",
        text=text,
        kind=SourceKind.AGENT,
        fields={
            "kind": MemoryKind.SKILL.value,
            "parents": [episode.memory_id],
            "episode": {key: task[key] for key in ("task", "outcome") if key in task},
        },
        metadata={"task_id": task_id},
    )
