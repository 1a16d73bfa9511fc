"""What the events of one space say, before any rule relates them: who may say so, what is withdrawn, what is erased."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from guardian.core.model import (
    Audited,
    Authority,
    Calibrated,
    Corrected,
    Deleted,
    Erased,
    Event,
    EventRef,
    Induced,
    Linked,
    Read,
    Retracted,
    Source,
    SourceKind,
    Written,
)
from tests.reference.policy import ReferencePolicy

# Kinds of authority on whose word an induction is believed, whatever a policy trusts besides.
CARD_KINDS = frozenset({SourceKind.DOCUMENT, SourceKind.TOOL, SourceKind.HUMAN_REVIEW})


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One event that puts a text into memory, by itself or inside a correction.

    Attributes:
        source: The source named by this event; inside a correction its authority stands in.
        inline: It came inside a correction; no cascade goes over what it names.
        believed: The claim `verified` of this very event is believed.
        withdrawn: A retraction names this event: what it corrected is undone, what it wrote stays.
    """

    ref: EventRef
    written: Written
    source: Source | None
    inline: bool
    believed: bool
    withdrawn: bool

    @property
    def parents(self) -> tuple[str, ...] | None:
        """Give the named parents as a sorted set without the memory itself; None where the event names none."""
        if self.written.parents is None:
            return None
        return tuple(sorted(set(self.written.parents) - {self.written.memory_id}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that counts in one space; disputes and what is retracted are gone."""

    writes: list[Write]
    corrections: list[Corrected]
    reads: list[Read]
    links: list[Linked]
    deletions: list[Deleted]
    verdicts: list[Audited]
    calibrations: list[Calibrated]
    inductions: list[Induced]
    erased_until: dict[str, datetime]


def split_spaces(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Give each space its set of events: one of each (type, source, id, time, digest)."""
    spaces: dict[str, dict[tuple[str, EventRef], Event]] = {}
    for event in events:
        spaces.setdefault(event.space, {})[type(event).__name__, event.ref] = event
    return {space: sorted(seen.values(), key=lambda event: event.ref.order) for space, seen in spaces.items()}


def gather_facts(events: list[Event], policy: ReferencePolicy) -> Facts:
    """Sort the events of one space by what they do, and drop what has no authority or is withdrawn."""

    def has_authority(authority: Authority | None) -> bool:
        return authority is not None and authority.kind in policy.authority_kinds

    retractions = [e for e in events if isinstance(e, Retracted) and has_authority(e.authority)]
    withdrawn = {(e.event_source, e.event_id) for e in retractions}

    def is_withdrawn(event: Event) -> bool:
        return (event.ref.source, event.ref.id) in withdrawn

    corrections = [e for e in events if isinstance(e, Corrected) and has_authority(e.authority) and not is_withdrawn(e)]
    writes = [_write(e, e.source, policy, withdrawn=is_withdrawn(e)) for e in events if isinstance(e, Written)]
    writes += [_write(e.inline, e.inline.source or e.authority, policy, inline=True) for e in corrections if e.inline is not None]
    erasures = [e for e in events if isinstance(e, Erased) and has_authority(e.authority)]
    erased_until = _erased_until(erasures, writes)

    def is_forgotten(verdict: Audited) -> bool:
        return verdict.memory_id in erased_until and verdict.ref.time <= erased_until[verdict.memory_id]

    def is_believed(verdict: Audited) -> bool:
        may_all = verdict.channel not in ("gold", "self") or policy.gold_sources is None
        return may_all or verdict.ref.source in (policy.gold_sources or ())

    return Facts(
        writes=sorted(writes, key=lambda write: write.ref.order),
        corrections=corrections,
        reads=[e for e in events if isinstance(e, Read)],
        links=[e for e in events if isinstance(e, Linked) and has_authority(e.authority)],
        deletions=[e for e in events if isinstance(e, Deleted)],
        verdicts=[e for e in events if isinstance(e, Audited) and not is_withdrawn(e) and not is_forgotten(e) and is_believed(e)],
        calibrations=[e for e in events if isinstance(e, Calibrated) and has_authority(e.authority) and not is_withdrawn(e)],
        inductions=[e for e in events if isinstance(e, Induced) and is_inducer(e)],
        erased_until=erased_until,
    )


def is_inducer(event: Induced) -> bool:
    """Tell whether an induction is of Guardian's own inducer, on an authority that may speak of cards."""
    is_own = event.ref.source == "/guardian/inducer" or event.ref.source.startswith("/guardian/inducer/")
    return is_own and event.authority is not None and event.authority.kind in CARD_KINDS


def _write(
    written: Written,
    source: Source | None,
    policy: ReferencePolicy,
    *,
    inline: bool = False,
    withdrawn: bool = False,
) -> Write:
    names_parents = bool(set(written.parents or ()) - {written.memory_id})
    believed = (
        written.verified
        and source is not None
        and (source.kind in policy.verifying_kinds or _is_named(source, policy))
        and not (source.kind is SourceKind.USER and names_parents)
    )
    return Write(ref=written.ref, written=written, source=source, inline=inline, believed=believed, withdrawn=withdrawn)


def _is_named(source: Source, policy: ReferencePolicy) -> bool:
    """Tell whether the policy names the actor; an agent or a nobody is believed under no name."""
    return source.actor in policy.verifying_actors and source.kind not in (SourceKind.AGENT, SourceKind.UNKNOWN)


def _erased_until(erasures: list[Erased], writes: list[Write]) -> dict[str, datetime]:
    """Give each erased memory the latest time up to which its revisions are erased.

    A cascade follows what plain writes name, whatever revision they meant: neither a late event nor a retraction may
    call back what was destroyed.
    """
    until: dict[str, datetime] = {}
    for erasure in erasures:
        covered = {erasure.memory_id}
        grown = True
        while grown and erasure.cascade:
            heirs = {
                write.written.memory_id
                for write in writes
                if not write.inline and write.written.observed_at <= erasure.observed_at and covered & set(write.parents or ())
            }
            grown = not heirs <= covered
            covered |= heirs
        for memory_id in covered:
            until[memory_id] = max(until.get(memory_id, erasure.observed_at), erasure.observed_at)
    return until
