"""Read MemoryBank (SiliconFriend): one JSON object by user, with what was said on each day and what was made of it.

```
{user: {name,
        history:     {date: [{query, response, memory_strength?, last_recall_date?, memory_id?} or [query, response]]},
        summary:     {date: text or {content}}, personality: {date: text or {content}},
        overall_history?: text, overall_personality?: text}}
```

What was said is a memory a turn pair, under its content: `memory_id` is a position, and moves when forgetting deletes a
dialog before it. The summary and the personality of a date are made by a model of the dialogs of that date, and the
overall ones of those: their parents are what of it the file still holds. A summary whose dialogs are all forgotten has
unknown parents. Forgetting rewrites the file, so that later versions show what was deleted; recall only moves strengths,
which are kept and make no revision. Times are dates of the machine's own zone, read as UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Skipped, SourceOptions
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.object_file import head_of, load_document, sniff_document
from guardian.sources.reading.row_fields import keep_fields, require_object, require_text
from guardian.sources.reading.series import Dialect, Entry, Memory, break_row, iter_series
from guardian.sources.reading.stamp import Stamp, read_written_time
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="memorybank:users", label="memorybank.users", space="memorybank", absence_deletes=True)
_DIALOG_KEYS = frozenset({"query", "response"})
# What is made of a date's dialogs, and what is made of all of these.
_DERIVED = (("summary", "overall_history"), ("personality", "overall_personality"))


@dataclass(frozen=True, slots=True)
class MemoryBankSource:
    """Memory files of MemoryBank."""

    name: ClassVar[str] = "memorybank"
    title: ClassVar[str] = "MemoryBank (SiliconFriend), one JSON object by user, one file or its versions"

    def detect(self, path: Path) -> bool:
        """Tell by users that have a history by date, and a summary or a name."""
        document = sniff_document(path, b'"history"')
        return bool(document) and all(_is_user(user) for user in document.values())

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the changes of each version in order; the first version is all creates."""
        return iter_series(_DIALECT, paths, options, _read_file)


def _is_user(user: Any) -> bool:
    return isinstance(user, dict) and isinstance(user.get("history"), dict | list) and ("summary" in user or "name" in user)


def _read_file(path: Path) -> Iterator[Entry | Skipped | Broken]:
    try:
        users = load_document(path)
    except RecordError as error:
        yield break_row(error, path.name, head_of(path))
        return
    for name, value in users.items():
        position = f"{path.name} user {name[:80]}"
        try:
            user = require_object(value, "the user")
        except RecordError as error:
            yield break_row(error, position, {name: value})
            continue
        yield from _iter_user(name, user, position)


def _iter_user(name: str, user: Mapping[str, Any], position: str) -> Iterator[Entry | Skipped | Broken]:
    """Yield the dialogs, and what was made of them: parents first."""
    dialogs: dict[str, list[str]] = {}
    is_empty = True
    item: Entry | Skipped | Broken
    for item in _iter_dialogs(name, user.get("history"), position, dialogs):
        is_empty = False
        yield item
    for part, overall in _DERIVED:
        made: list[str] = []
        for item in _iter_made(name, part, user.get(part), position, dialogs, made):
            is_empty = False
            yield item
        text = _find_content(user.get(overall))
        if text is not None:
            is_empty = False
            yield Entry(position=f"{position} {overall}", statements=[_build_made(name, overall, text, None, made)])
    if is_empty:
        yield Skipped(position=position, reason=SourceReason.EMPTY_ROW, detail="a user of whom nothing is remembered")


def _by_date(container: Any) -> Mapping[str, Any]:
    """Give what stands under dates; a container that was never filled is an empty list."""
    return container if isinstance(container, dict) else {}


def _iter_dialogs(name: str, history: Any, position: str, dialogs: dict[str, list[str]]) -> Iterator[Entry | Broken]:
    for date, rows in _by_date(history).items():
        for number, row in enumerate(rows if isinstance(rows, list) else [rows], start=1):
            place = f"{position} {date} dialog {number}"
            try:
                memory = _read_dialog(name, date, _name_pair(row))
            except RecordError as error:
                yield break_row(error, place, {"dialog": row})
                continue
            dialogs.setdefault(date, []).append(memory.memory_id)
            yield Entry(position=place, statements=[memory])


def _name_pair(row: Any) -> dict[str, Any]:
    """Give a dialog as an object; older versions write a pair of query and response."""
    if isinstance(row, list) and len(row) == len(_DIALOG_KEYS):
        return {"query": row[0], "response": row[1]}
    return require_object(row, "the dialog")


def _read_dialog(name: str, date: str, row: Mapping[str, Any]) -> Memory:
    query, response = require_text(row, "query"), require_text(row, "response")
    stamp = _read_time(date)
    return Memory(
        memory_id=f"dialog:{name}:{date}#{digest_parts('dialog', name, date, query, response, size=16)}",
        text=f"{name}: {query}\n{response}" if query.strip() or response.strip() else "",
        stamp=stamp,
        time_from="date" if stamp is not None else None,
        actor=name,
        fields={"kind": MemoryKind.EPISODE.value, "scope": {"user_id": name}, "episode": {"task": query, "answer": response}},
        metadata=keep_fields(row, _DIALOG_KEYS),
    )


def _iter_made(
    name: str, part: str, container: Any, position: str, dialogs: Mapping[str, Sequence[str]], made: list[str]
) -> Iterator[Entry | Skipped | Broken]:
    for date, value in _by_date(container).items():
        text = _find_content(value)
        place = f"{position} {part} {date}"
        if not value or value == {"content": ""}:
            yield Skipped(position=place, reason=SourceReason.EMPTY_ROW, detail=f"the {part} of {date} is not made yet")
            continue
        if text is None:
            yield break_row(RecordError(SourceReason.TEXT_MISSING, f"the {part} of {date} has no text"), place, {date: value})
            continue
        memory = _build_made(name, part, text, date, dialogs.get(date, ()))
        made.append(memory.memory_id)
        yield Entry(position=place, statements=[memory])


def _find_content(value: Any) -> str | None:
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) and text.strip() else None


def _build_made(name: str, part: str, text: str, date: str | None, parents: Sequence[str]) -> Memory:
    stamp = _read_time(date)
    kind = MemoryKind.SUMMARY if part in {"summary", "overall_history"} else MemoryKind.PROFILE
    return Memory(
        memory_id=f"{part}:{name}" if date is None else f"{part}:{name}:{date}",
        text=text,
        stamp=stamp,
        time_from="date" if stamp is not None else None,
        kind=SourceKind.AGENT,
        fields={
            "kind": kind.value,
            "scope": {"user_id": name},
            **({"parents": list(dict.fromkeys(parents))} if parents else {}),
        },
    )


def _read_time(value: Any) -> Stamp | None:
    try:
        return read_written_time(value) if isinstance(value, str) else None
    except RecordError:
        return None
