"""Read Letta's agent files (`.af`), v1 and v2, by replaying the memory-writing tool calls of their messages.

A block is one memory, named by its agent's name and its label (ids in a v2 file hold for that file only). The file has its
last text; the messages have the calls that edited it, of which those count whose tool message says OK. What the block held
before and after each is worked out from these (`block_edit.py`), so that each confirmed call is a revision, dated by its
message. What an `archival_memory_insert` stored is a memory of its own; archival passages themselves are never exported.

Messages stand in no order: they are sorted by their times. Everything else in them (user texts wrapped in JSON,
heartbeats, logins, alerts, which all have the role `user`) is talk, counted and left out. A row is a block or a message.
The text that a block holds without a confirmed call, or held before the first, was written by nobody that the file names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from guardian.contracts.admission import is_blank
from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.formats.letta.agent_document import Block, Call, Document, open_agents
from guardian.sources.formats.letta.block_edit import BlockEdit, work_out
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Version, order_versions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.json_record import read_document, scan_document
from guardian.sources.reading.stamp import Stamp
from guardian.sources.reading.timeline import Timeline
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "letta:agent-file"
DEFAULT_SPACE = "letta"


@dataclass(frozen=True, slots=True)
class LettaAgentFileSource:
    """Agent files."""

    name: ClassVar[str] = "letta-agent-file"
    title: ClassVar[str] = "Letta agent file (.af), v1 or v2"

    def detect(self, path: Path) -> bool:
        """Tell by one document with agents that have messages, or with core memory and messages."""
        if not path.is_file() or not (scan_document(path, b"agents", b"messages") or scan_document(path, b"core_memory")):
            return False
        try:
            return _is_agent_file(read_document(path))
        except RecordError:
            return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield what each block held over time and what was put into archival memory, file after file."""
        timeline, texts = Timeline(), dict[str, str]()
        for version in order_versions(paths, options):
            try:
                value = read_document(version.path)
                if not _is_agent_file(value):
                    raise RecordError(SourceReason.SHAPE_UNKNOWN, "no agent file: neither `agents` nor `core_memory`")  # noqa: TRY301 # one place turns faults into items
                document = open_agents(value)
            except RecordError as error:
                yield Broken(position=version.path.name, reason=error.reason, message=str(error), raw=b"")
                continue
            yield from _Import(document, version, options, timeline, texts).iter_items()


def _is_agent_file(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    agents = value.get("agents")
    is_new = isinstance(agents, list) and isinstance(value.get("blocks"), list)
    return is_new or (isinstance(value.get("core_memory"), list) and isinstance(value.get("messages"), list))


@dataclass(slots=True)
class _Import:
    """One file being imported.

    Attributes:
        timeline: Times given so far, in all files of the import.
        texts: What each living memory held last, in all files of the import.
    """

    document: Document
    version: Version
    options: SourceOptions
    timeline: Timeline
    texts: dict[str, str]

    def iter_items(self) -> Iterator[Item]:
        """Yield the items of all blocks, then of archival memory, then notes on what is left out."""
        name = self.version.path.name
        for broken in self.document.broken:
            yield Broken(
                position=f"{name} {broken.position}", reason=SourceReason.SHAPE_UNKNOWN, message=broken.message, raw=broken.raw
            )
        for block in self.document.blocks:
            yield from self._iter_block(block)
        for call in self.document.lone_calls:
            yield from self._iter_lone(call)
        for agent in self.document.agents:
            if agent.other_messages:
                yield Skipped(
                    position=f"{name} messages of {agent.name}",
                    reason=SourceReason.RAW_MESSAGES,
                    detail="messages that write no memory: talk, tool results, heartbeats and other notices",
                    rows=agent.other_messages,
                )

    def _iter_block(self, block: Block) -> Iterator[Item]:
        position = f"{self.version.path.name} block {block.label}"
        calls = [call for call in block.calls if call.fault is None]
        first, after = work_out([BlockEdit(call.tool, call.arguments) for call in calls], block.value)
        rows = block.rows
        if first is not None and not is_blank(first) and self.texts.get(block.memory_id) != first:
            yield self._write(block, first, self._date_first(block, calls), None, position, rows)
            rows = 0
        for call in block.calls:
            if call.fault is not None:
                yield self._skip(call)
        known = first
        for call, text in zip(calls, after, strict=True):
            yield self._read_call(block, call, text, known)
            known = text
        is_told = block.value is not None and self.texts.get(block.memory_id) == block.value
        is_empty = block.value is None or is_blank(block.value)
        if is_empty and block.memory_id in self.texts:
            yield self._delete(block, self._date_last(block), None, position, rows)
        elif block.value is None or is_told or is_empty:
            if rows:
                reason = SourceReason.UNCHANGED if is_told else SourceReason.EMPTY
                detail = "an earlier row says what the block holds" if is_told else "the block holds nothing yet"
                yield Skipped(position=position, reason=reason, detail=detail, rows=rows)
        else:
            yield self._write(block, block.value, self._date_last(block), None, position, rows)

    def _read_call(self, block: Block, call: Call, text: str | None, known: str | None) -> Item:
        """Give what a confirmed call did to a block."""
        position = f"{self.version.path.name} {call.position}"
        if text is None:
            detail = f"what block {block.label} held after this call cannot be worked out"
            return Skipped(position=position, reason=SourceReason.REVISION_UNKNOWN, detail=detail, rows=call.rows)
        if is_blank(text):
            if block.memory_id not in self.texts:
                return Skipped(position=position, reason=SourceReason.EMPTY, detail="the block was emptied", rows=call.rows)
            return self._delete(block, (call.stamp, "message"), call, position, call.rows)
        if text == known and self.texts.get(block.memory_id) == text:
            return Skipped(position=position, reason=SourceReason.UNCHANGED, detail="the text stayed", rows=call.rows)
        return self._write(block, text, (call.stamp, "message"), call, position, call.rows)

    def _iter_lone(self, call: Call) -> Iterator[Item]:
        """Yield what a call did that edits no block of the file: an archival insertion, or an edit of a lost block."""
        content = call.arguments.get("content")
        position = f"{self.version.path.name} {call.position}"
        if call.fault is not None:
            yield self._skip(call)
        elif call.tool != "archival_memory_insert":
            detail = "the block is not in the file any more, so its text is not known"
            yield Skipped(position=position, reason=SourceReason.REVISION_UNKNOWN, detail=detail, rows=call.rows)
        elif not isinstance(content, str) or is_blank(content):
            yield Skipped(position=position, reason=SourceReason.EMPTY, detail="nothing was inserted", rows=call.rows)
        else:
            memory_id = f"{call.agent}/archival/{digest_parts(call.id, content, size=16)}"
            block = Block(memory_id=memory_id, label="archival memory", value=None, owners=(call.agent,))
            yield self._write(block, content, (call.stamp, "message"), call, position, call.rows)

    def _skip(self, call: Call) -> Skipped:
        position = f"{self.version.path.name} {call.position}"
        detail = f"{call.tool}: {'no tool message answers it' if call.fault is SourceReason.WRITE_UNCONFIRMED else 'its tool message says it failed'}"
        assert call.fault is not None
        return Skipped(position=position, reason=call.fault, detail=detail, rows=call.rows)

    def _date_first(self, block: Block, calls: Sequence[Call]) -> tuple[Stamp | None, str]:
        """Date what a block held before its first edit, or all along."""
        if not calls:
            return self._date_last(block)
        if block.created is not None:
            return block.created, "created_at"
        starts = [agent.first_time for agent in self.document.agents if agent.name in block.owners and agent.first_time]
        return (min(starts, key=lambda stamp: stamp.time), "first_message") if starts else (calls[0].stamp, "message")

    def _date_last(self, block: Block) -> tuple[Stamp | None, str]:
        if block.updated is not None:
            return block.updated, "updated_at"
        return (self.document.exported, "export") if self.document.exported is not None else (None, self.version.time_from)

    def _write(
        self, block: Block, text: str, dated: tuple[Stamp | None, str], call: Call | None, position: str, rows: int
    ) -> SourceEvent:
        ref = f"{EVENT_SOURCE}:{block.memory_id if call is None else call.id}"
        kind = SourceKind.AGENT if call is not None else None
        owner = call.agent if call is not None else (block.owners[0] if len(block.owners) == 1 else None)
        self.texts[block.memory_id] = text
        tags = call.arguments.get("tags") if call is not None else None
        data = {
            "memory_id": block.memory_id,
            "text": text,
            "source": build_origin(self.options, kind=kind, ref=ref, actor=call.agent if call is not None else None),
            "scope": {**self.options.scope, **({} if owner is None else {"agent_id": owner})},
        }
        marks = {"label": block.label, **block.fields, **({"tags": tags} if isinstance(tags, list) else {})}
        return self._build(WRITTEN, data, dated, call, position, rows, marks)

    def _delete(self, block: Block, dated: tuple[Stamp | None, str], call: Call | None, position: str, rows: int) -> SourceEvent:
        self.texts.pop(block.memory_id, None)
        data = {"memory_id": block.memory_id}
        return self._build(DELETED, data, dated, call, position, rows, {"label": block.label})

    def _build(
        self,
        event_type: str,
        data: Mapping[str, Any],
        dated: tuple[Stamp | None, str],
        call: Call | None,
        position: str,
        rows: int,
        marks: Mapping[str, Any],
    ) -> SourceEvent:
        stamp, time_from = dated
        stated: datetime = self.version.time if stamp is None else stamp.time
        memory_id = data["memory_id"]
        time, is_moved = self.timeline.place(memory_id, stated)
        kept: dict[str, Any] = {"format": "letta.agent-file", "time_from": time_from, **marks}
        if stamp is not None:
            kept |= {"time_raw": stamp.raw, "tz_assumed": stamp.is_zone_assumed}
        if is_moved:
            kept["time_inferred"] = True
        if call is not None:
            kept["tool"] = call.tool
        identity = call.id if call is not None else time.isoformat()
        event = build_event(
            event_id=digest_parts(memory_id, identity, str(data.get("text", ""))),
            source=EVENT_SOURCE,
            event_type=event_type,
            time=time,
            space=self.options.space or DEFAULT_SPACE,
            data={**data, "metadata": kept},
        )
        return SourceEvent(position=position, event=event, rows=rows)
