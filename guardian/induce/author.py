"""The author of inductions: from a stored record to the event that says what a model makes of it.

It reads the store and writes nothing there. The event goes to the canonical topic like any other, and what it may do is decided by the rules:
it can only narrow. A card's own rules are lowered here to what the record may be used for, so that none of its words promises more.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import orjson
import structlog

from guardian.chat.port import ChatModel, LaterError
from guardian.core.card import Card, ConditionalRule, Permission
from guardian.core.induction import INDUCER_SOURCE
from guardian.core.model import Authority, EventRef, Induced, Slot, SourceKind, Status
from guardian.core.narrowing import narrow_permission
from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.rules.induction import digest_node
from guardian.errors import DependencyError, GuardianError
from guardian.induce.answer import Influence
from guardian.induce.inducer import Drawn, Inducer
from guardian.induce.prompt import Content
from guardian.ports import Store

log = structlog.stdlib.get_logger(__name__)

# Times a worker tries one record, with growing pauses between, before it finds out whether the endpoint fails on that one alone.
PATIENCE: Final = 5
# Records that the model was away for and that are remembered, at most.
_MAX_AWAY: Final = 10_000
# What an influence needs; the others are open to every memory.
_NEEDED_SLOTS: Final = {
    Influence.CONCLUDE: Slot.FACTS,
    Influence.RESTRICT: Slot.CONSTRAINTS,
    Influence.CHOICE: Slot.PREFERENCES,
    Influence.PRECEDENT: Slot.EXAMPLES,
}


class Progress(StrEnum):
    """What became of a request for a card; the values of the metric's label."""

    INDUCED = "induced"
    FALLBACK = "fallback"
    CACHED = "cached"
    UNUSABLE = "unusable"
    REFUSED = "refused"
    KNOWN = "known"
    GONE = "gone"
    AWAY = "away"
    OVER_BUDGET = "over_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """What became of one record; `event` is there when something is to be said."""

    progress: Progress
    event: Induced | None = None
    confidence: float | None = None


class Author:
    """Writes inductions of stored records.

    Args:
        store: Where the records lie; open.
        inducer: Asks the model.
        patience: Times the model is away for one record, from which it is found out whether it is so for that record alone.
        clock: Gives the time of events; aware.
    """

    def __init__(
        self,
        store: Store,
        inducer: Inducer,
        *,
        patience: int = PATIENCE,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self.inducer = inducer
        self._patience = patience
        self._away: Counter[str] = Counter()
        self._clock = clock

    async def write(self, record_id: str, open_chat: Callable[[str], ChatModel]) -> Authored:
        """Write the induction of a record, unless there is one by today's model and prompt, or the record needs none.

        Args:
            record_id: The record.
            open_chat: Gives the model with the budget of a space. The space in which the record lies pays, whatever a request says.

        Raises:
            DependencyError: The store or the model is away, or a budget is used up.
            ConfigError: The model will never answer.
        """
        node = await self._fetch(record_id)
        if node is None:
            return Authored(progress=Progress.GONE)
        if self.is_done(node):
            return Authored(progress=Progress.KNOWN)
        chat = open_chat(node.space)
        try:
            drawn = await self.inducer.induce(build_content(node), chat)
        except DependencyError as exc:
            if isinstance(exc, LaterError) or not await self._is_away_for_it_alone(record_id, chat):
                raise
            log.warning("card.passed_over", space=node.space, record_id=record_id, error=str(exc))
            return Authored(progress=Progress.REFUSED)
        self._away.pop(record_id, None)
        if drawn.narrowing is None:
            return Authored(progress=Progress(drawn.outcome.value))
        progress = Progress.CACHED if drawn.is_cached else Progress(drawn.outcome.value)
        return Authored(progress=progress, event=self._build_event(node, drawn), confidence=drawn.confidence)

    def is_done(self, node: Node) -> bool:
        """Tell whether a record has its induction by today's model and prompt."""
        mark = node.induced
        return mark is not None and (mark.inducer, mark.version) == (self.inducer.model, self.inducer.version)

    async def _is_away_for_it_alone(self, record_id: str, chat: ChatModel) -> bool:
        """Tell whether the model fails on one record time and again and answers about another: a memory must not hold up all others."""
        if len(self._away) >= _MAX_AWAY:
            self._away.clear()
        self._away[record_id] += 1
        if self._away[record_id] < self._patience:
            return False
        try:
            await self.inducer.try_out(chat)
        except GuardianError:
            return False
        del self._away[record_id]
        return True

    async def _fetch(self, record_id: str) -> Node | None:
        for point in await self._store.fetch(Needs(ids={record_id})):
            node = load_node(point)
            if needs_card(node):
                return node
        return None

    def _build_event(self, node: Node, drawn: Drawn) -> Induced:
        assert node.revision is not None
        assert node.observed_at is not None
        assert drawn.narrowing is not None
        now, digest = self._clock(), digest_node(node)
        card = None if drawn.card is None else limit_card(drawn.card, node, drawn)
        body = orjson.dumps([node.id, digest, self.inducer.model, self.inducer.version, now])
        return Induced(
            ref=EventRef(time=now, source=INDUCER_SOURCE, id=hashlib.sha256(body).hexdigest()[:32], digest=""),
            space=node.space,
            memory_id=node.memory_id,
            revision=node.revision,
            observed_at=node.observed_at,
            digest=digest,
            inducer=self.inducer.model,
            version=self.inducer.version,
            confidence=drawn.confidence,
            card=None if card is None else card.to_json(),
            narrowing=drawn.narrowing.to_json(),
            authority=Authority(kind=SourceKind.TOOL, ref=self.inducer.version, actor=self.inducer.model),
        )


def needs_card(node: Node) -> bool:
    """Tell whether a node is a record that may be read: what is superseded or erased needs no card."""
    return node.is_record and node.is_current and node.status in {Status.ACTIVE, Status.VERIFIED}


def build_content(node: Node) -> Content:
    """Give what of a record is shown to a model."""
    source_kind = node.claimed_source.kind if node.claimed_source is not None else SourceKind.UNKNOWN
    return Content(text=node.text or "", kind=node.kind, source_kind=source_kind)


def limit_card(card: Card, node: Node, drawn: Drawn) -> Card:
    """Give the card of this record: of its own content, and no rule promises what the record may not be used for."""
    assert drawn.narrowing is not None
    assert node.permission is not None
    permission = narrow_permission(node.permission, drawn.narrowing)
    return replace(card, rules=limit_rules(card.rules, permission), content_digest=digest_node(node))


def limit_rules(rules: tuple[ConditionalRule, ...], permission: Permission) -> tuple[ConditionalRule, ...]:
    """Lower the influences that a permission has no slot for; each rule once."""
    limited = []
    for rule in rules:
        needed = _NEEDED_SLOTS.get(Influence(rule.influence))
        influence = rule.influence if needed is None or needed in permission.slots else Influence.ATTENTION.value
        limited.append(ConditionalRule(condition=rule.condition, influence=influence))
    return tuple(dict.fromkeys(limited))
