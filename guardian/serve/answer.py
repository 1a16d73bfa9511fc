"""Answers: what the read side gives, in the words of the bodies."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from guardian.core.export import build_row
from guardian.ports import Hit
from guardian.read import Admission
from guardian.read.admission.decision import Decision, Role
from guardian.read.explain import Branch, Explanation
from guardian.serve.body import (
    ContextAnswer,
    ContextRecord,
    Kin,
    MemoryAnswer,
    Message,
    Revision,
    SearchAnswer,
    SearchHit,
    TaskBody,
)


def build_context(admission: Admission) -> ContextAnswer:
    """Give an admission; the text of what does not stand in the prompt is left out."""
    handles = {record_id: handle for handle, record_id in admission.prompt.records.items()}
    ruling = admission.ruling
    by_role: dict[Role, list[ContextRecord]] = {}
    for decision in admission.decisions:
        record = _build_record(decision, handles)
        by_role.setdefault(record.role, []).append(record)
    return ContextAnswer(
        id=admission.id,
        recorded=admission.is_recorded,
        prompt=admission.prompt.text,
        messages=tuple(Message.model_validate(message) for message in admission.prompt.messages),
        tokens=admission.prompt.tokens,
        records={role: tuple(records) for role, records in by_role.items()},
        conflict_policy=ruling.conflict_policy,
        advice=None if ruling.advice is None else ruling.advice.value,
        task=TaskBody(**asdict(admission.task)),
    )


def _build_record(decision: Decision, handles: dict[str, str]) -> ContextRecord:
    assert decision.role is not None
    assert decision.reason is not None
    found = decision.candidate
    return ContextRecord(
        memory_id=found.memory_id,
        revision=found.revision,
        role=decision.role,
        reason=decision.reason,
        sentence=decision.sentence,
        rendered=decision.is_rendered,
        similarity=round(found.similarity, 6),
        handle=handles.get(found.record_id),
        text=found.text if decision.is_rendered else None,
        marks=tuple(mark.value for mark in decision.marks),
        instead=decision.instead,
    )


def build_search(hits: Sequence[Hit]) -> SearchAnswer:
    """Give the hits of a search."""
    return SearchAnswer(hits=tuple(_build_hit(hit) for hit in hits))


def _build_hit(hit: Hit) -> SearchHit:
    row = build_row(hit.point)
    return SearchHit(
        memory_id=row["memory_id"],
        revision=row["revision"],
        status=row["status"],
        kind=row["kind"],
        slots=tuple(row["slots"]),
        text=row["text"],
        score=round(hit.score, 6),
        utility=row["utility"],
        replaced_by=list_replacements(row["reasons"]),
        metadata=row["metadata"],
    )


def build_memory(known: Explanation) -> MemoryAnswer:
    """Give an explanation."""
    rows = sorted(known.revisions, key=lambda row: row["observed_at"] or "", reverse=True)
    revisions = tuple(_build_revision(row) for row in sorted(rows, key=lambda row: not row["current"]))
    (above, lost_above), (below, lost_below) = _list_kin(known.ancestors), _list_kin(known.descendants)
    corrections = [event for event in known.events if event.get("replacement") == known.memory_id]
    return MemoryAnswer(
        space=known.space,
        memory_id=known.memory_id,
        revisions=revisions,
        replaced_by=revisions[0].replaced_by if revisions else (),
        replaces=tuple(sorted({target for event in corrections for target in event.get("targets") or ()} - {known.memory_id})),
        ancestors=above,
        descendants=below,
        left_out=lost_above + lost_below,
        family_size=known.family_size,
        reads=known.reads,
        events=tuple(known.events),
    )


def _build_revision(row: dict[str, Any]) -> Revision:
    return Revision(
        **{name: row[name] for name in Revision.model_fields if name in row}, replaced_by=list_replacements(row["reasons"])
    )


def _list_kin(top: Branch) -> tuple[tuple[Kin, ...], int]:
    """List a lineage tree flat, nearest first, and count what it leaves out: a chain may be deeper than JSON nests."""
    kin, queue, left_out = [], deque([top]), 0
    while queue:
        branch = queue.popleft()
        left_out += branch.left_out
        queue.extend(branch.branches)
        kin += [
            Kin(memory_id=each.memory_id, status=each.status, how=each.how, beside=branch.memory_id) for each in branch.branches
        ]
    return tuple(kin), left_out


def list_replacements(reasons: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """List what stands in place of a record that fell."""
    return tuple(sorted({reason["replacement"] for reason in reasons if reason.get("replacement")}))
