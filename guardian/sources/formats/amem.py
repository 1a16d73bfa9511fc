"""Read the notes of A-MEM: as JSON (a line or an element each), or as Chroma stores and returns them.

```
note     {id, content, keywords, links, retrieval_count, timestamp, last_accessed, context, evolution_history, category, tags}
point    {id, document, metadata: {content, keywords, …}}
result   {ids: […], documents: […], metadatas: [{…}]}, what `collection.get()` returns
```

In Chroma every value is a text, lists are JSON in a text. When A-MEM reads them back it evaluates each as Python, so
that a dump of what it read holds `202605011200` as a number, and a content of `42` or `[1]` as no text: such a content
is written as text again and marked `text_restored`. A content that became null is gone and is broken.

`links` are a model's suggestions, often ranks of neighbours ("0", "1") and never derivations: no parents. Times are
`YYYYMMDDHHMM` of the machine's own zone, read as UTC and marked. Counters of retrieval change nothing that is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, RowChange, Skipped, SourceOptions
from guardian.sources.reading.envelope import dump_text
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.object_file import sniff_document
from guardian.sources.reading.row_fields import keep_fields, require_id
from guardian.sources.reading.series import Dialect, Entry, Memory, break_row, iter_change, iter_entries, iter_series
from guardian.sources.reading.stamp import Stamp, read_written_time
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="amem:notes", label="amem.notes", space="amem", absence_deletes=True)
_KEYS = frozenset({"content", "keywords", "context", "tags", "timestamp"})
_RESULT_KEYS = frozenset({"ids", "metadatas"})
# Read elsewhere, or moved by every retrieval without anything being written.
_READ = frozenset({"id", "content", "timestamp", "retrieval_count", "last_accessed"})


@dataclass(frozen=True, slots=True)
class AmemSource:
    """Notes of A-MEM."""

    name: ClassVar[str] = "amem"
    title: ClassVar[str] = "notes of A-MEM, as JSON or as Chroma returns them"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of a note."""
        if any(_is_note(row) or _is_point(row) for row in sniff_objects(path)):
            return True
        return _is_result(sniff_document(path, b'"ids"'))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield what the notes state; several files are versions of one memory."""
        return iter_series(_DIALECT, paths, options, _read_file)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of a note."""
        row = change.after or change.before or {}
        return _is_note(row) or _is_point(row)

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one note."""
        return iter_change(_DIALECT, change, options, _read_row)


def _is_note(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _KEYS


def _is_point(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("metadata"), dict) and _is_note(row["metadata"])


def _is_result(document: Mapping[str, Any]) -> bool:
    if not document.keys() >= _RESULT_KEYS or not isinstance(document["metadatas"], list):
        return False
    return any(isinstance(metadata, dict) and _is_note(metadata) for metadata in document["metadatas"][:20])


def _read_file(path: Path) -> Iterator[Entry | Skipped | Broken]:
    document = sniff_document(path, b'"ids"')
    if not _is_result(document):
        yield from iter_entries(path, _read_row)
        return
    ids = document["ids"] if isinstance(document["ids"], list) else []
    for number, metadata in enumerate(document["metadatas"]):
        position = f"{path.name} note {number + 1}"
        row = {"id": ids[number] if number < len(ids) else None, "metadata": metadata}
        try:
            yield _read_row(row, position)
        except RecordError as error:
            yield break_row(error, position, row)


def _read_row(row: dict[str, Any], position: str) -> Entry:
    note = {**row["metadata"], "id": row.get("id") or row["metadata"].get("id")} if _is_point(row) else row
    if not _is_note(note):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"no note of A-MEM: its keys are {sorted(map(str, note))[:12]}")
    text, is_restored = _read_content(note["content"])
    stamp = _read_time(note["timestamp"])
    kept = {key: _unpack(value) for key, value in note.items() if key not in _READ}
    context, tags = str(kept.get("context")), str(kept.get("tags"))
    memory = Memory(
        memory_id=require_id(note, "id"),
        text=text,
        # A note evolves: its neighbours rewrite what it is filed under, and that is another revision of it.
        content=(context, tags, str(kept.get("keywords"))),
        stamp=stamp,
        time_from="timestamp" if stamp is not None else None,
        metadata={**keep_fields(kept), **({"text_restored": True} if is_restored else {})},
    )
    return Entry(position=position, statements=[memory])


def _read_content(content: Any) -> tuple[str, bool]:
    """Give the text, and whether it had to be made a text again."""
    if isinstance(content, str):
        return content, False
    if content is None:
        raise RecordError(
            SourceReason.TEXT_MISSING, "the content is null: A-MEM evaluated it when it read it back", path="content"
        )
    if isinstance(content, bool):
        return str(content), True
    return dump_text(content), True


def _read_time(value: Any) -> Stamp | None:
    """Read a time that may have become a number."""
    try:
        return None if isinstance(value, bool) or value is None else read_written_time(str(value))
    except RecordError:
        return None


def _unpack(value: Any) -> Any:
    """Give the list that Chroma holds as a text; other texts stay."""
    if not (isinstance(value, str) and value.startswith("[")):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
