"""Read ChatGPT's data export: what its conversations tell of saved memories.

The export has no list of memories. It has the calls with which the model saved one (a message to the recipient `bio`,
answered by the tool) and, in some conversations, what was in memory then (`model_editable_context`: numbered lines, dated).
Calls are writes of the agent. Contexts are snapshots: a line that no call tells is a write by nobody known, a line that is
gone in a later context is a deletion. A memory has no id; it is named by a digest of its text, so that the call and the line
that repeats it are one memory.

Messages are a tree: an edited question or a second answer begins another branch. A call in an abandoned branch was made
all the same, and says so in `metadata.branch`. What was deleted or edited in the settings shows only in a later context.

A row is a conversation. Conversations are read one by one; of what they tell, the memories' texts are held, because
conversations stand newest first and snapshots are compared in the order of time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from guardian.contracts.admission import is_blank
from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.archive import Member, is_zip, opened_members
from guardian.sources.reading.differ import Change, ChangeOp, SnapshotDiffer, TimeBasis
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.framing import Fault, Readable, Row, iter_rows, sniff_objects
from guardian.sources.reading.json_record import parse_json
from guardian.sources.reading.stamp import Stamp, read_time, read_unix_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "chatgpt:export"
DEFAULT_SPACE = "chatgpt"

_MEMBER = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
# A line of a context: `1. [2026-05-01]. text`; a text may go on over several lines.
_LINE = re.compile(r"(?m)^[ \t]*\d+\.[ \t]+\[(\d{4}-\d{2}-\d{2})\]\.?[ \t]*")
_CONTEXT = "model_editable_context"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What one message tells: a text that was saved, or all the texts that were in memory.

    Attributes:
        texts: (text, own date or None) pairs; one for a call.
        row: Number of its conversation in the import.
        fault: Why a call does not count.
    """

    texts: tuple[tuple[str, str | None], ...]
    is_snapshot: bool
    stamp: Stamp
    row: int
    position: str
    message_id: str
    conversation_id: str
    model: str | None
    branch: str | None
    fault: SourceReason | None = None


@dataclass(frozen=True, slots=True)
class ChatGptSource:
    """Data exports of ChatGPT."""

    name: ClassVar[str] = "chatgpt"
    title: ClassVar[str] = "ChatGPT data export: the .zip, or its conversations.json (or conversations-000.json …)"

    def detect(self, path: Path) -> bool:
        """Tell by conversations with a `mapping` of messages."""
        if not path.is_file():
            return False
        if not is_zip(path):
            return any(_is_conversation(row) for row in sniff_objects(path))
        try:
            with opened_members(path, _is_member) as members:
                return any(_is_conversation(row) for member in members[:1] for row in sniff_objects(member))
        except RecordError:
            return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield a note for each conversation without memory, then the writes and deletions in the order of time.

        Raises:
            RecordError: An archive cannot be read.
        """
        told: list[_Told] = []
        number = 0
        with ExitStack() as stack:
            files = list[Readable]()
            for path in paths:
                files += _list_members(path, stack) if is_zip(path) else [path]
            for file in files:
                for row in _iter_conversations(file):
                    number += 1
                    position = f"{file.name} conversation {row.number}"
                    item, messages = _read_row(row, number, position)
                    told += messages
                    if item is not None:
                        yield item
        yield from _Memory(options).iter_items(told)


def _list_members(path: Path, stack: ExitStack) -> list[Member]:
    members = stack.enter_context(opened_members(path, _is_member))
    if not members:
        raise RecordError(SourceReason.SHAPE_UNKNOWN, f"{path.name} holds no conversations.json")
    return members


def _is_member(name: str) -> bool:
    return _MEMBER.search(name) is not None


def _iter_conversations(file: Readable) -> Iterator[Row | Fault]:
    try:
        yield from iter_rows(file)
    except OSError as error:
        yield Fault(1, SourceReason.FILE_UNREADABLE, f"{file.name} cannot be read: {error}", b"")


def _is_conversation(row: Mapping[str, Any]) -> bool:
    mapping = row.get("mapping")
    if not isinstance(mapping, dict):
        return False
    nodes = [node for node in mapping.values() if isinstance(node, dict)]
    return bool(nodes) and all("children" in node and "message" in node for node in nodes[:5])


def _read_row(row: Row | Fault, number: int, position: str) -> tuple[Item | None, list[_Told]]:
    """Give what a conversation tells, or the item of one that tells nothing."""
    try:
        if isinstance(row, Fault):
            raise RecordError(row.reason, row.message)  # noqa: TRY301 # one place turns faults into items
        if b'"bio"' not in row.raw and _CONTEXT.encode() not in row.raw and b'"mapping"' in row.raw:
            # Most conversations touch no memory; they need not be parsed.
            detail = "the conversation saved nothing"
            return Skipped(position=position, reason=SourceReason.RAW_MESSAGES, detail=detail), []
        value = parse_json(row.raw, "the conversation is no JSON")
        if not isinstance(value, dict) or not isinstance(value.get("mapping"), dict):
            raise RecordError(SourceReason.SHAPE_UNKNOWN, "no conversation: it has no `mapping` of messages")  # noqa: TRY301 # as above
        told = _read_conversation(value, number, position)
    except RecordError as error:
        return Broken(position=position, reason=error.reason, message=str(error), raw=row.raw), []
    if told:
        return None, told
    return Skipped(position=position, reason=SourceReason.RAW_MESSAGES, detail="the conversation saved nothing"), []


def _read_conversation(value: Mapping[str, Any], number: int, position: str) -> list[_Told]:
    nodes = {key: node for key, node in value["mapping"].items() if isinstance(node, dict)}
    current = _walk_current(nodes, value.get("current_node"))
    conversation_id = str(value.get("conversation_id") or value.get("id") or digest_parts(*sorted(nodes), size=16))
    told: list[_Told] = []
    for key, node in nodes.items():
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        texts, is_snapshot = _read_texts(message)
        if not texts and not is_snapshot:
            continue
        is_answered = is_snapshot or _is_answered(node, nodes)
        told.append(
            _Told(
                texts=texts,
                is_snapshot=is_snapshot,
                stamp=_read_stamp(message, value),
                row=number,
                position=position,
                message_id=str(message.get("id") or key),
                conversation_id=conversation_id,
                model=_find_model(message),
                branch=None if current is None else "current" if key in current else "abandoned",
                fault=None if is_answered else SourceReason.WRITE_UNCONFIRMED,
            )
        )
    return told


def _walk_current(nodes: Mapping[str, Mapping[str, Any]], last: Any) -> set[str] | None:
    """Give the messages of the branch that the conversation ends in; None when it names none."""
    seen: set[str] = set()
    while isinstance(last, str) and last in nodes and last not in seen:
        seen.add(last)
        last = nodes[last].get("parent")
    return seen or None


def _read_texts(message: Mapping[str, Any]) -> tuple[tuple[tuple[str, str | None], ...], bool]:
    """Give the texts that a message tells, and whether they are all that memory held."""
    content, author = message.get("content"), message.get("author")
    if not isinstance(content, dict):
        return (), False
    if content.get("content_type") == _CONTEXT:
        context = content.get("model_set_context")
        lines = _split_context(context) if isinstance(context, str) else ()
        # An empty context is what a chat without memory has, too; it proves no deletion.
        return lines, bool(lines)
    is_agent = isinstance(author, dict) and author.get("role") == "assistant"
    parts = content.get("parts")
    if not is_agent or message.get("recipient") != "bio" or not isinstance(parts, list):
        return (), False
    text = "\n".join(part for part in parts if isinstance(part, str)).strip()
    return (((text, None),) if not is_blank(text) else ()), False


def _split_context(context: str) -> tuple[tuple[str, str | None], ...]:
    marks = list(_LINE.finditer(context))
    ends = [*(mark.start() for mark in marks), len(context)][1:]
    # Conversations repeat them; each is held once.
    lines = [(sys.intern(context[mark.end() : end].strip()), mark.group(1)) for mark, end in zip(marks, ends, strict=True)]
    return tuple((text, date) for text, date in lines if not is_blank(text))


def _is_answered(node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Tell whether the tool answered a call."""
    children = node.get("children")
    for child in children if isinstance(children, list) else []:
        message = nodes.get(child, {}).get("message") if isinstance(child, str) else None
        author = message.get("author") if isinstance(message, dict) else None
        if isinstance(author, dict) and author.get("role") == "tool" and author.get("name") == "bio":
            return True
    return False


def _read_stamp(message: Mapping[str, Any], conversation: Mapping[str, Any]) -> Stamp:
    """Give a message's time, else that of its conversation.

    Raises:
        RecordError: Neither has one, or it cannot be read.
    """
    for fields, key in ((message, "create_time"), (conversation, "create_time"), (conversation, "update_time")):
        value = fields.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return read_unix_time(value)
        if isinstance(value, str) and value:
            return read_time(value)
    raise RecordError(SourceReason.TIME_MISSING, "neither the message nor its conversation has a time")


def _find_model(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata")
    slug = metadata.get("model_slug") if isinstance(metadata, dict) else None
    return slug if isinstance(slug, str) and slug else None


class _Memory:
    """Owns what memory held, as far as calls and contexts tell."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._differ = SnapshotDiffer()
        self._answered: set[int] = set()

    def iter_items(self, told: list[_Told]) -> Iterator[Item]:
        """Yield the changes in the order of time, each conversation's first item answering for it."""
        told.sort(key=lambda item: (item.stamp.time, item.message_id))
        unanswered: dict[int, str] = {}
        living: dict[str, tuple[str, str | None]] = {}
        for item in told:
            unanswered.setdefault(item.row, item.position)
            if item.fault is not None:
                detail = "the call to save a memory has no answer"
                yield Skipped(position=item.position, reason=item.fault, detail=detail, rows=self._count(item))
                continue
            for change, text, date in self._observe(item, living):
                event = self._build(change, text, date, item)
                yield SourceEvent(position=item.position, event=event, rows=self._count(item))
        for row, position in unanswered.items():
            if row not in self._answered:
                detail = "it tells what another conversation told"
                yield Skipped(position=position, reason=SourceReason.UNCHANGED, detail=detail)

    def _observe(self, item: _Told, living: dict[str, tuple[str, str | None]]) -> Iterator[tuple[Change, str | None, str | None]]:
        """Yield the changes that a message makes; a call adds to what memory held, a context is all of it."""
        self._differ.start_version(item.stamp.time)
        named = {_name(text): (text, date) for text, date in item.texts}
        stated = named if item.is_snapshot else {**living, **named}
        for memory_id, (text, date) in stated.items():
            own = read_time(date).time if date is not None and _is_date(date) else None
            change = self._differ.observe(memory_id, (), time=own)
            if change is not None:
                yield change, text, date
        for change in self._differ.finish_version(is_complete=True):
            yield change, None, None
        living.clear()
        living.update(stated)

    def _count(self, item: _Told) -> int:
        is_first = item.row not in self._answered
        self._answered.add(item.row)
        return 1 if is_first else 0

    def _build(self, change: Change, text: str | None, date: str | None, item: _Told) -> dict[str, Any]:
        ref = f"{EVENT_SOURCE}:{item.conversation_id}/{item.message_id}"
        is_call = not item.is_snapshot
        kept: dict[str, Any] = {"format": "chatgpt.export", "told_by": "call" if is_call else "context"}
        kept |= {"time_from": {TimeBasis.OWN: "line", TimeBasis.ORDER: "order"}.get(change.basis, "message")}
        is_own = change.basis is TimeBasis.OWN
        kept |= {"time_raw": date if is_own else item.stamp.raw, "tz_assumed": is_own or item.stamp.is_zone_assumed}
        kept |= {name: value for name, value in (("branch", item.branch), ("model", item.model)) if value is not None}
        kept["conversation_id"] = item.conversation_id
        data: dict[str, Any] = {"memory_id": change.memory_id, "metadata": kept}
        if text is not None:
            origin = build_origin(
                self._options,
                kind=SourceKind.AGENT if is_call else None,
                ref=ref,
                actor=(item.model or "chatgpt") if is_call else None,
            )
            # The conversation is no scope: what is saved is saved for all the others.
            data |= {"text": text, "source": origin, "scope": dict(self._options.scope)}
        return build_event(
            event_id=digest_parts(item.conversation_id, item.message_id, change.memory_id, change.op.value),
            source=EVENT_SOURCE,
            event_type=DELETED if change.op is ChangeOp.DELETE else WRITTEN,
            time=change.time,
            space=self._options.space or DEFAULT_SPACE,
            data=data,
        )


def _name(text: str) -> str:
    return f"memory:{digest_parts(text, size=24)}"


def _is_date(value: str) -> bool:
    try:
        read_time(value)
    except RecordError:
        return False
    return True
