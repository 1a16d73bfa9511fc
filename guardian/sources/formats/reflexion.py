"""Read the logs of Reflexion: what an agent wrote to itself after failing, and whether it got there in the end.

```
environment   [{name, memory: [reflection], is_success}], one array after each trial: snapshots of a state
programming   {task_id or name, prompt, solution, is_solved, reflections, implementations, test_feedback}, a row a task
```

An attempt at a task is a memory of kind `episode`; a reflection is a memory derived from it, its parent. In the
environment files both are told by their place: every attempt on record failed and appended its reflection, nothing is
ever removed, and agents do repeat themselves word for word; a success is one attempt more. Snapshots are ordered by what they hold (reflections, then successes), for
copies lose their times. In the programming logs, which append again when run again, identity is content.

Who judged is kept apart: `is_success` is the environment's verdict, `is_solved` that of hidden tests. Neither is the
agent's own grade, and the outcome of its own tests is in neither file. Which reflections an attempt was shown is not
there either (runs without memory write the same files), so that no read is made up. Reference solutions and hidden
tests are never imported.
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
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.framing import iter_rows, sniff_objects
from guardian.sources.reading.row_fields import keep_fields, parse_row, require_id, require_text
from guardian.sources.reading.series import Dialect, Entry, Memory, Statement, Verdict, iter_change, iter_entries, iter_series
from guardian.sources.reason import SourceReason

_TRIALS = Dialect(event_source="reflexion:trials", label="reflexion.trials", space="reflexion", absence_deletes=True)
_TASKS = Dialect(event_source="reflexion:tasks", label="reflexion.tasks", space="reflexion")
_TRIAL_KEYS = frozenset({"name", "memory", "is_success"})
_TASK_KEYS = frozenset({"prompt", "entry_point", "is_solved", "solution"})
# The benchmark's own: to import them would be to give away its solutions.
_HIDDEN = frozenset({"test", "canonical_solution", "original"})
_READ = _TRIAL_KEYS | _TASK_KEYS | _HIDDEN | {"task_id", "reflections", "language", "stop_tokens"}


@dataclass(frozen=True, slots=True)
class ReflexionTrialsSource:
    """Snapshots of Reflexion in environments such as ALFWorld."""

    name: ClassVar[str] = "reflexion-trials"
    title: ClassVar[str] = "Reflexion in an environment (env_results_trial_N.json), one file or its versions"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of an environment."""
        return any(_is_trial(row) for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield what each snapshot adds; snapshots of one run, in the order of what they hold."""
        read_file = partial(iter_entries, read=_read_trial)
        return iter_series(_TRIALS, paths, options, read_file, sequence=_place)

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of an environment."""
        return _is_trial(change.after or change.before or {})

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one environment."""
        return iter_change(_TRIALS, change, options, _read_trial)


@dataclass(frozen=True, slots=True)
class ReflexionTasksSource:
    """Logs of Reflexion on programming tasks."""

    name: ClassVar[str] = "reflexion-tasks"
    title: ClassVar[str] = "Reflexion on programming tasks (JSON lines with reflections and is_solved)"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of a task."""
        return any(_is_task(row) for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield tasks, verdicts and reflections; several files are parts of one log."""
        return iter_series(_TASKS, paths, options, partial(iter_entries, read=_read_task))

    def matches_row(self, change: RowChange) -> bool:
        """Tell by the keys of a task."""
        return _is_task(change.after or change.before or {})

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one task."""
        return iter_change(_TASKS, change, options, _read_task)


def _is_trial(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _TRIAL_KEYS and isinstance(row["memory"], list)


def _is_task(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _TASK_KEYS


def _place(path: Path) -> tuple[int, ...]:
    """Count the reflections and the successes of a snapshot: both only ever grow along a run."""
    reflections = successes = 0
    for row in iter_rows(path):
        try:
            trial = parse_row(row)
        except RecordError:
            continue
        memory = trial.get("memory")
        reflections += len(memory) if isinstance(memory, list) else 0
        successes += trial.get("is_success") is True
    return reflections, successes


def _read_trial(row: dict[str, Any], position: str) -> Entry:
    """Read an environment: each reflection follows a failed attempt, and a success is one attempt more."""
    name, reflections, is_success = require_id(row, "name"), row.get("memory"), row.get("is_success")
    if not isinstance(reflections, list):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "`memory` is no list", path="memory")
    kept = {"name": name, **keep_fields(row, _READ)}
    statements: list[Statement] = []
    for number, text in enumerate(reflections):
        attempt = _build_attempt(name, number, kept, is_solved=False)
        statements += [attempt, Verdict(memory_id=attempt.memory_id, channel=Channel.ENVIRONMENT, value=0.0)]
        statements.append(_read_reflection(text, f"reflection:{name}:{number}", number, attempt.memory_id, name, position))
    if is_success is True:
        attempt = _build_attempt(name, len(reflections), kept, is_solved=True)
        statements += [attempt, Verdict(memory_id=attempt.memory_id, channel=Channel.ENVIRONMENT, value=1.0)]
    elif is_success is not False:
        statements.append(_note_outcome(is_success, position))
    elif not reflections:
        detail = "an environment that was not tried, or of whose failure nothing was written"
        statements.append(Skipped(position=position, reason=SourceReason.EMPTY_ROW, detail=detail))
    return Entry(position=position, statements=statements)


def _build_attempt(name: str, number: int, kept: Mapping[str, Any], *, is_solved: bool) -> Memory:
    outcome = "solved" if is_solved else "not solved"
    return Memory(
        memory_id=f"attempt:{name}:{number}",
        text=f"{name}, recorded attempt {number + 1}: {outcome}",
        fields={"kind": MemoryKind.EPISODE.value, "episode": {"task": name, "outcome": outcome}},
        metadata={"attempt": number, **kept},
    )


def _read_task(row: dict[str, Any], position: str) -> Entry:
    name, prompt, is_solved = require_id(row, "task_id", "name"), require_text(row, "prompt"), row.get("is_solved")
    solution = row["solution"] if isinstance(row.get("solution"), str) else ""
    reflections: list[Any] = row["reflections"] if isinstance(row.get("reflections"), list) else []
    run = digest_parts("task", name, prompt, solution, *filter(_is_text, reflections), size=16)
    memory = Memory(
        memory_id=f"task:{name}#{run}",
        text=_join(prompt, solution),
        kind=SourceKind.AGENT,
        fields={"kind": MemoryKind.EPISODE.value, "episode": _describe_task(row, prompt, solution)},
        metadata={"name": name, **keep_fields(row, _READ)},
    )
    statements: list[Statement] = [memory]
    if isinstance(is_solved, bool):
        statements.append(Verdict(memory_id=memory.memory_id, channel=Channel.HIDDEN_TESTS, value=float(is_solved)))
    else:
        statements.append(_note_outcome(is_solved, position))
    for number, text in enumerate(reflections):
        memory_id = f"reflection:{name}:{number}#{run}"
        statements.append(_read_reflection(text, memory_id, number, memory.memory_id, prompt, position))
    return Entry(position=position, statements=statements)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _describe_task(row: Mapping[str, Any], prompt: str, solution: str) -> dict[str, str]:
    outcomes: dict[Any, str] = {True: "solved", False: "not solved"}
    outcome = outcomes[row["is_solved"]] if isinstance(row.get("is_solved"), bool) else ""
    language = row["language"] if isinstance(row.get("language"), str) else ""
    episode = {"task": prompt, "answer": solution, "language": language, "outcome": outcome}
    return {name: value for name, value in episode.items() if value}


def _join(prompt: str, solution: str) -> str:
    """Give the task and what was answered; some languages' solutions repeat the task."""
    return solution if solution.strip().startswith(prompt.strip()) else f"{prompt.rstrip()}\n{solution}".rstrip()


def _read_reflection(text: Any, memory_id: str, number: int, parent: str, task: str, position: str) -> Statement:
    """Give what was written after a failed attempt."""
    if not isinstance(text, str) or not text.strip():
        return Skipped(position=position, reason=SourceReason.EMPTY_ROW, detail=f"reflection {number} holds no text")
    return Memory(
        memory_id=memory_id,
        text=text,
        kind=SourceKind.AGENT,
        fields={"kind": MemoryKind.EPISODE.value, "parents": [parent], "episode": {"task": task, "outcome": "not solved"}},
        metadata={"attempt": number},
    )


def _note_outcome(value: Any, position: str) -> Skipped:
    detail = f"the outcome {str(value)[:80]!r} is neither true nor false"
    return Skipped(position=position, reason=SourceReason.GRADE_UNKNOWN, detail=detail)
