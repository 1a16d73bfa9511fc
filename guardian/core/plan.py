"""The plan: what a decision wants written, and what became of each event. Frozen; applying it twice is applying it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from guardian.core.intake import Disposition
from guardian.core.model import Event, EventRef, Extent, MemoryKind, Slot, Status
from guardian.core.narrowing import Mark
from guardian.core.point import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """A record as it stands after the decision.

    Attributes:
        induced: What a model's induction of this content says, if there is one.
        calibration: Id of the calibration the utility was made by; None where it hangs on none, or without any.
        is_born_superseded: A correction that felled it was in effect when it was observed already.
    """

    space: str
    memory_id: str
    revision: str
    record_id: str
    status: Status
    is_current: bool
    reasons: tuple[Mapping[str, object], ...]
    roots: tuple[str, ...]
    parents: tuple[str, ...]
    provenance: str
    depth: int
    slots: tuple[Slot, ...]
    utility: float | None
    utility_basis: str | None
    calibration: str | None
    kind: MemoryKind
    subject: str | None
    induced: Mark | None
    is_verified: bool
    claimed_verified: bool
    is_born_superseded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FelledView:
    """A record that a correction fells."""

    memory_id: str
    revision: str
    record_id: str
    via: str
    is_mixed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionView:
    """A correction and what it does in the state after the decision.

    Attributes:
        is_waiting: No target of it is known yet.
        felled: Sorted by (memory id, revision).
        exempt: Number of records it reaches and spares.
    """

    ref: EventRef
    space: str
    targets: tuple[str, ...]
    subject: str | None
    replacement: str | None
    extent: Extent
    is_waiting: bool
    felled: tuple[FelledView, ...]
    exempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something only a person or a trusted authority can decide; `kind` as in the review contract."""

    kind: str
    subjects: tuple[str, ...]
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one event: a function of the event and the state after the decision."""

    event: Event
    disposition: Disposition
    record: RecordView | None = None
    correction: CorrectionView | None = None
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to write, in phases, and one outcome an event, in the order of the events.

    Supersession is a barrier: new records (replacements) are in the first phase, changed statuses in the second.

    Attributes:
        vectors: Given vectors of records in the first phase, by record id.
        inferred: Records that got an inferred parent by this decision.
        removed: Ids of stored records that are there no more: erased, or of a text whose correction was retracted.
        erased: (space, memory id) of what the erasures of the batch cover, and up to when; the same when they come again.
        buried_texts: Texts that become tombstones, for caches to forget.
    """

    phases: tuple[Phase, ...]
    outcomes: tuple[Outcome, ...]
    vectors: Mapping[str, tuple[float, ...]]
    inferred: int = 0
    removed: tuple[str, ...] = ()
    erased: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    buried_texts: tuple[str, ...] = ()
