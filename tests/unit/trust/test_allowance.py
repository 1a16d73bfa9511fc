"""Laws of a day's allowance: no more questions than it has, and a new day has all of them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from guardian.chat.port import ChatMessage, ChatReply, ChatRequest, LaterError
from guardian.errors import DependencyError
from guardian.trust.allowance import DailyAllowance

REQUEST = ChatRequest(messages=(ChatMessage(role="user", content="Is it so?"),))


class Judge:
    """Counts what it is asked; is away while told so."""

    model = "stub"

    def __init__(self) -> None:
        self.asked = 0
        self.is_away = False

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Count and answer."""
        self.asked += 1
        if self.is_away:
            raise DependencyError("away", dependency="model")
        return ChatReply(text="yes", model=self.model)

    async def close(self) -> None:
        """Hold nothing."""


async def test_a_day_has_so_many_questions_and_the_next_one_has_them_again() -> None:
    """What is beyond is put off to midnight; a question that failed was one."""
    now = [datetime(2026, 3, 1, 18, 0, tzinfo=UTC)]
    judge = Judge()
    allowed = DailyAllowance(judge, calls=2, clock=lambda: now[0])
    judge.is_away = True
    with pytest.raises(DependencyError):
        await allowed.ask(REQUEST)
    judge.is_away = False
    assert (await allowed.ask(REQUEST)).text == "yes"
    with pytest.raises(LaterError) as refused:
        await allowed.ask(REQUEST)
    assert (refused.value.wait_s, judge.asked) == (6 * 3_600.0, 2)
    now[0] = datetime(2026, 3, 2, 0, 0, tzinfo=UTC)
    assert (await allowed.ask(REQUEST)).text == "yes"
