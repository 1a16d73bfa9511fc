"""What a batch asks the store for by itself, before anything is worked out: enough for new leaves."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.core.claim import digest_subject
from guardian.core.fact import build_event_key, build_fact_id, build_retraction_id
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
from guardian.core.needs import Needs
from guardian.core.point import PointKind


def initial_needs(events: Sequence[Event]) -> Needs:
    """Give the keys that events ask for by themselves: enough for a batch of new leaves."""
    needs = Needs()
    for event in events:
        match event:
            case Written():
                _need_written(needs, event)
            case Corrected():
                _need_corrected(needs, event)
            case Read():
                needs.ids.add(build_fact_id(event.space, PointKind.READ, event.ref))
                if event.session_id is not None:
                    needs.sessions.add((event.space, event.session_id))
            case Audited() | Calibrated() | Rated():
                _need_rating(needs, event)
            case Retracted():
                needs.ids.add(build_retraction_id(event.space, event.event_source, event.event_id))
                needs.events.add((event.space, build_event_key(event.event_source, event.event_id)))
            case Deleted() | Erased() | Linked() | Induced():
                _need_memory(needs, event.space, event.memory_id)
                for parent in event.add if isinstance(event, Linked) else ():
                    needs.memories.add((event.space, parent))
    return needs


def _need_corrected(needs: Needs, event: Corrected) -> None:
    _need_retraction(needs, event)
    needs.ids.add(build_fact_id(event.space, PointKind.CORRECTION, event.ref))
    for memory_id in (*event.targets, *([event.replacement] if event.replacement else ())):
        needs.memories.add((event.space, memory_id))
        needs.mentions.add((event.space, memory_id))
        needs.children.add((event.space, memory_id))
    if event.subject is not None:
        needs.subjects |= {(event.space, event.subject), (event.space, digest_subject(event.subject))}
        needs.corrected_subjects.add((event.space, event.subject))
    if event.inline is not None:
        _need_written(needs, event.inline)


def _need_rating(needs: Needs, event: Audited | Calibrated | Rated) -> None:
    """Add what utilities are made from; of a plain write nobody has judged its memory yet, and nothing more is asked."""
    space = event.space
    if not isinstance(event, Rated):
        _need_retraction(needs, event)
    if isinstance(event, Calibrated):
        needs.ids.add(build_fact_id(space, PointKind.CALIBRATION, event.ref))
        return
    needs.calibrations.add((space, PointKind.CALIBRATION.value))
    if isinstance(event, Audited):
        _need_memory(needs, space, event.memory_id)
        return
    for memory_id in event.memory_ids:
        needs.memories.add((space, memory_id))
        needs.verdicts.add((space, memory_id))


def _need_retraction(needs: Needs, event: Written | Corrected | Audited | Calibrated) -> None:
    needs.ids.add(build_retraction_id(event.space, event.ref.source, event.ref.id))


def _need_memory(needs: Needs, space: str, memory_id: str) -> None:
    needs.memories.add((space, memory_id))
    needs.verdicts.add((space, memory_id))
    needs.mentions.add((space, memory_id))


def _need_written(needs: Needs, event: Written) -> None:
    space = event.space
    if event.verified:  # else there is nothing that a retraction could withdraw
        _need_retraction(needs, event)
    _need_memory(needs, space, event.memory_id)
    needs.retrieved.add((space, event.memory_id))
    for memory_id in (*(event.parents or ()), *event.supersedes):
        needs.memories.add((space, memory_id))
    if event.supersedes:
        needs.ids.add(build_fact_id(space, PointKind.CORRECTION, event.ref))
        for memory_id in event.supersedes:
            needs.mentions.add((space, memory_id))
            needs.children.add((space, memory_id))
    if event.source is not None and event.source.ref is not None:
        needs.refs.add((space, event.source.ref))
    if event.subject is not None:
        needs.corrected_subjects.add((space, event.subject))
        needs.subjects |= {(space, event.subject), (space, digest_subject(event.subject))}
    if event.scope is not None and event.scope.session_id is not None and not event.parents:
        needs.sessions.add((space, event.scope.session_id))
