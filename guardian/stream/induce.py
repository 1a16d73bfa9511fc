"""The guard's requests for cards, and the agent that answers them by a model.

A request names many records of one space, those of a batch: one message for each record would cost the write path a fifth of its speed. It
is a function of what its writes lead to and is acknowledged before they are, so a redelivered write asks again, and what has its card by then
is passed over. The agent's answers are `memory.induced` events for the canonical topic; the guard decides what they may do. What is away is
waited for: requests lie in their topic, and no write knows of it. Each record is paid for by the space it lies in. Only a space that has used up its own budget is passed over, or it would
hold up the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from guardian.chat.port import ChatModel, LaterError
from guardian.contracts.codec import encode_event
from guardian.contracts.outcome import CardRequest, seal_outcome
from guardian.core.model import Corrected, Status, Written
from guardian.core.plan import Outcome, RecordView
from guardian.errors import ConfigError, DependencyError
from guardian.induce.author import Author, Authored, Progress
from guardian.ports import OutcomeMessage
from guardian.stream.broker.kafka import Outgoing

log = structlog.stdlib.get_logger(__name__)

# Seconds for which nobody is asked after the model was away: the other requests of a batch need not find that out one by one.
_SHUT_S = 1.0
# Longest such time, however long an endpoint or a budget asks to be left alone: it may be changed meanwhile.
_LONGEST_SHUT_S = 60.0


@dataclass(frozen=True, slots=True)
class CardWanted:
    """One record of a request: what an agent answers at a time.

    Attributes:
        space: As the request says. Whose budget pays is read from the record itself: anybody may write into a topic.
    """

    space: str
    record_id: str


def split_request(request: CardRequest) -> list[CardWanted]:
    """Give the records of a request."""
    return [CardWanted(request.space, record_id) for record_id in request.record_ids]


def ask_for_cards(outcomes: Sequence[Outcome]) -> list[OutcomeMessage]:
    """Ask for the cards of a batch's records that were written, may be read, and have none of a model: a message for many of a space."""
    wanted: dict[str, dict[str, None]] = {}
    latest: dict[str, datetime] = {}
    for outcome in outcomes:
        if (record := outcome.record) is not None and _wants_card(outcome, record):
            wanted.setdefault(record.space, {})[record.record_id] = None
            at = outcome.event.ref.time
            latest[record.space] = max(latest.get(record.space, at), at)
    return [
        _build_request(space, record_ids, latest[space])
        for space, named in wanted.items()
        for record_ids in _cut(list(named), CardRequest.most)
    ]


def _cut(names: Sequence[str], most: int) -> list[tuple[str, ...]]:
    return [tuple(names[start : start + most]) for start in range(0, len(names), most)]


def _wants_card(outcome: Outcome, record: RecordView) -> bool:
    is_written = isinstance(outcome.event, Written | Corrected)
    return is_written and record.induced is None and record.is_current and record.status in {Status.ACTIVE, Status.VERIFIED}


def _build_request(space: str, record_ids: tuple[str, ...], time: datetime) -> OutcomeMessage:
    request = CardRequest(space=space, record_ids=record_ids)
    outcome_id, value = seal_outcome(request, time=time)
    return OutcomeMessage(topic=request.published_to, key=space, value=value, id=outcome_id)


class CardAgent:
    """Answers requests by what the model says.

    Args:
        author: Writes inductions.
        open_chat: Gives the model with the budget of a space.
        events_topic: Full name of the canonical topic.
        note: Told what became of each request.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        author: Author,
        *,
        open_chat: Callable[[str], ChatModel],
        events_topic: str,
        note: Callable[[Authored], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._author = author
        self._open_chat = open_chat
        self._events_topic = events_topic
        self._note = note
        self._clock = clock
        self._shut_until = 0.0

    async def answer(self, request: CardWanted) -> Sequence[Outgoing]:
        """Have a card written.

        Raises:
            DependencyError: The store or the model is away, or the budget of all is used up; the same request is asked again.
        """
        if self._clock() < self._shut_until:
            raise DependencyError("the model was away a moment ago", dependency="model")
        try:
            authored = await self._author.write(request.record_id, self._open_chat)
        except LaterError as exc:
            self._note(Authored(progress=Progress.OVER_BUDGET))
            if exc.is_for_one:
                return []  # `guardian cards refresh` finds it
            # The others of the batch would be told the same, each by questions of its own.
            self._shut_until = self._clock() + min(_LONGEST_SHUT_S, _SHUT_S if exc.wait_s is None else exc.wait_s)
            raise
        except DependencyError as exc:
            if exc.dependency == "model":
                self._shut_until = self._clock() + _SHUT_S
                self._note(Authored(progress=Progress.AWAY))
            raise
        except ConfigError as exc:
            # A wrong setting of the model must not end a worker that also guards.
            self._shut_until = self._clock() + _SHUT_S
            self._note(Authored(progress=Progress.AWAY))
            log.error("card.model_refused", setting=exc.setting, error=str(exc))  # noqa: TRY400 # the message says all
            raise DependencyError(str(exc), dependency="model") from exc
        self._note(authored)
        if authored.event is None:
            return []
        event = authored.event
        return [Outgoing(topic=self._events_topic, key=event.space.encode(), value=encode_event(event))]

    async def close(self) -> None:
        """Close the model."""
        await self._open_chat("").close()
