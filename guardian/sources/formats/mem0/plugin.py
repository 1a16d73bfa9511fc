"""Read the exports of mem0's editor plugin (`mem0-export-*.md`): blocks of a header between `---` lines, and a text.

```
---
id: 6f…
created_at: 2026-05-01T08:00:00Z
type: decision
confidence: 0.9
branch: main
files: a.py, b.py
categories: build, ci
---
The text, of any number of lines.
```

The plugin itself splits at every line that is exactly `---`, so a text with such a line shifts all that follows. Here a
block begins only where a `---` line is followed by header lines that start with `id:` and end with another `---`; any
other `---` is part of the text. An export is a selection and proves no deletion. `confidence` is the model's word about
its own extraction and no grade of use: it stays in the metadata, as the other fields do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.formats.mem0.state import Place, iter_state_events, read_state
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import order_versions
from guardian.sources.reading.framing import HEAD_BYTES
from guardian.sources.reason import SourceReason

# Bytes of an export that is read whole: some hundred thousand memories.
_MAX_BYTES = 64 * 1024 * 1024
_SNIFFED_BYTES = 64 * 1024
# A header: `id:` first, then lines of a name and a value; a value may be empty.
_HEADER = re.compile(r"^---[ \t]*\r?\nid:[ \t]*(\S.*?)[ \t]*\r?\n((?:[A-Za-z_][\w-]*:.*\r?\n)*)---[ \t]*\r?$", re.MULTILINE)
# Fields whose values are lists, joined by commas.
_LISTS = frozenset({"files", "categories"})


@dataclass(frozen=True, slots=True)
class Mem0PluginSource:
    """Exports of mem0's editor plugin."""

    name: ClassVar[str] = "mem0-plugin"
    title: ClassVar[str] = "mem0 editor plugin export (Markdown)"

    def detect(self, path: Path) -> bool:
        """Tell by the first block: a header that starts with an id and names `created_at`."""
        try:
            with path.open("rb") as file:
                head = file.read(_SNIFFED_BYTES).decode("utf-8", "replace")
        except OSError:
            return False
        found = _HEADER.search(head)
        return found is not None and re.search(r"^created_at:", found.group(2), re.MULTILINE) is not None

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield one write a block, file after file by their time."""
        for version in order_versions(paths, options):
            name = version.path.name
            try:
                text = _load(version.path)
            except RecordError as error:
                yield Broken(position=name, reason=error.reason, message=str(error), raw=b"")
                continue
            yield from _iter_blocks(text, Place(name, version.time, version.time_from, ""), options)


def _load(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise RecordError(SourceReason.DOCUMENT_TOO_LARGE, f"an export of more than {_MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(Reason.NOT_UTF8, f"the export is not UTF-8: {error}") from error


def _iter_blocks(text: str, file: Place, options: SourceOptions) -> Iterator[Item]:
    headers = list(_HEADER.finditer(text))
    before = text[: headers[0].start()] if headers else text
    if before.strip():
        detail = "what stands before the first memory of the export"
        yield Skipped(position=file.position, reason=SourceReason.NOT_A_MEMORY, detail=detail)
    for number, header in enumerate(headers, start=1):
        end = headers[number].start() if number < len(headers) else len(text)
        place = Place(f"{file.position} block {number}", file.time, file.time_from, "")
        yield _read_block(header, text[header.end() : end].strip("\r\n"), place, options)


def _read_block(header: re.Match[str], text: str, place: Place, options: SourceOptions) -> Item:
    fields: dict[str, Any] = {"id": header.group(1), "memory": text}
    for line in header.group(2).splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), _read_value(key.strip(), value.strip()))
    try:
        state = read_state(fields)
    except RecordError as error:
        raw = header.group(0).encode("utf-8", "backslashreplace")[:HEAD_BYTES]
        return Broken(position=place.position, reason=error.reason, message=str(error), raw=raw)
    time, time_from = (state.stamp.time, state.time_from or "") if state.stamp else (place.time, place.time_from)
    # A block names no memory that replaces it, so it is one event.
    event = next(iter_state_events(state, options, time=time, time_from=time_from))
    return SourceEvent(position=place.position, event=event)


def _read_value(key: str, value: str) -> Any:
    if key in _LISTS:
        return [part.strip() for part in value.split(",") if part.strip()]
    return value or None
