"""Assembly: what was worked out becomes a plan. Only what differs from the store is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import IntEnum
from typing import Any

from guardian.core.carding import make_card
from guardian.core.chain import VERIFIED_PREFIX, Standing
from guardian.core.decision import Decision
from guardian.core.fact import Correction, dump_correction, dump_link, place_in_chain
from guardian.core.intake import Disposition
from guardian.core.model import (
    Audited,
    Calibrated,
    Corrected,
    Erased,
    Event,
    EventRef,
    Induced,
    Linked,
    Rated,
    Retracted,
    Status,
    Written,
)
from guardian.core.node import Node
from guardian.core.payload import build_reasons, dump_node, is_mixed, name_via
from guardian.core.plan import CorrectionView, FelledView, Outcome, Plan, Question, RecordView
from guardian.core.point import HEAVY_FIELDS, Patch, Phase, Upsert
from guardian.core.policy import name_calibration

# Fields that others write: the fence of the store, and the mark that a vector is still to be filled in.
FOREIGN_FIELDS = frozenset({"version", "pending"})


def assemble(events: Sequence[Event], decided: Sequence[tuple[Sequence[int], Decision]]) -> Plan:
    """Make one plan of what was worked out for each space.

    Args:
        events: The whole batch.
        decided: For each space the indexes of its events, and the decision.
    """
    widened: list[Patch] = []
    upserts: list[Upsert] = []
    patches: list[Patch] = []
    deletes: list[str] = []
    vectors: dict[str, tuple[float, ...]] = {}
    outcomes: list[Outcome | None] = [None] * len(events)
    removed: list[str] = []
    erased: dict[tuple[str, str], datetime] = {}
    buried: list[str] = []
    inferred = 0
    for indexes, decision in decided:
        said, silenced = _assemble_facts(decision)
        upserts += said
        made, changed, count = _assemble_nodes(decision)
        named, opened, moved = _assemble_corrections(decision, makes_nodes=bool(made))
        widened += opened
        upserts += [*named, *made]
        patches += [*silenced, *changed[_Rank.CONSEQUENCE], *moved, *changed[_Rank.DIRTY], *changed[_Rank.CAUSE]]
        inferred += count
        deletes += sorted(decision.world.removed.keys() - decision.world.nodes.keys())
        deletes += sorted((decision.intake.deletes | decision.world.forgotten) & decision.world.stored_ids)
        removed += [node.id for node in decision.world.removed.values() if node.is_record and node.id not in decision.world.nodes]
        erased |= {(decision.world.space, memory_id): until for memory_id, until in decision.world.erased.items()}
        buried += decision.world.buried_texts
        vectors |= decision.intake.vectors
        for position, index in enumerate(indexes):
            outcomes[index] = _build_outcome(decision, position, events[index])
    phases = [
        Phase(patches=tuple(widened)),
        Phase(upserts=tuple(upserts)),
        Phase(patches=tuple(patches)),
        Phase(deletes=tuple(deletes)),
    ]
    return Plan(
        phases=tuple(phase for phase in phases if phase),
        outcomes=tuple(outcome for outcome in outcomes if outcome is not None),
        vectors=vectors,
        inferred=inferred,
        removed=tuple(sorted(removed)),
        erased=erased,
        buried_texts=tuple(sorted(set(buried))),
    )


def _assemble_facts(decision: Decision) -> tuple[list[Upsert], list[Patch]]:
    """Give the points of new facts but corrections, and of the stored ones what an erasure takes away."""
    world, payloads = decision.world, dict(decision.intake.payloads)
    silenced = {key: dump_link(link, world.space) for key, link in world.silenced.items()}
    upserts = [
        Upsert(id=key, payload=silenced.get(key, payload))
        for key, payload in sorted(payloads.items())
        if key not in world.forgotten
    ]
    stored = sorted(silenced.keys() - payloads.keys())
    return upserts, [Patch(id=key, payload={"facts": silenced[key]["facts"]}) for key in stored]


def _assemble_corrections(decision: Decision, *, makes_nodes: bool) -> tuple[list[Upsert], list[Patch], list[Patch]]:
    """Give the points of new corrections, and of the others what changed of their place, before the new nodes and after.

    Where a family starts can follow from a new node that a redelivery finds stored and has no reason to look beyond. So that is
    noted before the node is written; where the family started before is forgotten only when the marks there are taken away.
    """
    upserts, widened, moved = [], [], []
    for standing in decision.standings.values():
        if standing.correction.revision_id is not None:
            continue
        placed = place_in_chain(
            standing.correction,
            chain=standing.chain,
            mentions=tuple(sorted(standing.mentions)),
            family_roots=standing.family_roots,
        )
        stored = decision.world.stored_corrections.get(placed.key)
        if stored is None:
            upserts.append(Upsert(id=placed.key, payload=dump_correction(placed)))
            continue
        roots = {*stored.family_roots, *placed.family_roots} if makes_nodes else stored.family_roots
        wide = replace(stored, family_roots=tuple(sorted(roots)))
        widened += _patch_correction(stored, wide)
        moved += _patch_correction(wide, placed)
    return upserts, widened, moved


def _patch_correction(before: Correction, after: Correction) -> list[Patch]:
    if before == after:
        return []
    return [Patch(id=after.key, payload=_diff(dump_correction(before), dump_correction(after), is_whole=True))]


class _Rank(IntEnum):
    """When a changed node is written.

    A crash leaves a beginning of the writes, so what others follow from comes after them: a redelivery then finds it undone,
    and works out everything again. First what only follows; then where corrections have their place (the old one tells
    which marks to take away); then what has new parents; last what says something new itself.
    """

    CONSEQUENCE = 0
    DIRTY = 1
    CAUSE = 2


def _assemble_nodes(decision: Decision) -> tuple[list[Upsert], dict[_Rank, list[Patch]], int]:
    upserts: list[Upsert] = []
    patches: dict[_Rank, list[Patch]] = {rank: [] for rank in _Rank}
    inferred = 0
    for node in _order_children_first(decision):
        if node.is_record and node.whole and (node.stored is None or node.id in decision.world.dirty):
            make_card(node, decision.world)
        payload = dump_node(node)
        if node.stored is None:
            upserts.append(Upsert(id=node.id, payload=payload))
        elif changed := _diff(node.stored, payload, is_whole=node.whole):
            patches[_rank(decision, node)].append(Patch(id=node.id, payload=changed))
        else:
            continue
        inferred += node.id in decision.world.dirty and any(edge.how == "inferred" for edge in node.edges)
    return upserts, patches, inferred


def _rank(decision: Decision, node: Node) -> _Rank:
    if node.id in decision.world.causes:
        return _Rank.CAUSE
    return _Rank.DIRTY if node.id in decision.world.dirty else _Rank.CONSEQUENCE


def _order_children_first(decision: Decision) -> list[Node]:
    """Order the nodes so that what a change follows from is written after what follows from it."""
    nodes = decision.world.nodes
    order = [node_id for component in reversed(decision.order) for node_id in component]
    rest = [node_id for node_id in decision.recomputed if node_id not in decision.ordered]
    return [nodes[node_id] for node_id in (*rest, *order) if node_id in nodes]


def _diff(stored: Mapping[str, Any], payload: Mapping[str, Any], *, is_whole: bool) -> dict[str, Any]:
    """Give the fields to set, and with None the fields to remove."""
    changed = {name: value for name, value in payload.items() if stored.get(name) != value}
    left_out = FOREIGN_FIELDS if is_whole else FOREIGN_FIELDS.union(HEAVY_FIELDS)
    if is_whole and "card" not in payload:
        left_out = left_out | {"card"}  # made at the write; only a changed text or source makes another
    return changed | dict.fromkeys(name for name in stored if name not in payload and name not in left_out)


def _build_outcome(decision: Decision, position: int, event: Event) -> Outcome:
    disposition = decision.intake.dispositions[position]
    if isinstance(event, Rated) and not _is_rated_anew(decision, event):
        disposition = Disposition.DUPLICATE
    questions: list[Question] = []
    record = correction = None
    # A write that supersedes without being believed lands as a write; what it asked for is for a person to decide.
    is_presumptuous = isinstance(event, Written) and bool(event.supersedes) and not decision.policy.believes(event)
    if disposition is Disposition.DISPUTED or is_presumptuous:
        questions.append(_build_dispute(event))
    node_id = decision.intake.node_of.get(position)
    node = decision.world.nodes.get(node_id) if node_id is not None else None
    if node is not None and node.is_record:
        record = build_record_view(node)
        questions += _ask_about_record(decision, node)
    elif isinstance(event, Induced) and disposition is not Disposition.DISPUTED:
        record = _view_induced(decision, event)
    standings = _find_standings(decision, position, node)
    if standings:
        correction = _build_correction_view(decision, standings)
        questions += _ask_about_correction(correction)
        if correction.is_waiting and isinstance(event, Corrected):
            disposition = Disposition.WAITING
    return Outcome(event=event, disposition=disposition, record=record, correction=correction, questions=tuple(questions))


def _view_induced(decision: Decision, event: Induced) -> RecordView | None:
    """Give the record that an induction speaks of as it stands now, if it is there."""
    for node in decision.world.revisions(event.memory_id):
        if node.is_record and node.revision == event.revision:
            return build_record_view(node)
    return None


def _is_rated_anew(decision: Decision, event: Rated) -> bool:
    """Tell whether some record of the memories has another utility now, or has it by another calibration."""
    nodes = [node for memory_id in event.memory_ids for node in decision.world.memory_nodes(memory_id)]
    return any(
        node.is_record
        and node.stored is not None
        and any(node.stored.get(name) != value for name, value in (("utility", node.utility), ("calibration", node.calibration)))
        for node in nodes
    )


def _find_standings(decision: Decision, position: int, node: Node | None) -> list[Standing]:
    """Find the corrections that an event stands for: an explicit one first, and what its own verified text corrects in place."""
    keys = (decision.intake.correction_of.get(position), None if node is None else VERIFIED_PREFIX + node.id)
    first = next((decision.standings[key] for key in keys if key in decision.standings), None)
    if first is None:
        return []
    ref = first.correction.ref
    of_event = [standing for standing in decision.standings.values() if _is_same(standing.correction.ref, ref)]
    return sorted(of_event, key=lambda standing: standing is not first)


def _is_same(one: EventRef, other: EventRef) -> bool:
    """Tell whether two name one event; a tombstone keeps no digest of those that wrote it."""
    digests = {one.digest, other.digest} - {""}
    return (one.time, one.source, one.id) == (other.time, other.source, other.id) and len(digests) < 2


def build_record_view(node: Node) -> RecordView:
    """Give a record as it stands."""
    assert node.revision is not None
    return RecordView(
        space=node.space,
        memory_id=node.memory_id,
        revision=node.revision,
        record_id=node.id,
        status=node.status,
        is_current=node.is_current,
        reasons=tuple(build_reasons(node)),
        roots=node.roots,
        parents=tuple(sorted({edge.memory_id for edge in node.edges})),
        provenance=node.provenance,
        depth=node.depth,
        slots=node.slots,
        utility=node.utility,
        utility_basis=node.utility_basis,
        calibration=None if node.calibration is None else name_calibration(node.calibration),
        kind=node.kind,
        subject=node.subject,
        is_verified=node.is_verified,
        induced=node.induced,
        claimed_verified=any(claim.event.verified for claim in node.claims),
        is_born_superseded=any(node.reached[key].effective_at <= node.order[0] for key in node.felled),
    )


def _build_correction_view(decision: Decision, standings: Sequence[Standing]) -> CorrectionView:
    felled: dict[str, FelledView] = {}
    spared: set[str] = set()
    for key in (standing.key for standing in standings):
        for node in decision.reached.get(key, ()):
            if key in node.felled:
                felled.setdefault(node.id, _build_felled_view(node, key))
            else:
                spared.add(node.id)
    standing = standings[0]
    correction = standing.correction
    return CorrectionView(
        ref=correction.ref,
        space=correction.space,
        targets=tuple(sorted(standing.named)),
        subject=correction.subject,
        replacement=correction.replacement,
        extent=standing.extent,
        is_waiting=not (standing.nominal or standing.revised or _corrects_itself(decision, standing)),
        felled=tuple(sorted(felled.values(), key=lambda view: (view.memory_id, view.revision))),
        exempt=len(spared - felled.keys()),
    )


def _build_felled_view(node: Node, key: str) -> FelledView:
    assert node.revision is not None
    return FelledView(
        memory_id=node.memory_id,
        revision=node.revision,
        record_id=node.id,
        via=name_via(node, key),
        is_mixed=is_mixed(node, key),
    )


def _corrects_itself(decision: Decision, standing: Standing) -> bool:
    replacement = standing.correction.replacement
    return replacement in standing.named and bool(decision.world.revisions(replacement)) if replacement else False


def _build_dispute(event: Event) -> Question:
    subjects: tuple[str, ...] = ()
    authority = None
    if isinstance(event, Corrected):
        subjects, authority = event.targets, event.authority
    elif isinstance(event, (Erased, Linked, Induced)):
        subjects, authority = (event.memory_id,), event.authority
    elif isinstance(event, (Retracted, Calibrated)):
        authority = event.authority
    elif isinstance(event, Audited):
        subjects = (event.memory_id,)
    elif isinstance(event, Written):
        subjects, authority = event.supersedes, event.source
    kind = None if authority is None else authority.kind.value
    detail: dict[str, object] = {"asked": type(event).__name__.lower(), "authority": kind}
    if isinstance(event, Corrected) and event.replacement is not None:
        detail["replacement"] = event.replacement
    elif isinstance(event, Written):
        detail["replacement"] = event.memory_id
    elif isinstance(event, Audited):
        detail["channel"] = event.channel
    elif isinstance(event, Calibrated):
        detail["calibration"] = event.calibration
    return Question(kind="dispute", subjects=tuple(sorted(set(subjects))), detail=detail)


def _ask_about_record(decision: Decision, node: Node) -> list[Question]:
    questions = []
    world = decision.world
    if node.status in {Status.ACTIVE, Status.VERIFIED} and node.subject is not None:
        others = {
            other.memory_id
            for other in world.records_of_subject(node.subject)
            if other.is_record and other.memory_id != node.memory_id and other.status in {Status.ACTIVE, Status.VERIFIED}
        }
        if others:
            subjects = tuple(sorted({*others, node.memory_id}))
            # Without the subject in words: the topic of questions keeps an open item for ever, and an erasure does not reach it.
            questions.append(Question(kind="same_subject", subjects=subjects))
    if not node.is_verified and node.is_current:
        stale = {
            child.memory_id
            for before in world.revisions(node.memory_id)
            if before.order < node.order and before.text_digest != node.text_digest
            for child in map(world.nodes.__getitem__, world.by_parent.get(before.id, ()))
            if child.memory_id != node.memory_id and child.is_record
        }
        if stale:
            detail: dict[str, object] = {"rewritten": node.memory_id, "revision": node.revision}
            questions.append(Question(kind="stale_descendants", subjects=tuple(sorted(stale)), detail=detail))
    return questions


def _ask_about_correction(view: CorrectionView) -> list[Question]:
    if view.is_waiting:
        detail: dict[str, object] = {"subject": view.subject, "replacement": view.replacement}
        return [Question(kind="waiting_correction", subjects=view.targets, detail=detail)]
    mixed = sorted({felled.memory_id for felled in view.felled if felled.is_mixed})
    if not mixed:
        return []
    return [Question(kind="mixed", subjects=tuple(mixed), detail={"replacement": view.replacement})]
