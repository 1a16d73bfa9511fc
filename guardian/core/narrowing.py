"""Narrowings: what a model may take from a permission. It may narrow, never widen.

What restricts a record is taken from closed lists, so that nothing a memory makes a model say can become a duty of whoever reads it.
Whatever a narrowing says, a record keeps `background` if the rules give it: a model can take weight from a memory, not silence it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from guardian.core.card import ConflictPolicy, Permission, Withheld
from guardian.core.model import Slot

_STRICTNESS = tuple(ConflictPolicy)
_Word = TypeVar("_Word", bound=str)


class Duty(StrEnum):
    """What a model may ask of whoever uses a memory."""

    CHECK_NEWER = "check for a newer value"
    CHECK_SCOPE = "check that it concerns the person or project asked about"
    NAME_DATE = "name its date"
    NAME_SPEAKER = "name whose statement it is"
    NAME_UNVERIFIED = "name it as unverified"
    NAME_CONDITION = "name the condition under which it holds"


class Bar(StrEnum):
    """What a model may bar a memory from."""

    OBJECTIVE = "support an objective conclusion"
    INSTRUCTION = "follow as an instruction"
    OTHERS = "apply to other people"
    ELSEWHERE = "apply outside its project or situation"
    CURRENT = "treat as current"
    GENERALISE = "generalise beyond its case"
    OUTCOME = "reuse the outcome as the answer"
    INDEPENDENT = "count as independent evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What is taken from a permission; the default takes nothing. Every tuple is sorted and without repetition.

    Attributes:
        barred_slots: Slots it may not enter, though the rules allow them. `background` is never among them.
        authority: What it may, besides, never establish or override.
        must_use: Further duties, from `Duty`.
        must_not: Further bars, from `Bar`.
        conflict: What decides against other evidence, if that is stricter than the rules' choice.
    """

    barred_slots: tuple[Slot, ...] = ()
    authority: tuple[Withheld, ...] = ()
    must_use: tuple[Duty, ...] = ()
    must_not: tuple[Bar, ...] = ()
    conflict: ConflictPolicy | None = None

    def to_json(self) -> dict[str, Any]:
        """Map to plain values; what is empty is left out. `from_json` gives the narrowing back."""
        parts = {
            "bars": [slot.value for slot in self.barred_slots],
            "never": [withheld.value for withheld in self.authority],
            "must_use": [duty.value for duty in self.must_use],
            "must_not": [bar.value for bar in self.must_not],
            "conflict": None if self.conflict is None else self.conflict.value,
        }
        return {name: value for name, value in parts.items() if value}

    @classmethod
    def from_json(cls, parts: Mapping[str, Any]) -> Narrowing:
        """Read what `to_json` gave."""
        return build_narrowing(
            barred_slots=map(Slot, parts.get("bars", ())),
            authority=map(Withheld, parts.get("never", ())),
            must_use=map(Duty, parts.get("must_use", ())),
            must_not=map(Bar, parts.get("must_not", ())),
            conflict=ConflictPolicy(parts["conflict"]) if parts.get("conflict") else None,
        )


# Below the threshold of agreement: "may not influence objective conclusions".
NO_OBJECTIVE_INFLUENCE = Narrowing(
    barred_slots=(Slot.FACTS,),
    authority=(Withheld.CURRENT_VALUE, Withheld.OBJECTIVE_FACT),
    must_not=(Bar.OBJECTIVE,),
    conflict=ConflictPolicy.CURRENT_EVIDENCE_WINS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a record keeps of its induction; lineage is worked out from it without the card.

    Attributes:
        inducer, version: Who made it; another version asks for another card.
        confidence: Agreement of the samples, in [0, 1].
        card_digest: Of the model's card; None where the rules' card stands, and the narrowing holds all the same.
        narrowing: What it takes.
    """

    inducer: str
    version: str
    confidence: float
    card_digest: str | None
    narrowing: Narrowing

    def to_json(self) -> list[Any]:
        """Map to plain values; `from_json` gives the mark back."""
        return [self.inducer, self.version, self.confidence, self.card_digest, self.narrowing.to_json()]

    @classmethod
    def from_json(cls, parts: list[Any]) -> Mark:
        """Read what `to_json` gave."""
        inducer, version, confidence, card_digest, narrowing = parts
        return cls(
            inducer=inducer,
            version=version,
            confidence=confidence,
            card_digest=card_digest,
            narrowing=Narrowing.from_json(narrowing),
        )


def build_narrowing(
    *,
    barred_slots: Iterable[Slot] = (),
    authority: Iterable[Withheld] = (),
    must_use: Iterable[Duty] = (),
    must_not: Iterable[Bar] = (),
    conflict: ConflictPolicy | None = None,
) -> Narrowing:
    """Build a narrowing in its one form: sorted, each once, `background` kept."""
    return Narrowing(
        barred_slots=_sort(set(barred_slots) - {Slot.BACKGROUND}),
        authority=_sort(authority),
        must_use=_sort(must_use),
        must_not=_sort(must_not),
        conflict=conflict,
    )


def narrow_permission(permission: Permission, narrowing: Narrowing) -> Permission:
    """Take from a permission. The result is never wider, whatever the narrowing says."""
    policies = [permission.conflict, *([narrowing.conflict] if narrowing.conflict is not None else ())]
    barred = set(narrowing.barred_slots) - {Slot.BACKGROUND}
    return Permission(
        slots=tuple(slot for slot in permission.slots if slot not in barred),
        authority=_sort((*permission.authority, *narrowing.authority)),
        must_use=tuple(sorted({*permission.must_use, *(duty.value for duty in narrowing.must_use)})),
        must_not=tuple(sorted({*permission.must_not, *(bar.value for bar in narrowing.must_not)})),
        conflict=max(policies, key=_STRICTNESS.index),
        valid_from=permission.valid_from,
        valid_until=permission.valid_until,
    )


def _sort(words: Iterable[_Word]) -> tuple[_Word, ...]:
    return tuple(sorted(set(words)))
