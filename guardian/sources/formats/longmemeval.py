"""Read the histories of LongMemEval: for each question the sessions that a user had with an assistant.

`[{question_id, haystack_session_ids, haystack_dates, haystack_sessions: [[{role, content}]], …}]`

Every turn is a memory under its session and place. Each question's haystack is a memory bank of its own unless one is
named. The question, its answer and the marks that say where the answer stands (`has_answer`) are the benchmark's
solutions and never imported. Sessions are read in the order of their dates, which the file need not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Item, Skipped, SourceOptions
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.row_fields import keep_fields, read_text, require_id
from guardian.sources.reading.series import Dialect, Entry, Memory, Statement, iter_entries, iter_series
from guardian.sources.reading.stamp import Stamp, read_written_time
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="longmemeval:haystacks", label="longmemeval.haystacks", space="longmemeval")
_KEYS = frozenset({"question_id", "haystack_sessions"})
_ROLES = {"user": SourceKind.USER, "assistant": SourceKind.AGENT, "tool": SourceKind.TOOL}


@dataclass(frozen=True, slots=True)
class LongMemEvalSource:
    """Haystack sessions of LongMemEval."""

    name: ClassVar[str] = "longmemeval"
    title: ClassVar[str] = "haystack sessions of LongMemEval"

    def detect(self, path: Path) -> bool:
        """Tell by a question with its haystack."""
        return any(row.keys() >= _KEYS for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the turns of each haystack."""
        return iter_series(_DIALECT, paths, options, partial(iter_entries, read=_read_row))


def _read_row(row: dict[str, Any], position: str) -> Entry:
    question_id, sessions = require_id(row, "question_id"), row.get("haystack_sessions")
    if not isinstance(sessions, list):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "`haystack_sessions` is no list", path="haystack_sessions")
    ids, dates = _list(row.get("haystack_session_ids")), _list(row.get("haystack_dates"))
    statements: list[Statement] = []
    for place, session in enumerate(sessions):
        name = ids[place] if place < len(ids) and isinstance(ids[place], str) else str(place)
        stamp = _read_time(dates[place] if place < len(dates) else None)
        statements += _iter_turns(question_id, name, stamp, session, position)
    statements.sort(key=lambda memory: memory.stamp.time.timestamp() if isinstance(memory, Memory) and memory.stamp else 0.0)
    detail = "its question and answer are the benchmark's solutions"
    statements.append(Skipped(position=f"{position} question", reason=SourceReason.EVALUATION_ONLY, detail=detail))
    return Entry(position=position, statements=statements)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _iter_turns(question_id: str, session: str, stamp: Stamp | None, turns: Any, position: str) -> Iterator[Statement]:
    for number, turn in enumerate(_list(turns), start=1):
        fields: Mapping[str, Any] = turn if isinstance(turn, dict) else {}
        text, role = read_text(fields.get("content")), read_text(fields.get("role"))
        if text is None:
            place = f"{position} session {session[:80]} turn {number}"
            yield Skipped(position=place, reason=SourceReason.EMPTY_ROW, detail="a turn without words")
            continue
        yield Memory(
            memory_id=f"turn:{question_id}:{session}:{number}",
            text=text,
            stamp=stamp,
            time_from="session" if stamp is not None else None,
            kind=_ROLES.get(role or ""),
            metadata={"role": role, "session_id": session, **keep_fields(fields, {"content", "role", "has_answer"})},
            space=f"longmemeval/{question_id}",
        )


def _read_time(value: Any) -> Stamp | None:
    try:
        return read_written_time(value) if isinstance(value, str) else None
    except RecordError:
        return None
