"""Chains: which corrections belong together, what each of them names, and where each of them starts.

Explicit corrections are stored; corrections in place follow from the revisions of a memory. Corrections that share a target, or
of which the replacement of one is a target or the replacement of another, are one chain; order within it is (effective time,
event source, id). See the design, 4.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from guardian.core.claim import load_ref
from guardian.core.fact import Correction
from guardian.core.model import Extent
from guardian.core.node import Node
from guardian.core.world import World

# What the key of a correction in place begins with; it is no point of its own.
VERIFIED_PREFIX = "verified:"


@dataclass(slots=True, kw_only=True)
class Standing:
    """One correction with all that follows from the world as it is now.

    Attributes:
        mentions: Targets (found by subject, too) and replacement.
        named: Target memory ids, void ones and those without a node included.
        added: Of these, the replacements of earlier corrections of a target.
        nominal: Target node id -> memory id, void ones included, revisions corrected in place left out.
        nominal_revised: Node id -> memory id of the revisions that are corrected in place, void or not.
        targets, revised: The same without void ones.
        unknown: Named memories of which there is no node at all.
        replacing: Ids of the records of its replacement.
        exempting: Ids of the records of its replacement and of those of later corrections of its chain.
        extent: The one given, or the default.
        family_roots: Root ids from which its family extent starts.
        chain: Label of the chain: the least key in it.
    """

    correction: Correction
    mentions: frozenset[str]
    named: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    nominal: dict[str, str] = field(default_factory=dict)
    nominal_revised: dict[str, str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    revised: dict[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    replacing: set[str] = field(default_factory=set)
    exempting: set[str] = field(default_factory=set)
    extent: Extent = Extent.DESCENDANTS
    family_roots: tuple[str, ...] = ()
    chain: str = ""

    @property
    def key(self) -> str:
        """Key of the correction."""
        return self.correction.key


def find_in_place(world: World, memory_id: str) -> Correction | None:
    """Give the correction in place by the last believed revision that differs from an earlier one; it subsumes others."""
    revisions = world.revisions(memory_id)
    for position in range(len(revisions) - 1, 0, -1):
        node = revisions[position]
        believed = [claim.event.ref for claim in node.claims if claim.believed and not claim.is_withdrawn]
        believed += [load_ref([*ref, ""]) for ref in node.believed_by]
        if not believed:
            continue
        # Of an erased text nobody knows whether it differed: what it may have corrected stays corrected.
        if any(node.is_erased or before.is_erased or before.text_digest != node.text_digest for before in revisions[:position]):
            return Correction(
                key=VERIFIED_PREFIX + node.id,
                space=world.space,
                ref=min(believed, key=lambda ref: ref.order),
                targets=(memory_id,),
                effective_at=node.order[0],
                replacement=memory_id,
                extent=Extent.DESCENDANTS,
                revision_id=node.id,
            )
    return None


def gather(world: World, memories: Iterable[str], corrections: Iterable[Correction]) -> list[Standing]:
    """Gather every correction linked to the given memories and corrections, over as many steps as it takes."""
    found: dict[str, Standing] = {}
    seen: set[str] = set()
    queue = sorted(set(memories))
    waiting = sorted(corrections, key=lambda correction: correction.order)
    while queue or waiting:
        if not waiting:
            memory_id = queue.pop()
            if memory_id not in seen:
                seen.add(memory_id)
                waiting = _find_mentioning(world, memory_id)
        linked: list[Correction] = []
        for correction in waiting:
            if correction.key not in found:
                found[correction.key] = standing = _place(world, correction)
                queue.extend(sorted(standing.mentions - seen))
                linked += _find_by_label(world, correction)
        waiting = [correction for correction in linked if correction.key not in found]
    return sorted(found.values(), key=lambda standing: standing.correction.order)


def _find_mentioning(world: World, memory_id: str) -> list[Correction]:
    corrections = world.corrections_of_memory(memory_id)
    in_place = find_in_place(world, memory_id)
    if in_place is not None:
        corrections = [*corrections, in_place]
    for node in world.revisions(memory_id):
        for subject in sorted(node.subjects):
            corrections = [*corrections, *_find_by_subject(world, node, subject)]
    return corrections


def _find_by_subject(world: World, node: Node, subject: str) -> list[Correction]:
    return [
        correction
        for correction in world.corrections_of_subject(subject)
        if node.order[0] <= correction.effective_at and node.memory_id != correction.replacement
    ]


def _find_by_label(world: World, correction: Correction) -> list[Correction]:
    linked = world.chain(correction.chain) if correction.chain else []
    return linked if correction.subject is None else linked + world.corrections_of_subject(correction.subject)


def _place(world: World, correction: Correction) -> Standing:
    named = set(correction.targets)
    if correction.subject is not None:
        named |= {node.memory_id for node in _find_by_correction_subject(world, correction)}
    mentions = named | ({correction.replacement} if correction.replacement is not None else set())
    return Standing(correction=correction, mentions=frozenset(mentions), named=named)


def settle(world: World, standings: list[Standing]) -> None:
    """Work out targets, replacements, extents and exemptions of corrections that are all there, in their order."""
    for component in _split(standings):
        label = min(standing.key for standing in component)
        for standing in component:
            standing.chain = label
            standing.replacing = _find_replacing(world, standing.correction)
        _name_earlier_replacements(component)
        for standing in component:
            _find_targets(world, standing)
        _collect_exempting(component)
    for standing in standings:
        _derive_extent(world, standing)


def _split(standings: list[Standing]) -> list[list[Standing]]:
    """Split into chains, each in order."""
    label_of: dict[str, int] = {}
    members: dict[int, list[Standing]] = {}
    for number, standing in enumerate(standings):
        ties = {f"m{memory_id}" for memory_id in standing.mentions}
        if standing.correction.subject is not None:
            ties.add(f"s{standing.correction.subject}")
        merged = [standing]
        for label in {label_of[tie] for tie in ties if tie in label_of}:
            merged += members.pop(label)
        members[number] = merged
        for each in merged:
            for memory_id in each.mentions:
                label_of[f"m{memory_id}"] = number
            if each.correction.subject is not None:
                label_of[f"s{each.correction.subject}"] = number
    return [sorted(group, key=lambda standing: standing.correction.order) for group in members.values()]


def _is_in_place(correction: Correction) -> bool:
    return correction.replacement is not None and correction.replacement in correction.targets


def _pivot(world: World, correction: Correction) -> int | None:
    """Give the position of the revision in force among those of the replacement, for a correction in place."""
    assert correction.replacement is not None
    revisions = world.revisions(correction.replacement)
    if correction.revision_id is not None:
        return next((i for i, node in enumerate(revisions) if node.id == correction.revision_id), None)
    upto = [i for i, node in enumerate(revisions) if node.order[0] <= correction.effective_at]
    return upto[-1] if upto else None


def _find_replacing(world: World, correction: Correction) -> set[str]:
    if correction.replacement is None:
        return set()
    if not _is_in_place(correction):
        return {node.id for node in world.memory_nodes(correction.replacement)}
    before = world.revisions(correction.replacement)[: _pivot(world, correction) or 0]
    return {node.id for node in world.memory_nodes(correction.replacement)} - {node.id for node in before}


def _name_earlier_replacements(component: list[Standing]) -> None:
    """The last of several corrections of one target also names the replacements of the earlier ones."""
    of_target: dict[str, list[Standing]] = defaultdict(list)
    for standing in component:
        for memory_id in sorted(standing.named):
            of_target[memory_id].append(standing)
    for several in of_target.values():
        last = several[-1]
        for earlier in several[:-1]:
            replacement = earlier.correction.replacement
            if replacement is not None and replacement != last.correction.replacement:
                last.named.add(replacement)
                last.added.add(replacement)


def _find_targets(world: World, standing: Standing) -> None:
    """Find target nodes: revisions before the one in force for a memory that corrects itself, else all; and by subject."""
    correction = standing.correction
    before: list[Node] = []
    if _is_in_place(correction):
        assert correction.replacement is not None
        before = world.revisions(correction.replacement)[: _pivot(world, correction) or 0]
    found = _find_by_correction_subject(world, correction)
    by_subject = {node.memory_id for node in found} - set(correction.targets) - standing.added
    for memory_id in standing.named - by_subject - {correction.replacement}:
        found += world.memory_nodes(memory_id)
    standing.unknown = tuple(sorted(m for m in standing.named - {correction.replacement} if not world.memory_nodes(m)))
    standing.nominal = {node.id: node.memory_id for node in found}
    standing.nominal_revised = {node.id: node.memory_id for node in before}
    memories = {*standing.nominal.values(), *standing.nominal_revised.values()}
    void = {m for m in memories if correction.revision_id is None and _is_void(world, m, correction.effective_at)}
    standing.targets = {node_id: m for node_id, m in standing.nominal.items() if m not in void}
    standing.revised = {node_id: m for node_id, m in standing.nominal_revised.items() if m not in void}


def _find_by_correction_subject(world: World, correction: Correction) -> list[Node]:
    if correction.subject is None:
        return []
    return [
        node
        for node in world.records_of_subject(correction.subject)
        if node.order[0] <= correction.effective_at and node.memory_id != correction.replacement
    ]


def _is_void(world: World, memory_id: str, effective_at: datetime) -> bool:
    return any(node.is_verified and node.order[0] > effective_at for node in world.revisions(memory_id))


def _collect_exempting(component: list[Standing]) -> None:
    later: set[str] = set()
    for standing in reversed(component):
        later |= standing.replacing
        standing.exempting = set(later)


def _derive_extent(world: World, standing: Standing) -> None:
    extent = standing.correction.extent
    if extent is None:
        nodes = [world.nodes[node_id] for node_id in (*standing.nominal, *standing.nominal_revised)]
        roots = {root for node in nodes for root in node.roots}
        is_family = len(roots) == 1 and not standing.unknown and all(node.has_family_roots for node in nodes)
        extent = Extent.FAMILY if is_family else Extent.DESCENDANTS
    standing.extent = extent
    if extent is Extent.FAMILY:
        own = {root for node_id in standing.targets for root in world.nodes[node_id].roots}
        standing.family_roots = tuple(sorted(own))


def find_family_starts(world: World, standing: Standing) -> list[Node]:
    """Find the nodes without parents (or in a circle without outside parents) that carry the roots of a family extent."""
    return [
        node for root in standing.family_roots for node in world.memory_nodes(root) if node.depth == 0 and node.roots == (root,)
    ]
