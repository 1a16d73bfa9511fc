"""Builds candidates for the rules of a read, with the permissions that the write path would have given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from guardian.core.bounds import group_bounds, list_bounds, merge_bounds, read_bounds
from guardian.core.model import MemoryKind, Scope, SourceKind, Status
from guardian.core.permission import merge_permissions, own_permission, select_entry_slots
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import Decision, Setting
from guardian.read.admission.policy import ReadPolicy
from guardian.read.admission.task import Task

AT = datetime(2026, 6, 1, tzinfo=UTC)
FACT = Task(requires_objective_fact=True)
PERSONAL = Task(requires_objective_fact=False, personalization_allowed=True)


def candidate(
    memory_id: str = "m",
    text: str = "A text",
    *,
    kind: str = "fact",
    source: str = "document",
    status: str = "active",
    parents: Sequence[Candidate] = (),
    roots: Sequence[str] | None = None,
    rank: int = 0,
    similarity: float = 0.5,
    subject: str | None = None,
    observed: str = "2026-03-01T00:00:00.000000Z",
    scope: Mapping[str, str] | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    **more: Any,
) -> Candidate:
    """Build a candidate; its permission is its own, narrowed by its parents', as its bounds are."""
    own_scope = None if scope is None else Scope(**scope)
    own = own_permission(
        kind=MemoryKind(kind),
        source_kind=SourceKind(source),
        verified=status == "verified",
        has_parents=bool(parents),
        valid_from=valid_from,
        valid_until=valid_until,
        scope=own_scope,
        subject=subject,
    )
    permission = merge_permissions(own, [parent.permission for parent in parents])
    inherited = sorted({root for parent in parents for root in parent.roots})
    return Candidate(
        record_id=f"id-{memory_id}",
        memory_id=memory_id,
        revision="r",
        text=text,
        rank=rank,
        score=1.0 / (60 + rank),
        similarity=similarity,
        status=Status(status),
        kind=MemoryKind(kind),
        source_kind=SourceKind(source),
        subject=subject,
        observed_at=observed,
        slots=frozenset(select_entry_slots(MemoryKind(kind), permission)),
        permission=permission,
        roots=tuple(roots if roots is not None else inherited or [memory_id]),
        depth=max((parent.depth + 1 for parent in parents), default=0),
        bounds=group_bounds(merge_bounds([read_bounds(own_scope), *(list_bounds(parent.bounds) for parent in parents)])),
        is_derived=bool(parents),
        valid_from=permission.valid_from,
        valid_until=permission.valid_until,
        **{"verdicts": {}, **more},
    )


def setting(task: Task | None = None, **policy: Any) -> Setting:
    """Build what decisions are made for."""
    return Setting(task=task or Task(), policy=ReadPolicy(**policy), at=AT)


def ranked(*candidates: Candidate) -> list[Candidate]:
    """Give the candidates the ranks of their order."""
    return [replace(found, rank=rank) for rank, found in enumerate(candidates)]


def roles(decisions: Sequence[Decision]) -> dict[str, tuple[str, str]]:
    """Give (role, reason) of each memory."""
    return {item.candidate.memory_id: (str(item.role), str(item.reason)) for item in decisions}
