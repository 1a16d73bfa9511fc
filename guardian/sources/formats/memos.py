"""Read textual memories of MemOS: the flat list of a general memory cube, or the tree dump with nodes and edges.

```
flat   [{id, vector, payload: {id, memory, metadata}}]
tree   {nodes: [{id, memory, metadata}], edges: [{source, target, type}], total_nodes, total_edges}
```

A node is a memory under its own id. Its `sources` are chat turns, each JSON inside a JSON string (inside the file's
JSON); one that quotes its words becomes a memory of its own and is the parent of every node that was drawn from it, so
that two nodes from one remark have one origin. One that names another node makes that its parent. Edges that say what came of what make parents as well: `MERGED_TO`,
`INFERS`, `AGGREGATE_TO`, and `PARENT`, which leads from a topic that a model summed up to the nodes it was summed up of.

`confidence` is how sure the extracting model was, in [0, 1] or in [0, 100] within one project: above 1 it is divided
by 100. It is no grade of an episode, and is kept in metadata. `usage` records retrievals and becomes reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson

from guardian.core.model import MemoryKind, SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, RowChange, Skipped, SourceOptions
from guardian.sources.reading.envelope import digest_parts
from guardian.sources.reading.framing import sniff_objects
from guardian.sources.reading.object_file import sniff_document
from guardian.sources.reading.row_fields import keep_fields, read_text, require_id, require_object, require_text
from guardian.sources.reading.series import (
    Dialect,
    Entry,
    Memory,
    Retrieval,
    Statement,
    break_row,
    iter_change,
    iter_entries,
    iter_series,
)
from guardian.sources.reading.stamp import Stamp, read_written_time

_DIALECT = Dialect(event_source="memos:textual", label="memos.textual", space="memos", absence_deletes=True)
_KINDS = {
    "fact": MemoryKind.FACT,
    "opinion": MemoryKind.BELIEF,
    "topic": MemoryKind.SUMMARY,
    "preference": MemoryKind.PREFERENCE,
    "PreferenceMemory": MemoryKind.PREFERENCE,
    "SkillMemory": MemoryKind.SKILL,
}
_ROLES = {"user": SourceKind.USER, "assistant": SourceKind.AGENT, "tool": SourceKind.TOOL}
# States in which MemOS does not retrieve a node any more.
_ENDED = frozenset({"archived", "deleted"})
# Edges that say that one end was made of the other: which end is the child.
_DERIVATIONS = {"MERGED_TO": "target", "INFERS": "target", "AGGREGATE_TO": "source", "PARENT": "source"}
_READ = frozenset({"sources", "usage", "user_id", "confidence", "updated_at", "created_at"})
# A node that another one was made of is named by its id alone, which is a UUID.
_NODE_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# A share of 1 is the top of one scale and the bottom of the other; it is read as the top.
_TOP_SHARE = 1.0
_TOP_PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class MemosSource:
    """Textual memory dumps of MemOS."""

    name: ClassVar[str] = "memos"
    title: ClassVar[str] = "textual memory of MemOS, flat list or tree"

    def detect(self, path: Path) -> bool:
        """Tell a flat list by its payloads, a tree by its nodes and edges."""
        if any(_is_flat(row) for row in sniff_objects(path)):
            return True
        return _is_tree(sniff_document(path, b'"nodes"'))

    def iter_items(self, paths: Sequence[Path], options: SourceOptions) -> Iterator[Item]:
        """Yield what the dumps state; several files are versions of one cube."""
        return iter_series(_DIALECT, paths, options, _read_file)

    def matches_row(self, change: RowChange) -> bool:
        """Tell a node, alone or as the payload of a point."""
        row = change.after or change.before or {}
        return _is_flat(row) or _is_node(row)

    def iter_row(self, change: RowChange, options: SourceOptions) -> Iterator[Item]:
        """Yield the items of one node."""
        return iter_change(_DIALECT, change, options, _read_row)


def _is_node(row: Mapping[str, Any]) -> bool:
    return (
        row.keys() >= {"id", "memory", "metadata"}
        and isinstance(row["metadata"], dict)
        and row["metadata"].keys() >= {"status", "type"}
    )


def _is_flat(row: Mapping[str, Any]) -> bool:
    payload = row.get("payload")
    return isinstance(payload, dict) and payload.keys() >= {"memory", "metadata"} and isinstance(payload["metadata"], dict)


def _is_tree(document: Mapping[str, Any]) -> bool:
    nodes = document.get("nodes")
    if "edges" not in document or not isinstance(nodes, list):
        return False
    return "total_nodes" in document or any(isinstance(node, dict) and _is_node(node) for node in nodes[:20])


def _read_file(path: Path) -> Iterator[Entry | Skipped | Broken]:
    document = sniff_document(path, b'"nodes"')
    if not _is_tree(document):
        yield from iter_entries(path, _read_row)
        return
    parents = _read_edges(document.get("edges"))
    for number, node in enumerate(document["nodes"], start=1):
        position = f"{path.name} node {number}"
        try:
            yield _read_node(require_object(node, "the node"), position, parents)
        except RecordError as error:
            yield break_row(error, position, node if isinstance(node, dict) else {"node": node})


def _read_edges(edges: Any) -> dict[str, list[str]]:
    """Give the parents of each node that an edge says was made of others."""
    parents: dict[str, list[str]] = {}
    for edge in edges if isinstance(edges, list) else []:
        if not isinstance(edge, dict):
            continue
        child_end = _DERIVATIONS.get(str(edge.get("type")))
        child, parent = edge.get(child_end or ""), edge.get("source" if child_end == "target" else "target")
        if child_end and isinstance(child, str) and isinstance(parent, str):
            parents.setdefault(child, []).append(parent)
    return parents


def _read_row(row: dict[str, Any], position: str) -> Entry:
    """Read an element of the flat list, or a node that came alone."""
    node = require_object(row["payload"], "`payload`") if "payload" in row else row
    return _read_node({"id": row.get("id"), "vector": row.get("vector"), **node}, position, {})


def _read_node(node: dict[str, Any], position: str, edges: Mapping[str, Sequence[str]]) -> Entry:
    memory_id, text = require_id(node, "id"), require_text(node, "memory")
    marks = require_object(node.get("metadata"), "`metadata`")
    stamp, time_from = _find_time(marks, "updated_at", "created_at", "memory_time")
    quoted, drawn_from, unread = _read_sources(marks.get("sources"), stamp)
    readings, unread_usage = _read_usage(memory_id, marks.get("usage"))
    parents = list(dict.fromkeys([*drawn_from, *edges.get(memory_id, ())]))
    kind = _KINDS.get(str(marks.get("memory_type"))) or _KINDS.get(str(marks.get("type")))
    # A memory was written in a session and holds beyond it, unless it says that only its session may see it.
    held = ("user_id", "session_id") if marks.get("visibility") == "session" else ("user_id",)
    scope = {name: value for name in held if (value := read_text(marks.get(name))) is not None}
    metadata = _keep({**marks, "vector": node.get("vector")}, {"sources_unread": unread, "usage_unread": unread_usage})
    memory = Memory(
        memory_id=memory_id,
        text=text,
        content=tuple(parents),
        stamp=stamp,
        time_from=time_from,
        fields={
            **({"kind": kind.value} if kind is not None else {}),
            **({"parents": parents} if parents else {}),
            **({"scope": scope} if scope else {}),
        },
        metadata=metadata,
        ended=read_text(marks.get("status")) in _ENDED,
    )
    return Entry(position=position, statements=[*quoted, memory, *readings])


def _keep(marks: Mapping[str, Any], unread: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    kept = keep_fields(marks, _READ)
    confidence = marks.get("confidence")
    if isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= _TOP_PERCENT:
        kept |= {"confidence": confidence if confidence <= _TOP_SHARE else confidence / _TOP_PERCENT}
    if isinstance(marks.get("created_at"), str):
        kept["created_at"] = marks["created_at"]
    return kept | {name: values for name, values in unread.items() if values}


def _find_time(marks: Mapping[str, Any], *keys: str) -> tuple[Stamp | None, str | None]:
    for key in keys:
        if (stamp := _read_time(marks.get(key))) is not None:
            return stamp, key
    return None, None


def _read_time(value: Any) -> Stamp | None:
    try:
        return read_written_time(value) if isinstance(value, str) else None
    except RecordError:
        return None


def _unpack(value: Any) -> Any:
    """Undo JSON that was put into a string, twice at most."""
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            break
    return value


def _read_sources(sources: Any, stamp: Stamp | None) -> tuple[list[Memory], list[str], list[str]]:
    """Give what is quoted, the ids of all that the node was drawn from, and what names an origin that is no memory.

    Args:
        sources: As they stand in the node.
        stamp: Time of the node: by then at the latest stood what it quotes.
    """
    quoted: list[Memory] = []
    parents: list[str] = []
    unread: list[str] = []
    for source in sources if isinstance(sources, list) else [sources] if isinstance(sources, str) else []:
        origin = _unpack(source)
        if isinstance(origin, str) and _NODE_ID.fullmatch(origin):
            parents.append(origin)
        elif isinstance(origin, dict) and (node_id := read_text(origin.get("node_id"))) is not None:
            parents.append(node_id)
        elif isinstance(origin, dict) and (content := read_text(origin.get("content"))) is not None:
            quoted.append(_build_quoted(origin, content, stamp))
            parents.append(quoted[-1].memory_id)
        else:
            unread.append(str(source)[:200])
    return quoted, parents, unread[:8]


def _build_quoted(origin: Mapping[str, Any], content: str, stamp: Stamp | None) -> Memory:
    """Give a chat turn as its speaker's, and a passage as a document's."""
    role, spoken_at = read_text(origin.get("role")), origin.get("chat_time")
    is_passage = role is None and origin.get("type") in ("doc", "file", "web")
    what = "passage" if is_passage else "turn"
    place = str(origin.get("message_id") or origin.get("doc_path") or "")
    own = _read_time(spoken_at)
    return Memory(
        memory_id=f"{what}:{digest_parts(what, role or '', str(spoken_at or ''), place, content, size=16)}",
        text=content,
        stamp=own or stamp,
        time_from="chat_time" if own is not None else "node",
        kind=SourceKind.DOCUMENT if is_passage else _ROLES.get(role or ""),
        metadata={"role": role, **keep_fields(origin, {"content", "role", "chat_time"})},
    )


def _read_usage(memory_id: str, usage: Any) -> tuple[list[Statement], list[str]]:
    """Give a read for every record of a retrieval that has a time, and the records that have none."""
    readings: list[Statement] = []
    unread: list[str] = []
    for record in usage if isinstance(usage, list) else []:
        use = _unpack(record)
        stamp = _read_time(use.get("time")) if isinstance(use, dict) else None
        if stamp is None or not isinstance(use, dict):
            unread.append(str(record)[:200])
            continue
        about = use.get("info") if isinstance(use.get("info"), dict) else {}
        session = read_text(about.get("session_id")) if isinstance(about, dict) else None
        fields = {} if session is None else {"session_id": session}
        readings.append(Retrieval(retrieved=(memory_id,), occasion=str(stamp.raw), fields=fields, stamp=stamp))
    return readings, unread[:8]
