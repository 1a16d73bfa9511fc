"""Read the records of a COGX archive (Cognee eXchange format 0.1): the JSON lines of its folder.

`{kind, external_system, external_id, scope, created_at?, updated_at?, metadata, …}`, where `kind` is

| kind | text | memory id |
|---|---|---|
| `document` | its content, after its title | the external id |
| `episode` | its turns, one a line | the external id |
| `memory` | its content | the external id |
| `memory_block` | `label: value` | the external id |
| `fact` | its text, else subject, predicate and object | the external id |
| `entity` | `name (type): description` | the external id |

A fact names the documents and episodes it was drawn from (`provenance`, external ids): its parents. `invalid_at` ends
its validity and is no correction. Give the folder, or all its files of records together; the manifest and the raw graph
nodes hold no memories, and `permissions.json` (it holds password hashes) is never opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Item, RowChange, SourceOptions
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.object_file import sniff_document
from guardian.sources.reading.row_fields import keep_fields, read_text, read_texts, require_id, require_text
from guardian.sources.reading.series import Dialect, Entry, Memory, iter_change, iter_entries, iter_series
from guardian.sources.reading.stamp import Stamp, format_time, read_time, read_unix_time
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="cognee:cogx", label="cognee.cogx", space="cognee")
_KEYS = frozenset({"kind", "external_id"})
_KINDS: dict[str, MemoryKind | None] = {
    "document": None,
    "episode": MemoryKind.EPISODE,
    "entity": None,
    "fact": MemoryKind.FACT,
    "memory": None,
    "memory_block": None,
}
_MANIFEST = "manifest.json"
_RECORD_FILES = ("documents.jsonl", "episodes.jsonl", "entities.jsonl", "facts.jsonl", "memories.jsonl", "memory_blocks.jsonl")
_SCOPE = ("user_id", "agent_id", "session_id")
_READ = frozenset({"kind", "external_id", "scope", "created_at", "updated_at", "provenance", "valid_at", "invalid_at"})
# Keys that make the text of each kind.
_TEXT_KEYS = frozenset({"content", "title", "turns", "label", "value", "fact_text"})


@dataclass(frozen=True, slots=True)
class CogxSource:
    """Records of COGX archives."""

    name: ClassVar[str] = "cogx"
    title: ClassVar[str] = "COGX archive of Cognee (its folder, or its .jsonl files)"

    def detect(self, path: Path) -> bool:
        """Tell by a record of a known kind with its external id; a folder by its manifest."""
        if path.is_dir():
            return "cogx_version" in sniff_document(path / _MANIFEST)
        return any(_is_record(row) for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the records; a folder is an archive, several files are parts of one."""
        files = [file for path in paths for file in (_list_files(path) if path.is_dir() else [path])]
        return iter_series(_DIALECT, files, options, partial(iter_entries, read=_read_record))

    def matches_row(self, change: RowChange) -> bool:
        """Tell by a known kind and an external id."""
        return _is_record(change.after or change.before or {})

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one record."""
        return iter_change(_DIALECT, change, options, _read_record)


def _list_files(folder: Path) -> list[Path]:
    """Give the files of an archive that hold records; never the raw nodes, nor permissions."""
    return [file for name in _RECORD_FILES if (file := folder / name).is_file()]


def _is_record(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _KEYS and isinstance(row["kind"], str) and row["kind"] in _KINDS


def _read_record(row: dict[str, Any], position: str) -> Entry:
    if not _is_record(row):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"no record of a COGX archive: its keys are {sorted(row)[:12]}")
    what, external_id = str(row["kind"]), require_id(row, "external_id")
    stamp, time_from = _find_time(row, "updated_at", "created_at")
    scope = row.get("scope") if isinstance(row.get("scope"), dict) else {}
    held = {name: value for name in _SCOPE if (value := read_text((scope or {}).get(name))) is not None}
    bounds = {name: _find_time(row, key)[0] for name, key in (("valid_from", "valid_at"), ("valid_until", "invalid_at"))}
    validity = {name: format_time(bound.time) for name, bound in bounds.items() if bound is not None}
    parents = list(dict.fromkeys(read_texts(row.get("provenance"))))
    kind = _KINDS[what]
    memory = Memory(
        memory_id=external_id,
        text=_find_text(what, row),
        content=(*parents, *validity.values()),
        stamp=stamp,
        time_from=time_from,
        kind=SourceKind.DOCUMENT if what == "document" else None,
        fields={
            **({"kind": kind.value} if kind is not None else {}),
            **({"parents": parents} if parents else {}),
            **({"scope": held} if held else {}),
            **validity,
        },
        metadata={"cogx_kind": what, **keep_fields(row, _READ | _TEXT_KEYS)},
    )
    return Entry(position=position, statements=[memory])


def _find_text(what: str, row: Mapping[str, Any]) -> str:
    """Give the text of a record.

    Raises:
        RecordError: `shape_unknown` when a field of its kind is missing.
    """
    match what:
        case "document":
            title = read_text(row.get("title"))
            return require_text(row, "content") if title is None else f"{title}\n{require_text(row, 'content')}"
        case "episode":
            turns = (
                [turn for turn in row.get("turns") or [] if isinstance(turn, dict)] if isinstance(row.get("turns"), list) else []
            )
            return "\n".join(f"{require_text(turn, 'role')}: {require_text(turn, 'content')}" for turn in turns)
        case "memory_block":
            return f"{require_text(row, 'label')}: {require_text(row, 'value')}"
        case "fact":
            parts = [require_text(row, key) for key in ("subject_ref", "predicate", "object_ref")]
            return read_text(row.get("fact_text")) or " ".join(parts)
        case "entity":
            name, kind, about = require_text(row, "name"), read_text(row.get("entity_type")), read_text(row.get("description"))
            return name + (f" ({kind})" if kind else "") + (f": {about}" if about else "")
        case _:
            return require_text(row, "content")


def _find_time(row: Mapping[str, Any], *keys: str) -> tuple[Stamp | None, str | None]:
    for key in keys:
        value = row.get(key)
        try:
            if isinstance(value, str):
                return read_time(value), key
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                return read_unix_time(value), key
        except RecordError:
            continue
    return None, None
