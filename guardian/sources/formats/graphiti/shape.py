"""Tell what a record of a Graphiti or Zep graph is, and find the records in a dump.

Graphiti has no export, so dumps are what people's own Cypher writes: objects of lists (`episodes`, `entities` or `nodes`,
`facts` or `edges`), JSON lines of each, or Neo4j's own `{"type": "relationship", "properties": {…}}`. A record is told by
its fields alone; beside `uuid` it needs one that other programs have not.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Shape(StrEnum):
    """What a record is."""

    EPISODE = "episode"
    NODE = "node"
    EDGE = "edge"
    INVALIDATION = "invalidation"
    LINK = "link"


_GRAPH_KEYS = frozenset({"group_id", "graph_uuid", "graph_id", "user_uuid"})
# First match counts: all of the first set are there, and one of the second (if any).
_SHAPES: tuple[tuple[Shape, frozenset[str], frozenset[str]], ...] = (
    (Shape.INVALIDATION, frozenset({"invalidated_edge_uuid"}), frozenset()),
    # One step of Zep's ingestion, with the invalidations that it decided on inside.
    (Shape.INVALIDATION, frozenset({"uuid", "step", "status", "input", "output"}), frozenset()),
    # A fact of more than two nodes: each of its member edges states it, and names its episodes, which this does not.
    (Shape.LINK, frozenset({"uuid", "fact", "edges"}), frozenset()),
    (Shape.EDGE, frozenset({"uuid", "fact"}), _GRAPH_KEYS | {"source_node_uuid", "episodes", "episode_uuids"}),
    (Shape.EPISODE, frozenset({"uuid", "content"}), _GRAPH_KEYS | {"source_description", "entity_edges", "role_type"}),
    (Shape.NODE, frozenset({"uuid", "summary"}), _GRAPH_KEYS | {"labels", "name_embedding"}),
    (Shape.LINK, frozenset({"source_node_uuid", "target_node_uuid"}), frozenset()),
    (Shape.LINK, frozenset({"uuid", "name"}), _GRAPH_KEYS),
)
# Fields of records that no dump as a whole has.
_RECORD_KEYS = frozenset({"uuid", "fact", "content", "summary", "source_node_uuid", "target_node_uuid", "created_at"})
# Lists of a dump, in the order in which they are read: what others are drawn from comes first.
_LISTS = (
    "episodes",
    "nodes",
    "entities",
    "communities",
    "edges",
    "facts",
    "episodic_edges",
    "invalidations",
    "traces",
    "items",
)


def unwrap(row: Any) -> Any:
    """Give the fields of a record: those of Neo4j's export, of a query's only column, or the record itself."""
    if not isinstance(row, Mapping):
        return row
    properties = row.get("properties")
    if isinstance(properties, Mapping) and row.get("type") in ("node", "relationship"):
        return {**properties, **({"labels": row["labels"]} if isinstance(row.get("labels"), list) else {})}
    if len(row) == 1 and isinstance(inner := next(iter(row.values())), Mapping) and "uuid" in inner:
        return inner
    return row


def classify(row: Any) -> Shape | None:
    """Give the shape of an unwrapped record; None for what is none of a graph."""
    if not isinstance(row, Mapping):
        return None
    for shape, needed, some in _SHAPES:
        if row.keys() >= needed and (not some or row.keys() & some):
            return shape
    return None


def is_known(row: Any) -> bool:
    """Tell whether a record is surely of a graph: links alone are not, for others have such rows."""
    return classify(unwrap(row)) not in (None, Shape.LINK)


def is_dump(value: Any) -> bool:
    """Tell an object of lists of records from a record that has lost its id."""
    if not isinstance(value, dict) or value.keys() & _RECORD_KEYS or classify(unwrap(value)) is not None:
        return False
    lists = [value[name] for name in _LISTS if isinstance(value.get(name), list)]
    return any(_is_list(rows) for rows in lists) or (bool(lists) and len(lists) == len(value))


def list_records(value: Any) -> list[tuple[str, Any]]:
    """Give the records of a dump, each with its place in it; of anything else the value itself."""
    if isinstance(value, list):
        return [(f"item {number}", row) for number, row in enumerate(value, start=1)]
    if not is_dump(value):
        return [("", value)]
    return [
        (f"{name} {number}", row)
        for name in _LISTS
        if isinstance(value.get(name), list)
        for number, row in enumerate(value[name], start=1)
    ]


def is_selection(value: Any) -> bool:
    """Tell a part of a graph: a page of Zep's (`items`), or an answer to a search, which says so or has scores."""
    return isinstance(value, Mapping) and bool(value.keys() & {"message", "score", "relevance", "items"})


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
