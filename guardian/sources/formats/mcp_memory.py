"""Read the knowledge graph of MCP memory servers (`memory.jsonl`), alone or as a series of versions.

The file is a state, not a log: rewritten whole on every change, in the official server without ids, times or author.
Its statements are its memories, one each:

```
entity line        "host-7 (server)"               entity:host-7#<digest>         updated when the type changes
each observation   "host-7: runs staging"          observation:host-7#<digest>    its text is its identity
relation line      "host-7 located_in lab"         relation:host-7 located_in lab#<digest>
```

An observation carries the name of its entity, for "runs staging" alone states nothing; what follows `"<name>: "` is
the observation, unchanged. Statements have no parents: a statement is not derived from the entity that it is about.
An edited observation is a deletion and a create, as the server itself has it.

Three dialects are told apart by keys: the official one; one with times in Unix seconds (`createdAt`, `updatedAt`,
`createdBy`, `updatedBy`, `validFrom`, `validTo`); and one whose observations are objects (`text`, `timestamp`,
`version`) and which appends, so that the last line of an entity in a file holds. Several files are versions of one
graph and become writes and deletions by difference (`differ.py`); a
folder whose repository tracks a graph gives its versions out of git, named by time and id of their commits.

The time of a statement is its own `timestamp`, else its line's `updatedAt` (by then at the latest it stood there), its
`createdAt` (not for what was added to an entity later) or `_savedAt`, else that of the version; `metadata.time_from`
says which. Who created an entity is not taken for the author of what was added to it later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.contracts.admission import is_blank
from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Order, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.differ import Change, ChangeOp, ReadableVersion, SnapshotDiffer, TimeBasis, order_versions
from guardian.sources.reading.envelope import DELETED, WRITTEN, build_event, build_origin, digest_parts
from guardian.sources.reading.framing import Fault, Readable, Row, iter_rows, sniff_objects
from guardian.sources.reading.git_history import GitFile, History, opened_history
from guardian.sources.reading.stamp import Stamp, format_time, read_time, read_unix_time
from guardian.sources.reason import SourceReason

EVENT_SOURCE = "mcp:memory"
DEFAULT_SPACE = "mcp-memory"

# JSON files of a repository that are looked at to find its graph.
_SNIFFED_FILES = 50
# Characters of a name that an id shows; the digest behind it is over all of them.
_LABEL_CHARS = 120
_ENTITY_KEYS = frozenset({"name", "entityType", "observations"})
_RELATION_KEYS = frozenset({"from", "to", "relationType"})
# Keys of a line that are read, or are the dialect's own tag; all others are kept in metadata.
_READ_KEYS = _ENTITY_KEYS | _RELATION_KEYS | {"type", "_type"}
_READ_OBSERVATION_KEYS = frozenset({"text", "content"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """One memory as a version states it.

    Attributes:
        content: What makes another revision when it changes.
        stamp, time_from: Its own time and the key that gave it, or None.
    """

    memory_id: str
    text: str
    content: tuple[str, ...]
    stamp: Stamp | None
    time_from: str | None
    actor: str | None
    fields: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class McpMemorySource:
    """Memory files of MCP memory servers."""

    name: ClassVar[str] = "mcp-memory"
    title: ClassVar[str] = "knowledge graph of an MCP memory server (memory.jsonl), one file or its versions"

    def detect(self, path: Path) -> bool:
        """Tell by the keys of the first JSON object: an entity's or a relation's; a folder by a graph in its repository."""
        if not path.is_dir():
            return _is_graph(path)
        try:
            with opened_history(path) as history:
                return history is not None and _find_graph(history) is not None
        except RecordError:
            return False

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield the changes of each version in order; the first version is all creates."""
        differ = SnapshotDiffer()
        with ExitStack() as stack:
            files = list[Readable]()
            for path in paths:
                if path.is_dir():
                    files += _list_versions(stack.enter_context(opened_history(path)))
                else:
                    files.append(path)
            # Commits have an order of their own.
            order = Order.GIVEN if len(paths) == 1 else options.order
            for version in order_versions(files, replace(options, order=order)):
                yield from _iter_version(version, differ, options)


def _is_graph(file: Readable) -> bool:
    first = next(sniff_objects(file), {})
    return first.keys() >= _ENTITY_KEYS or first.keys() >= _RELATION_KEYS


def _find_graph(history: History) -> str | None:
    """Give the one graph among the JSON files of a repository's newest commit; None for none or several."""
    files = history.list_head(lambda path: path.endswith((".json", ".jsonl")))[:_SNIFFED_FILES]
    graphs = [file.path for file in files if file.blob and _is_graph(GitFile(file.path, history, file.blob))]
    return graphs[0] if len(graphs) == 1 else None


def _list_versions(history: History | None) -> list[GitFile]:
    graph = None if history is None else _find_graph(history)
    if history is None or graph is None:
        message = "the folder is no repository whose newest commit holds one memory graph; name a folder or file that holds one"
        raise RecordError(SourceReason.SHAPE_UNKNOWN, message)
    return history.list_versions(graph)


def _iter_version(version: ReadableVersion, differ: SnapshotDiffer, options: SourceOptions) -> Iterator[Item]:
    name = version.path.name
    differ.start_version(version.time)
    is_complete = True
    last_lines = _find_last_lines(version.path)
    for row in iter_rows(version.path):
        position = f"{name} line {row.number}"
        try:
            line = _parse(row)
            statements = _read_line(line, differ)
        except RecordError as error:
            is_complete = False
            yield Broken(position=position, reason=error.reason, message=str(error), raw=row.raw)
            continue
        if row.number < last_lines.get(statements[0].memory_id, 0):
            detail = "a later line of this append-only file holds the entity as it is now"
            yield Skipped(position=position, reason=SourceReason.REPLACED_IN_FILE, detail=detail)
            continue
        yield from _iter_changes(statements, position, version, differ, options)
    for change in differ.finish_version(is_complete=is_complete):
        yield _read_absence(change, version, options)


def _find_last_lines(path: Readable) -> dict[str, int]:
    """Give the last good line of each entity in a file of the dialect that appends; empty for the others."""
    last: dict[str, int] = {}
    for row in iter_rows(path):
        if b'"_type"' not in row.raw:
            continue
        try:
            line = _parse(row)
            statements = _read_line(line, SnapshotDiffer())
        except RecordError:
            continue
        if "_type" in line:
            last[statements[0].memory_id] = row.number
    return last


def _parse(row: Row | Fault) -> dict[str, Any]:
    if isinstance(row, Fault):
        raise RecordError(row.reason, row.message)
    try:
        line = orjson.loads(row.raw)
    except orjson.JSONDecodeError as error:
        raise RecordError(Reason.NOT_JSON, f"the line is no JSON: {error}") from error
    if not isinstance(line, dict):
        raise RecordError(SourceReason.SHAPE_UNKNOWN, "the line is no JSON object")
    return line


def _read_line(line: dict[str, Any], differ: SnapshotDiffer) -> list[_Statement]:
    """Give the statements of one line, an entity's own first.

    Raises:
        RecordError: `shape_unknown` when it is neither an entity nor a relation.
    """
    if line.keys() >= _ENTITY_KEYS:
        _require_text(line, "name", "entityType")
        if not isinstance(line["observations"], list):
            raise RecordError(SourceReason.SHAPE_UNKNOWN, "`observations` is no list", path="observations")
        entity = _read_entity(line)
        is_new = not differ.is_living(entity.memory_id)
        return [entity, *(_read_observation(line, item, is_entity_new=is_new) for item in line["observations"])]
    if line.keys() >= _RELATION_KEYS:
        _require_text(line, *sorted(_RELATION_KEYS))
        return [_read_relation(line)]
    raise RecordError(SourceReason.SHAPE_UNKNOWN, f"neither an entity nor a relation: its keys are {sorted(line)[:12]}")


def _require_text(line: dict[str, Any], *keys: str) -> None:
    for key in keys:
        if not isinstance(line[key], str):
            raise RecordError(SourceReason.SHAPE_UNKNOWN, f"`{key}` is no text", path=key)


def _read_entity(line: dict[str, Any]) -> _Statement:
    stamp, time_from = _find_time(line, "createdAt", "_savedAt")
    return _Statement(
        memory_id=_build_id("entity", line["name"], line["name"]),
        text=f"{line['name']} ({line['entityType']})",
        content=(line["entityType"],),
        stamp=stamp,
        time_from=time_from,
        actor=_find_actor(line, "createdBy"),
        metadata={"entity": line["name"], "entity_type": line["entityType"], **_keep_rest(line, _READ_KEYS)},
    )


def _read_observation(line: dict[str, Any], item: Any, *, is_entity_new: bool) -> _Statement:
    """Read an observation: a text, or an object with `text` (some write `content`).

    What dates or signs the creation of the entity says nothing about an observation that was added to it later.
    """
    own = {"text": item} if isinstance(item, str) else item
    text = own.get("text", own.get("content")) if isinstance(own, dict) else None
    if not isinstance(text, str):
        raise RecordError(
            SourceReason.SHAPE_UNKNOWN,
            "an observation is neither a text nor an object with `text`",
            path="observations",
        )
    stamp, time_from = _find_time(own, "timestamp")
    if stamp is None:
        stamp, time_from = _find_time(line, "updatedAt", *(("createdAt",) if is_entity_new else ()), "_savedAt")
    return _Statement(
        memory_id=_build_id("observation", line["name"], line["name"], text),
        # A blank observation stays blank, to be refused like any blank text.
        text=text if is_blank(text) else f"{line['name']}: {text}",
        content=(text,),
        stamp=stamp,
        time_from=time_from,
        actor=_find_actor(line, "updatedBy", *(("createdBy",) if is_entity_new else ())),
        metadata={"entity": line["name"], **_keep_rest(own, _READ_OBSERVATION_KEYS)},
    )


def _read_relation(line: dict[str, Any]) -> _Statement:
    subject, relation, target = line["from"], line["relationType"], line["to"]
    stamp, time_from = _find_time(line, "createdAt", "_savedAt")
    text = f"{subject} {relation} {target}"
    bounds = {name: _read_any_time(line.get(key)) for name, key in (("valid_from", "validFrom"), ("valid_until", "validTo"))}
    validity = {name: format_time(bound.time) for name, bound in bounds.items() if bound is not None}
    return _Statement(
        memory_id=_build_id("relation", text, subject, relation, target),
        text=text,
        content=(text, *(f"{name}={value}" for name, value in validity.items())),
        stamp=stamp,
        time_from=time_from,
        actor=_find_actor(line, "createdBy"),
        fields=validity,
        metadata={"from": subject, "relation_type": relation, "to": target, **_keep_rest(line, _READ_KEYS)},
    )


def _build_id(what: str, label: str, *identity: str) -> str:
    return f"{what}:{label[:_LABEL_CHARS]}#{digest_parts(what, *identity, size=16)}"


def _find_time(fields: Mapping[str, Any], *keys: str) -> tuple[Stamp, str] | tuple[None, None]:
    """Give the first of the keys that holds a time, and which it was."""
    for key in keys:
        if (stamp := _read_any_time(fields.get(key))) is not None:
            return stamp, key
    return None, None


def _read_any_time(value: Any) -> Stamp | None:
    """Read a time of any dialect; None where there is none, as 0 is none, or where it cannot be read."""
    try:
        if isinstance(value, str):
            return read_time(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return read_unix_time(value)
    except RecordError:
        return None
    return None


def _find_actor(line: Mapping[str, Any], *keys: str) -> str | None:
    """Give the one author that the keys name; None when they name two, for either may have written it."""
    named = {line[key] for key in keys if isinstance(line.get(key), str)}
    return named.pop() if len(named) == 1 else None


def _keep_rest(fields: Mapping[str, Any], read: frozenset[str]) -> dict[str, Any]:
    """Keep what no canonical field holds, as far as it can be written again inside an event."""
    rest = {key: value for key, value in fields.items() if key not in read and value is not None}
    try:
        orjson.dumps([[[[[[[[rest]]]]]]]])
    except orjson.JSONEncodeError as error:
        raise RecordError(Reason.NESTED_TOO_DEEP, f"its other fields cannot be kept: {error}") from error
    return {"fields": rest} if rest else {}


def _iter_changes(
    statements: Sequence[_Statement], position: str, version: ReadableVersion, differ: SnapshotDiffer, options: SourceOptions
) -> Iterator[Item]:
    """Yield an event for each statement that says something new; the first of a line answers for the line."""
    rows = 1
    for statement in statements:
        own_time = statement.stamp.time if statement.stamp is not None else None
        change = differ.observe(statement.memory_id, statement.content, time=own_time)
        if change is not None:
            event = _build_write(statement, change, version, options)
            yield SourceEvent(position=position, event=event, rows=rows)
            rows = 0
    if rows:
        detail = "all its statements stood in an earlier version or line"
        yield Skipped(position=position, reason=SourceReason.UNCHANGED, detail=detail)


def _build_write(statement: _Statement, change: Change, version: ReadableVersion, options: SourceOptions) -> dict[str, Any]:
    kept = _mark_time(change, version, statement)
    ref = f"{EVENT_SOURCE}:{statement.memory_id}"
    return _build(
        change,
        options,
        event_type=WRITTEN,
        content=statement.content,
        data={
            "memory_id": statement.memory_id,
            "text": statement.text,
            "source": build_origin(options, kind=None, ref=ref, actor=statement.actor),
            "scope": dict(options.scope),
            **statement.fields,
            "metadata": {**statement.metadata, **kept},
        },
    )


def _mark_time(change: Change, version: ReadableVersion, statement: _Statement | None = None) -> dict[str, Any]:
    """Say in metadata where the event's time comes from, and keep the statement's own as it was written."""
    kept: dict[str, Any] = {"format": "mcp.memory", "time_from": change.basis.value}
    if change.basis is TimeBasis.VERSION:
        kept["time_from"] = version.time_from
    if change.basis is TimeBasis.ORDER:
        kept["time_inferred"] = True
    if statement is not None and statement.stamp is not None:
        kept |= {"time_raw": statement.stamp.raw, "tz_assumed": statement.stamp.is_zone_assumed}
        if change.basis is TimeBasis.OWN:
            kept["time_from"] = statement.time_from
    return kept


def _read_absence(change: Change, version: ReadableVersion, options: SourceOptions) -> Item:
    """Turn an absence into a deletion, or into a note when the version could not be read whole."""
    position = f"{version.path.name} lacks {change.memory_id}"
    if change.op is ChangeOp.DELETE_WITHHELD:
        detail = "this version has broken lines, so that what it lacks is not known to be deleted"
        return Skipped(position=position, reason=SourceReason.ABSENCE_IN_DAMAGED_VERSION, detail=detail, rows=0)
    data = {"memory_id": change.memory_id, "metadata": _mark_time(change, version)}
    event = _build(change, options, event_type=DELETED, content=(), data=data)
    return SourceEvent(position=position, event=event, rows=0)


def _build(
    change: Change, options: SourceOptions, *, event_type: str, content: Sequence[str], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Build an event whose id says: which statement, of which graph, what happened, when."""
    space = options.space or DEFAULT_SPACE
    identity = (space, change.memory_id, change.op.value, format_time(change.time), *content)
    return build_event(
        event_id=digest_parts(*identity),
        source=EVENT_SOURCE,
        event_type=event_type,
        time=change.time,
        space=space,
        data=data,
    )
