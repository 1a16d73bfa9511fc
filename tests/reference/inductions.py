"""What models said of records: which induction holds for each, and what it takes."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from guardian.core.model import Induced, MemoryKind, SourceKind
from tests.reference.revisions import Revision

# What restricts, by the names under which an induction says it.
RESTRICTIONS = ("never", "must_use", "must_not")


@dataclass(frozen=True, slots=True)
class Inductions:
    """The inductions of a space.

    Attributes:
        holding: The induction that holds for each record that has one.
    """

    holding: Mapping[Revision, Induced]

    def describe(self, each: Revision) -> list[Any] | None:
        """Give who speaks of a record, by which prompt, how surely, the summary of the card, and what is taken."""
        said = self.holding.get(each)
        if said is None:
            return None
        card = said.card["summary"] if said.card is not None else None
        return [said.inducer, said.version, said.confidence, card, read_narrowing(said)]


def digest_of(text: str, kind: MemoryKind | str | None, source_kind: SourceKind | str) -> str:
    """Digest a content: text (NFC), kind and the kind of the claimed source."""
    of_text = hashlib.sha256(unicodedata.normalize("NFC", text).encode()).hexdigest()[:16]
    return hashlib.sha256(orjson.dumps([of_text, str(kind or "other"), str(source_kind)])).hexdigest()[:32]


def read_narrowing(said: Induced) -> dict[str, Any]:
    """Give what an induction takes, in one spelling: lists sorted, `background` never barred, what is empty left out."""
    taken = {name: sorted(set(said.narrowing.get(name, ()))) for name in ("bars", *RESTRICTIONS)}
    taken["bars"] = [slot for slot in taken["bars"] if slot != "background"]
    return {name: value for name, value in {**taken, "conflict": said.narrowing.get("conflict")}.items() if value}


def find_inductions(
    said: Iterable[Induced], memories: Mapping[str, list[Revision]], erased_until: Mapping[str, datetime]
) -> Inductions:
    """Find for each record the last induction of its revision, if that was made from what the record says now."""
    last: dict[tuple[str, str], Induced] = {}
    for event in sorted(said, key=lambda each: each.ref.order):
        until = erased_until.get(event.memory_id)
        if until is None or event.observed_at > until:
            last[event.memory_id, event.revision] = event
    holding = {}
    for memory_id, revisions in memories.items():
        for each in revisions:
            event_of = last.get((memory_id, each.revision))
            if event_of is None or each.text is None:
                continue
            if event_of.digest == digest_of(each.text, each.kind, each.source_kind):
                holding[each] = event_of
    return Inductions(holding)
