"""Inductions: what a model said about a record, as an event and as a point.

A card made by a model (MemAdapter's Counterfactual Induction, arXiv 2610.05162) comes as an event of Guardian's own inducer, names the
revision and the content that it was made from, and stands until a later one comes: the latest by (time, source, id), whatever came first.
Status, lineage and utility never look here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from guardian.core.card import Card
from guardian.core.claim import dump_ref, load_ref
from guardian.core.model import EventRef, Induced, MemoryKind, SourceKind
from guardian.core.moment import format_time, parse_time
from guardian.core.narrowing import Mark, Narrowing
from guardian.core.point import PointKind, build_point_id
from guardian.core.policy import VERIFYING_KINDS

# The event source of Guardian's own inducers; another's word on cards is a dispute.
INDUCER_SOURCE = "/guardian/inducer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Induction:
    """The latest induction of one revision.

    Attributes:
        id: Point id, made of memory and revision: a later one takes the place of an earlier.
        observed_at: When the revision was observed, by which an erasure covers it.
        digest: Of the content it was made from; of another content it says nothing.
        card: As `Card.to_json` gives it, or None.
    """

    id: str
    ref: EventRef
    memory_id: str
    revision: str
    observed_at: datetime
    digest: str
    mark: Mark
    card: Mapping[str, Any] | None

    def read_card(self) -> Card | None:
        """Give the model's card."""
        return None if self.card is None else Card.from_json(self.card)


def build_induction_id(space: str, memory_id: str, revision: str) -> str:
    """Build the id of the point that holds the latest induction of a revision."""
    return build_point_id(space, PointKind.INDUCTION, memory_id, revision)


def build_induction(event: Induced) -> Induction:
    """Build the fact of an event."""
    return Induction(
        id=build_induction_id(event.space, event.memory_id, event.revision),
        ref=event.ref,
        memory_id=event.memory_id,
        revision=event.revision,
        observed_at=event.observed_at,
        digest=event.digest,
        mark=Mark(
            inducer=event.inducer,
            version=event.version,
            confidence=event.confidence,
            card_digest=None if event.card is None else _digest_card(event.card),
            narrowing=Narrowing.from_json(event.narrowing),
        ),
        card=event.card,
    )


def _digest_card(card: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(dict(card), option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def is_believed(event: Induced) -> bool:
    """Tell whether an event is of Guardian's own inducer: by its source, and by an authority that its origin may claim.

    The kind is the one after admission, so a topic or source that is capped below a tool cannot say anything about cards.
    """
    is_own = event.ref.source == INDUCER_SOURCE or event.ref.source.startswith(f"{INDUCER_SOURCE}/")
    return is_own and event.authority is not None and event.authority.kind in VERIFYING_KINDS


def digest_content(*, text_digest: str, kind: MemoryKind, source_kind: SourceKind) -> str:
    """Digest what a card is made from: the text, what kind of memory it is, and whose word; 32 hex digits."""
    body = orjson.dumps([text_digest, kind.value, source_kind.value])
    return hashlib.sha256(body).hexdigest()[:32]


def dump_induction(induction: Induction, space: str) -> dict[str, Any]:
    """Give the payload of an induction's point."""
    facts = {
        "o": dump_ref(induction.ref),
        "r": induction.revision,
        "e": format_time(induction.observed_at),
        "d": induction.digest,
        "m": induction.mark.to_json(),
    }
    payload: dict[str, Any] = {
        "point": PointKind.INDUCTION.value,
        "space": space,
        "memory_id": induction.memory_id,
        "facts": orjson.dumps(facts).decode(),
    }
    if induction.card is not None:
        payload["card"] = orjson.dumps(dict(induction.card)).decode()
    return payload


def load_induction(point_id: str, payload: Any) -> Induction:
    """Read an induction from its payload."""
    facts = orjson.loads(payload["facts"])
    return Induction(
        id=point_id,
        ref=load_ref(facts["o"]),
        memory_id=payload["memory_id"],
        revision=facts["r"],
        observed_at=parse_time(facts["e"]),
        digest=facts["d"],
        mark=Mark.from_json(facts["m"]),
        card=orjson.loads(payload["card"]) if "card" in payload else None,
    )
