"""Corrections of one space: what each names, which of them form a chain, where they are void and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from guardian.core.model import EventRef, Extent, MemoryKind
from tests.reference.edges import in_force
from tests.reference.facts import Facts
from tests.reference.lineage import Lineage
from tests.reference.revisions import Node, Revision, Unseen

Memories = dict[str, list[Revision]]

FAMILY_KINDS = frozenset(
    {
        MemoryKind.FACT,
        MemoryKind.BELIEF,
        MemoryKind.PREFERENCE,
        MemoryKind.INSTRUCTION,
        MemoryKind.PROFILE,
        MemoryKind.SUMMARY,
    }
)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Correction:
    """One correction that stands.

    Attributes:
        form: 0 said as such, 1 by `supersedes`, 2 in place by a verified revision; breaks ties within one event.
        said_extent: As the event says it; None for the default.
        replacement: Memory id of what holds instead.
        named: The target nodes of each memory it names by id, by subject or in place.
        holding: The nodes of its replacement.
        in_place: The memory that it corrects in place, if any.
        added: Target nodes that it has as the last of several corrections.
        void: Target memories that it does not touch.
        later: The corrections of its chain that come after it.
    """

    ref: EventRef
    form: int
    effective_at: datetime
    subject: str | None = None
    said_extent: Extent | None = None
    replacement: str | None = None
    named: dict[str, frozenset[Node]]
    holding: frozenset[Node]
    in_place: str | None = None
    added: dict[str, frozenset[Node]] = field(default_factory=dict)
    void: frozenset[str] = frozenset()
    later: tuple[Correction, ...] = ()

    @property
    def order(self) -> tuple[datetime, str, str, str, int]:
        """Order corrections by (effective time, source, id, digest), then by form."""
        return (self.effective_at, self.ref.source, self.ref.id, self.ref.digest, self.form)

    @property
    def targets(self) -> dict[str, frozenset[Node]]:
        """Give the target nodes of each target memory, added ones included, void or not."""
        return self.named | self.added

    @property
    def live_targets(self) -> dict[str, frozenset[Node]]:
        """Give the target nodes of each memory for which it is not void."""
        return {memory_id: nodes for memory_id, nodes in self.targets.items() if memory_id not in self.void}


def build_corrections(facts: Facts, memories: Memories) -> list[Correction]:
    """Give all corrections of a space in their order, related to each other."""
    said = [
        _name(
            memories,
            ref=each.ref,
            form=0,
            effective_at=each.effective_at,
            targets=each.targets,
            subject=each.subject,
            said_extent=each.extent,
            replacement=each.replacement,
        )
        for each in facts.corrections
    ]
    by_write = [
        _name(
            memories,
            ref=write.ref,
            form=1,
            effective_at=write.written.observed_at,
            targets=write.written.supersedes,
            subject=None,
            said_extent=None,
            replacement=write.written.memory_id,
        )
        for write in facts.writes
        if not write.inline and write.believed and not write.withdrawn and write.written.supersedes
    ]
    in_place = [found for revisions in memories.values() if (found := _verified_in_place(revisions)) is not None]
    corrections = sorted([*said, *by_write, *in_place], key=lambda each: each.order)
    added = {each: _added_targets(each, corrections, memories) for each in corrections}
    later = {each: _later_of_chain(each, corrections) for each in corrections}
    related = {each: replace(each, added=added[each], void=_void(each, added[each], memories)) for each in corrections}
    return [replace(related[each], later=tuple(related[other] for other in later[each])) for each in corrections]


def reach(correction: Correction, lineage: Lineage) -> frozenset[Node]:
    """Give all nodes that a correction reaches, before any is exempt."""
    ordinary = _ordinary_targets(correction)
    reached = ordinary | passed_on(correction, lineage)
    if _extent(correction, lineage) is Extent.FAMILY:
        roots = {root for node in ordinary for root in lineage.roots(node)}
        reached |= lineage.heirs(node for node, root_id in lineage.root_id.items() if root_id in roots)
    return reached


def passed_on(correction: Correction, lineage: Lineage) -> frozenset[Node]:
    """Give the nodes that a correction reaches by derivation from a target, and the targets from which it does."""
    in_place = correction.live_targets.get(correction.in_place or "", frozenset())
    is_record_only = _extent(correction, lineage) is Extent.RECORD
    return lineage.heirs(in_place if is_record_only else in_place | _ordinary_targets(correction))


def _ordinary_targets(correction: Correction) -> frozenset[Node]:
    """Give the live target nodes that are not corrected in place."""
    targets = correction.live_targets
    return frozenset().union(*(nodes for memory_id, nodes in targets.items() if memory_id != correction.in_place))


def nodes_of(memory_id: str, memories: Memories) -> frozenset[Node]:
    """Give all revisions of a memory, or the memory itself where none was seen."""
    return frozenset(memories.get(memory_id) or {Unseen(memory_id)})


def _name(
    memories: Memories,
    *,
    ref: EventRef,
    form: int,
    effective_at: datetime,
    targets: tuple[str, ...],
    subject: str | None,
    said_extent: Extent | None,
    replacement: str | None,
) -> Correction:
    """Find what a correction names; a replacement among its targets is corrected in place."""
    named = {memory_id: nodes_of(memory_id, memories) for memory_id in targets}
    holding = frozenset() if replacement is None else nodes_of(replacement, memories)
    in_place = replacement if replacement in named else None
    if in_place is not None:
        revisions = memories.get(in_place, [])
        # Where none was observed by then, the earliest is in force, and nothing comes before it.
        now = in_force(revisions, effective_at).age if revisions else None
        named[in_place] = frozenset(each for each in revisions if each.age < now) if now else frozenset()
        holding = frozenset(each for each in revisions if each.age >= now) if now else holding
    if subject is not None:
        for memory_id, revisions in memories.items():
            found = {each for each in revisions if subject in each.subjects and each.observed_at <= effective_at}
            if found and memory_id != replacement:
                named[memory_id] = named.get(memory_id, frozenset()) | found
    return Correction(
        ref=ref,
        form=form,
        effective_at=effective_at,
        subject=subject,
        said_extent=said_extent,
        replacement=replacement,
        named=named,
        holding=holding,
        in_place=in_place,
    )


def _verified_in_place(revisions: list[Revision]) -> Correction | None:
    """Give the correction of a memory by its last verified revision that says something else than an earlier one.

    Of an erased text nobody knows whether it differed, so it is taken to; nor is the digest of its event known any more.
    """
    for position in range(len(revisions) - 1, 0, -1):
        each = revisions[position]
        believed = [write.ref for write in each.writes if write.believed and not write.withdrawn]
        if each.erased:
            believed = [replace(ref, digest="") for ref in believed]
        if believed and any(each.erased or before.erased or before.nfc != each.nfc for before in revisions[:position]):
            return Correction(
                ref=min(believed, key=lambda ref: ref.order),
                form=2,
                effective_at=each.observed_at,
                replacement=each.memory_id,
                named={each.memory_id: frozenset(revisions[:position])},
                holding=frozenset(revisions[position:]),
                in_place=each.memory_id,
            )
    return None


def _added_targets(each: Correction, corrections: list[Correction], memories: Memories) -> dict[str, frozenset[Node]]:
    """Give the replacements of earlier corrections of those targets of which this one is the last."""
    added: dict[str, frozenset[Node]] = {}
    for memory_id in each.named:
        same_target = [other for other in corrections if memory_id in other.named]
        if same_target[-1] is each:
            for other in same_target[:-1]:
                if other.replacement is not None and other.replacement != each.replacement:
                    added[other.replacement] = nodes_of(other.replacement, memories)
    return added


def _later_of_chain(each: Correction, corrections: list[Correction]) -> list[Correction]:
    chain = {each}
    while joined := {new for new in corrections if new not in chain and any(_linked(new, old) for old in chain)}:
        chain |= joined
    return [other for other in corrections if other in chain and other.order > each.order]


def _linked(one: Correction, other: Correction) -> bool:
    """Tell whether two corrections share a target, a subject, or meet at a replacement."""
    return (
        not one.named.keys().isdisjoint(other.named)
        or (one.subject is not None and one.subject == other.subject)
        or one.replacement in other.named
        or other.replacement in one.named
        or (one.replacement is not None and one.replacement == other.replacement)
    )


def _void(each: Correction, added: dict[str, frozenset[Node]], memories: Memories) -> frozenset[str]:
    """Give the target memories that were verified after the correction took effect."""
    if each.form == 2:
        return frozenset()
    return frozenset(
        memory_id
        for memory_id in each.named | added
        if any(new.verified and new.observed_at > each.effective_at for new in memories.get(memory_id, []))
    )


def _extent(correction: Correction, lineage: Lineage) -> Extent:
    """Give the extent as said, or the default: the family of one root that is a statement, else descendants."""
    if correction.form == 2:
        return Extent.DESCENDANTS
    if correction.said_extent is not None:
        return correction.said_extent
    targets = {node for nodes in correction.targets.values() for node in nodes}
    roots = {root for node in targets for root in lineage.all_roots(node)}
    is_statement = all(
        isinstance(root, Revision) and root.kind in FAMILY_KINDS for node in targets for root in lineage.root_nodes(node)
    )
    return Extent.FAMILY if len(roots) == 1 and is_statement else Extent.DESCENDANTS
