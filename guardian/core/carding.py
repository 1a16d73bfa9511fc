"""The card of a record: by rules, or the one that a model made of its very content."""

from __future__ import annotations

from guardian.core.induction import build_induction_id
from guardian.core.model import Scope, Source
from guardian.core.node import Node
from guardian.core.rules.card import induce_card
from guardian.core.world import World


def make_card(node: Node, world: World) -> None:
    """Make the card of a record by rules, or take the model's; where that is stored and not at hand, it stays as it is."""
    if node.induced is not None and node.induced.card_digest is not None:
        assert node.revision is not None
        found = world.induction_facts[node.memory_id].get(build_induction_id(node.space, node.memory_id, node.revision))
        node.card = None if found is None else found.read_card()
        return
    event = node.claims[0].event
    node.card = induce_card(
        text=event.text,
        kind=node.kind,
        source=node.claimed_source or Source(),
        scope=node.scope or Scope(),
        subject=node.subject,
        verified=node.is_verified,
        confidence=event.confidence,
        has_parents=bool(node.edges),
        valid_from=event.valid_from,
        valid_until=event.valid_until,
        episode=event.episode,
        observed_at=event.observed_at,
        digest=node.text_digest or "",
    )
