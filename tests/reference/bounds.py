"""Where records may be used: at every place that they and all they derive from name, from the definition in `docs/meaning.md`."""

from __future__ import annotations

from tests.reference.lineage import Lineage
from tests.reference.revisions import Node, Revision

PARTS = ("agent_id", "domain", "project_id", "task_type", "user_id")


def find_bounds(each: Revision, lineage: Lineage) -> dict[str, list[str]]:
    """Give the two least values of each part that the record or anything on a path of records above it names."""
    found: dict[str, set[str]] = {}
    for node in _records_above(each, lineage):
        for part in PARTS:
            value = None if node.scope is None else getattr(node.scope, part)
            if value is not None:
                found.setdefault(part, set()).add(value)
    return {part: sorted(values)[:2] for part, values in sorted(found.items())}


def _records_above(each: Revision, lineage: Lineage) -> set[Revision]:
    """Give the record and what it derives from, over records alone; those of a circle stand behind each other however they hang together."""
    found: set[Revision] = set()
    left: list[Node] = [each]
    while left:
        node = left.pop()
        if not isinstance(node, Revision) or node.erased or node in found:
            continue
        found.add(node)
        left.extend(lineage.circle[node])
        for member in lineage.circle[node]:
            left.extend(lineage.parents[member])
    return found
