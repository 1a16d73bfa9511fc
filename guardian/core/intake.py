"""Intake: events become facts of the world, each exactly one disposition.

Nothing is decided here but whether an event is believed, already known, disputed or withdrawn. What follows from the facts is
worked out afterwards, from all facts at once: the order in which events arrive plays no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from guardian.core.calibration import build_calibration, dump_calibration
from guardian.core.claim import Claim, mark_withdrawn, prune_claims
from guardian.core.fact import (
    Correction,
    build_correction,
    build_ending,
    build_event_key,
    build_fact_id,
    build_link,
    build_read,
    build_retraction_id,
    build_verdict,
    dump_ending,
    dump_link,
    dump_read,
    dump_retraction,
    dump_verdict,
)
from guardian.core.induction import build_induction, dump_induction, is_believed
from guardian.core.model import (
    Audited,
    Calibrated,
    Corrected,
    Deleted,
    Erased,
    Event,
    Induced,
    Linked,
    Rated,
    Read,
    Retracted,
    Written,
)
from guardian.core.node import Node, build_record
from guardian.core.point import PointKind
from guardian.core.policy import Policy
from guardian.core.world import World


class Disposition(StrEnum):
    """What became of an event; every event has exactly one."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"
    DISPUTED = "disputed"
    WITHDRAWN = "withdrawn"
    WAITING = "waiting"


@dataclass(slots=True)
class Intake:
    """What the events of one space put into the world.

    Attributes:
        dispositions: One an event, in the order given.
        payloads: Fact points to write, by id; corrections are written when their chain is known.
        deletes: Stored fact points that a retraction takes away.
        vectors: Given vectors, by record id.
        changed: Memory ids whose set of revisions may have changed.
        erased: Memory ids that a believed erasure names, new or not.
        reads: Reads that were named by an event, new or not.
        corrections: Keys of corrections that were named by an event, new or not.
        gone: Corrections that a retraction took away, by key.
        node_of: Record id each written event speaks of, by event index.
        correction_of: Correction key each event made, by event index.
    """

    dispositions: list[Disposition]
    payloads: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    deletes: set[str] = field(default_factory=set)
    vectors: dict[str, tuple[float, ...]] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    corrections: set[str] = field(default_factory=set)
    gone: dict[str, Correction] = field(default_factory=dict)
    node_of: dict[int, str] = field(default_factory=dict)
    correction_of: dict[int, str] = field(default_factory=dict)


def take_in(world: World, events: Iterable[Event], policy: Policy) -> Intake:
    """Put all events into the world. Retractions go first: what they withdraw in the same batch never was."""
    listed = list(events)
    intake = Intake([Disposition.APPLIED] * len(listed))
    for index, event in enumerate(listed):
        if isinstance(event, Retracted):
            intake.dispositions[index] = _take_retracted(world, event, policy, intake)
    for index, event in enumerate(listed):
        if not isinstance(event, Retracted):
            intake.dispositions[index] = _take(world, index, event, policy, intake)
    return intake


def _take(world: World, index: int, event: Event, policy: Policy, intake: Intake) -> Disposition:
    match event:
        case Written():
            return _take_written(world, index, event, policy, intake)
        case Corrected():
            return _take_corrected(world, index, event, policy, intake)
        case Read():
            return _take_read(world, event, intake)
        case Audited():
            return _take_audited(world, event, policy, intake)
        case Calibrated():
            return _take_calibrated(world, event, policy, intake)
        case Rated():
            world.rated.update(event.memory_ids)
            return Disposition.APPLIED  # or a duplicate, which only the rating shows
        case Linked():
            if not policy.trusts(event.authority):
                return Disposition.DISPUTED
            link = build_link(event)
            world.touched.add(event.memory_id)
            # Read again after a crash, the parents it takes away are gone from the child already, and their empty places may still be there.
            world.bereft.update(event.remove)
            return _store(world, intake, link.id, dump_link(link, world.space), world.links[event.memory_id], link)
        case Deleted() | Erased():
            return _take_ending(world, event, policy, intake)
        case Induced():
            return _take_induced(world, event, intake)
        case Retracted():
            return Disposition.APPLIED  # taken in before


def _take_ending(world: World, event: Deleted | Erased, policy: Policy, intake: Intake) -> Disposition:
    if isinstance(event, Erased):
        if not policy.trusts(event.authority):
            return Disposition.DISPUTED
        intake.erased.add(event.memory_id)
    ending = build_ending(event)
    world.touched.add(event.memory_id)
    return _store(world, intake, ending.id, dump_ending(event), world.endings[event.memory_id], ending)


def _store(
    world: World, intake: Intake, point_id: str, payload: Mapping[str, Any], known: dict[str, Any], fact: Any
) -> Disposition:
    is_new = point_id not in known
    known.setdefault(point_id, fact)  # a stored one may have lost words to an erasure
    if point_id in world.stored_ids:
        return Disposition.DUPLICATE
    intake.payloads[point_id] = payload
    return Disposition.APPLIED if is_new else Disposition.DUPLICATE


def _is_retracted(world: World, event: Written | Corrected | Audited | Calibrated) -> bool:
    retraction = build_retraction_id(world.space, event.ref.source, event.ref.id)
    return retraction in world.retractions or world.ask_point(retraction)


def _take_written(world: World, index: int, event: Written, policy: Policy, intake: Intake) -> Disposition:
    believed = policy.believes(event)
    is_withdrawn = believed and _is_retracted(world, event)
    claim = Claim(event=event, believed=believed, is_withdrawn=is_withdrawn)
    disposition = add_claim(world, claim, intake, index)
    if believed and event.supersedes and not is_withdrawn:
        correction = Correction(
            key=build_fact_id(event.space, PointKind.CORRECTION, event.ref),
            space=event.space,
            ref=event.ref,
            targets=tuple(sorted(set(event.supersedes))),
            effective_at=event.observed_at,
            replacement=event.memory_id,
            authority=event.source,
        )
        _add_correction(world, index, correction, intake)
    return disposition


def add_claim(world: World, claim: Claim, intake: Intake, index: int) -> Disposition:
    """Put a claim to its record, made when it is the first."""
    event = claim.event
    node = build_record(world.space, event.memory_id, text=event.text, observed_at=event.observed_at, parents=event.parents)
    world.touched.add(event.memory_id)
    world.memory_nodes(event.memory_id)  # asks for the memory
    intake.node_of[index] = node.id
    known = world.nodes.get(node.id)
    if known is None:
        node.claims = (claim,)
        world.add_node(node)
        world.dirty.add(node.id)
        intake.changed.add(event.memory_id)
        if event.vector is not None:
            intake.vectors[node.id] = event.vector
        return Disposition.APPLIED
    # Also what is known already: a crash may have come between the record and what follows from it.
    intake.changed.add(event.memory_id)
    if any(old.order == claim.order and old.is_inline == claim.is_inline for old in known.claims):
        return Disposition.DUPLICATE
    claims = prune_claims((*known.claims, claim))
    if claims == known.claims:
        return Disposition.DUPLICATE
    _replace_claims(world, known, claims)
    if event.vector is not None and claims[0] is claim:
        intake.vectors[node.id] = event.vector
    return Disposition.APPLIED


def _replace_claims(world: World, node: Node, claims: tuple[Claim, ...]) -> None:
    world.whole(node)
    if node.claims[0].event.parents != claims[0].event.parents:
        for name in claims[0].event.parents or ():
            world.by_name[name].add(node.id)
    node.claims = claims
    node.text = claims[0].event.text
    world.note_cause(node)


def _take_corrected(world: World, index: int, event: Corrected, policy: Policy, intake: Intake) -> Disposition:
    if not policy.trusts(event.authority):
        return Disposition.DISPUTED
    if _is_retracted(world, event):
        return Disposition.WITHDRAWN
    disposition = _add_correction(world, index, build_correction(event), intake)
    if event.inline is not None:
        # Whoever corrects states what holds instead.
        inline = event.inline if event.inline.source is not None else replace(event.inline, source=event.authority)
        claim = Claim(event=inline, believed=policy.believes(inline), is_inline=True)
        add_claim(world, claim, intake, index)
    return disposition


def _add_correction(world: World, index: int, correction: Correction, intake: Intake) -> Disposition:
    intake.corrections.add(correction.key)
    intake.correction_of[index] = correction.key
    if correction.key in world.corrections:
        return Disposition.DUPLICATE
    is_stored = world.ask_point(correction.key)
    world.add_correction(correction)
    return Disposition.DUPLICATE if is_stored else Disposition.APPLIED


def _take_retracted(world: World, event: Retracted, policy: Policy, intake: Intake) -> Disposition:
    if not policy.trusts(event.authority):
        return Disposition.DISPUTED
    point_id = build_retraction_id(world.space, event.event_source, event.event_id)
    is_stored = world.ask_point(point_id) or point_id in world.retractions
    world.retractions.add(point_id)
    if not is_stored:
        intake.payloads[point_id] = dump_retraction(event)
    key = build_event_key(event.event_source, event.event_id)
    world.ask_events(key)
    _withdraw_corrections(world, event, intake)
    _withdraw_verdicts(world, event, intake)
    _withdraw_calibrations(world, event, intake)
    _withdraw_claims(world, event, key, intake)
    return Disposition.DUPLICATE if is_stored else Disposition.APPLIED


def _names(event: Retracted, source: str, event_id: str) -> bool:
    return (event.event_source, event.event_id) == (source, event_id)


def _withdraw_corrections(world: World, event: Retracted, intake: Intake) -> None:
    for key, correction in list(world.corrections.items()):
        if _names(event, correction.ref.source, correction.ref.id):
            del world.corrections[key]
            intake.gone[key] = correction
            intake.deletes.add(key)


def _withdraw_verdicts(world: World, event: Retracted, intake: Intake) -> None:
    for memory_id, verdicts in world.verdict_facts.items():
        for point_id, verdict in list(verdicts.items()):
            if _names(event, verdict.ref.source, verdict.ref.id):
                del verdicts[point_id]
                intake.deletes.add(point_id)
                world.touched.add(memory_id)


def _withdraw_calibrations(world: World, event: Retracted, intake: Intake) -> None:
    for key, calibration in list(world.calibrations.items()):
        if _names(event, calibration.ref.source, calibration.ref.id):
            del world.calibrations[key]
            intake.deletes.add(key)


def _withdraw_claims(world: World, event: Retracted, key: str, intake: Intake) -> None:
    for node in list(world.nodes.values()):
        if node.stored is None or key not in node.stored.get("events", ()):
            continue
        if node.is_erased:
            _withdraw_tombstone(world, node, key, intake)
            continue
        kept = tuple(
            mark_withdrawn(claim) if claim.believed and _claims(event, claim) else claim
            for claim in node.claims
            if not (claim.is_inline and _claims(event, claim))
        )
        if kept == node.claims:
            continue
        world.touched.add(node.memory_id)
        if not kept:
            world.remove_node(node)
            intake.changed.add(node.memory_id)
        else:
            _replace_claims(world, node, kept)


def _withdraw_tombstone(world: World, node: Node, key: str, intake: Intake) -> None:
    node.inline_events -= {key}
    node.believed_by = frozenset(ref for ref in node.believed_by if build_event_key(ref[1], ref[2]) != key)
    world.note_cause(node)
    if not node.is_plain and not node.inline_events:
        world.remove_node(node)
        intake.changed.add(node.memory_id)


def _claims(event: Retracted, claim: Claim) -> bool:
    return _names(event, claim.event.ref.source, claim.event.ref.id)


def _take_read(world: World, event: Read, intake: Intake) -> Disposition:
    read = build_read(event)
    is_known = read.id in world.reads or world.ask_point(read.id)
    world.add_read(read)
    intake.reads.add(read.id)
    if is_known:
        return Disposition.DUPLICATE
    intake.payloads[read.id] = dump_read(event)
    return Disposition.APPLIED


def _take_audited(world: World, event: Audited, policy: Policy, intake: Intake) -> Disposition:
    if not policy.believes_verdict(event):
        return Disposition.DISPUTED
    if _is_retracted(world, event):
        return Disposition.WITHDRAWN
    verdict = build_verdict(event)
    world.touched.add(event.memory_id)
    world.verdicts(event.memory_id)  # asks for them
    known = world.verdict_facts[event.memory_id]
    return _store(world, intake, verdict.id, dump_verdict(event), known, verdict)


def _take_induced(world: World, event: Induced, intake: Intake) -> Disposition:
    """Keep the latest induction of a revision; an earlier one that comes later says nothing any more."""
    if not is_believed(event):
        return Disposition.DISPUTED
    induction = build_induction(event)
    world.touched.add(event.memory_id)
    known = world.inductions(event.memory_id).get(induction.id)
    if known is not None and known.ref.order >= induction.ref.order:
        return Disposition.DUPLICATE
    world.induction_facts[event.memory_id][induction.id] = induction
    intake.payloads[induction.id] = dump_induction(induction, world.space)
    return Disposition.APPLIED


def _take_calibrated(world: World, event: Calibrated, policy: Policy, intake: Intake) -> Disposition:
    if not policy.trusts(event.authority):
        return Disposition.DISPUTED
    if _is_retracted(world, event):
        return Disposition.WITHDRAWN
    calibration = build_calibration(event)
    world.ask_point(calibration.key)
    return _store(world, intake, calibration.key, dump_calibration(calibration, world.space), world.calibrations, calibration)
