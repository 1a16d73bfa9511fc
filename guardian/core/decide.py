"""The one entrance of the core: events and a snapshot in, a plan or the missing keys out. Pure.

The stages below are the order of the mission: provenance, supersession, utility, card. All facts of a batch are taken in first
and the state is worked out from all of them at once, so neither the order nor the grouping of events can matter. What is worked
out again is what the facts touch and all that derives from it; a new leaf is decided from its parents alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from guardian.core.assemble import assemble
from guardian.core.chain import VERIFIED_PREFIX, Standing, gather, settle
from guardian.core.decision import Decision
from guardian.core.fact import Correction
from guardian.core.intake import take_in
from guardian.core.likeness import bind_find_sources, bind_restates
from guardian.core.model import (
    Event,
)
from guardian.core.needs import Needs
from guardian.core.node import Node, build_unseen
from guardian.core.plan import Plan
from guardian.core.policy import Policy
from guardian.core.rules.erasure import settle_erasures
from guardian.core.rules.induction import mark_inductions
from guardian.core.rules.lineage import close_descendants, derive_lineage, sort_nodes
from guardian.core.rules.provenance import (
    find_readers,
    find_reopened,
    infer_edges,
    inherit_fields,
    resolve_parent,
    set_declared_edges,
)
from guardian.core.rules.reach import build_openings, derive_reach, set_marks
from guardian.core.rules.standing import rank_revisions
from guardian.core.rules.utility import rate_records
from guardian.core.snapshot import Snapshot
from guardian.core.world import World

PolicyOf = Callable[[str], Policy]


def decide(events: Sequence[Event], snapshot: Snapshot, policy_of: PolicyOf) -> Plan | Needs:
    """Decide a batch.

    Args:
        events: Any events of any spaces, in any order, with repetitions.
        snapshot: What was fetched so far, starting with `initial_needs`.
        policy_of: Gives the policy of a space.

    Returns:
        The plan, or the keys to fetch before asking again. Rounds are few: a handful, or as many as lineage was cut.
    """
    by_space: dict[str, list[int]] = defaultdict(list)
    for index, event in enumerate(events):
        by_space[event.space].append(index)
    missing = Needs()
    decided = []
    for space, indexes in by_space.items():
        decision = _decide_space(space, [events[i] for i in indexes], snapshot, policy_of(space))
        if isinstance(decision, Needs):
            missing.update(decision)
        else:
            decided.append((indexes, decision))
    if missing:
        return missing
    return assemble(events, decided)


def _decide_space(space: str, events: Sequence[Event], snapshot: Snapshot, policy: Policy) -> Decision | Needs:
    world = World(space, snapshot.points(space), snapshot.asked)
    decision = Decision(world, take_in(world, events, policy), policy)
    for stage in (
        _settle_texts,
        _settle_cards,
        _settle_lineage,
        _settle_corrections,
        _settle_reach,
        _settle_standing,
        _settle_questions,
    ):
        stage(decision)
        if world.missing:
            return world.missing
    return decision


def _settle_texts(decision: Decision) -> None:
    """Provenance: which revisions there are, what they inherit, and which records each derives from."""
    world, intake, policy = decision.world, decision.intake, decision.policy
    intake.changed |= settle_erasures(world, intake.erased, intake.corrections)
    for read_id in intake.reads:
        read = world.reads[read_id]
        world.touched |= find_readers(world, read.session_id, read.ref.time, policy)
    for node in list(world.removed.values()):
        orphans = [world.nodes[child] for child in world.by_parent.get(node.id, ())]
        world.touched |= {o.memory_id for o in orphans if any(e.node_id == node.id and e.how == "inferred" for e in o.edges)}
    done: set[str] = set()
    while todo := world.touched - done:
        for memory_id in sorted(todo):
            inherit_fields(world, memory_id)
        for memory_id in sorted(todo & (intake.changed | world.refiled)):
            world.touched |= find_reopened(world, memory_id, policy)
        done |= todo
    for memory_id in sorted(world.touched):
        set_declared_edges(world, memory_id)

    compare, find = bind_restates(policy), bind_find_sources(policy)
    for memory_id in sorted(world.touched):
        infer_edges(world, memory_id, policy, compare, find)
        world.dirty |= {node.id for node in world.revisions(memory_id) if node.lacks_bounds}
    for memory_id in sorted(intake.changed):
        _resolve_children(world, memory_id)
    _drop_unnamed(world)


def _resolve_children(world: World, memory_id: str) -> None:
    """Point the children of a memory whose revisions changed to the revisions they now mean."""
    if not world.is_known(memory_id):
        return
    gone = [node for node in world.removed.values() if node.memory_id == memory_id]
    nodes = [*world.memory_nodes(memory_id), *gone]
    world.named_children(memory_id)  # asks for them
    children = {child for node in nodes for child in world.by_parent.get(node.id, ())}
    for child in sorted(children & world.nodes.keys()):
        node = world.nodes[child]
        edges = [
            edge if edge.memory_id != memory_id or edge.at is None else edge.move_to(resolve_parent(world, memory_id, edge.at).id)
            for edge in node.edges
        ]
        world.set_edges(node, tuple(edges))


def _drop_unnamed(world: World) -> None:
    """Take away the nodes of unseen memories that came, or that nobody names any more."""
    for memory_id in sorted(world.bereft):
        world.memory_nodes(memory_id)  # asks for the place of an unseen memory that lost a child
    for node in [node for node in world.nodes.values() if node.is_unseen and node.stored is not None]:
        if len(world.by_memory[node.memory_id]) > 1:
            # The memory came, in a try that was broken off: children that were not moved yet still point here, and nobody would find them.
            world.memory_nodes(node.memory_id)
            _resolve_children(world, node.memory_id)
    for node in [node for node in world.nodes.values() if node.is_unseen]:
        if world.by_parent.get(node.id):
            continue
        if node.stored is None or len(world.by_memory[node.memory_id]) > 1 or not _is_named(world, node):
            world.remove_node(node)


def _is_named(world: World, node: Node) -> bool:
    """Tell whether some node that the store holds still derives from the unseen one; asks only where a child was lost."""
    if node.memory_id not in world.bereft:
        return True
    world.named_children(node.memory_id)
    return bool(world.by_parent.get(node.id))


def _settle_cards(decision: Decision) -> None:
    """What models said of the touched records, as far as it was said of this content."""
    for memory_id in sorted(decision.world.touched):
        mark_inductions(decision.world, memory_id)


def _settle_lineage(decision: Decision) -> None:
    """Roots, depth, source and permission of what changed and of all that derives from it."""
    world = decision.world
    decision.recomputed = close_descendants(world, world.dirty)
    decision.recomputed |= dict.fromkeys(_restore_unseen(world, decision.recomputed))
    if world.missing:
        return
    for members in sort_nodes(world, decision.recomputed):
        derive_lineage(world, members, decision.policy)


def _restore_unseen(world: World, ids: Iterable[str]) -> list[str]:
    """Make the places of unseen parents that a broken-off try did not come to, or their children would be taken for roots."""
    made = []
    for node_id in list(ids):
        for edge in world.nodes[node_id].edges:
            is_lost = world.node(edge.node_id) is None and not world.missing
            if is_lost and edge.node_id == build_unseen(world.space, edge.memory_id).id:
                made.append(world.unseen(edge.memory_id).id)
    return made


def _settle_corrections(decision: Decision) -> None:
    """Corrections that are new, gone, or may mean something else now; and all that are linked to them."""
    world, intake = decision.world, decision.intake
    named = [world.corrections[key] for key in sorted(intake.corrections) if key in world.corrections]
    memories = {memory_id for memory_id in world.touched if _is_corrected(world, memory_id)}
    made = {node.memory_id for node in world.nodes.values() if node.stored is None} - world.touched
    memories |= {memory_id for memory_id in made if _is_corrected(world, memory_id)}
    for correction in intake.gone.values():
        memories |= {*correction.targets, *correction.mentions, *correction.family_roots}
        memories |= {correction.replacement} - {None}  # type: ignore[arg-type]
        named += world.chain(correction.chain) if correction.chain else []
    for key in sorted(_find_marks(decision)):
        found = find_correction(world, key)
        if isinstance(found, str):
            memories.add(found)
        elif found is not None:
            named.append(found)
    if not (named or memories):
        return
    standings = gather(world, memories, named)
    settle(world, standings)
    decision.standings = {standing.key: standing for standing in standings}
    for standing in standings:
        memories |= standing.mentions | standing.named
        for root in {*standing.family_roots, *standing.correction.family_roots}:
            world.memory_nodes(root)  # asks for where the extent starts, and where it started before
    starts = set_marks(world, standings, intake.gone, memories)
    decision.recomputed = close_descendants(world, {*decision.recomputed, *starts})


def _find_marks(decision: Decision) -> set[str]:
    """Give the keys of the corrections that start on what changed, or on another revision of a root that changed."""
    world = decision.world
    keys: set[str] = set()
    for node in (*map(world.nodes.__getitem__, decision.recomputed), *world.removed.values()):
        keys |= node.target_of | node.family_of
        if node.depth == 0 and node.roots == (node.memory_id,):
            # A family extent starts on every revision that carries the root, and only one of them need be an ancestor.
            keys = keys.union(*(other.family_of for other in world.memory_nodes(node.memory_id)))
    return keys


def _is_corrected(world: World, memory_id: str) -> bool:
    """Tell whether corrections may concern a memory: named, by subject, in place, or by marks it has."""
    if world.corrections_of_memory(memory_id):
        return True
    revisions = world.revisions(memory_id)
    if len(revisions) > 1 and any(node.is_verified or node.believed_by for node in revisions):
        return True
    if any(node.target_of or node.family_of or node.is_base for node in world.memory_nodes(memory_id)):
        return True
    return any(world.corrections_of_subject(subject) for node in revisions for subject in node.subjects)


def find_correction(world: World, key: str) -> Correction | str | None:
    """Give an explicit correction by key, or the memory id of one in place; asks for what is not at hand."""
    if key.startswith(VERIFIED_PREFIX):
        node_id = key.removeprefix(VERIFIED_PREFIX)
        node = world.removed.get(node_id) or world.node(node_id)
        return node.memory_id if node is not None else None
    if key not in world.corrections:
        world.ask_point(key)
    return world.corrections.get(key)


def _settle_reach(decision: Decision) -> None:
    """Which corrections fell which records."""
    world = decision.world
    openings = build_openings(list(decision.standings.values()))

    def exempting(key: str) -> set[str]:
        standing = decision.standings.get(key) or decision.context.get(key)
        if standing is None:
            standing = _find_context(decision, key)
        return standing.exempting if standing is not None else set()

    components = sort_nodes(world, decision.recomputed)
    decision.order = [[node.id for node in members] for members in components]
    decision.ordered = set(decision.recomputed)
    for members in components:
        derive_reach(world, members, openings, exempting)


def _find_context(decision: Decision, key: str) -> Standing | None:
    """Work out the chain of a correction that this batch does not change, to know what it exempts."""
    world = decision.world
    found = find_correction(world, key)
    if found is None:
        return None
    standings = gather(world, [found] if isinstance(found, str) else [], [] if isinstance(found, str) else [found])
    settle(world, standings)
    decision.context |= {standing.key: standing for standing in standings}
    return decision.context.get(key)


def _settle_standing(decision: Decision) -> None:
    """Current revisions and utilities of the touched memories."""
    world = decision.world
    for memory_id in sorted(world.touched | world.rated):
        if memory_id in world.touched:
            rank_revisions(world, memory_id)
        rate_records(world, memory_id, decision.policy)
        decision.recomputed |= dict.fromkeys(node.id for node in world.memory_nodes(memory_id))


def _settle_questions(decision: Decision) -> None:
    """Gather what the outcomes tell of: what each correction reaches, and other records of the subject of a written one."""
    world = decision.world
    for node in map(world.nodes.__getitem__, decision.recomputed if decision.standings else ()):
        for key in node.reached if node.is_record else ():
            decision.reached[key].append(node)
    for node_id in decision.intake.node_of.values():
        written = world.nodes.get(node_id)
        if written is not None and written.subject is not None:
            world.records_of_subject(written.subject)
