"""Read the skill library of Voyager: `skills.json`, one object of skills by name, alone or as its versions.

A skill is a memory of kind `skill` under its name: what it is for, then its code. Adding a skill of the same name
replaces it, so that a later version with other code is a revision. Voyager adds only skills that its critic, a model,
approved; the file holds no grade, and none is made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Skipped, SourceOptions
from guardian.sources.reading.object_file import head_of, load_document, sniff_document
from guardian.sources.reading.row_fields import keep_fields, require_object, require_text
from guardian.sources.reading.series import Dialect, Entry, Memory, break_row, iter_series

_DIALECT = Dialect(event_source="voyager:skills", label="voyager.skills", space="voyager", absence_deletes=True)
_KEYS = frozenset({"code", "description"})


@dataclass(frozen=True, slots=True)
class VoyagerSource:
    """Skill libraries of Voyager."""

    name: ClassVar[str] = "voyager"
    title: ClassVar[str] = "skill library of Voyager (skills.json), one file or its versions"

    def detect(self, path: Path) -> bool:
        """Tell by skills, each with code and description, under names."""
        document = sniff_document(path, b'"code"')
        return bool(document) and any(_is_skill(value) for value in document.values())

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the changes of each version in order; the first version is all creates."""
        return iter_series(_DIALECT, paths, options, _read_file)


def _is_skill(value: Any) -> bool:
    return isinstance(value, Mapping) and value.keys() >= _KEYS


def _read_file(path: Path) -> Iterator[Entry | Skipped | Broken]:
    try:
        skills = load_document(path)
    except RecordError as error:
        yield break_row(error, path.name, head_of(path))
        return
    for name, value in skills.items():
        position = f"{path.name} skill {name[:80]}"
        try:
            yield Entry(position=position, statements=[_read_skill(name, require_object(value, "the skill"))])
        except RecordError as error:
            yield break_row(error, position, {name: value})


def _read_skill(name: str, skill: Mapping[str, Any]) -> Memory:
    code, description = require_text(skill, "code"), require_text(skill, "description")
    return Memory(
        memory_id=f"skill:{name}",
        text=f"{description}\n\n{code}",
        kind=SourceKind.AGENT,
        fields={"kind": MemoryKind.SKILL.value},
        metadata={"name": name, **keep_fields(skill, _KEYS)},
    )
