"""So many questions a day, for a judge that costs: beyond them it is asked no more until midnight UTC. Of one process, anew with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from guardian.chat.port import ChatModel, ChatReply, ChatRequest, LaterError


class DailyAllowance:
    """A chat model that answers a bounded number of questions a day.

    Args:
        chat: The model.
        calls: Questions from midnight to midnight UTC, those that failed among them.
    """

    def __init__(self, chat: ChatModel, *, calls: int, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._chat = chat
        self._calls = calls
        self._clock = clock
        self._day: date | None = None
        self._asked = 0

    @property
    def model(self) -> str:
        """Give the model's name."""
        return self._chat.model

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Ask once, if the day has a question left.

        Raises:
            LaterError: It has none.
            DependencyError, ConfigError: As the model's.
        """
        now = self._clock()
        if now.date() != self._day:
            self._day, self._asked = now.date(), 0
        if self._asked >= self._calls:
            midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), tzinfo=UTC)
            raise LaterError(f"the {self._calls} questions of this day are used up", wait_s=(midnight - now).total_seconds())
        self._asked += 1
        return await self._chat.ask(request)

    async def close(self) -> None:
        """Close the model."""
        await self._chat.close()
