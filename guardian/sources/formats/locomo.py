"""Read long conversations in the shape of LoCoMo: sessions of turns, and what was noted and summed up of them.

`[{sample_id, conversation, observation, session_summary, event_summary, qa}]`, one element a pair of people.

| part | becomes | parents |
|---|---|---|
| a turn | `turn:<sample>:<dia_id>` | none |
| an observation (a fact with its evidence) | `observation:…`, kind fact | the turns that the evidence names |
| the summary of a session | `session:…`, kind summary | the turns of the session |
| an event of a session | `event:…`, kind summary | the turns of the session |
| questions and answers | nothing: they are the benchmark's solutions | |

Every sample is a memory bank of its own unless one is named. Evidence is written by hand: `D1:3`, a list, `D8:6; D9:17`,
and broken forms such as `D` or `D:11:26`. What can be read becomes a parent if that turn exists; what cannot is noted.
Times are words (`1:56 pm on 8 May, 2023`) of no stated zone, one a session: all that belongs to a session has its time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Item, Skipped, SourceOptions
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.row_fields import keep_fields, read_text, read_texts, require_id, require_object
from guardian.sources.reading.series import Dialect, Entry, Memory, Statement, iter_entries, iter_series
from guardian.sources.reading.stamp import Stamp, read_written_time
from guardian.sources.reason import SourceReason

_DIALECT = Dialect(event_source="locomo:conversations", label="locomo.conversations", space="locomo")
_KEYS = frozenset({"sample_id", "conversation"})
_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D\d+:\d+")
# What may stand between ids in one text of evidence.
_BETWEEN = re.compile(r"[\s;,]*")


@dataclass(frozen=True, slots=True)
class LocomoSource:
    """Conversations in the shape of LoCoMo."""

    name: ClassVar[str] = "locomo"
    title: ClassVar[str] = "conversations in the shape of LoCoMo (sessions, observations, summaries)"

    def detect(self, path: Path) -> bool:
        """Tell by a sample with a conversation."""
        return any(row.keys() >= _KEYS and isinstance(row["conversation"], dict) for row in sniff_objects(path))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the turns of each sample, then what was made of them."""
        return iter_series(_DIALECT, paths, options, partial(iter_entries, read=_read_sample))


@dataclass(slots=True)
class _Sample:
    """One sample while it is read.

    Attributes:
        turns: Ids of the turns of each session, by its number.
        stamps: Time of each session that has a readable one.
    """

    sample_id: str
    position: str
    turns: dict[int, list[str]] = field(default_factory=dict)
    stamps: dict[int, Stamp] = field(default_factory=dict)

    @property
    def space(self) -> str:
        """Give the bank of this pair of people."""
        return f"locomo/{self.sample_id}"

    def build(self, session: int, memory_id: str, text: str, kind: MemoryKind, parents: Sequence[str], **more: Any) -> Memory:
        """Build what was made of a session, at its time."""
        stamp = self.stamps.get(session)
        return Memory(
            memory_id=memory_id,
            text=text,
            stamp=stamp,
            time_from="session" if stamp is not None else None,
            kind=SourceKind.AGENT,
            fields={
                "kind": kind.value,
                **({"parents": list(dict.fromkeys(parents))} if parents else {}),
            },
            metadata={"session": session, **keep_fields(more)},
            space=self.space,
        )


def _read_sample(row: dict[str, Any], position: str) -> Entry:
    sample = _Sample(require_id(row, "sample_id"), position)
    conversation = require_object(row.get("conversation"), "`conversation`")
    statements: list[Statement] = [*_iter_turns(sample, conversation)]
    statements += _iter_observations(sample, _mapping(row.get("observation")))
    statements += _iter_summaries(sample, _mapping(row.get("session_summary")))
    statements += _iter_events(sample, _mapping(row.get("event_summary")))
    if row.get("qa"):
        detail = "its questions and answers are the benchmark's solutions"
        statements.append(Skipped(position=f"{position} qa", reason=SourceReason.EVALUATION_ONLY, detail=detail))
    return Entry(position=position, statements=statements)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sessions(container: Mapping[str, Any]) -> Iterator[tuple[int, str, Any]]:
    """Yield number, key and value of what stands under a session, in the order of sessions."""
    found = [(int(match.group(1)), key, value) for key, value in container.items() if (match := _SESSION.search(key))]
    yield from sorted(found, key=lambda entry: entry[:2])


def _iter_turns(sample: _Sample, conversation: Mapping[str, Any]) -> Iterator[Statement]:
    for number, key, value in _sessions(conversation):
        if key.endswith("_date_time") and isinstance(value, str):
            try:
                sample.stamps[number] = read_written_time(value)
            except RecordError:
                yield Skipped(position=f"{sample.position} {key}", reason=SourceReason.TIME_UNREADABLE, detail=f"{value[:80]!r}")
    for number, key, value in _sessions(conversation):
        if isinstance(value, list):
            for place, turn in enumerate(value, start=1):
                yield _read_turn(sample, number, turn, f"{sample.position} {key} turn {place}")


def _read_turn(sample: _Sample, session: int, turn: Any, position: str) -> Statement:
    fields = _mapping(turn)
    dia_id, text, speaker = (read_text(fields.get(key)) for key in ("dia_id", "text", "speaker"))
    if dia_id is None or text is None:
        return Skipped(position=position, reason=SourceReason.EMPTY_ROW, detail="a turn without an id or without words")
    memory_id = f"turn:{sample.sample_id}:{dia_id}"
    sample.turns.setdefault(session, []).append(memory_id)
    stamp = sample.stamps.get(session)
    return Memory(
        memory_id=memory_id,
        text=text if speaker is None else f"{speaker}: {text}",
        stamp=stamp,
        time_from="session" if stamp is not None else None,
        kind=SourceKind.USER,
        actor=speaker,
        metadata={"dia_id": dia_id, "session": session, **keep_fields(fields, {"dia_id", "text", "speaker"})},
        space=sample.space,
    )


def _iter_observations(sample: _Sample, container: Mapping[str, Any]) -> Iterator[Statement]:
    for number, key, by_speaker in _sessions(container):
        for speaker, facts in _mapping(by_speaker).items():
            for fact in facts if isinstance(facts, list) else []:
                yield from _read_observation(sample, number, speaker, fact, f"{sample.position} {key}")


def _read_observation(sample: _Sample, session: int, speaker: str, fact: Any, position: str) -> Iterator[Statement]:
    text = fact[0] if isinstance(fact, list) and fact else fact
    if not isinstance(text, str) or not text.strip():
        yield Skipped(position=position, reason=SourceReason.EMPTY_ROW, detail="an observation without words")
        return
    evidence = fact[1] if isinstance(fact, list) and len(fact) > 1 else []
    parents, unread = _read_evidence(sample, evidence)
    identity = digest_parts("observation", sample.sample_id, str(session), speaker, text, size=16)
    memory_id = f"observation:{sample.sample_id}:{session}#{identity}"
    yield sample.build(session, memory_id, text, MemoryKind.FACT, parents, about=speaker, evidence=evidence)
    if unread:
        detail = f"the evidence {', '.join(unread)[:200]!r} names no turn"
        yield Skipped(position=position, reason=SourceReason.EVIDENCE_UNREADABLE, detail=detail)


def _read_evidence(sample: _Sample, evidence: Any) -> tuple[list[str], list[str]]:
    """Give the turns that evidence names, and what of it names none."""
    known = {memory_id for turns in sample.turns.values() for memory_id in turns}
    parents: list[str] = []
    unread: list[str] = []
    for text in [evidence] if isinstance(evidence, str) else read_texts(evidence):
        named = [f"turn:{sample.sample_id}:{dia_id}" for dia_id in _TURN_ID.findall(text)]
        parents += [memory_id for memory_id in named if memory_id in known]
        if not named or not known.issuperset(named) or not _BETWEEN.fullmatch(_TURN_ID.sub("", text)):
            unread.append(text)
    return parents, unread


def _iter_summaries(sample: _Sample, container: Mapping[str, Any]) -> Iterator[Statement]:
    for number, _, value in _sessions(container):
        if (text := read_text(value)) is not None:
            memory_id = f"session:{sample.sample_id}:{number}"
            yield sample.build(number, memory_id, text, MemoryKind.SUMMARY, sample.turns.get(number, ()))


def _iter_events(sample: _Sample, container: Mapping[str, Any]) -> Iterator[Statement]:
    for number, _, by_speaker in _sessions(container):
        for speaker, events in _mapping(by_speaker).items():
            for text in read_texts(events):
                identity = digest_parts("event", sample.sample_id, str(number), speaker, text, size=16)
                memory_id = f"event:{sample.sample_id}:{number}#{identity}"
                parents = sample.turns.get(number, ())
                yield sample.build(number, memory_id, text, MemoryKind.SUMMARY, parents, about=speaker)
