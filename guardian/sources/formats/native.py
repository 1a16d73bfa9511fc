"""Guardian's own events in files: JSON lines or a JSON array of CloudEvents, plain or gzip.

Only the framing is done here; a row goes on as raw bytes, and what it holds is decoded and judged once, where every
event is. A row that is not even an object in braces is broken here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import orjson

from guardian.contracts.reason import Reason
from guardian.sources.port import Broken, Item, SourceEvent, SourceOptions
from guardian.sources.reading.framing import Fault, Row, iter_rows, sniff_objects


@dataclass(frozen=True, slots=True)
class NativeSource:
    """CloudEvents in files."""

    name: ClassVar[str] = "cloudevents"
    title: ClassVar[str] = "CloudEvents as JSON lines or a JSON array, plain or gzip"

    def detect(self, path: Path) -> bool:
        """Tell by the first JSON object: an envelope has `specversion` and `type`."""
        first = next(sniff_objects(path), {})
        return {"specversion", "type"} <= first.keys()

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield every row as raw bytes, file after file as given; `options.space` fills an absent space."""
        for path in paths:
            for row in iter_rows(path):
                yield _read_row(row, f"{path.name} line {row.number}", options.space)


def _read_row(row: Row | Fault, position: str, space: str | None) -> Item:
    if isinstance(row, Fault):
        return Broken(position=position, reason=row.reason, message=row.message, raw=row.raw)
    if not (row.raw.startswith(b"{") and row.raw.endswith(b"}")):
        message = "the row is not one whole JSON object"
        return Broken(position=position, reason=Reason.NOT_JSON, message=message, raw=row.raw)
    return SourceEvent(position=position, raw=row.raw if space is None else _fill_space(row.raw, space))


def _fill_space(raw: bytes, space: str) -> bytes:
    """Splice in the space where the event has none; all other bytes stay, also of what cannot be parsed."""
    try:
        event = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return raw
    if "space" in event:
        return raw
    return b'{"space":' + orjson.dumps(space) + (b"," if event else b"") + raw[1:]
