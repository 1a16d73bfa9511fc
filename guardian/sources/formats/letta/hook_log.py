"""Read the logs of Letta Code's memory hook: `<block>.jsonl` with a diff a change, and `<block>.json` with the last state.

A diff is no text: what the block held after each change is worked out backwards from the state file, and forwards where
the first diff begins with nothing. A log without its state file, whose first diff begins in the middle, has no texts.
The hook logs what differs on the server since it last looked, whoever changed it: the author is unknown.

The name of a block is in the diffs and in the state; a file's own name says nothing. A row is a line of a log, or a state
file. What the block held before the first diff is dated one step before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from guardian.contracts.admission import is_blank
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.edit import apply_diff
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.framing import Fault, Row
from guardian.sources.reading.json_record import iter_records, parse_json, sniff_records
from guardian.sources.reading.stamp import Stamp, read_time
from guardian.sources.reading.timeline import Timeline
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "letta:memory-log"
DEFAULT_SPACE = "letta"

_NAME = re.compile(r"\A--- a/(.+)\n\+\+\+ b/(.+)\n")
# Files of a folder that are looked at: one or two a block.
_MAX_FILES = 2_000
_STEP = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Change:
    position: str
    stamp: Stamp
    diff: str
    agent: str | None


@dataclass(slots=True)
class _Block:
    """What the files say of one block; the last state, by its own time, counts."""

    changes: list[_Change] = field(default_factory=list)
    state: str | None = None
    state_stamp: Stamp | None = None
    state_position: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LettaHookLogSource:
    """Memory logs of Letta Code's hook."""

    name: ClassVar[str] = "letta-memory-log"
    title: ClassVar[str] = "memory logs of Letta Code's hook (.letta/memory_logs), the folder or its files"

    def detect(self, path: Path) -> bool:
        """Tell by lines with a time and a diff of a block, or by a block's state; a folder by its files."""
        if path.is_dir():
            return any(self.detect(file) for file in _list_files(path))
        return path.is_file() and any(_is_state(row) or _is_change(row) for row in sniff_records(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield broken rows first, then what each block held, block by block."""
        blocks: dict[str, _Block] = {}
        for path in paths:
            for file in _list_files(path) if path.is_dir() else [path]:
                for row in iter_records(file):
                    item = _collect(row, file.name, blocks)
                    if item is not None:
                        yield item
        for name, block in blocks.items():
            yield from _iter_block(name, block, options)


def _list_files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.suffix in {".json", ".jsonl"} and not file.is_symlink())
    return [file for file in files[:_MAX_FILES] if file.is_file()]


def _is_change(row: Mapping[str, Any]) -> bool:
    diff = row.get("diff")
    return isinstance(row.get("timestamp"), str) and isinstance(diff, str) and _NAME.match(diff) is not None


def _is_state(row: Mapping[str, Any]) -> bool:
    return all(isinstance(row.get(key), str) for key in ("block_name", "content", "updated_at"))


def _collect(row: Row | Fault, name: str, blocks: dict[str, _Block]) -> Item | None:
    """Put a row with its block; give an item for what has none."""
    position = f"{name} line {row.number}"
    try:
        if isinstance(row, Fault):
            raise RecordError(row.reason, row.message)  # noqa: TRY301 # one place turns faults into items
        value = parse_json(row.raw, "the line is no JSON")
        if not isinstance(value, dict) or not (_is_state(value) or _is_change(value)):
            raise RecordError(SourceReason.SHAPE_UNKNOWN, "neither a change with a diff nor a block's state")  # noqa: TRY301 # as above
        stamp = read_time(value["timestamp"] if _is_change(value) else value["updated_at"])
    except RecordError as error:
        return Broken(position=position, reason=error.reason, message=str(error), raw=row.raw)
    if _is_change(value):
        match = _NAME.match(value["diff"])
        assert match is not None
        agent = value.get("agent_id")
        change = _Change(position, stamp, value["diff"], agent if isinstance(agent, str) else None)
        blocks.setdefault(match.group(2), _Block()).changes.append(change)
        return None
    block = blocks.setdefault(value["block_name"], _Block())
    is_older = block.state_stamp is not None and stamp.time <= block.state_stamp.time
    passed, block.state_position = block.state_position, block.state_position if is_older else position
    if not is_older:
        block.state, block.state_stamp = value["content"], stamp
        block.fields = {key: value[key] for key in ("description",) if isinstance(value.get(key), str) and value[key]}
    if passed:
        detail = "another state of the same block is newer"
        return Skipped(position=position if is_older else passed, reason=SourceReason.REPLACED_IN_FILE, detail=detail)
    return None


def _work_out(block: _Block) -> tuple[str | None, list[str | None]]:
    """Give the text before the first change and after each; None where it is not known."""
    after: list[str | None] = [None] * len(block.changes)
    text = block.state
    for number in range(len(after) - 1, -1, -1):
        before = None if text is None else apply_diff(text, block.changes[number].diff, is_reversed=True)
        after[number] = None if before is None else text
        text = before
    first = text
    # A diff that begins with nothing applies to nothing, whatever the state says.
    text = first if first is not None else ""
    for number, change in enumerate(block.changes):
        if after[number] is None and text is not None:
            after[number] = apply_diff(text, change.diff)
        text = after[number]
    return first, after


def _iter_block(name: str, block: _Block, options: SourceOptions) -> Iterator[Item]:
    agents = {change.agent for change in block.changes if change.agent is not None}
    agent = agents.pop() if len(agents) == 1 else None
    build = _Builder(name, agent, block.fields, options)
    first, after = _work_out(block)
    if first is not None and not is_blank(first) and block.changes:
        begin = block.changes[0].stamp
        before = Stamp(begin.raw, begin.time - _STEP, begin.is_zone_assumed)
        yield build.build(first, before, block.changes[0].position, rows=0, time_from="before_first_change")
    for change, text in zip(block.changes, after, strict=True):
        if text is None:
            detail = f"what block {name} held after this change cannot be worked out"
            yield Skipped(position=change.position, reason=SourceReason.REVISION_UNKNOWN, detail=detail)
        elif is_blank(text) and not build.is_living:
            yield Skipped(position=change.position, reason=SourceReason.EMPTY, detail="the block holds nothing")
        else:
            yield build.build(None if is_blank(text) else text, change.stamp, change.position)
    if block.state is None or block.state_stamp is None:
        return
    is_told = bool(after) and after[-1] is not None and after[-1].rstrip("\n") == block.state.rstrip("\n")
    if is_told or is_blank(block.state):
        reason = SourceReason.UNCHANGED if is_told else SourceReason.EMPTY
        detail = "the log tells this state" if is_told else "the block holds nothing"
        yield Skipped(position=block.state_position, reason=reason, detail=detail)
    else:
        yield build.build(block.state, block.state_stamp, block.state_position, time_from="updated_at")


class _Builder:
    """Builds the events of one block."""

    def __init__(self, name: str, agent: str | None, fields: Mapping[str, Any], options: SourceOptions) -> None:
        self._name, self._agent, self._fields, self._options = name, agent, fields, options
        self._memory_id = f"{agent or 'block'}/{name[:400]}"
        self._timeline = Timeline()
        self.is_living = False

    def build(self, text: str | None, stamp: Stamp, position: str, *, rows: int = 1, time_from: str = "timestamp") -> SourceEvent:
        """Give a write, or a deletion where there is no text."""
        time, is_moved = self._timeline.place(self._memory_id, stamp.time)
        self.is_living = text is not None
        kept: dict[str, Any] = {"format": "letta.memory-log", "label": self._name, "time_from": time_from, **self._fields}
        kept |= {"time_raw": stamp.raw, "tz_assumed": stamp.is_zone_assumed}
        if is_moved or time_from == "before_first_change":
            kept["time_inferred"] = True
        data: dict[str, Any] = {"memory_id": self._memory_id, "metadata": kept}
        if text is not None:
            scope = {**self._options.scope, **({} if self._agent is None else {"agent_id": self._agent})}
            origin = build_origin(self._options, kind=None, ref=f"{EVENT_SOURCE}:{self._memory_id}", actor=None)
            data |= {"text": text, "source": origin, "scope": scope}
        event = build_event(
            event_id=digest_parts(self._memory_id, time.isoformat(), text or ""),
            source=EVENT_SOURCE,
            event_type=DELETED if text is None else WRITTEN,
            time=time,
            space=self._options.space or DEFAULT_SPACE,
            data=data,
        )
        return SourceEvent(position=position, event=event, rows=rows)
