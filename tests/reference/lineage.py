"""Roots, families, depth and age of evidence, each from its definition over the whole graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from guardian.core.model import SourceKind
from tests.reference.edges import Edges, seniority
from tests.reference.revisions import Node, Revision, Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What the graph of one space says of every node.

    Attributes:
        ancestors: All that a node derives from, over any path; a node of a circle is its own ancestor.
        circle: The nodes that derive from each other with this one, itself included; mostly it alone.
        origins: The nodes without parents, and members of circles that nothing feeds, that a node is or derives from.
        root_id: For every origin, the memory id under which it is a root.
    """

    parents: dict[Node, frozenset[Node]]
    ancestors: dict[Node, frozenset[Node]]
    circle: dict[Node, frozenset[Node]]
    origins: dict[Node, frozenset[Node]]
    root_id: dict[Node, str]
    max_roots: int

    def root_nodes(self, node: Node) -> frozenset[Node]:
        """Give the roots of a node: what has no parents, and of a circle that nothing feeds the earliest member."""
        origins = self.origins.get(node, {node})
        return frozenset(earliest(self.circle.get(origin, {origin})) for origin in origins)

    def all_roots(self, node: Node) -> list[str]:
        """Give the root ids of a node, sorted, before any is cut; a memory that is only named is its own."""
        return sorted({root.memory_id for root in self.root_nodes(node)})

    def roots(self, node: Node) -> list[str]:
        """Give the root ids that are kept."""
        return self.all_roots(node)[: self.max_roots]

    def heirs(self, nodes: Iterable[Node]) -> frozenset[Node]:
        """Give the nodes themselves and all that derives from them."""
        start = frozenset(nodes)
        return start | {node for node, above in self.ancestors.items() if above & start}

    def depth(self, node: Node) -> int:
        """Give the longest number of derivation steps from a root; a circle is one node."""
        outside = self._outside(node)
        return 1 + max(self.depth(parent) for parent in outside) if outside else 0

    def evidence_at(self, node: Revision) -> datetime:
        """Give the oldest observed time among the roots that were seen, else the node's own."""
        seen = [root.observed_at for root in self.root_nodes(node) if isinstance(root, Revision)]
        return min(seen, default=node.observed_at)

    def _outside(self, node: Node) -> set[Node]:
        return {parent for member in self.circle[node] for parent in self.parents[member]} - self.circle[node]


def build_lineage(edges: Edges, max_roots: int) -> Lineage:
    """Work out the ancestry of every node of a space."""
    parents: dict[Node, frozenset[Node]] = {}
    parents.update(edges.parents.items())
    for above in edges.parents.values():
        parents.update({node: frozenset() for node in above if isinstance(node, Unseen)})
    ancestors = {node: _ancestors(node, parents) for node in parents}
    circle = {
        node: frozenset({node} | {other for other in above if node in ancestors[other]}) for node, above in ancestors.items()
    }
    root_id = {
        node: earliest(circle[node]).memory_id
        for node in parents
        if all(parents[member] <= circle[node] for member in circle[node])
    }
    origins = {node: frozenset(each for each in {node, *ancestors[node]} if each in root_id) for node in parents}
    return Lineage(parents=parents, ancestors=ancestors, circle=circle, origins=origins, root_id=root_id, max_roots=max_roots)


def _ancestors(node: Node, parents: dict[Node, frozenset[Node]]) -> frozenset[Node]:
    found: set[Node] = set()
    waiting = list(parents[node])
    while waiting:
        above = waiting.pop()
        if above not in found:
            found.add(above)
            waiting.extend(parents[above])
    return frozenset(found)


def earliest(circle: Iterable[Node]) -> Node:
    """Give the earliest member of a circle; a memory that was never seen stands alone."""
    members = list(circle)
    seen = [node for node in members if isinstance(node, Revision)]
    return min(seen, key=seniority) if seen else members[0]


def lower_sources(parents: dict[Revision, frozenset[Node]]) -> dict[Revision, SourceKind]:
    """Give each record the source kind that is kept: a user's name on what is all the agent's is lowered to agent."""
    kinds = {each: each.source_kind for each in parents}
    lowered = True
    while lowered:
        lowered = False
        for each, above in parents.items():
            is_the_agents = above and all(
                isinstance(parent, Revision) and not parent.erased and kinds[parent] is SourceKind.AGENT for parent in above
            )
            if kinds[each] is SourceKind.USER and is_the_agents:
                kinds[each] = SourceKind.AGENT
                lowered = True
    return kinds
