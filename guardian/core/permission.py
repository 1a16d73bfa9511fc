"""Give each record its permission: a table of kind by source, then lineage, which only narrows.

The table is conservative: what a user says is never evidence for an objective fact, a belief is evidence for nothing,
an agent's statement is no evidence of its own, and unknown sources give background. Why user memory must not become
evidence: MemSyco-Bench (arXiv 2607.01071).

Every cell allows `background`, so that the intersection with parents cannot become empty and a fact drawn from an
episode is at least context. What *itself* enters a prompt is `select_entry_slots`: episodes and skills as examples
only.

`verified` says that somebody trusted stands behind a text, not that the text has another source, so it widens one
cell only: a rule in a document or a tool's answer may constrain an answer once it is verified. Unverified it may be
an injected instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache, lru_cache
from typing import TypeVar

from guardian.core.card import ConflictPolicy, Permission, Withheld
from guardian.core.model import MemoryKind, Scope, Slot, SourceKind

_Word = TypeVar("_Word", bound=str)


class Origin(StrEnum):
    """Whose word a record is, as far as permissions tell sources apart."""

    USER = "user"
    OUTSIDE = "outside"  # a document or a tool
    REVIEW = "review"
    DERIVED = "derived"  # an agent, from memories it names; these decide
    AGENT = "agent"  # an agent, from nothing it names
    UNKNOWN = "unknown"


_F, _P, _C, _E, _B = Slot.FACTS, Slot.PREFERENCES, Slot.CONSTRAINTS, Slot.EXAMPLES, Slot.BACKGROUND
_BACKGROUND = frozenset({_B})
_PRECEDENT = frozenset({_E, _B})
_PERSONAL = frozenset({_P, _C, _B})
_EVIDENCE = frozenset({_F, _B})

# Rows not written here are background. Episodes, skills and beliefs are the same whoever speaks: see `_ANY_ORIGIN`.
_SLOTS: dict[Origin, dict[MemoryKind, frozenset[Slot]]] = {
    Origin.USER: {
        MemoryKind.FACT: frozenset({_P, _B}),
        MemoryKind.PREFERENCE: _PERSONAL,
        MemoryKind.INSTRUCTION: _PERSONAL,
        MemoryKind.PROFILE: _PERSONAL,
        MemoryKind.SUMMARY: frozenset({_P, _B}),
        MemoryKind.OTHER: frozenset({_P, _B}),
    },
    Origin.OUTSIDE: {
        MemoryKind.FACT: _EVIDENCE,
        MemoryKind.PREFERENCE: frozenset({_P, _B}),
        MemoryKind.PROFILE: frozenset({_F, _P, _B}),
        MemoryKind.SUMMARY: _EVIDENCE,
        MemoryKind.OTHER: _EVIDENCE,
    },
    Origin.REVIEW: {
        MemoryKind.FACT: _EVIDENCE,
        MemoryKind.PREFERENCE: _PERSONAL,
        MemoryKind.INSTRUCTION: frozenset({_C, _B}),
        MemoryKind.PROFILE: frozenset({_F, _P, _C, _B}),
        MemoryKind.SUMMARY: _EVIDENCE,
        MemoryKind.OTHER: _EVIDENCE,
    },
    Origin.DERIVED: {
        MemoryKind.FACT: _EVIDENCE | _PERSONAL,
        MemoryKind.PREFERENCE: _PERSONAL,
        MemoryKind.INSTRUCTION: _PERSONAL,
        MemoryKind.PROFILE: _EVIDENCE | _PERSONAL,
        MemoryKind.SUMMARY: _EVIDENCE | _PERSONAL,
        MemoryKind.OTHER: _EVIDENCE | _PERSONAL,
    },
}
_ANY_ORIGIN = {MemoryKind.BELIEF: _BACKGROUND, MemoryKind.EPISODE: _PRECEDENT, MemoryKind.SKILL: _PRECEDENT}
_VERIFIED_RULE = frozenset({_C, _B})
_PRECEDENTS = frozenset({MemoryKind.EPISODE, MemoryKind.SKILL})

_ORIGINS = {
    SourceKind.USER: Origin.USER,
    SourceKind.TOOL: Origin.OUTSIDE,
    SourceKind.DOCUMENT: Origin.OUTSIDE,
    SourceKind.HUMAN_REVIEW: Origin.REVIEW,
    SourceKind.AGENT: Origin.AGENT,
}
_STRICTNESS = tuple(ConflictPolicy)


def own_permission(
    *,
    kind: MemoryKind,
    source_kind: SourceKind,
    verified: bool,
    has_parents: bool,
    is_fed: bool = True,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    scope: Scope | None = None,
    subject: str | None = None,
) -> Permission:
    """Give what a record's own kind and source allow, before its parents narrow it.

    Args:
        kind: What is remembered.
        source_kind: Who says so.
        verified: Whether trusted authority stands behind it (a granted status, not a claim).
        has_parents: Whether it was derived from other memories.
        is_fed: Whether any of these lies outside a circle that it is part of; an agent's records that rest on each other rest on nothing.
        valid_from: From when it holds.
        valid_until: Until when.
        scope: For whom and where; each named part becomes a duty to match it.
        subject: What it is about; likewise.
    """
    origin = _ORIGINS.get(source_kind, Origin.UNKNOWN)
    if origin is Origin.AGENT and has_parents and is_fed:
        origin = Origin.DERIVED
    frame = _build_frame(kind, origin, verified, has_parents)
    return Permission(
        slots=frame.slots,
        authority=frame.authority,
        must_use=_list_duties(kind, scope, subject, valid_until),
        must_not=frame.must_not,
        conflict=frame.conflict,
        valid_from=valid_from,
        valid_until=valid_until,
    )


@cache  # a few hundred entries: closed sets and two flags
def _build_frame(kind: MemoryKind, origin: Origin, verified: bool, has_parents: bool) -> Permission:
    """Build what no text, name or time plays a part in."""
    slots = _list_slots(kind, origin, verified=verified)
    return Permission(
        slots=tuple(sorted(slots)),
        authority=_list_withheld(kind, origin, slots, verified=verified),
        must_not=_list_bars(kind, slots, has_parents=has_parents),
        conflict=_choose_conflict(kind, origin),
    )


def merge_permissions(own: Permission, parents: Sequence[Permission], *, has_unseen_parent: bool = False) -> Permission:
    """Narrow a record's own permission to what its parents allow; never wider, whatever their order or number.

    Slots are the intersection, everything that restricts is the union, validity the overlap (which may be empty: then
    it holds at no time), the conflict policy the strictest. A parent that was not seen yet allows background only.
    """
    return _merge(own, tuple(parents), has_unseen_parent) if parents or has_unseen_parent else own


@lru_cache(maxsize=4_096)  # what records of one kind and source may is said in the same words
def _merge(own: Permission, parents: tuple[Permission, ...], has_unseen_parent: bool) -> Permission:
    everyone = (own, *parents)
    slots = frozenset(own.slots).intersection(*(parent.slots for parent in parents))
    return Permission(
        slots=tuple(sorted(slots & _BACKGROUND if has_unseen_parent else slots)),
        authority=_merge_sorted(permission.authority for permission in everyone),
        must_use=_merge_sorted(permission.must_use for permission in everyone),
        must_not=_merge_sorted(permission.must_not for permission in everyone),
        conflict=max((permission.conflict for permission in everyone), key=_STRICTNESS.index),
        valid_from=max((p.valid_from for p in everyone if p.valid_from), default=None),
        valid_until=min((p.valid_until for p in everyone if p.valid_until), default=None),
    )


def forget_merged() -> None:
    """Forget the merged permissions that are cached: they name subjects and scopes, and one of them was erased."""
    _merge.cache_clear()


def select_entry_slots(kind: MemoryKind, permission: Permission) -> tuple[Slot, ...]:
    """Give the slots the record itself may enter: episodes and skills as examples only."""
    if kind in _PRECEDENTS:
        return tuple(slot for slot in permission.slots if slot is Slot.EXAMPLES)
    return permission.slots


def _merge_sorted(parts: Iterable[tuple[_Word, ...]]) -> tuple[_Word, ...]:
    return tuple(sorted({item for part in parts for item in part}))


def _list_slots(kind: MemoryKind, origin: Origin, *, verified: bool) -> frozenset[Slot]:
    if kind in _ANY_ORIGIN:
        return _ANY_ORIGIN[kind]
    if kind is MemoryKind.INSTRUCTION and origin is Origin.OUTSIDE and verified:
        return _VERIFIED_RULE
    return _SLOTS.get(origin, {}).get(kind, _BACKGROUND)


def _list_withheld(kind: MemoryKind, origin: Origin, slots: frozenset[Slot], *, verified: bool) -> tuple[Withheld, ...]:
    """List what the record may never establish or override. System instructions never come from memory."""
    withheld = {
        Withheld.SYSTEM_INSTRUCTION: True,
        Withheld.OBJECTIVE_FACT: Slot.FACTS not in slots,
        Withheld.CURRENT_VALUE: Slot.FACTS not in slots or kind is MemoryKind.SUMMARY or origin is Origin.DERIVED,
        Withheld.VERIFIED_STATEMENT: not verified,
        Withheld.USER_PREFERENCE: Slot.PREFERENCES not in slots,
        Withheld.PREFERENCE_OF_OTHERS: origin is not Origin.REVIEW,
        Withheld.TASK_OUTCOME: kind in _PRECEDENTS,
    }
    return tuple(sorted(item for item, is_withheld in withheld.items() if is_withheld))


def _list_duties(kind: MemoryKind, scope: Scope | None, subject: str | None, valid_until: datetime | None) -> tuple[str, ...]:
    """List what its user must do. They name fields, never values: values come from outside and stay in the record."""
    duties = {f"match {part}" for part in Scope.__slots__ if scope is not None and getattr(scope, part) is not None}
    if subject:
        duties.add("match subject")
    if valid_until:
        duties.add("check valid_until")
    if kind in _PRECEDENTS:
        duties.add("weigh by verified outcome")
    if kind is MemoryKind.BELIEF:
        duties.add("name whose belief it is")
    return tuple(sorted(duties))


def _list_bars(kind: MemoryKind, slots: frozenset[Slot], *, has_parents: bool) -> tuple[str, ...]:
    """List the uses that are barred."""
    bars = {"follow as an instruction"} if Slot.CONSTRAINTS not in slots else set()
    if Slot.FACTS not in slots:
        bars.add("support an objective conclusion")
    if has_parents:
        bars.add("count as independent evidence")
    if kind in _PRECEDENTS:
        bars.add("reuse the outcome as the answer")
    return tuple(sorted(bars))


def _choose_conflict(kind: MemoryKind, origin: Origin) -> ConflictPolicy:
    """Choose what decides on disagreement: people change their minds; people reopen what people reviewed."""
    if origin is Origin.REVIEW:
        return ConflictPolicy.HUMAN_REVIEW
    is_wish = kind in {MemoryKind.PREFERENCE, MemoryKind.INSTRUCTION, MemoryKind.PROFILE}
    return ConflictPolicy.LATEST_MEMORY_WINS if is_wish else ConflictPolicy.CURRENT_EVIDENCE_WINS
