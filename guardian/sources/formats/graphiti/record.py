"""Turn one record of a Graphiti or Zep graph into what it states, and that into events.

```
episode   its raw content      source by its role or kind; observed at its reference time (`valid_at`)
edge      its fact             parents: the episodes it was drawn from; valid from `valid_at` to `invalid_at`
node      "name: summary"      a summary that a model keeps; parents: its source episodes, which only Zep names
```

An edge has four times. `valid_at` and `invalid_at` are of the world, and become validity. `created_at` and `expired_at` are
of the system: the first is when the edge was written; the second is when the system changed its mind, and the same fact
was written again with its end. An edge without its end is thus the state before, and both are events. `expired_at` is no
end of validity: a fact that arrived late is born expired and is true of its time.

Being superseded is no verified correction: a model compared two facts. Where the graph names the edges that invalidated
one (`invalidating_edges`, Zep's ingestion traces), that is a correction on an agent's word: listed for review, and
believed only where the policy trusts it. Otherwise there is no correction at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from guardian.contracts.admission import is_blank
from guardian.core.model import Confidence, MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.formats.graphiti.shape import Shape
from guardian.sources.port import SourceOptions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.fields import find_text, find_time, keep_rest, read_any_time
from guardian.sources.reading.stamp import Stamp, format_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "graphiti"
DEFAULT_SPACE = "graphiti"

_CORRECTED = "memory.corrected"
# Group ids that mean "no group": Neo4j's and FalkorDB's default.
_NO_GROUP = frozenset({"", "_"})
# What Graphiti calls a kind of episode. A message may be anybody's, and a triple was set by the application.
_EPISODE_KINDS = {"text": SourceKind.DOCUMENT, "json": SourceKind.SYSTEM_IMPORT}
_ROLE_KINDS = {
    "user": SourceKind.USER,
    "human": SourceKind.USER,
    "assistant": SourceKind.AGENT,
    "ai": SourceKind.AGENT,
    "tool": SourceKind.TOOL,
    "function": SourceKind.TOOL,
}
_READ = frozenset({
    "uuid", "group_id", "graph_uuid", "graph_id", "user_uuid", "user_id", "name", "fact", "content", "summary", "episodes",
    "episode_uuids", "created_at", "valid_at", "invalid_at", "expired_at", "source", "role", "role_type", "role_name", "score", "relevance",
    "invalidating_edges", "source_node_uuid", "target_node_uuid",
})  # fmt: skip
_NOTED = ("name", "source_node_uuid", "target_node_uuid", "group_id", "valid_at", "invalid_at", "expired_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one record states.

    Attributes:
        space: Its group or graph; None where it names none.
        text: Blank where the graph keeps none.
        parents: Memory ids that it was drawn from; None where the record does not say.
        created, expired: When the system wrote it, and when it changed its mind; None where the record does not say.
        data: Fields of the event that are the record's own.
    """

    shape: Shape
    memory_id: str
    space: str | None
    text: str
    parents: tuple[str, ...] | None
    created: Stamp | None
    expired: Stamp | None
    valid_until: str | None
    kind: SourceKind | None
    actor: str | None
    data: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def content(self) -> tuple[str, ...]:
        """Give what makes another revision when it changes."""
        valid_from = str(self.data.get("valid_from", ""))
        return (self.text, valid_from, self.valid_until or "", *sorted(self.parents or ()))

    @property
    def is_blank(self) -> bool:
        """Tell whether the graph keeps no text of it."""
        return is_blank(self.text)

    @property
    def is_rewritten(self) -> bool:
        """Tell whether the system changed its mind after it had written it."""
        return self.expired is not None and (self.created is None or self.expired.time > self.created.time)

    @property
    def stamp(self) -> tuple[Stamp | None, str]:
        """Give when it was last written as it stands now, and the field that says so."""
        return (self.expired, "expired_at") if self.is_rewritten else (self.created, "created_at")


def read_statement(row: Mapping[str, Any], shape: Shape) -> Statement:
    """Read an episode, an edge or a node.

    Raises:
        RecordError: `id_missing`, or `text_missing` for an edge without a fact.
    """
    memory_id = find_text(row, "uuid")
    if memory_id is None:
        raise RecordError(SourceReason.ID_MISSING, "the record has no uuid")
    text, data = _read_text(row, shape)
    kind, actor = _read_author(row, text) if shape is Shape.EPISODE else (None, None)
    created, _ = find_time(row, "created_at")
    parents = _read_ids(row, "episodes", "episode_uuids") if shape is not Shape.EPISODE else None
    if shape is Shape.EDGE:
        data |= _format_bound("valid_from", row.get("valid_at"))
        data |= {"confidence": Confidence.INFERRED.value} if parents else {}
    if shape is Shape.EPISODE:
        data |= _date_episode(row, created)
    if (user := find_text(row, "user_uuid", "user_id")) is not None:
        data["scope"] = {"user_id": user}
    return Statement(
        shape=shape,
        memory_id=memory_id,
        space=find_space(row),
        text=text,
        parents=parents,
        created=created,
        expired=read_any_time(row.get("expired_at")) if shape is Shape.EDGE else None,
        valid_until=_format_bound("valid_until", row.get("invalid_at")).get("valid_until") if shape is Shape.EDGE else None,
        kind=kind,
        actor=actor,
        data=data,
        metadata={
            "format": f"graphiti.{shape}",
            **{name: value for name in _NOTED if isinstance(value := row.get(name), str) and value},
            **({"episode_source": source} if (source := find_text(row, "source")) is not None else {}),
            **keep_rest(row, _READ),
        },
    )


def find_space(row: Mapping[str, Any]) -> str | None:
    """Give the group or graph that a record names; None for none, and for the names that stand for none."""
    for key in ("group_id", "graph_uuid", "graph_id", "user_uuid", "user_id"):
        value = find_text(row, key)
        if value is not None and value not in _NO_GROUP:
            return value
    return None


def build_first(statement: Statement, options: SourceOptions) -> dict[str, Any] | None:
    """Build the write of an edge before the system changed its mind; None where it did not, or its time is unknown."""
    if not statement.is_rewritten or statement.created is None:
        return None
    metadata = {name: value for name, value in statement.metadata.items() if name not in {"invalid_at", "expired_at"}}
    before = replace(statement, expired=None, valid_until=None, metadata=metadata)
    return build_write(before, options, time=statement.created.time, time_from="created_at")


def build_write(statement: Statement, options: SourceOptions, *, time: datetime, time_from: str) -> dict[str, Any]:
    """Build the write of a statement as it stands now."""
    space = statement.space or options.space or DEFAULT_SPACE
    stamp = statement.stamp[0]
    own = {} if stamp is None else {"time_raw": stamp.raw, "tz_assumed": stamp.is_zone_assumed}
    parents = None if statement.parents is None else [name for name in statement.parents if name != statement.memory_id]
    return build_event(
        event_id=digest_parts("written", space, statement.memory_id, format_time(time), *statement.content),
        source=EVENT_SOURCE,
        event_type=WRITTEN,
        time=time,
        space=space,
        data={
            "memory_id": statement.memory_id,
            "text": statement.text,
            "source": build_origin(
                options, kind=statement.kind, ref=f"graphiti:{statement.shape}:{statement.memory_id}", actor=statement.actor
            ),
            "scope": dict(options.scope),
            "parents": parents,
            "valid_until": statement.valid_until,
            **statement.data,
            "metadata": {**statement.metadata, "time_from": time_from, **own},
        },
    )


def build_deletion(
    memory_id: str, space: str | None, options: SourceOptions, *, time: datetime, identity: str, time_from: str
) -> dict[str, Any]:
    """Build the deletion of a record; `identity` tells one deletion of it from another."""
    named = space or options.space or DEFAULT_SPACE
    return build_event(
        event_id=digest_parts("deleted", named, memory_id, identity),
        source=EVENT_SOURCE,
        event_type=DELETED,
        time=time,
        space=named,
        data={"memory_id": memory_id, "metadata": {"format": "graphiti", "time_from": time_from}},
    )


def iter_corrections(row: Mapping[str, Any], options: SourceOptions, *, time: datetime) -> Iterator[dict[str, Any]]:
    """Yield a correction for each edge that the record names as having invalidated another (or itself)."""
    space = find_space(row) or options.space or DEFAULT_SPACE
    for invalidation in _list_invalidations(row):
        yield from _iter_invalidation(invalidation, space, time)


def _list_invalidations(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the invalidations in the output of a step of Zep's ingestion; of any other record itself."""
    output = row.get("output")
    if not isinstance(output, Mapping):
        return [row]
    inner = output.get("edge_invalidations")
    return [item for item in inner if isinstance(item, Mapping)] if isinstance(inner, list) else []


def _iter_invalidation(row: Mapping[str, Any], space: str, time: datetime) -> Iterator[dict[str, Any]]:
    target = find_text(row, "invalidated_edge_uuid", "uuid")
    named = row.get("invalidating_edges")
    for edge in named if isinstance(named, list) else []:
        fields = edge if isinstance(edge, Mapping) else {"uuid": edge}
        replacement = find_text(fields, "uuid", "edge_uuid")
        if target is None or replacement is None or replacement == target:
            continue
        yield build_event(
            event_id=digest_parts("corrected", space, target, replacement),
            source=EVENT_SOURCE,
            event_type=_CORRECTED,
            time=time,
            space=space,
            data={
                "targets": [target],
                "replacement": replacement,
                "authority": {"kind": SourceKind.AGENT.value, "ref": f"graphiti:invalidation:{target}"},
                "reason": find_text(fields, "explanation", "reason"),
            },
        )


def _read_text(row: Mapping[str, Any], shape: Shape) -> tuple[str, dict[str, Any]]:
    """Give the text of a record and its kind."""
    if shape is Shape.EDGE:
        fact = row.get("fact")
        if not isinstance(fact, str):
            raise RecordError(SourceReason.TEXT_MISSING, "the edge has no fact", path="fact")
        return fact, {"kind": MemoryKind.FACT.value}
    if shape is Shape.EPISODE:
        return find_text(row, "content") or "", {"kind": MemoryKind.EPISODE.value}
    name, summary = find_text(row, "name"), find_text(row, "summary") or ""
    text = f"{name}: {summary}" if name is not None and not is_blank(summary) else summary
    return text, {"kind": MemoryKind.SUMMARY.value, "confidence": Confidence.INFERRED.value}


def _read_author(row: Mapping[str, Any], text: str) -> tuple[SourceKind | None, str | None]:
    """Give who speaks in an episode: by Zep's role, the actors of a message's lines, or the kind of episode.

    Zep calls the role `role_type` and the speaker `role` up to version 3, and since then `role` and `role_name`.
    """
    role_key, actor_key = ("role_type", "role") if find_text(row, "role_type") is not None else ("role", "role_name")
    role = find_text(row, role_key)
    if role is not None:
        return _ROLE_KINDS.get(role.lower()), find_text(row, actor_key)
    source = find_text(row, "source")
    if source == "message":
        actors = {line.partition(":")[0].strip().lower() for line in text.splitlines() if ":" in line}
        kinds = {_ROLE_KINDS.get(actor) for actor in actors}
        return (kinds.pop() if len(kinds) == 1 else None), None
    return _EPISODE_KINDS.get(source or ""), None


def _date_episode(row: Mapping[str, Any], created: Stamp | None) -> dict[str, Any]:
    """Give when it was said: its reference time, unless that lies after its writing, as that of a plan does."""
    said, _ = find_time(row, "valid_at", "reference_time")
    if said is None or (created is not None and said.time > created.time):
        return {}
    return {"observed_at": format_time(said.time)}


def _format_bound(name: str, value: Any) -> dict[str, str]:
    stamp = read_any_time(value)
    return {} if stamp is None else {name: format_time(stamp.time)}


def _read_ids(row: Mapping[str, Any], *keys: str) -> tuple[str, ...] | None:
    """Give the ids of the first list that names any; an empty list says nothing, for a search leaves it empty too."""
    for key in keys:
        value = row.get(key)
        found = tuple(dict.fromkeys(item for item in value if isinstance(item, str) and item)) if isinstance(value, list) else ()
        if found:
            return found
    return None
