"""The meaning of a set of events, recomputed from scratch: slow, plain, and written apart from the package.

Nothing here is incremental and nothing is shared with the package but its event dataclasses, how the words of a text are read and
compared, and the table of what kinds and sources allow. Every rule is a definition over explicit sets, to be read beside
`docs/meaning.md`. Costs about the cube of the number of records: meant for up to some 60 of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from guardian.core.model import Calibrated, Deleted, Event, Status
from tests.reference.bounds import find_bounds
from tests.reference.corrections import Memories, build_corrections
from tests.reference.edges import build_edges
from tests.reference.facts import gather_facts, split_spaces
from tests.reference.felling import fell
from tests.reference.inductions import find_inductions
from tests.reference.lineage import build_lineage, lower_sources
from tests.reference.permissions import Permissions, write_permission
from tests.reference.policy import ReferencePolicy, Restates, Wording, default_restates
from tests.reference.revisions import Revision, build_revisions, format_time
from tests.reference.utility import assign_verdicts, last_calibration, score

Row = dict[str, Any]


def compute_state(
    events: Iterable[Event],
    *,
    policy: ReferencePolicy | None = None,
    restates: Restates = default_restates,
    calibration: Calibrated | Literal["last", "settings"] = "last",
) -> list[Row]:
    """Give one row for each record and tombstone, sorted by (space, memory_id, observed_at, revision).

    Args:
        events: A set of events of any number of spaces, in any order and multiplicity.
        policy: Settings; the defaults of the design where none are given.
        restates: `restates(text, earlier_text)`, a similarity where the first restates the second, else None.
        calibration: What utilities are made by: the last activation of each space, the settings' alone, or this one.
    """
    rows: list[Row] = []
    for space, members in sorted(split_spaces(events).items()):
        rows.extend(_space_rows(space, members, policy or ReferencePolicy(), Wording(restates), calibration))
    return rows


def _space_rows(
    space: str,
    events: list[Event],
    policy: ReferencePolicy,
    wording: Wording,
    calibration: Calibrated | Literal["last", "settings"],
) -> list[Row]:
    facts = gather_facts(events, policy)
    memories = build_revisions(facts)
    edges = build_edges(facts, memories, policy, wording)
    lineage = build_lineage(edges, policy.max_roots)
    source_kinds = lower_sources(edges.parents)
    inductions = find_inductions(facts.inductions, memories, facts.erased_until)
    permissions = Permissions(lineage, inductions, source_kinds)
    felling = fell(build_corrections(facts, memories), lineage, memories)
    verdicts = assign_verdicts(facts.verdicts, memories)
    last = last_calibration(facts.calibrations)
    in_force = last if calibration == "last" else None if calibration == "settings" else calibration
    rows = []
    for memory_id in sorted(memories):
        current = _current(memories, memory_id, facts.deletions)
        for each in memories[memory_id]:
            reasons = [*felling.reasons(each), *_other_reasons(each, current, facts.deletions)]
            utility, basis, rested_on = score(each, verdicts.get(each, []), in_force, policy)
            row = {
                "space": space,
                "memory_id": memory_id,
                "revision": each.revision,
                "observed_at": format_time(each.observed_at),
                "text": each.text,
                "current": each is current,
                "status": _status(each, reasons).value,
                "verified": each.verified,
                "kind": each.kind.value if each.kind else None,
                "source_kind": source_kinds[each].value,
                "subject": each.subject,
                "roots": lineage.roots(each),
                "roots_truncated": len(lineage.all_roots(each)) > policy.max_roots,
                "parents": sorted({parent.memory_id for parent in edges.parents[each]}),
                "provenance": edges.provenance[each],
                "depth": lineage.depth(each),
                "evidence_at": format_time(lineage.evidence_at(each)),
                "reasons": _sorted_reasons(reasons),
                "utility": utility,
                "utility_basis": basis,
                "calibration": rested_on,
                "induction": inductions.describe(each),
                "slots": [] if each.erased else permissions.slots(each),
                "bounds": None if each.erased else find_bounds(each, lineage),
                "permission": None if each.erased else write_permission(permissions.of(each)),
            }
            rows.append(row)
    return rows


def _deletions_of(each: Revision, deletions: list[Deleted]) -> list[Deleted]:
    return [d for d in deletions if d.memory_id == each.memory_id and d.observed_at >= each.observed_at]


def _current(memories: Memories, memory_id: str, deletions: list[Deleted]) -> Revision:
    """Give the revision that ranks first, whatever its status."""

    def rank(each: Revision) -> tuple[bool, bool, bool, datetime, str]:
        return (not each.erased, not _deletions_of(each, deletions), each.verified, *each.age)

    return max(memories[memory_id], key=rank)


def _other_reasons(each: Revision, current: Revision, deletions: list[Deleted]) -> list[Row]:
    reasons: list[Row] = []
    if each is not current:
        reasons.append({"reason": "revised", "id": current.revision})
    deleted = _deletions_of(each, deletions)
    if deleted:
        first = min((deletion.ref for deletion in deleted), key=lambda ref: ref.order)
        reasons.append({"reason": "deleted", "id": f"{first.source}#{first.id}"})
    return reasons


def _status(each: Revision, reasons: list[Row]) -> Status:
    if each.erased:
        return Status.ERASED
    if reasons:
        return Status.SUPERSEDED
    return Status.VERIFIED if each.verified else Status.ACTIVE


def _sorted_reasons(reasons: list[Row]) -> list[Row]:
    """Give the reasons as a sorted set: two corrections of one event id may say the same."""

    def key(reason: Row) -> tuple[str, ...]:
        return tuple(str(reason.get(name) or "") for name in ("reason", "id", "via", "replacement", "mixed"))

    return [reason for _, reason in sorted({key(reason): reason for reason in reasons}.items())]
