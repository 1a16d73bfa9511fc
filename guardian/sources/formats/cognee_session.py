"""Read the sessions of Cognee: questions with their answers, what was retrieved for them, and what the user thought.

`{time, qa_id, question, context, answer, feedback_text, feedback_score, used_graph_element_ids, …}`

A question with its answer is a memory of kind `episode`. The graph elements used for it are a read: they name nodes and
edges of Cognee's graph, by the ids under which a COGX export of the same space has them where it has them. The user's
score, 1 to 5, is a verdict of the channel `user_feedback`: (score - 1) / 4. A score of nobody is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Item, RowChange, Skipped, SourceOptions
from guardian.sources.reading.channel import Channel
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.row_fields import keep_fields, read_text, read_texts, require_id, require_text
from guardian.sources.reading.series import (
    Dialect,
    Entry,
    Memory,
    Retrieval,
    Statement,
    Verdict,
    iter_change,
    iter_entries,
    iter_series,
)
from guardian.sources.reading.stamp import Stamp, read_time
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="cognee:sessions", label="cognee.sessions", space="cognee")
_KEYS = frozenset({"qa_id", "question", "answer"})
_READ = _KEYS | {"time", "feedback_score", "used_graph_element_ids", "context"}
_LEAST_SCORE, _BEST_SCORE = 1, 5


@dataclass(frozen=True, slots=True)
class CogneeSessionSource:
    """Question and answer rows of Cognee's sessions."""

    name: ClassVar[str] = "cognee-session"
    title: ClassVar[str] = "questions, answers and feedback of Cognee's sessions"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of a row."""
        return any(row.keys() >= _KEYS for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield episodes, reads and verdicts; several files are parts of one log."""
        return iter_series(_DIALECT, paths, options, partial(iter_entries, read=_read_row))

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of a row."""
        return (change.after or change.before or {}).keys() >= _KEYS

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one row."""
        return iter_change(_DIALECT, change, options, _read_row)


def _read_row(row: dict[str, Any], position: str) -> Entry:
    qa_id, question, answer = require_id(row, "qa_id"), require_text(row, "question"), require_text(row, "answer")
    stamp = _read_time(row.get("time"))
    used = _find_used(row.get("used_graph_element_ids"))
    memory = Memory(
        memory_id=f"qa:{qa_id}",
        text=f"{question}\n{answer}",
        stamp=stamp,
        time_from="time" if stamp is not None else None,
        kind=SourceKind.AGENT,
        fields={
            "kind": MemoryKind.EPISODE.value,
            "episode": {"task": question, "answer": answer, **({"retrieved": used} if used else {})},
        },
        metadata=keep_fields(row, _READ),
    )
    statements: list[Statement] = [memory]
    if used:
        fields = {"used": used, "query": question, "task_id": qa_id}
        statements.append(Retrieval(retrieved=tuple(used), occasion=qa_id, fields=fields, stamp=stamp))
    if (score := row.get("feedback_score")) is not None:
        statements.append(_read_score(score, memory.memory_id, row, position))
    return Entry(position=position, statements=statements)


def _find_used(ids: Any) -> list[str]:
    if not isinstance(ids, dict):
        return []
    return list(dict.fromkeys([*read_texts(ids.get("node_ids")), *read_texts(ids.get("edge_ids"))]))


def _read_score(score: Any, memory_id: str, row: Mapping[str, Any], position: str) -> Verdict | Skipped:
    """Give the user's score in [0, 1]."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not _LEAST_SCORE <= score <= _BEST_SCORE:
        detail = f"the score {str(score)[:80]!r} is not from {_LEAST_SCORE} to {_BEST_SCORE}"
        return Skipped(position=position, reason=SourceReason.GRADE_UNKNOWN, detail=detail)
    value = (score - _LEAST_SCORE) / (_BEST_SCORE - _LEAST_SCORE)
    said = read_text(row.get("feedback_text"))
    evidence = {"feedback_score": score, **({} if said is None else {"feedback_text": said[:1000]})}
    return Verdict(memory_id=memory_id, channel=Channel.USER_FEEDBACK, value=value, evidence=evidence)


def _read_time(value: Any) -> Stamp | None:
    try:
        return read_time(value) if isinstance(value, str) else None
    except RecordError:
        return None
