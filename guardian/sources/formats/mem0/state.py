"""Turn one memory as mem0 holds it now into an event: a point of its collection, or the same in an API answer.

Both forms hold the same memory, flat in a payload or with `metadata` apart, of the Python or the TypeScript SDK, of the
open-source package or the Platform. They are brought to one form here, so that both give the same event.

- A state is of `updated_at`, else of `created_at`: of a memory that was updated, `created_at` dates a text it no longer has.
  So the record equals that of the history's last row, and importing both changes nothing. The event's source sorts before
  that of the history on purpose: where two events give one record, the first by source gives the fields, and only the
  state knows user, agent and run.
- `role` and `actor_id` name the author of the message that was added. Of a memory that was updated they name somebody who
  may not have written the text, so the kind of source is unknown there. `attributed_to` says about whom a model drew the
  text, which is no author either.
- `expiration_date` is the last day on which mem0 shows the memory: valid until the end of that day, in UTC.
- `replaced_by` is mem0's own word that another memory holds instead. It becomes a correction on an agent's word: listed
  for review, believed only where the policy trusts agents so far. `synthesized` says that the text was derived, not from what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

import orjson

from guardian.core.model import Confidence, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.fields import find_text, find_time, keep_rest
from guardian.sources.reading.stamp import Stamp, format_time, read_time
from guardian.sources.reason import SourceReason

# Sorts before `mem0:history`: see above.
EVENT_SOURCE = "mem0:collection"
DEFAULT_SPACE = "mem0"
CORRECTED = "memory.corrected"

ROLE_KINDS = {"user": SourceKind.USER, "assistant": SourceKind.AGENT, "tool": SourceKind.TOOL}

# Names of the TypeScript SDK, and what they are called here.
_RENAMED = {
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "attributedTo": "attributed_to",
    "textLemmatized": "text_lemmatized",
    "expirationDate": "expiration_date",
    "userId": "user_id",
    "agentId": "agent_id",
    "runId": "run_id",
}
# What follows from the text, or is of the search and not of the memory.
_DERIVED = frozenset({"hash", "text_lemmatized", "score", "score_details", "is_deleted"})
# Fields of mem0's own that are read; in a payload all others are the caller's custom metadata.
_OWN = frozenset({
    "id", "data", "memory", "metadata", "created_at", "updated_at", "user_id", "agent_id", "run_id", "session_id", "app_id",
    "actor_id", "role", "attributed_to", "expiration_date", "replaced_by", "synthesized", *_DERIVED,
})  # fmt: skip
_NOTED = ("app_id", "actor_id", "role", "attributed_to", "expiration_date", "replaced_by")


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when a row was read, for what it does not say itself.

    Attributes:
        position: For people.
        time, time_from: When the file or record was made, and by which word of whom.
        identity: Tells deletions apart that name nothing but a memory.
    """

    position: str
    time: datetime
    time_from: str
    identity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryState:
    """One memory in the form that all routes share.

    Attributes:
        own: mem0's own fields under the names of the Python SDK.
        custom: The caller's metadata, and what the Platform adds.
        stamp, time_from: When it was last written, and the field that says so; None where no field does.
    """

    memory_id: str
    text: str
    own: Mapping[str, Any]
    custom: Mapping[str, Any]
    stamp: Stamp | None
    time_from: str | None

    @property
    def content(self) -> tuple[str, ...]:
        """Give what makes another revision when it changes, for the differ."""
        raw = "" if self.stamp is None else str(self.stamp.raw)
        return self.text, raw, orjson.dumps(_fit([self.own, self.custom]), option=orjson.OPT_SORT_KEYS).decode()

    @property
    def is_updated(self) -> bool:
        """Tell whether it was written again after it was added."""
        updated = self.own.get("updated_at")
        return updated is not None and updated != self.own.get("created_at")


def read_state(fields: Mapping[str, Any], *, memory_id: Any = None) -> MemoryState:
    """Read a payload (its id given apart) or a memory of an API answer.

    Raises:
        RecordError: `id_missing` or `text_missing`.
    """
    named = {_RENAMED.get(name, name): value for name, value in fields.items()}
    given = named.get("metadata")
    custom = {name: value for name, value in named.items() if name not in _OWN}
    custom |= given if isinstance(given, dict) else {}
    identity = find_text({"id": named.get("id") if memory_id is None else memory_id}, "id")
    if identity is None:
        raise RecordError(SourceReason.ID_MISSING, "the memory has no id")
    text = named.get("memory", named.get("data"))
    if not isinstance(text, str):
        raise RecordError(SourceReason.TEXT_MISSING, "the memory has no text")
    own = {name: named[name] for name in sorted((_OWN - _DERIVED) & named.keys()) if named.get(name) is not None}
    stamp, time_from = find_time(own, "updated_at", "created_at")
    own = {name: value for name, value in own.items() if name not in {"id", "data", "memory", "metadata"}}
    return MemoryState(memory_id=identity, text=text, own=own, custom=custom, stamp=stamp, time_from=time_from)


def iter_state_events(state: MemoryState, options: SourceOptions, *, time: datetime, time_from: str) -> Iterator[dict[str, Any]]:
    """Yield the write of a state, then the correction that its `replaced_by` makes.

    Args:
        state: The memory.
        options: What the caller knows.
        time: When the state was written, by its own fields or by the file or envelope it stands in.
        time_from: Which of these.
    """
    space = options.space or DEFAULT_SPACE
    data = _build_data(state, options, time_from=time_from)
    identity = digest_parts("written", space, format_time(time), orjson.dumps(data, option=orjson.OPT_SORT_KEYS).decode())
    yield build_event(event_id=identity, source=EVENT_SOURCE, event_type=WRITTEN, time=time, space=space, data=data)
    replacement = find_text(state.own, "replaced_by")
    if replacement is not None and replacement != state.memory_id:
        yield _build_correction(state.memory_id, replacement, space, time)


def build_deletion(memory_id: str, options: SourceOptions, *, time: datetime, identity: str, time_from: str) -> dict[str, Any]:
    """Build the deletion of a memory that a snapshot lacks or a row names; `identity` tells repetitions of it apart."""
    space = options.space or DEFAULT_SPACE
    return build_event(
        event_id=digest_parts("deleted", space, memory_id, identity),
        source=EVENT_SOURCE,
        event_type=DELETED,
        time=time,
        space=space,
        data={"memory_id": memory_id, "metadata": {"format": "mem0.collection", "time_from": time_from}},
    )


def _build_data(state: MemoryState, options: SourceOptions, *, time_from: str) -> dict[str, Any]:
    is_synthesized = state.own.get("synthesized") is True
    role = state.own.get("role")
    kind = ROLE_KINDS.get(role) if isinstance(role, str) and not state.is_updated else None
    return {
        "memory_id": state.memory_id,
        "text": state.text,
        "source": build_origin(
            options,
            kind=kind,
            ref=f"mem0:memory:{state.memory_id}",
            actor=find_text(state.own, "actor_id") if not state.is_updated else None,
        ),
        "scope": read_scope(state.own) or dict(options.scope),
        "confidence": Confidence.INFERRED.value if is_synthesized else None,
        "valid_until": _read_expiry(state.own.get("expiration_date")),
        "metadata": _note(state, time_from),
    }


def read_scope(own: Mapping[str, Any]) -> dict[str, str]:
    """Give whom the memory concerns; a run (on the Platform: a session) is the session it was written in."""
    found = {
        "user_id": find_text(own, "user_id"),
        "agent_id": find_text(own, "agent_id"),
        "session_id": find_text(own, "run_id", "session_id"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _note(state: MemoryState, time_from: str) -> dict[str, Any]:
    """Keep what the canonical fields cannot hold."""
    kept: dict[str, Any] = {"format": "mem0.collection", "time_from": time_from}
    if state.stamp is not None:
        kept |= {"time_raw": state.stamp.raw, "tz_assumed": state.stamp.is_zone_assumed}
    created = state.own.get("created_at")
    if isinstance(created, str) and (state.stamp is None or created != state.stamp.raw):
        kept["created_at"] = created
    kept |= {name: value for name in _NOTED if isinstance(value := state.own.get(name), str)}
    if state.own.get("synthesized") is True:
        kept["synthesized"] = True
    return kept | keep_rest(state.custom)


def _read_expiry(value: Any) -> str | None:
    """Give the end of the last day of a memory; None for what is no date."""
    try:
        last = read_time(value).time.date() if isinstance(value, str) else None
        if last is None:
            return None
        return format_time(datetime.combine(last + timedelta(days=1), time.min, tzinfo=UTC))
    except (RecordError, OverflowError):
        return None


def _build_correction(memory_id: str, replacement: str, space: str, time: datetime) -> dict[str, Any]:
    return build_event(
        event_id=digest_parts("replaced", space, memory_id, replacement),
        source=EVENT_SOURCE,
        event_type=CORRECTED,
        time=time,
        space=space,
        data={
            "targets": [memory_id],
            "replacement": replacement,
            "authority": {"kind": SourceKind.AGENT.value, "ref": f"mem0:replaced_by:{memory_id}"},
            "reason": "mem0 names the memory that replaces it (replaced_by)",
        },
    )


def _fit(value: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give mappings in a form that can be written as JSON whatever they hold: embeddings and what is too deep left out."""
    return [keep_rest(mapping) for mapping in value]
