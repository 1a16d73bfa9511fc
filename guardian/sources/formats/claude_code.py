"""Read what Claude Code remembers: a folder of auto memory, and the instructions in `CLAUDE.md` files.

Auto memory is a folder with an index (`MEMORY.md`) and topic files with frontmatter. A topic file is one memory; its
`metadata.type` tells the kind. A line of the index that points to a topic is a summary of it and has the topic as its
parent, so that a correction of the topic reaches the line that is shown in every session; the rest of the index is a
memory of its own. Claude writes these files, so their source is the agent.

`CLAUDE.md`, `CLAUDE.local.md` and `.claude/rules/*.md` are instructions. People write them, and agents do too, and the
files do not say who did: the source is unknown unless the caller states it. What they import with `@path` is not followed.

In git each commit is dated by its author; a plain folder is a snapshot, each file dated by its modification time, and
several folders are versions of one another.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Change, ChangeOp, SnapshotDiffer, TimeBasis
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.file_state import FileState, iter_file_states, list_head
from guardian.sources.reading.frontmatter import Page, split_page
from guardian.sources.reading.stamp import format_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "claude-code:memory"
DEFAULT_SPACE = "claude-code"

_INDEX = "MEMORY.md"
_INSTRUCTION = re.compile(r"(?:^|/)(?:CLAUDE(?:\.local)?\.md|\.claude/rules/.+\.md)$")
_POINTER = re.compile(r"^\s*[-*]\s+\[[^\]]*\]\(([^)\s]+\.md)\)")
# What a topic's type says about its kind: who the user is, how to work, what is going on. Others say nothing.
_KINDS = {"user": MemoryKind.PROFILE, "feedback": MemoryKind.PREFERENCE, "project": MemoryKind.FACT}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    memory_id: str
    text: str
    kind: MemoryKind | None = None
    source_kind: SourceKind | None = None
    parents: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClaudeCodeSource:
    """Memory folders and instruction files of Claude Code."""

    name: ClassVar[str] = "claude-code"
    title: ClassVar[str] = "Claude Code's auto memory (MEMORY.md and topics) and CLAUDE.md files, a folder or its git history"

    def detect(self, path: Path) -> bool:
        """Tell a folder by a `CLAUDE.md` or rule in it, or by topics with `name` and `description` beside a `MEMORY.md`."""
        return _is_memory(path) or bool(list_head(path, _is_instruction))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield what each state of each file adds, changes and takes away."""
        differs: dict[str, SnapshotDiffer] = {}
        for state in iter_file_states(paths, options, _choose_files(paths)):
            if isinstance(state, Broken):
                yield state
                continue
            if state.old_path is not None:
                yield from _iter_changes(_clear(state, state.old_path), [], differs, options)
            statements = [] if state.text is None else _read_statements(state.path, split_page(state.text))
            yield from _iter_changes(state, statements, differs, options)


def _is_memory(folder: Path) -> bool:
    """Tell auto memory: an index, and beside it mostly topics; a project has other markdown, too."""
    pages = dict(list_head(folder, _is_memory_file))
    index = pages.pop(_INDEX, None)
    topics = [text for text in pages.values() if {"name", "description"} <= split_page(text).fields.keys()]
    return index is not None and bool(topics) and 2 * len(topics) >= len(pages)


def _choose_files(folders: Sequence[Path]) -> Callable[[str], bool]:
    """Give which files to read: the instructions of a project, else all markdown of a memory folder."""
    is_project = any(list_head(folder, _is_instruction) for folder in folders) and not any(map(_is_memory, folders))
    return _is_instruction if is_project else _is_memory_file


def _is_instruction(path: str) -> bool:
    return _INSTRUCTION.search(path) is not None


def _is_memory_file(path: str) -> bool:
    return path.endswith(".md")


def _clear(state: FileState, path: str) -> FileState:
    """Give the state in which a renamed file's old name is gone."""
    return FileState(
        position=state.position, path=path, text=None, time=state.time, time_from=state.time_from, commit=state.commit, rows=0
    )


def _read_statements(path: str, page: Page) -> list[_Statement]:
    if path == _INDEX:
        return _read_index(page)
    marks: dict[str, Any] = {"path": path}
    if page.fields:
        marks["fields"] = dict(page.fields)
    if page.is_header_unreadable:
        marks["frontmatter_unreadable"] = True
    if not page.body:
        return []
    if _is_instruction(path):
        return [_Statement(memory_id=path, text=page.body, kind=MemoryKind.INSTRUCTION, metadata=marks)]
    inner = page.fields.get("metadata")
    told = inner.get("type") if isinstance(inner, dict) else page.fields.get("type")
    kind = _KINDS.get(told) if isinstance(told, str) else None
    return [_Statement(memory_id=path, text=page.body, kind=kind, source_kind=SourceKind.AGENT, metadata=marks)]


def _read_index(page: Page) -> list[_Statement]:
    """Give a summary for each line that points to a topic, and one memory for all other lines."""
    statements: list[_Statement] = []
    rest: list[str] = []
    seen = Counter[str]()
    for line in page.body.split("\n"):
        match = _POINTER.match(line)
        if match is None or "://" in match.group(1):
            rest.append(line)
            continue
        topic = posixpath.normpath(match.group(1))
        seen[topic] += 1
        again = f":{seen[topic]}" if seen[topic] > 1 else ""
        statements.append(
            _Statement(
                memory_id=f"{_INDEX}#{topic[:120]}{again}",
                text=line.strip(),
                kind=MemoryKind.SUMMARY,
                source_kind=SourceKind.AGENT,
                parents=() if topic.startswith(("..", "/")) or len(topic) > 1024 else (topic,),
                metadata={"path": _INDEX},
            )
        )
    # Headings alone say nothing.
    if any(line.strip() and not line.lstrip().startswith("#") for line in rest):
        text = "\n".join(rest).strip()
        statements.append(_Statement(memory_id=_INDEX, text=text, source_kind=SourceKind.AGENT, metadata={"path": _INDEX}))
    return statements


def _iter_changes(
    state: FileState, statements: Sequence[_Statement], differs: dict[str, SnapshotDiffer], options: SourceOptions
) -> Iterator[Item]:
    """Yield the events of one file's state; the first answers for the row."""
    differ = differs.setdefault(state.path, SnapshotDiffer())
    differ.start_version(state.time)
    rows = state.rows
    for statement in statements:
        content = (statement.text, repr(sorted(statement.metadata.items())), *statement.parents)
        change = differ.observe(statement.memory_id, content)
        if change is not None:
            yield SourceEvent(position=state.position, event=_build_write(statement, change, state, options), rows=rows)
            rows = 0
    for change in differ.finish_version(is_complete=True):
        data = {"memory_id": change.memory_id, "metadata": _mark(change, state)}
        yield SourceEvent(position=state.position, event=_build(change, state, options, DELETED, data), rows=rows)
        rows = 0
    if rows:
        reason, detail = SourceReason.UNCHANGED, "the file says what it said before"
        if not statements:
            reason, detail = SourceReason.EMPTY, "the file holds no text"
        yield Skipped(position=state.position, reason=reason, detail=detail, rows=rows)


def _build_write(statement: _Statement, change: Change, state: FileState, options: SourceOptions) -> dict[str, Any]:
    # Who commits auto memory is not who wrote it.
    is_signed = state.commit is not None and statement.source_kind is None
    actor = (state.commit.author or None) if state.commit is not None and is_signed else None
    ref = f"{EVENT_SOURCE}:{statement.memory_id}"
    data = {
        "memory_id": statement.memory_id,
        "text": statement.text,
        "kind": None if statement.kind is None else statement.kind.value,
        "source": build_origin(options, kind=statement.source_kind, ref=ref, actor=actor),
        "parents": list(statement.parents) or None,
        "scope": dict(options.scope),
        "metadata": {**statement.metadata, **_mark(change, state)},
    }
    return _build(change, state, options, WRITTEN, data)


def _mark(change: Change, state: FileState) -> dict[str, Any]:
    kept: dict[str, Any] = {"format": "claude-code.memory", "time_from": state.time_from}
    if change.basis is TimeBasis.ORDER:
        kept |= {"time_from": "order", "time_inferred": True}
    if state.commit is not None:
        kept |= {"commit": state.commit.id, "reason": state.commit.message[:1_000], "time_raw": state.commit.time_raw}
        kept |= {"author": state.commit.author, "tz_assumed": False}
    return kept


def _build(change: Change, state: FileState, options: SourceOptions, event_type: str, data: Mapping[str, Any]) -> dict[str, Any]:
    space = options.space or DEFAULT_SPACE
    place = state.commit.id if state.commit is not None else format_time(change.time)
    text = str(data.get("text", "")) if change.op is not ChangeOp.DELETE else ""
    return build_event(
        event_id=digest_parts(space, change.memory_id, change.op.value, place, text),
        source=EVENT_SOURCE,
        event_type=event_type,
        time=change.time,
        space=space,
        data=data,
    )
