"""Read transcripts in which Claude used the memory tool (`memory_20250818`), and replay its commands onto a tree of files.

A command holds an edit, not a text, and the files are kept by whoever runs the tool. So every command whose result is no
error is carried out on a tree of its own: the text of the file after it is the revision. Where a transcript begins in the
middle, a `view` shows what a file held; an edit of a file that nobody has shown has no known outcome and is skipped.

A file is one memory, named by its path. A rename ends it and begins another whose parent it is; deleting a folder ends
all that stood in it. One tree serves a whole import: sessions share the memory directory, and they follow one another.

A row is a message. Messages come as a JSON array, as JSON lines (a message, or a record that holds one or several), or as
an object with `messages`. A request repeats the messages before it: a command counts once, by the id of its call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.formats.anthropic.tree import Outcome, Tree
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Version, order_versions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts, dump_text
from guardian.sources.reading.framing import Fault, Row
from guardian.sources.reading.json_record import iter_records, parse_json, sniff_records
from guardian.sources.reading.stamp import Stamp, read_time, read_unix_time
from guardian.sources.reading.timeline import Timeline
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "anthropic:memory-tool"
DEFAULT_SPACE = "anthropic-memory"

COMMANDS = frozenset({"view", "create", "str_replace", "insert", "delete", "rename"})
_TIME_KEYS = ("timestamp", "created_at", "time")
_ROLES = frozenset({"user", "assistant"})


@dataclass(slots=True)
class _Call:
    """A command that waits for its result.

    Attributes:
        rows: 1 for the first command of a message, which answers for it.
    """

    id: str
    command: Mapping[str, Any]
    position: str
    stamp: Stamp | None
    session: str | None
    model: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class AnthropicMemoryToolSource:
    """Transcripts with calls of the memory tool."""

    name: ClassVar[str] = "anthropic-memory-tool"
    title: ClassVar[str] = "Claude transcripts (messages with tool_use and tool_result) that use the memory tool"

    def detect(self, path: Path) -> bool:
        """Tell by messages whose content is blocks, and a memory command among the first of them."""
        if not path.is_file():
            return False
        messages = [message for record in sniff_records(path) for _, message in _iter_messages(record)]
        return any(_is_command(block) for message in messages for block in _blocks(message))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield what each answered command did, in the order of the files."""
        replay = _Replay(options)
        for version in order_versions(paths, options):
            for row in iter_records(version.path):
                yield from replay.iter_row(row, version)
            yield from replay.iter_unanswered()


def _iter_messages(record: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield (what dates it, message) for each message of a record."""
    if str(record.get("role")) in _ROLES:
        yield record, record
    elif isinstance(inner := record.get("message"), dict):
        yield record, inner
    elif isinstance(inner := record.get("messages"), list):
        for message in inner:
            if isinstance(message, dict):
                yield {**{key: record[key] for key in _TIME_KEYS if key in record}, **message}, message
        if isinstance(answer := record.get("response"), dict):
            yield record, answer


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_command(block: Mapping[str, Any]) -> bool:
    """Tell a call of the memory tool by its name, its command and its path."""
    command = block.get("input")
    if block.get("type") != "tool_use" or block.get("name") != "memory" or not isinstance(command, dict):
        return False
    path = command.get("path", command.get("old_path"))
    return str(command.get("command")) in COMMANDS and isinstance(path, str) and path.startswith("/memories")


class _Replay:
    """Owns the tree and the calls that wait for their results."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._tree = Tree()
        self._timeline = Timeline()
        self._waiting: dict[str, _Call] = {}
        self._seen: set[str] = set()

    def iter_row(self, row: Row | Fault, version: Version) -> Iterator[Item]:
        """Yield the items of one record."""
        position = f"{version.path.name} row {row.number}"
        try:
            if isinstance(row, Fault):
                raise RecordError(row.reason, row.message)  # noqa: TRY301 # one place turns faults into items
            record = parse_json(row.raw, "the row is no JSON")
            if not isinstance(record, dict):
                raise RecordError(SourceReason.SHAPE_UNKNOWN, "the row is no message")  # noqa: TRY301 # as above
        except RecordError as error:
            yield Broken(position=position, reason=error.reason, message=str(error), raw=row.raw)
            return
        messages = list(_iter_messages(record))
        if not messages:
            yield Skipped(position=position, reason=SourceReason.RAW_MESSAGES, detail="the row holds no message")
        for number, (dated, message) in enumerate(messages, start=1):
            place = position if len(messages) == 1 else f"{position} message {number}"
            yield from self._iter_message(dated, message, place, version)

    def iter_unanswered(self) -> Iterator[Item]:
        """Yield a note for each call that a file leaves without a result."""
        for call in self._waiting.values():
            detail = "the transcript ends before the command's result"
            yield Skipped(position=call.position, reason=SourceReason.WRITE_UNCONFIRMED, detail=detail, rows=call.rows)
            self._seen.discard(call.id)
        self._waiting.clear()

    def _iter_message(
        self, dated: Mapping[str, Any], message: Mapping[str, Any], position: str, version: Version
    ) -> Iterator[Item]:
        rows = 1
        for block in _blocks(message):
            if block.get("type") == "tool_result":
                call = self._waiting.pop(str(block.get("tool_use_id")), None)
                if call is not None:
                    yield from self._settle(call, block, version)
            elif _is_command(block):
                call_id = str(block.get("id"))
                if call_id in self._seen:
                    continue
                self._seen.add(call_id)
                self._waiting[call_id] = _Call(
                    id=call_id,
                    command=block["input"],
                    position=position,
                    stamp=_find_time(dated),
                    session=_find_text(dated, "sessionId", "session_id"),
                    model=_find_text(message, "model"),
                    rows=rows,
                )
                rows = 0
        if rows:
            yield Skipped(position=position, reason=SourceReason.RAW_MESSAGES, detail="the message writes no memory")

    def _settle(self, call: _Call, result: Mapping[str, Any], version: Version) -> Iterator[Item]:
        """Yield what a command did, now that its result is known; the first item answers for the call's row."""
        answer = _read_answer(result)
        if result.get("is_error") is True or answer.lstrip().lower().startswith("error"):
            detail = f"the command {call.command['command']} was answered with an error"
            yield Skipped(position=call.position, reason=SourceReason.WRITE_FAILED, detail=detail, rows=call.rows)
            return
        rows = call.rows
        outcomes = self._tree.apply(call.command, answer)
        for outcome in outcomes:
            if outcome.is_unknown:
                detail = f"what {outcome.path} holds after this edit is not known"
                yield Skipped(position=call.position, reason=SourceReason.REVISION_UNKNOWN, detail=detail, rows=rows)
            else:
                yield SourceEvent(position=call.position, event=self._build(call, outcome, version), rows=rows)
            rows = 0
        if rows:
            detail = "the command changes no file"
            yield Skipped(position=call.position, reason=SourceReason.UNCHANGED, detail=detail, rows=rows)

    def _build(self, call: _Call, outcome: Outcome, version: Version) -> dict[str, Any]:
        stated: datetime = version.time if call.stamp is None else call.stamp.time
        time, is_moved = self._timeline.place(outcome.path, stated)
        is_write = outcome.text is not None
        ref = f"{EVENT_SOURCE}:{call.id}"
        data: dict[str, Any] = {
            "memory_id": outcome.path,
            "metadata": {"format": "anthropic.memory-tool", **_mark(call, version, is_moved=is_moved)},
        }
        if is_write:
            kind = None if outcome.is_seen else SourceKind.AGENT
            data |= {
                "text": outcome.text,
                "source": build_origin(self._options, kind=kind, ref=ref, actor=None if outcome.is_seen else call.model),
                "parents": [outcome.old_path] if outcome.old_path is not None else None,
                # The session is no scope: the directory is there for the sessions that follow.
                "scope": dict(self._options.scope),
            }
        return build_event(
            event_id=digest_parts(call.id, outcome.path, "write" if is_write else "delete"),
            source=EVENT_SOURCE,
            event_type=WRITTEN if is_write else DELETED,
            time=time,
            space=self._options.space or DEFAULT_SPACE,
            data=data,
        )


def _mark(call: _Call, version: Version, *, is_moved: bool) -> dict[str, Any]:
    kept: dict[str, Any] = {"command": call.command["command"], "tool_use_id": call.id}
    if call.session is not None:
        kept["session_id"] = call.session
    if call.stamp is None:
        kept["time_from"] = version.time_from
    else:
        kept |= {"time_raw": call.stamp.raw, "tz_assumed": call.stamp.is_zone_assumed}
    return kept | ({"time_inferred": True} if is_moved else {})


def _find_time(fields: Mapping[str, Any]) -> Stamp | None:
    for key in _TIME_KEYS:
        value = fields.get(key)
        try:
            if isinstance(value, str):
                return read_time(value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return read_unix_time(value)
        except RecordError:
            continue
    return None


def _find_text(fields: Mapping[str, Any], *keys: str) -> str | None:
    return next((value for key in keys if isinstance(value := fields.get(key), str) and value), None)


def _read_answer(result: Mapping[str, Any]) -> str:
    """Give the text of a result, which is a text or a list of blocks."""
    content = result.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return "" if content is None else dump_text(content)
