"""Which records corrections fell, over which target, and beside which roots that still stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.reference.corrections import Correction, Memories, passed_on, reach
from tests.reference.lineage import Lineage
from tests.reference.revisions import Node, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Felling:
    """What each correction fells, after exemptions."""

    felled: dict[Correction, frozenset[Node]]
    standing: frozenset[Node]
    lineage: Lineage

    def reasons(self, record: Revision) -> list[dict[str, object]]:
        """Give the reasons `corrected` of a record."""
        return [
            {
                "reason": "corrected",
                "id": f"{correction.ref.source}#{correction.ref.id}",
                "via": _via(record, correction, self.lineage),
                "replacement": correction.replacement,
                "mixed": record not in correction.live_targets.get(record.memory_id, ())
                and not self.standing.isdisjoint(self.lineage.ancestors[record]),
            }
            for correction, nodes in self.felled.items()
            if record in nodes
        ]


def fell(corrections: Iterable[Correction], lineage: Lineage, memories: Memories) -> Felling:
    """Work out what all corrections of a space fell, and which roots stand afterwards."""
    felled = {each: reach(each, lineage) - _exempt(each, lineage, memories) for each in corrections}
    down = {
        node
        for each, nodes in felled.items()
        for node in nodes
        if isinstance(node, Revision) or node in each.live_targets.get(node.memory_id, ())
    }
    down |= {node for node in lineage.parents if isinstance(node, Revision) and node.erased}
    # A circle is one node, and stands while any of its members does.
    standing = frozenset(node for node in lineage.root_id if not lineage.circle[node] <= down)
    return Felling(felled=felled, standing=standing, lineage=lineage)


def _exempt(correction: Correction, lineage: Lineage, memories: Memories) -> frozenset[Node]:
    """Give the nodes that a correction spares even where it reaches them."""
    holding = correction.holding.union(*(later.holding for later in correction.later))
    targets = {node for nodes in correction.live_targets.values() for node in nodes}
    spared = set(holding)
    waiting = list(holding)
    while waiting:
        above = waiting.pop()
        for child, parents in lineage.parents.items():
            if above in parents and child not in targets and child not in spared:
                spared.add(child)
                waiting.append(child)
    verified_later = {
        each
        for revisions in memories.values()
        for each in revisions
        if each.verified and each.observed_at > correction.effective_at
    }
    return frozenset(spared | verified_later)


def _via(record: Revision, correction: Correction, lineage: Lineage) -> str:
    """Give the record itself as a target, else the least target over which it is reached, else the least target."""
    targets = {memory_id: nodes for memory_id, nodes in correction.live_targets.items() if nodes}
    if record in targets.get(record.memory_id, ()):
        return record.memory_id
    over = passed_on(correction, lineage) & lineage.ancestors[record]
    above = [memory_id for memory_id, nodes in targets.items() if nodes & over]
    return min(above or targets)
