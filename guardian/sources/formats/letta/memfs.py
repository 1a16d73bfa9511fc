"""Read Letta's MemFS: a git repository of markdown files, one block a file, one commit a write.

Each file is one memory (`<agent>/<path>`), each commit that changes it one revision: the body is the text, the
frontmatter is kept. A rename ends the memory under its old name and begins one under the new name whose parent it is: what
is found wrong with the one holds for the other. A commit authored by `<agent-id>@letta.com` is the agent's; whoever else
commits edited from outside, and what sort of author that is stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.file_state import FileState, iter_file_states, list_head
from guardian.sources.reading.frontmatter import Page, split_page
from guardian.sources.reading.git_history import Commit, is_history, opened_history
from guardian.sources.reading.timeline import Timeline
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "letta:memfs"
DEFAULT_SPACE = "letta"

_AGENT_EMAIL = re.compile(r"(agent-[^@\s]+)@letta\.com", re.IGNORECASE)
# Characters of a commit's message that are kept: it is a sentence.
_REASON_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class LettaMemfsSource:
    """MemFS repositories."""

    name: ClassVar[str] = "letta-memfs"
    title: ClassVar[str] = "Letta MemFS, a git repository of memory blocks"

    def detect(self, path: Path) -> bool:
        """Tell by a repository whose newest commit holds `system/**.md` with a `description` in the frontmatter."""
        try:
            if not is_history(path, _is_block):
                return False
        except RecordError:
            return False
        pages = [split_page(text) for name, text in list_head(path, _is_block) if name.startswith("system/")]
        return any("description" in page.fields for page in pages)

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the writes and deletions of every commit, oldest first.

        Raises:
            RecordError: A repository cannot be read at all.
        """
        for path in paths:
            walk = _Walk(options, _find_agent(path))
            for state in iter_file_states([path], options, _is_block):
                if isinstance(state, Broken):
                    yield state
                else:
                    yield from walk.iter_state(state)


def _find_agent(path: Path) -> str | None:
    """Give the id of the first agent that committed: it owns the repository, and its id names the memories.

    The first commits may be those of whoever set the repository up.
    """
    if not is_history(path, _is_block):
        return None
    with opened_history(path) as history:
        authors = () if history is None else (_AGENT_EMAIL.fullmatch(commit.email) for commit in history.iter_commits())
        return next((author.group(1) for author in authors if author is not None), None)


def _is_block(path: str) -> bool:
    return path.endswith(".md") and not path.startswith(".")


class _Walk:
    """Owns what is known of one repository on the way through its commits."""

    def __init__(self, options: SourceOptions, agent: str | None) -> None:
        self._options = options
        self._agent = agent
        self._timeline = Timeline()
        self._texts: dict[str, str] = {}

    def iter_state(self, state: FileState) -> Iterator[Item]:
        """Yield the items of one file in one commit; the first answers for the row."""
        author = None if state.commit is None else _AGENT_EMAIL.fullmatch(state.commit.email)
        page = None if state.text is None else split_page(state.text)
        parents: list[str] = []
        rows = state.rows
        if state.old_path is not None and (gone := self._end(state, state.old_path, rows)) is not None:
            yield gone
            rows, parents = 0, [self._name(state.old_path)]
        if page is None or not page.body:
            gone = self._end(state, state.path, rows)
            detail = "the file holds no text" if page else "the file held no text"
            yield gone or Skipped(position=state.position, reason=SourceReason.EMPTY, detail=detail, rows=rows)
            return
        content = digest_parts(page.body, repr(sorted(page.fields.items())))
        if self._texts.get(state.path) == content:
            detail = "the commit changes neither text nor description"
            yield Skipped(position=state.position, reason=SourceReason.UNCHANGED, detail=detail, rows=rows)
            return
        self._texts[state.path] = content
        data: dict[str, Any] = {"text": page.body, "kind": _tell_kind(state.path), "parents": parents or None}
        data |= {"source": self._origin(state, author.group(1) if author else None), "scope": self._scope()}
        yield self._build(state, state.path, WRITTEN, data, page, rows)

    def _end(self, state: FileState, path: str, rows: int) -> SourceEvent | None:
        if self._texts.pop(path, None) is None:
            return None
        return self._build(state, path, DELETED, {}, None, rows)

    def _name(self, path: str) -> str:
        return f"{self._agent or 'memfs'}/{path}"

    def _scope(self) -> dict[str, str]:
        return {**self._options.scope, **({} if self._agent is None else {"agent_id": self._agent})}

    def _origin(self, state: FileState, agent: str | None) -> dict[str, str]:
        commit = state.commit
        actor = agent or (commit.author if commit is not None and commit.author else None)
        kind = SourceKind.AGENT if agent is not None else None
        return build_origin(self._options, kind=kind, ref=f"{EVENT_SOURCE}:{self._name(state.path)}", actor=actor)

    def _build(
        self, state: FileState, path: str, event_type: str, data: dict[str, Any], page: Page | None, rows: int
    ) -> SourceEvent:
        memory_id = self._name(path)
        time, is_moved = self._timeline.place(memory_id, state.time)
        commit_id = "" if state.commit is None else state.commit.id
        event = build_event(
            event_id=digest_parts(commit_id, memory_id, event_type),
            source=EVENT_SOURCE,
            event_type=event_type,
            time=time,
            space=self._options.space or DEFAULT_SPACE,
            data={"memory_id": memory_id, **data, "metadata": {"path": path, **_mark(state.commit, page, is_moved=is_moved)}},
        )
        return SourceEvent(position=state.position, event=event, rows=rows)


def _tell_kind(path: str) -> str | None:
    """Give the kind that the layout states: a skill is a file of that name in `skills/`."""
    parts = PurePosixPath(path).parts
    return MemoryKind.SKILL.value if parts[0] == "skills" and parts[-1] == "SKILL.md" else None


def _mark(commit: Commit | None, page: Page | None, *, is_moved: bool) -> dict[str, Any]:
    kept: dict[str, Any] = {"format": "letta.memfs"}
    if commit is not None:
        kept |= {"commit": commit.id, "reason": commit.message[:_REASON_CHARS], "time_raw": commit.time_raw, "tz_assumed": False}
        kept |= {"author": commit.author} if commit.author else {}
    if is_moved:
        kept["time_inferred"] = True
    if page is not None and page.fields:
        kept["fields"] = dict(page.fields)
    if page is not None and page.is_header_unreadable:
        kept["frontmatter_unreadable"] = True
    return kept
