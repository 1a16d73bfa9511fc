"""The budget of a chat model: what is used up is said at once, nothing is spent twice, and nothing is lost by failures."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from guardian.chat.budget import Budget, BudgetedChat, ChatLimits, ChatUsage, estimate_tokens
from guardian.chat.port import ChatMessage, ChatReply, ChatRequest, LaterError
from guardian.errors import DependencyError, RecordError

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
ASKED = ChatRequest(messages=(ChatMessage(role="user", content="x" * 300),), max_tokens=50)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


class Model:
    """A model that answers with counted tokens, or fails."""

    model = "stub"

    def __init__(self, **reply: Any) -> None:
        self.reply = ChatReply(**({"text": "yes", "model": "stub", "prompt_tokens": 90, "completion_tokens": 10} | reply))
        self.error: Exception | None = None
        self.running = 0
        self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Answer when the gate is open."""
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.gate.wait()
            if self.error is not None:
                raise self.error
            return self.reply
        finally:
            self.running -= 1

    async def close(self) -> None:
        """Nothing to close."""


def open_chat(model: Model, clock: Clock, space: str = "a", **limits: Any) -> BudgetedChat:
    """Give a model with a budget of its own."""
    return BudgetedChat(chat=model, budget=Budget(ChatLimits(**limits), clock=clock), space=space)


async def test_the_requests_of_a_minute_end_and_come_back() -> None:
    """The error names the seconds, and after them it is allowed again."""
    clock = Clock()
    chat = open_chat(Model(), clock, requests_per_minute=2)
    await chat.ask(ASKED)
    await chat.ask(ASKED)
    with pytest.raises(LaterError) as caught:
        await chat.ask(ASKED)
    assert caught.value.wait_s == pytest.approx(30)
    clock.advance(30)
    await chat.ask(ASKED)
    with pytest.raises(LaterError):
        await chat.ask(ASKED)


async def test_tokens_are_booked_as_counted_not_as_estimated() -> None:
    """An estimate of 150 that took 100 leaves the other 50 in the minute's budget."""
    assert estimate_tokens(ASKED) == 100
    chat = open_chat(Model(), Clock(), tokens_per_minute=350)
    for _ in range(3):
        await chat.ask(ASKED)
    with pytest.raises(LaterError):
        await chat.ask(ASKED)


async def test_a_question_beyond_a_whole_minute_is_asked_when_the_bucket_is_full() -> None:
    """Else it would never be: and it is paid by the minutes after it."""
    clock = Clock()
    chat = open_chat(Model(), clock, tokens_per_minute=60)
    await chat.ask(ASKED)
    with pytest.raises(LaterError) as caught:
        await chat.ask(ASKED)
    assert caught.value.wait_s == pytest.approx(100)
    clock.advance(100)
    await chat.ask(ASKED)


async def test_a_day_ends_at_midnight() -> None:
    """What is used up by noon is there again the next day, and the error says when."""
    clock = Clock()
    chat = open_chat(Model(), clock, tokens_per_day=250)
    await chat.ask(ASKED)
    await chat.ask(ASKED)
    with pytest.raises(LaterError) as caught:
        await chat.ask(ASKED)
    assert caught.value.wait_s == 12 * 3600
    clock.advance(12 * 3600)
    await chat.ask(ASKED)


async def test_one_space_does_not_spend_anothers_budget() -> None:
    """A space that is out is out alone."""
    budget = Budget(ChatLimits(space_tokens_per_day=160), clock=Clock())
    first, second = (BudgetedChat(chat=Model(), budget=budget, space=space) for space in "ab")
    await first.ask(ASKED)
    with pytest.raises(LaterError, match="of this space") as caught:
        await first.ask(ASKED)
    assert caught.value.is_for_one
    await second.ask(ASKED)


async def test_money_is_counted() -> None:
    """90 tokens at 2 and 10 at 8 a million."""
    seen: list[ChatUsage] = []
    budget = Budget(ChatLimits(prompt_price=2.0, completion_price=8.0, cost_per_day=0.0007), clock=Clock())
    chat = BudgetedChat(chat=Model(), budget=budget, space="a", on_usage=seen.append)
    await chat.ask(ASKED)
    assert seen == [ChatUsage(space="a", prompt_tokens=90, completion_tokens=10, cost=pytest.approx(0.00026), tokens_known=True)]
    with pytest.raises(LaterError, match="money"):
        await chat.ask(ASKED)


async def test_a_failure_gives_its_tokens_back() -> None:
    """An endpoint that is down all day does not use up the day."""
    model = Model()
    model.error = DependencyError("away", dependency="model")
    chat = open_chat(model, Clock(), tokens_per_day=160, cost_per_day=1.0, completion_price=1.0)
    for _ in range(5):
        with pytest.raises(DependencyError, match="away"):
            await chat.ask(ASKED)
    model.error = None
    await chat.ask(ASKED)


async def test_uncounted_answers_are_estimated() -> None:
    """An endpoint that says no numbers is not free."""
    seen: list[ChatUsage] = []
    model = Model(text="y" * 30, prompt_tokens=0, completion_tokens=0)
    chat = BudgetedChat(chat=model, budget=Budget(ChatLimits(), clock=Clock()), on_usage=seen.append)
    await chat.ask(ASKED)
    [usage] = seen
    assert (usage.prompt_tokens, usage.completion_tokens, usage.tokens_known) == (100, 10, False)


async def test_no_more_run_at_once_than_allowed() -> None:
    """The others wait for a place, and all are answered."""
    model = Model()
    model.gate.clear()
    chat = open_chat(model, Clock(), concurrency=2)
    tasks = [asyncio.create_task(chat.ask(ASKED)) for _ in range(6)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert model.running == 2
    model.gate.set()
    assert len(await asyncio.gather(*tasks)) == 6
    assert model.most == 2


@pytest.mark.parametrize("limits", [{"tokens_per_day": 149}, {"space_tokens_per_day": 149}, {"cost_per_day": 4.9e-5}])
async def test_a_question_for_which_no_day_has_room_is_refused(limits: dict[str, Any]) -> None:
    """Waiting for midnight would hold up all behind it for ever; a shorter one is asked."""
    chat = open_chat(Model(), Clock(), completion_price=1.0, **limits)
    with pytest.raises(RecordError, match="whole day"):
        await chat.ask(ASKED)
    await chat.ask(ChatRequest(messages=ASKED.messages, max_tokens=49))


async def test_a_reservation_stands_while_the_question_runs() -> None:
    """Two questions at once cannot both spend the last tokens."""
    model = Model()
    model.gate.clear()
    chat = open_chat(model, Clock(), tokens_per_day=200)
    first = asyncio.create_task(chat.ask(ASKED))
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(LaterError):
        await chat.ask(ASKED)
    model.gate.set()
    await first
