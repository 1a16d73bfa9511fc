"""The world of one space during one decision: what is known, and what is still missing.

Every accessor that looks something up also notes the key when nobody has asked the store for it yet, and answers with what is
known so far. A rule therefore reads as if all were at hand; `decide` looks at `missing` after each stage and asks for another
round when there is anything in it. Answers given while something is missing are never written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from guardian.core.calibration import Calibration, load_calibration, overlay
from guardian.core.claim import digest_subject
from guardian.core.fact import (
    Correction,
    Ending,
    LinkFact,
    ReadFact,
    Verdict,
    load_correction,
    load_ending,
    load_link,
    load_read,
    load_verdict,
)
from guardian.core.induction import Induction, load_induction
from guardian.core.needs import Needs
from guardian.core.node import TRUNCATED_ROOT, Edge, Node, build_unseen
from guardian.core.payload import load_node
from guardian.core.point import NODES, Point, PointKind
from guardian.core.policy import Policy


class World:
    """The nodes and facts of one space, with the bookkeeping of what was asked.

    Attributes:
        missing: Keys that nobody has asked for yet.
        nodes: Node id -> node.
        touched: Memory ids of which every revision is recomputed.
        rated: Memory ids of which the utilities alone are worked out again.
        dirty: Ids of nodes whose lineage has to be recomputed, and with it that of all that derives from them.
        refiled: Memory ids of which a record changed its source, scope or subject.
        causes: Ids of nodes whose own statements changed, not only what follows from others'. Stored ones are written last.
        removed: Stored nodes that no longer exist, by id.
        bereft: Memory ids that lost a child, or may have in an earlier try.
        known_memories: Memory ids of which the store held a node.
        erased: Memory ids that the erasures of this decision cover, with the time up to which they do; noted again when they come again.
        buried_texts: Texts that became tombstones.
        forgotten: Ids of fact points that an erasure takes away.
        silenced: Links that an erasure takes the words from, by point id.
    """

    def __init__(self, space: str, points: Iterable[Point], asked: Needs) -> None:
        self.space = space
        self.asked = asked
        self.missing = Needs()
        self.nodes: dict[str, Node] = {}
        self.by_memory: dict[str, dict[str, Node]] = defaultdict(dict)
        self.by_parent: dict[str, set[str]] = defaultdict(set)
        self.by_name: dict[str, set[str]] = defaultdict(set)
        self.by_ref: dict[str, set[str]] = defaultdict(set)
        self.by_session: dict[str, set[str]] = defaultdict(set)
        self.by_subject: dict[str, dict[str, Node]] = defaultdict(dict)
        self.corrections: dict[str, Correction] = {}
        self.stored_corrections: dict[str, Correction] = {}
        self.links: dict[str, dict[str, LinkFact]] = defaultdict(dict)
        self.endings: dict[str, dict[str, Ending]] = defaultdict(dict)
        self.verdict_facts: dict[str, dict[str, Verdict]] = defaultdict(dict)
        self.induction_facts: dict[str, dict[str, Induction]] = defaultdict(dict)
        self.reads: dict[str, ReadFact] = {}
        self.by_mention: dict[str, dict[str, Correction]] = defaultdict(dict)
        self.by_corrected_subject: dict[str, dict[str, Correction]] = defaultdict(dict)
        self.by_chain: dict[str, dict[str, Correction]] = defaultdict(dict)
        self.reads_by_session: dict[str, dict[str, ReadFact]] = defaultdict(dict)
        self.reads_by_memory: dict[str, dict[str, ReadFact]] = defaultdict(dict)
        self.stored_ids: set[str] = set()
        self.retractions: set[str] = set()
        self.calibrations: dict[str, Calibration] = {}
        self.touched: set[str] = set()
        self.rated: set[str] = set()
        self.dirty: set[str] = set()
        self.refiled: set[str] = set()
        self.causes: set[str] = set()
        self.removed: dict[str, Node] = {}
        self.known_memories: set[str] = set()
        self.bereft: set[str] = set()
        self.erased: dict[str, datetime] = {}
        self.buried_texts: list[str] = []
        self.forgotten: set[str] = set()
        self.silenced: dict[str, LinkFact] = {}
        for point in points:
            self._load(point)

    def _load(self, point: Point) -> None:
        payload = point.payload
        kind = PointKind(payload["point"])
        self.stored_ids.add(point.id)
        if kind in NODES:
            self.add_node(load_node(point))
            self.known_memories.add(payload["memory_id"])
        elif kind is PointKind.CORRECTION:
            correction = load_correction(point.id, payload)
            self.stored_corrections[point.id] = correction
            self.add_correction(correction)
        elif kind is PointKind.VERDICT:
            self.verdict_facts[payload["memory_id"]][point.id] = load_verdict(point.id, payload)
        elif kind is PointKind.INDUCTION:
            self.induction_facts[payload["memory_id"]][point.id] = load_induction(point.id, payload)
        elif kind is PointKind.READ:
            self.add_read(load_read(point.id, payload))
        elif kind is PointKind.LINK:
            self.links[payload["memory_id"]][point.id] = load_link(point.id, payload)
        elif kind in {PointKind.DELETION, PointKind.ERASURE}:
            self.endings[payload["memory_id"]][point.id] = load_ending(point.id, payload)
        elif kind is PointKind.RETRACTION:
            self.retractions.add(point.id)
        elif kind is PointKind.CALIBRATION:
            self.calibrations[point.id] = load_calibration(point.id, payload)

    # changing

    def add_node(self, node: Node) -> None:
        """Put a node into the world."""
        self.nodes[node.id] = node
        self.by_memory[node.memory_id][node.id] = node
        for edge in node.edges:
            self.by_parent[edge.node_id].add(node.id)
        for name in node.names or ():
            self.by_name[name].add(node.id)
        self.index_node(node)

    def index_node(self, node: Node) -> None:
        """Make a node findable by its subjects, a record also by its source ref and session."""
        for subject in node.subjects:
            self.by_subject[subject][node.id] = node
        if not node.is_record:
            return
        if node.claimed_source is not None and node.claimed_source.ref is not None:
            self.by_ref[node.claimed_source.ref].add(node.id)
        if node.scope is not None and node.scope.session_id is not None:
            self.by_session[node.scope.session_id].add(node.id)

    def add_correction(self, correction: Correction) -> None:
        """Put a correction into the world; `corrections` alone says which are still there."""
        key = correction.key
        self.corrections[key] = correction
        for memory_id in {*correction.mentions, *correction.targets, correction.replacement or ""}:
            self.by_mention[memory_id][key] = correction
        if correction.subject is not None:
            for subject in (correction.subject, digest_subject(correction.subject)):
                self.by_corrected_subject[subject][key] = correction
        self.by_chain[correction.chain][key] = correction

    def add_read(self, read: ReadFact) -> None:
        """Put a read into the world."""
        self.reads[read.id] = read
        if read.session_id is not None:
            self.reads_by_session[read.session_id][read.id] = read
        for memory_id in read.retrieved:
            self.reads_by_memory[memory_id][read.id] = read

    def remove_node(self, node: Node) -> None:
        """Take a node out of the world; its stored point is deleted when the plan is made."""
        del self.nodes[node.id]
        del self.by_memory[node.memory_id][node.id]
        self._unlink(node)
        self.dirty.discard(node.id)
        if node.stored is not None:
            self.removed[node.id] = node

    def set_edges(self, node: Node, edges: tuple[Edge, ...]) -> None:
        """Replace a node's edges and mark it when they differ."""
        if node.edges == edges:
            return
        self._unlink(node)
        node.edges = edges
        for edge in node.edges:
            self.by_parent[edge.node_id].add(node.id)
        self.dirty.add(node.id)

    def _unlink(self, node: Node) -> None:
        for edge in node.edges:
            self.by_parent[edge.node_id].discard(node.id)
            self.bereft.add(edge.memory_id)

    def note_cause(self, node: Node) -> None:
        """Mark a node whose own statements changed: its memory and lineage are worked out again, and it is written last."""
        self.causes.add(node.id)
        self.dirty.add(node.id)
        self.touched.add(node.memory_id)

    # looking up

    def _ask(self, keys: str, name: str) -> None:
        key = (self.space, name)
        if key not in getattr(self.asked, keys):
            getattr(self.missing, keys).add(key)

    def revisions(self, memory_id: str) -> list[Node]:
        """Give the records and tombstones of a memory in the order of revisions."""
        self._ask("memories", memory_id)
        nodes = self.by_memory.get(memory_id)
        if not nodes:
            return []
        seen = [node for node in nodes.values() if not node.is_unseen]
        return seen if len(seen) < 2 else sorted(seen, key=lambda node: node.order)

    def memory_nodes(self, memory_id: str) -> list[Node]:
        """Give all nodes of a memory, the unseen one included."""
        self._ask("memories", memory_id)
        return list(self.by_memory.get(memory_id, {}).values())

    def is_known(self, memory_id: str) -> bool:
        """Tell whether the store held a node of the memory before this decision."""
        self._ask("memories", memory_id)
        return memory_id in self.known_memories

    def unseen(self, memory_id: str) -> Node:
        """Give the node of a memory that is only named, made when needed."""
        node = build_unseen(self.space, memory_id)
        known = self.nodes.get(node.id)
        if known is not None:
            return known
        self.add_node(node)
        self.dirty.add(node.id)
        return node

    def children(self, node: Node) -> list[Node]:
        """Give the nodes that derive from this one in one step."""
        self.ask_children(node)
        return [self.nodes[child] for child in self.by_parent.get(node.id, ())]

    def ask_children(self, node: Node) -> None:
        """Make sure that all children of a stored node are known.

        One that the store does not hold has only children of this decision. A stored one is asked by its memory first;
        where that finds any, its whole family is read, so that a chain of derivations costs one round and not its length.
        Whoever carries a root of the node, or had its roots cut, was read then.
        """
        if node.stored is None:
            return
        roots = node.stored.get("roots", ())
        if any((self.space, root) in self.asked.families for root in roots):
            return
        self._ask("children", node.memory_id)
        if (self.space, node.memory_id) in self.asked.children and self.by_parent.get(node.id):
            for root in roots:
                self._ask("families", root)
            self._ask("families", TRUNCATED_ROOT)

    def named_children(self, memory_id: str) -> list[Node]:
        """Give the records and tombstones that name a memory as a parent in their own event, whatever became of the edge."""
        self._ask("children", memory_id)
        return [self.nodes[child] for child in self.by_name.get(memory_id, ()) if child in self.nodes]

    def deletions(self, memory_id: str) -> list[Ending]:
        """Give the deletions of a memory."""
        return self._endings(memory_id, PointKind.DELETION)

    def erasures(self, memory_id: str) -> list[Ending]:
        """Give the erasures of a memory."""
        return self._endings(memory_id, PointKind.ERASURE)

    def _endings(self, memory_id: str, point: PointKind) -> list[Ending]:
        self._ask("memories", memory_id)
        endings = self.endings.get(memory_id)
        if not endings:
            return []
        return sorted((ending for ending in endings.values() if ending.point is point), key=lambda ending: ending.ref.order)

    def memory_links(self, memory_id: str) -> list[LinkFact]:
        """Give the links of a memory in the order of events."""
        self._ask("memories", memory_id)
        return sorted(self.links.get(memory_id, {}).values(), key=lambda link: link.ref.order)

    def verdicts(self, memory_id: str) -> list[Verdict]:
        """Give the standing verdicts on a memory, in the order of events."""
        self._ask("verdicts", memory_id)
        return sorted(self.verdict_facts.get(memory_id, {}).values(), key=lambda verdict: verdict.ref.order)

    def inductions(self, memory_id: str) -> dict[str, Induction]:
        """Give what models said of the revisions of a memory, by point id."""
        self._ask("verdicts", memory_id)
        return self.induction_facts.get(memory_id, {})

    def calibrate(self, policy: Policy) -> Policy:
        """Give the policy of the space under the calibration in force."""
        self._ask("calibrations", PointKind.CALIBRATION.value)
        return overlay(policy, self.calibrations.values())

    def records_of_ref(self, ref: str) -> list[Node]:
        """Give the records with a source ref."""
        self._ask("refs", ref)
        return [self.nodes[node_id] for node_id in self.by_ref.get(ref, ()) if node_id in self.nodes]

    def records_of_session(self, session_id: str) -> list[Node]:
        """Give the records written in a session."""
        self._ask("sessions", session_id)
        return [self.nodes[node_id] for node_id in self.by_session.get(session_id, ()) if node_id in self.nodes]

    def reads_of_session(self, session_id: str) -> list[ReadFact]:
        """Give the reads of a session."""
        self._ask("sessions", session_id)
        return list(self.reads_by_session.get(session_id, {}).values())

    def reads_of_memory(self, memory_id: str) -> list[ReadFact]:
        """Give the reads that retrieved a memory."""
        self._ask("retrieved", memory_id)
        return list(self.reads_by_memory.get(memory_id, {}).values())

    def corrections_of_memory(self, memory_id: str) -> list[Correction]:
        """Give the corrections that mention a memory."""
        self._ask("mentions", memory_id)
        return self._still_there(self.by_mention.get(memory_id))

    def corrections_of_subject(self, subject: str) -> list[Correction]:
        """Give the corrections that name a subject, itself or its digest."""
        self._ask("corrected_subjects", subject)
        return self._still_there(self.by_corrected_subject.get(subject))

    def records_of_subject(self, subject: str) -> list[Node]:
        """Give the records with a subject, and the tombstones of such."""
        key = digest_subject(subject)
        self._ask("subjects", subject)
        self._ask("subjects", key)
        found = self.by_subject.get(subject, {}) | self.by_subject.get(key, {})
        return [node for node in found.values() if node.id in self.nodes and not node.subjects.isdisjoint({subject, key})]

    def chain(self, label: str) -> list[Correction]:
        """Give the corrections that were stored under one chain label."""
        self._ask("chains", label)
        return self._still_there(self.by_chain.get(label))

    def _still_there(self, found: Mapping[str, Correction] | None) -> list[Correction]:
        return [correction for key, correction in found.items() if key in self.corrections] if found else []

    def ask_point(self, point_id: str) -> bool:
        """Tell whether a point is stored; asks for it by id."""
        if point_id not in self.asked.ids and point_id not in self.stored_ids:
            self.missing.ids.add(point_id)
        return point_id in self.stored_ids

    def ask_events(self, event_key: str) -> None:
        """Ask for what an event put into the store: corrections, verdicts, records with believed or inline claims."""
        self._ask("events", event_key)

    def node(self, node_id: str) -> Node | None:
        """Give a node by id, asked for by id when it is not at hand."""
        found = self.nodes.get(node_id)
        if found is None and node_id not in self.asked.ids:
            self.missing.ids.add(node_id)
        return found

    def whole(self, node: Node) -> bool:
        """Tell whether the node has its text and all; asks for it whole when it was read for its lineage only."""
        if node.whole or node.stored is None:
            return True
        if node.id not in self.asked.ids:
            self.missing.ids.add(node.id)
        return False
