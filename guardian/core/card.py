"""The boundary card: under which conditions a memory may influence which part of an answer.

After Counterfactual Induction of MemAdapter (arXiv 2610.05162). A card is written before any query is known: it asks
how the memory would act on hypothetical requests beside other evidence, and keeps the distinctions that survive the
comparison as conditional rules. The permission stands apart, because it obeys lineage: a derived record's is never
wider than its parents'.

A card speaks about a memory and is itself shown to models, so what it takes over from outside (names, subjects) is
quoted and short. `to_json` and `from_json` map to plain dicts with short keys; a store keeps them as one JSON string.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from guardian.core.model import Slot
from guardian.errors import InvariantError


class Support(StrEnum):
    """How far a memory supports the answer to a hypothetical request."""

    DIRECT = "direct"
    PARTIAL = "partial"
    CONTEXT_ONLY = "context_only"
    NONE = "none"


class Withheld(StrEnum):
    """What a memory may be barred from establishing or overriding."""

    OBJECTIVE_FACT = "objective_fact"
    CURRENT_VALUE = "current_value"
    VERIFIED_STATEMENT = "verified_statement"
    USER_PREFERENCE = "user_preference"
    PREFERENCE_OF_OTHERS = "preference_of_others"
    TASK_OUTCOME = "task_outcome"
    SYSTEM_INSTRUCTION = "system_instruction"


class ConflictPolicy(StrEnum):
    """What decides when a memory and other evidence disagree; the later in this list is the stricter."""

    LATEST_MEMORY_WINS = "latest_memory_wins"
    CURRENT_EVIDENCE_WINS = "current_evidence_wins"
    HUMAN_REVIEW = "human_review"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualSetting:
    """One hypothetical use: a request, the evidence beside it, and what the memory then gives.

    Attributes:
        request: What might be asked.
        evidence: Which other evidence stands beside the memory.
        support: How far the memory supports the answer.
        scope: Where that holds.
        limitation: What it does not show.
    """

    request: str
    evidence: str
    support: Support
    scope: str
    limitation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalRule:
    """One condition and the influence that the memory may have while it holds."""

    condition: str
    influence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The boundary card of one record.

    Attributes:
        task_types: Kinds of tasks it may matter for.
        settings: The counterfactual settings that were compared.
        distinctions: What survived the comparison: the differences that decide.
        rules: Conditional rules, the strictest first.
        summary: One sentence.
        inducer: Who made the card: `rules`, or the name of a model.
        inducer_version: Version of the inducer; another version is another card.
        confidence: In [0, 1].
        content_digest: Digest of the content that the card was made from.
    """

    task_types: tuple[str, ...]
    settings: tuple[CounterfactualSetting, ...]
    distinctions: tuple[str, ...]
    rules: tuple[ConditionalRule, ...]
    summary: str
    inducer: str
    inducer_version: str
    confidence: float
    content_digest: str

    def to_json(self) -> dict[str, Any]:
        """Map to plain values with short keys; `from_json` gives the card back."""
        return {
            "tasks": list(self.task_types),
            "settings": [[s.request, s.evidence, s.support.value, s.scope, s.limitation] for s in self.settings],
            "distinctions": list(self.distinctions),
            "rules": [[rule.condition, rule.influence] for rule in self.rules],
            "summary": self.summary,
            "by": self.inducer,
            "version": self.inducer_version,
            "confidence": self.confidence,
            "digest": self.content_digest,
        }

    @classmethod
    def from_json(cls, parts: Mapping[str, Any]) -> Card:
        """Read what `to_json` gave.

        Raises:
            InvariantError: If it is not such a mapping: the store holds what this version did not write.
        """
        try:
            return cls(
                task_types=tuple(parts["tasks"]),
                settings=tuple(
                    CounterfactualSetting(request=r, evidence=e, support=Support(s), scope=where, limitation=limit)
                    for r, e, s, where, limit in parts["settings"]
                ),
                distinctions=tuple(parts["distinctions"]),
                rules=tuple(ConditionalRule(condition=c, influence=i) for c, i in parts["rules"]),
                summary=parts["summary"],
                inducer=parts["by"],
                inducer_version=parts["version"],
                confidence=parts["confidence"],
                content_digest=parts["digest"],
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise InvariantError(f"stored card is not readable by this version: {exc!r}; induce it again") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What a record may ever be used for. Every tuple is sorted and without repetition.

    Attributes:
        slots: Where in a prompt it may stand; empty means nowhere.
        authority: What it may never establish or override.
        must_use: Duties of whoever uses it.
        must_not: Uses that are barred.
        conflict: What decides against other evidence.
        valid_from: It does not hold before; aware, UTC.
        valid_until: It does not hold from then on; aware, UTC.
    """

    slots: tuple[Slot, ...]
    authority: tuple[Withheld, ...] = ()
    must_use: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    conflict: ConflictPolicy = ConflictPolicy.CURRENT_EVIDENCE_WINS
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """Map to plain values; what is empty is left out. `from_json` gives the permission back."""
        parts: dict[str, Any] = {
            "slots": [slot.value for slot in self.slots],
            "never": [withheld.value for withheld in self.authority],
            "must_use": list(self.must_use),
            "must_not": list(self.must_not),
            "conflict": self.conflict.value,
            "from": _format_time(self.valid_from),
            "until": _format_time(self.valid_until),
        }
        return {key: value for key, value in parts.items() if value}

    @classmethod
    def from_json(cls, parts: Mapping[str, Any]) -> Permission:
        """Read what `to_json` gave.

        Raises:
            InvariantError: If it is not such a mapping: the store holds what this version did not write.
        """
        try:
            return cls(
                slots=tuple(Slot(slot) for slot in parts.get("slots", ())),
                authority=tuple(Withheld(withheld) for withheld in parts.get("never", ())),
                must_use=tuple(parts.get("must_use", ())),
                must_not=tuple(parts.get("must_not", ())),
                conflict=ConflictPolicy(parts["conflict"]),
                valid_from=_parse_time(parts.get("from")),
                valid_until=_parse_time(parts.get("until")),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise InvariantError(f"stored permission is not readable by this version: {exc!r}; write it again") from exc


def _format_time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)
