"""Cards and narrowings between wire and core: readable names outside, the short keys of the store inside."""

from __future__ import annotations

from typing import Any

from guardian.contracts import wire
from guardian.contracts.wire_card import CardWire, NarrowingWire
from guardian.core.card import Card, ConditionalRule, CounterfactualSetting
from guardian.core.model import Induced
from guardian.core.narrowing import Narrowing, build_narrowing


def read_card(given: wire.InducedData, card: CardWire) -> dict[str, Any]:
    """Give the card of an event as `Card.to_json` does."""
    return Card(
        task_types=card.task_types,
        settings=tuple(
            CounterfactualSetting(
                request=one.request, evidence=one.evidence, support=one.support, scope=one.scope, limitation=one.limitation
            )
            for one in card.settings
        ),
        distinctions=card.distinctions,
        rules=tuple(ConditionalRule(condition=one.condition, influence=one.influence) for one in card.rules),
        summary=card.summary,
        inducer=given.inducer,
        inducer_version=given.version,
        confidence=given.confidence,
        content_digest=given.digest,
    ).to_json()


def read_narrowing(given: NarrowingWire) -> dict[str, Any]:
    """Give the narrowing of an event as `Narrowing.to_json` does."""
    return build_narrowing(
        barred_slots=given.barred_slots or (),
        authority=given.authority or (),
        must_use=given.must_use or (),
        must_not=given.must_not or (),
        conflict=given.conflict,
    ).to_json()


def write_induction(event: Induced) -> dict[str, Any]:
    """Give the parts of an induction that have other names on the wire; only those that say something."""
    parts: dict[str, Any] = {}
    if event.card is not None:
        parts["card"] = write_card(Card.from_json(event.card))
    if event.narrowing:
        parts["narrowing"] = write_narrowing(Narrowing.from_json(event.narrowing))
    return parts


def write_card(card: Card) -> dict[str, Any]:
    """Give a card in the words of the contract."""
    return {
        "task_types": list(card.task_types),
        "settings": [
            {
                "request": one.request,
                "evidence": one.evidence,
                "support": one.support.value,
                "scope": one.scope,
                "limitation": one.limitation,
            }
            for one in card.settings
        ],
        "distinctions": list(card.distinctions),
        "rules": [{"condition": one.condition, "influence": one.influence} for one in card.rules],
        "summary": card.summary,
    }


def write_narrowing(narrowing: Narrowing) -> dict[str, Any]:
    """Give a narrowing in the words of the contract; what is empty is left out."""
    parts = {
        "barred_slots": [slot.value for slot in narrowing.barred_slots],
        "authority": [withheld.value for withheld in narrowing.authority],
        "must_use": [duty.value for duty in narrowing.must_use],
        "must_not": [bar.value for bar in narrowing.must_not],
        "conflict": None if narrowing.conflict is None else narrowing.conflict.value,
    }
    return {name: value for name, value in parts.items() if value}
