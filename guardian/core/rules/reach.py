"""Reach: which corrections fell a record, given where they start and what they exempt.

A correction's marks sit on nodes (`target_of`, `family_of`, `is_base`); reach and the knowledge of replacements flow from parents
to children. A new leaf is therefore decided from its parents alone. See the design, 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from guardian.core.chain import VERIFIED_PREFIX, Standing, find_family_starts
from guardian.core.fact import Correction
from guardian.core.model import Extent
from guardian.core.node import Node, Reach
from guardian.core.world import World

Exempting = Callable[[str], set[str]]  # correction key -> node ids that it exempts as replacements
Bases = dict[str, frozenset[str]]


def set_marks(world: World, standings: Sequence[Standing], gone: Mapping[str, Correction], memories: set[str]) -> set[str]:
    """Put the marks of all given corrections on the nodes, and take away those they no longer have.

    Args:
        world: Where the nodes are.
        standings: Every correction that is linked to the memories.
        gone: Corrections that were retracted, by key.
        memories: Memory ids of which all corrections are among these: marks that no standing puts there are taken away.

    Returns:
        Ids of the nodes from which reach has to be worked out again: everything these corrections start from.
    """
    keys = {standing.key for standing in standings} | set(gone) | _possible_in_place(world, memories)
    targets: dict[str, set[str]] = {}
    families: dict[str, set[str]] = {}
    bases: set[str] = set()
    for standing in standings:
        bases |= standing.replacing
        for node_id in (*standing.targets, *standing.revised):
            targets.setdefault(node_id, set()).add(standing.key)
        for node in find_family_starts(world, standing):
            families.setdefault(node.id, set()).add(standing.key)
    starts = bases | set(targets) | set(families)
    for node in world.nodes.values():
        is_base = node.id in bases if node.memory_id in memories else node.is_base
        own = frozenset(node.target_of - keys | targets.get(node.id, set()))
        family = frozenset(node.family_of - keys | families.get(node.id, set()))
        if (own, family, is_base) != (node.target_of, node.family_of, node.is_base):
            starts.add(node.id)
        node.target_of, node.family_of, node.is_base = own, family, is_base
    return starts


def _possible_in_place(world: World, memories: set[str]) -> set[str]:
    """Give the keys that corrections in place of these memories have or may have had."""
    nodes = [node for memory_id in memories for node in world.memory_nodes(memory_id)]
    nodes += [node for node in world.removed.values() if node.memory_id in memories]
    return {VERIFIED_PREFIX + node.id for node in nodes}


def build_openings(standings: Sequence[Standing]) -> dict[str, dict[str, Reach]]:
    """Give for each node id the reach that starts on it, by correction key."""
    openings: dict[str, dict[str, Reach]] = {}
    for standing in standings:
        correction = standing.correction
        first = min((*standing.targets.values(), *standing.revised.values(), *standing.unknown), default="")
        spreads = standing.extent is not Extent.RECORD

        def opening(via: str, *, spreads: bool, is_derived: bool, correction=correction) -> Reach:  # type: ignore[no-untyped-def]
            return Reach(
                correction.effective_at,
                correction.ref.source,
                correction.ref.id,
                correction.replacement,
                spreads,
                is_derived,
                via,
            )

        for node_id, memory_id in standing.targets.items():
            openings.setdefault(node_id, {})[standing.key] = opening(memory_id, spreads=spreads, is_derived=True)
        for node_id, memory_id in standing.revised.items():
            openings.setdefault(node_id, {})[standing.key] = opening(memory_id, spreads=True, is_derived=True)
        openings.setdefault("", {})[standing.key] = opening(first, spreads=True, is_derived=False)
    return openings


def derive_reach(
    world: World, members: Sequence[Node], openings: Mapping[str, Mapping[str, Reach]], exempting: Exempting
) -> None:
    """Work out reach, exemption and standing of one record, or of one circle, whose outside parents are done."""
    inside = {node.id for node in members}
    own = {node.id: _own_reach(node, openings) for node in members}
    pool: dict[str, Reach] = {}
    for node in members:
        for edge in node.edges:
            parent = world.node(edge.node_id) if edge.node_id not in inside else None
            if parent is not None:
                _merge(pool, parent.reached)
    if len(members) > 1:
        for reached in own.values():
            _merge(pool, reached)
        for reached in own.values():  # a target that hands nothing on lies on the way of what does
            pool |= {key: _choose(pool[key], reach) for key, reach in reached.items() if key in pool}
    for node in members:
        node.reached = dict(pool)
        for key, reach in own[node.id].items():
            node.reached[key] = _choose(pool[key], reach) if key in pool else reach
    inherited = _derive_bases(world, members)
    for node in members:
        node.felled = frozenset(key for key in node.reached if not _is_exempt(node, key, inherited[node.id], exempting))
    _derive_standing(world, members, inside)


def _own_reach(node: Node, openings: Mapping[str, Mapping[str, Reach]]) -> dict[str, Reach]:
    """Give the reach that starts on the node: of corrections at hand as they are now, of others as it was stored."""
    own: dict[str, Reach] = {}
    for key in node.family_of:
        own[key] = openings.get("", {}).get(key) or node.reached[key]
    for key in node.target_of:
        own[key] = openings.get(node.id, {}).get(key) or node.reached[key]
    return own


def _merge(pool: dict[str, Reach], reached: Mapping[str, Reach]) -> None:
    for key, reach in reached.items():
        if reach.spreads:
            pool[key] = _choose(pool[key], reach) if key in pool else reach


def _choose(one: Reach, other: Reach) -> Reach:
    """Choose between two ways of one correction: derivation before a shared root, then the smaller target id."""
    chosen = min(one, other, key=lambda reach: (not reach.is_derived, reach.via))
    return chosen if chosen.spreads or not (one.spreads or other.spreads) else replace(chosen, spreads=True)


def _derive_bases(world: World, members: Sequence[Node]) -> dict[str, Bases]:
    """Let the knowledge of replacements flow: base -> corrections that have a target on every path from it.

    Returns:
        What each member has from its parents; what it hands on is put on the node.
    """
    inherited: dict[str, Bases] = {node.id: {} for node in members}
    for node in members:
        if len(members) > 1:
            node.bases = {}
    has_changed = True
    while has_changed:
        has_changed = False
        for node in members:
            gained = _merge_bases(world, node)
            handed = {base: unclean | node.target_of for base, unclean in gained.items()}
            if node.is_base:
                handed[node.id] = frozenset()
            inherited[node.id] = gained
            if handed != node.bases:
                node.bases = handed
                has_changed = len(members) > 1
    return inherited


def _merge_bases(world: World, node: Node) -> Bases:
    gained: Bases = {}
    for edge in node.edges:
        parent = world.node(edge.node_id)
        if parent is None:
            continue
        for base, unclean in parent.bases.items():
            gained[base] = gained[base] & unclean if base in gained else unclean
    return gained


def _is_exempt(node: Node, key: str, inherited: Bases, exempting: Exempting) -> bool:
    reach = node.reached[key]
    if node.is_verified and node.observed_at is not None and node.observed_at > reach.effective_at:
        return True
    if node.is_base and node.id in exempting(key):
        return True
    if not inherited or key in node.target_of:
        return False
    return any(key not in unclean and base in exempting(key) for base, unclean in inherited.items())


def _derive_standing(world: World, members: Sequence[Node], inside: set[str]) -> None:
    outside = [
        parent
        for node in members
        for edge in node.edges
        if edge.node_id not in inside and (parent := world.node(edge.node_id)) is not None
    ]
    if outside:
        stands = any(parent.has_standing_root for parent in outside)
    else:
        # A circle is one node, and stands while any of its members does.
        stands = any(not _is_down(node) for node in members)
    for node in members:
        node.has_standing_root = stands


def _is_down(node: Node) -> bool:
    """Tell whether a root no longer stands; one that was never seen falls only when a correction names it."""
    if node.is_unseen:
        return bool(node.felled & node.target_of)
    return bool(node.felled) or node.is_erased
