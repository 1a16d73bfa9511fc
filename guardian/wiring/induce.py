"""Cards by a model: what asks for them, what writes them, and the budget. No logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from guardian.chat.budget import BudgetedChat, ChatUsage
from guardian.contracts.outcome import CardRequest
from guardian.core.plan import Outcome
from guardian.errors import ConfigError
from guardian.induce.author import PATIENCE, Author
from guardian.induce.inducer import InduceLimits, Inducer
from guardian.ports import OutcomeMessage, Store
from guardian.settings import InduceSettings, Settings
from guardian.stream.induce import CardAgent, ask_for_cards, split_request
from guardian.stream.plane.batch import Role
from guardian.telemetry.metrics import Metrics
from guardian.wiring.chat import build_budget, build_chat

if TYPE_CHECKING:
    from guardian.stream.side import SideSetup


def build_author(settings: InduceSettings, store: Store, *, patience: int = PATIENCE) -> Author:
    """Build what writes inductions of the records of a store.

    Raises:
        ConfigError: No model is set.
    """
    return Author(store, build_inducer(settings), patience=patience)


def build_inducer(settings: InduceSettings) -> Inducer:
    """Build what makes cards of contents.

    Raises:
        ConfigError: No model is set.
    """
    if settings.model is None:
        raise ConfigError("no model is set.", setting="GUARDIAN_INDUCE__MODEL", mend="set it, and GUARDIAN_INDUCE__BASE_URL.")
    limits = InduceLimits(
        samples=settings.samples,
        threshold=settings.threshold,
        temperature=settings.temperature,
        repairs=settings.repairs,
        max_tokens=settings.max_tokens,
        cache_entries=settings.cache_entries,
        cache_s=settings.cache_s,
    )
    return Inducer(model=settings.model, limits=limits)


def build_card_chat(
    settings: InduceSettings, *, on_usage: Callable[[ChatUsage], None] | None = None
) -> Callable[[str], BudgetedChat]:
    """Build what gives the model with the budget of a space.

    Raises:
        ConfigError: No model is set, the extra is missing, or the address is none.
    """
    chat, budget = build_chat(settings, section="GUARDIAN_INDUCE"), build_budget(settings)

    def open_chat(space: str) -> BudgetedChat:
        return BudgetedChat(chat=chat, budget=budget, space=space, on_usage=on_usage)

    return open_chat


def build_card_asks(settings: Settings) -> tuple[Callable[[Sequence[Outcome]], list[OutcomeMessage]], ...]:
    """Build what a guard asks for beside its outcomes: cards, where a model is set."""
    return () if settings.induce.model is None else (ask_for_cards,)


def build_card_side(settings: Settings) -> tuple[SideSetup, ...]:
    """Build the side topic of cards, for a worker that has the role and a model.

    Raises:
        ConfigError: The extra is missing, or the address is none: told at the start.
    """
    from guardian.stream.side import SideSetup  # noqa: PLC0415 # with Faust's floor, which only a worker needs

    induce = settings.induce
    if "inducer" not in settings.roles or induce.model is None:
        return ()

    async def open_agent(store: Store, metrics: Metrics) -> CardAgent:
        return CardAgent(
            build_author(induce, store),
            open_chat=build_card_chat(induce, on_usage=metrics.note_chat),
            events_topic=settings.kafka.topic_prefix + settings.kafka.events_topic,
            note=metrics.note_card,
        )

    return (
        SideSetup(
            role=Role.INDUCE,
            request=CardRequest,
            open_agent=open_agent,
            split=split_request,
            concurrency=induce.concurrency,
            batch_requests=4 * induce.concurrency,
        ),
    )
