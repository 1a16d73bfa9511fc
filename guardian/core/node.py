"""Nodes: what has lineage, as the rules work on it; and how a node lies in a payload.

A node is a record, a tombstone, or an unseen memory that somebody named as a parent. Nodes are the one mutable thing of the
core: a decision loads them, the rules rewrite their derived fields in the order that `decide` shows, and what then differs
from the stored payload becomes the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from guardian.core.bounds import Bounds
from guardian.core.card import Card, Permission
from guardian.core.claim import (
    Claim,
    build_revision,
    build_tombstone_revision,
    digest_text,
)
from guardian.core.model import MemoryKind, Scope, Slot, Source, SourceKind, Status
from guardian.core.narrowing import Mark
from guardian.core.point import PointKind, build_point_id

# An id no memory can have (ids hold no NUL): marks records whose roots were cut, so that a family read finds them too.
TRUNCATED_ROOT = "\x00truncated"


@dataclass(frozen=True, slots=True)
class Edge:
    """One step of derivation, from a node to its parent.

    Attributes:
        memory_id: The parent's memory.
        node_id: The parent's node.
        how: `declared`, `linked` or `inferred`.
        at: The time at which a named parent is resolved; None for an inferred one, which is that very record.
        similarity: Of an inferred parent, in [0, 1].
    """

    memory_id: str
    node_id: str
    how: str
    at: datetime | None = None
    similarity: float | None = None

    def move_to(self, node_id: str) -> Edge:
        """Give the edge to another revision of the same parent."""
        return self if node_id == self.node_id else replace(self, node_id=node_id)


@dataclass(frozen=True, slots=True)
class Reach:
    """How a correction reaches a node, with what the exemption needs to know of the correction.

    Attributes:
        effective_at: When the correction takes effect.
        source, event_id: The correction's event.
        replacement: Memory id of what holds instead, or None.
        spreads: Whether what derives from the node is reached too.
        is_derived: Whether the node is a target or derives from one; else it only shares a root.
        via: The least target id over which it is reached, itself included.
    """

    effective_at: datetime
    source: str
    event_id: str
    replacement: str | None
    spreads: bool
    is_derived: bool
    via: str


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """A record, tombstone or unseen memory. See the module for who may change what, and when.

    Attributes:
        stored: The payload as read, or None for a node made by this decision.
        is_plain, inline_events: Of a tombstone: whether a write made it, and which corrections did.
        believed_by: Of a tombstone: the events whose claim to be verified was believed, as dumped references without digest. What
            it corrected in place stays corrected.
        named_subjects: Of a tombstone: digests of the subjects its events named; an empty one for an event that named none.
        subject_keys: The same with the inherited one: a correction by subject still finds what derives from an erased text.
        edges: To the parents, sorted by (memory id, node id).
        target_of: Corrections (by key) that name it as a target. Own marks survive a recomputation of lineage.
        family_of: Corrections whose family extent starts here.
        is_base: Whether it is a record of some correction's replacement.
        reached: Correction key -> how it reaches this node, before exemption.
        bases: Replacement node id -> corrections that have a target on every path from there.
        felled: Keys of the corrections that reach it and do not exempt it.
        has_family_roots: Whether every root of it is seen and of a kind that a family stands or falls with.
        bounds: Where it may be used: what its own scope and those of all it derives from name.
        lacks_bounds: Whether a Guardian that knew no bounds stored it last: they are worked out when one of its events comes again.
        has_standing_root: Whether some root of it is neither felled nor erased.
        induced: What a model's induction of this very content says.
        cascade_until: Erasures with cascade reach the memory up to this time.
        calibration: Mark of the calibration that the utility was made by; None where it hangs on none, or without any.
    """

    id: str
    point: PointKind
    space: str
    memory_id: str
    stored: dict[str, Any] | None = None
    whole: bool = True

    # what was written
    revision: str | None = None
    observed_at: datetime | None = None
    text: str | None = None
    text_digest: str | None = None
    claims: tuple[Claim, ...] = ()
    named_kind: MemoryKind | None = None
    named_parents: tuple[str, ...] | None = None
    is_plain: bool = False
    inline_events: frozenset[str] = frozenset()
    believed_by: frozenset[tuple[str, ...]] = frozenset()
    named_subjects: frozenset[str] = frozenset()
    subject_keys: frozenset[str] = frozenset()

    # what it has by inheritance within its memory
    kind: MemoryKind = MemoryKind.OTHER
    claimed_source: Source | None = None
    scope: Scope | None = None
    subject: str | None = None
    is_verified: bool = False

    # while provenance is worked out; not stored
    declared_edges: tuple[Edge, ...] = ()
    removed_parents: frozenset[str] = frozenset()
    has_anchor: bool = False

    # lineage
    edges: tuple[Edge, ...] = ()
    provenance: str = "none"
    source_kind: SourceKind = SourceKind.UNKNOWN
    roots: tuple[str, ...] = ()
    is_truncated: bool = False
    depth: int = 0
    evidence_at: datetime | None = None
    has_family_roots: bool = False
    permission: Permission | None = None
    slots: tuple[Slot, ...] = ()
    bounds: Bounds = ()
    lacks_bounds: bool = False
    cascade_until: datetime | None = None

    # corrections
    target_of: frozenset[str] = frozenset()
    family_of: frozenset[str] = frozenset()
    is_base: bool = False
    reached: dict[str, Reach] = field(default_factory=dict)
    bases: dict[str, frozenset[str]] = field(default_factory=dict)
    felled: frozenset[str] = frozenset()
    has_standing_root: bool = True

    # status and utility
    is_current: bool = True
    current_revision: str | None = None
    deleted_by: str | None = None
    utility: float | None = None
    utility_basis: str | None = None
    calibration: str | None = None
    verdicts: dict[str, Any] | None = None
    card: Card | None = None
    induced: Mark | None = None

    @property
    def order(self) -> tuple[datetime, str]:
        """Place among the revisions of its memory."""
        assert self.observed_at is not None
        assert self.revision is not None
        return (self.observed_at, self.revision)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Parents as its own event names them: None when it names none, a tuple (maybe empty) when it does."""
        return drop_self(self.claims[0].event.parents, self.memory_id) if self.claims else self.named_parents

    @property
    def is_written(self) -> bool:
        """Whether a plain write made it, not only a text inside a correction."""
        return self.is_plain or any(not claim.is_inline for claim in self.claims)

    @property
    def subjects(self) -> frozenset[str]:
        """What corrections by subject find it by."""
        return self.subject_keys if self.subject is None else frozenset({self.subject})

    @property
    def is_record(self) -> bool:
        """Whether it has a text."""
        return self.point is PointKind.RECORD

    @property
    def is_erased(self) -> bool:
        """Whether it is a tombstone."""
        return self.point is PointKind.TOMBSTONE

    @property
    def is_unseen(self) -> bool:
        """Whether nothing of its memory has come yet."""
        return self.point is PointKind.UNSEEN

    @property
    def status(self) -> Status:
        """Erased beats superseded beats verified beats active."""
        if self.is_erased:
            return Status.ERASED
        if self.felled or self.deleted_by is not None or not self.is_current:
            return Status.SUPERSEDED
        return Status.VERIFIED if self.is_verified else Status.ACTIVE


def drop_self(parents: tuple[str, ...] | None, memory_id: str) -> tuple[str, ...] | None:
    """Give declared parents as a sorted set without the memory itself: a self-parent is ignored everywhere."""
    return tuple(sorted(set(parents) - {memory_id})) if parents else parents


def build_record_id(space: str, memory_id: str, revision: str) -> str:
    """Build the id of a record or tombstone."""
    return build_point_id(space, "node", memory_id, revision)


def build_unseen(space: str, memory_id: str) -> Node:
    """Build the node of a memory that was only named so far."""
    node_id = build_point_id(space, "unseen", memory_id)
    return Node(id=node_id, point=PointKind.UNSEEN, space=space, memory_id=memory_id)


def build_record(space: str, memory_id: str, *, text: str, observed_at: datetime, parents: tuple[str, ...] | None) -> Node:
    """Build the node of a revision, without claims."""
    revision = build_revision(observed_at=observed_at, text=text, parents=drop_self(parents, memory_id))
    return Node(
        id=build_record_id(space, memory_id, revision),
        point=PointKind.RECORD,
        space=space,
        memory_id=memory_id,
        revision=revision,
        observed_at=observed_at,
        text=text,
        text_digest=digest_text(text),
    )


def build_tombstone(
    space: str, memory_id: str, *, observed_at: datetime, kind: MemoryKind | None, parents: tuple[str, ...] | None
) -> Node:
    """Build what is left of an erased revision."""
    parents = drop_self(parents, memory_id)
    revision = build_tombstone_revision(observed_at=observed_at, kind=kind, parents=parents)
    return Node(
        id=build_record_id(space, memory_id, revision),
        point=PointKind.TOMBSTONE,
        space=space,
        memory_id=memory_id,
        revision=revision,
        observed_at=observed_at,
        named_kind=kind,
        named_parents=parents,
    )
