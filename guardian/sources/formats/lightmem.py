"""Read the memory of LightMem: entries and summaries, as points of its vector store or from `memory_entries.json`.

```
entry     {id, memory, time_stamp, topic_id, category, original_memory, speaker_name, …}
summary   {id, summary, time_range, covered_entry_ids, seed_entry_ids, created_at, …}
point     {id, payload: an entry or a summary}
```

A summary names the entries that it covers: they are its parents. Entries name none; the words they were drawn from
(`original_memory`) are kept beside them. Times are synthetic: that of the session, and half a second more for each
message, in the machine's own zone; `float_time_stamp` is made of them and depends on that zone, so it is not read.
The offline update rewrites `memory` under the same id and time without embedding it again: a revision, at the time of
the version that shows it. Entries and summaries are told apart row by row and may be in one file or in two.
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
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.row_fields import keep_fields, read_text, read_texts, require_id, require_text
from guardian.sources.reading.series import Dialect, Entry, Memory, iter_change, iter_entries, iter_series
from guardian.sources.reading.stamp import Stamp, read_written_time
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="lightmem:memory", label="lightmem.memory", space="lightmem", absence_deletes=True)
_ENTRY_KEYS = frozenset({"memory", "time_stamp"})
_ENTRY_MARKS = frozenset({"topic_id", "speaker_name", "original_memory", "float_time_stamp"})
_SUMMARY_KEYS = frozenset({"summary", "covered_entry_ids"})
_READ = frozenset({"id", "memory", "summary", "time_stamp", "float_time_stamp", "created_at", "speaker_id", "hit_time"})


@dataclass(frozen=True, slots=True)
class LightMemSource:
    """Entries and summaries of LightMem."""

    name: ClassVar[str] = "lightmem"
    title: ClassVar[str] = "entries and summaries of LightMem (memory_entries.json or points)"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of an entry or of a summary, alone or as a payload."""
        return any(_is_entry(_unwrap(row)) or _is_summary(_unwrap(row)) for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield entries, then summaries, for files of each kind are versions of one collection."""
        read_file = partial(iter_entries, read=_read_row)
        summaries = [path for path in paths if any(_is_summary(_unwrap(row)) for row in sniff_objects(path))]
        for group in ([path for path in paths if path not in summaries], summaries):
            yield from iter_series(_DIALECT, group, options, read_file)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of an entry or of a summary."""
        row = _unwrap(change.after or change.before or {})
        return _is_entry(row) or _is_summary(row)

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one row."""
        return iter_change(_DIALECT, change, options, _read_row)


def _unwrap(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give the payload of a point under its id, or the row itself."""
    payload = row.get("payload")
    return {**payload, "id": row.get("id"), "vector": row.get("vector")} if isinstance(payload, dict) else dict(row)


def _is_entry(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _ENTRY_KEYS and not row.keys().isdisjoint(_ENTRY_MARKS)


def _is_summary(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _SUMMARY_KEYS


def _read_row(row: dict[str, Any], position: str) -> Entry:
    row = _unwrap(row)
    if _is_summary(row):
        return Entry(position=position, statements=[_read_summary(row)])
    if not row.keys() >= _ENTRY_KEYS:
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"neither an entry nor a summary: its keys are {sorted(row)[:12]}")
    stamp = _read_time(row["time_stamp"])
    speaker = read_text(row.get("speaker_id"))
    memory = Memory(
        memory_id=require_id(row, "id"),
        text=require_text(row, "memory"),
        stamp=stamp,
        time_from="time_stamp" if stamp is not None else None,
        actor=read_text(row.get("speaker_name")) or speaker,
        metadata={**({"time_synthetic": True} if stamp is not None else {}), **keep_fields(row, _READ)},
    )
    return Entry(position=position, statements=[memory])


def _read_summary(row: Mapping[str, Any]) -> Memory:
    text, covered = require_text(row, "summary"), list(dict.fromkeys(read_texts(row["covered_entry_ids"])))
    stamp = _read_time(row.get("created_at"))
    own_id = row.get("id")
    identity = f"summary#{digest_parts('summary', text, *sorted(covered), size=16)}"
    return Memory(
        memory_id=own_id if isinstance(own_id, str) and own_id.strip() else identity,
        text=text,
        content=tuple(sorted(covered)),
        stamp=stamp,
        time_from="created_at" if stamp is not None else None,
        kind=SourceKind.AGENT,
        fields={"kind": MemoryKind.SUMMARY.value, **({"parents": covered} if covered else {})},
        metadata=keep_fields(row, _READ | {"covered_entry_ids"}),
    )


def _read_time(value: Any) -> Stamp | None:
    try:
        return read_written_time(value) if isinstance(value, str) else None
    except RecordError:
        return None
