"""Records and tombstones: one for each text of a memory, and what a revision inherits from the one before."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import orjson

from guardian.core.model import MemoryKind, Scope, Source, SourceKind, Written
from tests.reference.facts import Facts, Write


@dataclass(eq=False, slots=True, kw_only=True)
class Revision:
    """One node of the lineage that has been seen: a record, or the tombstone of an erased one.

    Attributes:
        parents: Memory ids named by the event, sorted, without the memory itself; None where it names none.
        writes: All events that wrote it, in their order; the first gives all fields of a record. Of a tombstone only what
            they declared, whether they were believed, and which subject they named may still be asked.
        erased: It is a tombstone.
        kind, subject, source, scope: After inheritance.
        subjects: What corrections by subject find it by; of a record its subject.
    """

    memory_id: str
    observed_at: datetime
    revision: str
    parents: tuple[str, ...] | None
    writes: tuple[Write, ...] = ()
    erased: bool = False
    kind: MemoryKind | None = None
    subject: str | None = None
    source: Source | None = None
    scope: Scope | None = None
    subjects: frozenset[str] = frozenset()

    @property
    def verified(self) -> bool:
        """Tell whether any event that wrote this record is believed to be verified."""
        return not self.erased and any(write.believed for write in self.writes)

    @property
    def text(self) -> str | None:
        """Give the text as it was sent first; None for a tombstone."""
        return None if self.erased else self.writes[0].written.text

    @property
    def nfc(self) -> str | None:
        """Give the text as it is compared."""
        return None if self.text is None else unicodedata.normalize("NFC", self.text)

    @property
    def source_kind(self) -> SourceKind:
        """Give the kind of the source as claimed; unknown where there is none."""
        return SourceKind.UNKNOWN if self.source is None else self.source.kind

    @property
    def age(self) -> tuple[datetime, str]:
        """Order the revisions of one memory."""
        return (self.observed_at, self.revision)


@dataclass(frozen=True, slots=True)
class Unseen:
    """A memory that is so far only named: a root under its own id."""

    memory_id: str


Node = Revision | Unseen


def format_time(time: datetime) -> str:
    """Write an aware UTC time with microseconds and `Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def build_revisions(facts: Facts) -> dict[str, list[Revision]]:
    """Give the revisions of each memory, oldest first, with what they inherit."""
    found: dict[tuple[str, str], Revision] = {}
    # Writes come in their order, so the first of a record gives its fields.
    for write in facts.writes:
        until = facts.erased_until.get(write.written.memory_id)
        is_erased = until is not None and write.written.observed_at <= until
        new = _tombstone(write) if is_erased else _record(write)
        same = found.setdefault((new.memory_id, new.revision), new)
        if same is not new:
            same.writes += (write,)
    memories: dict[str, list[Revision]] = {}
    for revision in sorted(found.values(), key=lambda each: each.age):
        memories.setdefault(revision.memory_id, []).append(revision)
    for revisions in memories.values():
        _inherit(revisions)
    return memories


def digest(*parts: object) -> str:
    """Give the first 32 hex characters of the SHA-256 of the canonical JSON of a list."""
    return hashlib.sha256(orjson.dumps(list(parts))).hexdigest()[:32]


def revision_of(written: Written) -> str:
    """Give the digest that names the revision a write makes."""
    text = unicodedata.normalize("NFC", written.text)
    parents = sorted(set(written.parents or ()) - {written.memory_id})
    return digest(format_time(written.observed_at), text, parents)


def _record(write: Write) -> Revision:
    written = write.written
    return Revision(
        memory_id=written.memory_id,
        observed_at=written.observed_at,
        revision=revision_of(written),
        parents=write.parents,
        writes=(write,),
    )


def _tombstone(write: Write) -> Revision:
    written = write.written
    parents = None if write.parents is None else list(write.parents)
    mark = digest("erased", format_time(written.observed_at), written.kind, parents)
    return Revision(
        memory_id=written.memory_id,
        observed_at=written.observed_at,
        revision="x" + mark[:31],
        parents=write.parents,
        writes=(write,),
        erased=True,
        kind=written.kind,
    )


def _inherit(revisions: list[Revision]) -> None:
    """Fill in what each revision of one memory names or has from the one before.

    Records have only the kind from a tombstone; a tombstone has the subjects that it is found by, too.
    """
    for each in revisions:
        if not each.erased:
            first = each.writes[0]
            each.kind, each.subject = first.written.kind, first.written.subject
            each.source, each.scope = first.source, first.written.scope
    revisions[0].kind = revisions[0].kind or MemoryKind.OTHER
    for before, each in pairwise(revisions):
        each.kind = each.kind or before.kind
        if not each.erased:
            each.subject = before.subject if each.subject is None else each.subject
            each.source = before.source if each.source is None else each.source
            each.scope = before.scope if each.scope is None else each.scope
    before_subjects: frozenset[str] = frozenset()
    for each in revisions:
        each.subjects = _subjects(each, before_subjects)
        before_subjects = each.subjects


def _subjects(each: Revision, before: frozenset[str]) -> frozenset[str]:
    """Give the subjects of a revision: of a tombstone those its events named, and for one that named none those before."""
    if not each.erased:
        return frozenset() if each.subject is None else frozenset({each.subject})
    named = [write.written.subject for write in each.writes]
    return frozenset(subject for subject in named if subject is not None) | (before if None in named else frozenset())
