"""Read the workflows of Agent-KB: how tasks were planned and searched, and what was learned from it.

`[{question, agent_planning, search_agent_planning, agent_experience, search_agent_experience, …}]`

A workflow is a memory of kind `episode`; its id is its content, because the `workflow_id` of the program is a time
that is made anew at every load. There is no grade in these files and none is made up; reference answers are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.sources.port import Item, RowChange, SourceOptions
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.row_fields import keep_fields, read_text, require_text
from guardian.sources.reading.series import Dialect, Entry, Memory, iter_change, iter_entries, iter_series

_DIALECT = Dialect(event_source="agent-kb:workflows", label="agent-kb.workflows", space="agent-kb")
_KEYS = frozenset({"question", "agent_planning", "agent_experience"})
# Sections of a workflow in the order of its text, with their headings.
_SECTIONS = (
    ("agent_planning", "Plan"),
    ("search_agent_planning", "Search plan"),
    ("agent_experience", "Experience"),
    ("search_agent_experience", "Search experience"),
)
_READ = frozenset({"question", "true_answer", "answer", *(key for key, _ in _SECTIONS)})


@dataclass(frozen=True, slots=True)
class AgentKbSource:
    """Workflows of Agent-KB."""

    name: ClassVar[str] = "agent-kb"
    title: ClassVar[str] = "workflows of Agent-KB (JSON array with planning and experience)"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of a workflow."""
        return any(row.keys() >= _KEYS for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the workflows; several files are parts of one base."""
        return iter_series(_DIALECT, paths, options, partial(iter_entries, read=_read_row))

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of a workflow."""
        return (change.after or change.before or {}).keys() >= _KEYS

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one workflow."""
        return iter_change(_DIALECT, change, options, _read_row)


def _read_row(row: dict[str, Any], position: str) -> Entry:
    question = require_text(row, "question")
    sections = [(heading, text) for key, heading in _SECTIONS if (text := read_text(row.get(key))) is not None]
    identity = digest_parts("workflow", question, *(part for section in sections for part in section), size=16)
    memory = Memory(
        memory_id=f"workflow:{identity}",
        text="\n\n".join([question, *(f"{heading}:\n{text}" for heading, text in sections)]),
        kind=SourceKind.AGENT,
        fields={"kind": MemoryKind.EPISODE.value, "episode": {"task": question}},
        metadata=keep_fields(row, _READ),
    )
    return Entry(position=position, statements=[memory])
