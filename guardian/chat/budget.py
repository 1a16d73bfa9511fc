"""What may be spent on a chat model: questions at once, requests and tokens a minute, tokens a day, for all and for each space, and money.

A budget that is used up is a `LaterError` at once, with the seconds after which it is worth asking again: nobody waits here but for a
free place among the questions that run. Tokens are reserved by an estimate before a question and settled by what the endpoint counted;
a question that failed gives its tokens back. A day ends at midnight UTC. Everything is of one process and starts anew with it: several
workers share a budget by being given a part each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from guardian.chat.port import ChatModel, ChatReply, ChatRequest, LaterError
from guardian.errors import RecordError

# Bytes of UTF-8 to a token, for estimates: 4 for English, less for most else.
_BYTES_PER_TOKEN: Final = 3
# Spaces whose spending of the day is kept apart; those that spent least make room.
_MAX_SPACES: Final = 65_536
_OF_SPACE: Final = "tokens of this space"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLimits:
    """The budget; None is no limit.

    Attributes:
        concurrency: Questions at once, at least 1.
        requests_per_minute, tokens_per_minute: Rates, for all spaces.
        tokens_per_day, space_tokens_per_day: Tokens from midnight to midnight UTC, of all spaces and of each.
        cost_per_day: Money a day, in the unit of the prices.
        prompt_price, completion_price: Of a million tokens.
    """

    concurrency: int = 4
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    tokens_per_day: int | None = None
    space_tokens_per_day: int | None = None
    cost_per_day: float | None = None
    prompt_price: float = 0.0
    completion_price: float = 0.0

    def cost_of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Give the price of that many tokens."""
        return (prompt_tokens * self.prompt_price + completion_tokens * self.completion_price) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatUsage:
    """What one answered question took; `tokens_known` is false where the endpoint did not count and an estimate stands in."""

    space: str
    prompt_tokens: int
    completion_tokens: int
    cost: float
    tokens_known: bool


@dataclass(slots=True)
class _Bucket:
    """A rate: fills by the second up to a minute's worth, and may be overdrawn by what was estimated too low."""

    per_minute: float
    level: float
    at: datetime

    def refill(self, now: datetime) -> None:
        self.level = min(self.per_minute, self.level + max(0.0, (now - self.at).total_seconds()) * self.per_minute / 60)
        self.at = now

    def wait_for(self, amount: float) -> float:
        """Give the seconds until it holds that much, or is full, if a minute's worth never does."""
        return max(0.0, min(amount, self.per_minute) - self.level) * 60 / self.per_minute


class Budget:
    """The account of one process.

    Attributes:
        limits: What may be spent.
    """

    def __init__(self, limits: ChatLimits, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.limits = limits
        self._clock = clock
        self._places = asyncio.Semaphore(limits.concurrency)
        now = clock()
        self._requests = _open_bucket(limits.requests_per_minute, now)
        self._tokens = _open_bucket(limits.tokens_per_minute, now)
        self._day = now.date()
        self._spent = 0.0
        self._cost = 0.0
        self._by_space: dict[str, float] = {}

    @property
    def places(self) -> asyncio.Semaphore:
        """Give the places for questions that run at the same time."""
        return self._places

    def reserve(self, space: str, *, prompt_tokens: int, completion_tokens: int) -> None:
        """Take a request and its tokens out of the budget, or nothing.

        Raises:
            LaterError: Some of it is used up.
            RecordError: It is more than a whole day's (`request_refused`); no day would ever have room for it.
        """
        now = self._clock()
        self._turn_day(now)
        tokens = prompt_tokens + completion_tokens
        self._check_day(space, tokens, self.limits.cost_of(prompt_tokens, completion_tokens), now)
        for bucket, amount, name in ((self._requests, 1.0, "requests"), (self._tokens, float(tokens), "tokens")):
            if bucket is not None:
                bucket.refill(now)
                if wait_s := bucket.wait_for(amount):
                    raise LaterError(f"the {name} of this minute are used up", wait_s=wait_s)
        if self._requests is not None:
            self._requests.level -= 1
        self.settle(space, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)

    def settle(self, space: str, *, prompt_tokens: int, completion_tokens: int) -> None:
        """Book tokens: negative ones give back what was reserved and not used."""
        tokens = prompt_tokens + completion_tokens
        if self._tokens is not None:
            self._tokens.level -= tokens
        # What was reserved before midnight and settled after it must not make the new day's account negative.
        self._spent = max(0.0, self._spent + tokens)
        self._cost = max(0.0, self._cost + self.limits.cost_of(prompt_tokens, completion_tokens))
        self._by_space[space] = max(0.0, self._by_space.get(space, 0.0) + tokens)
        if len(self._by_space) > _MAX_SPACES:
            kept = sorted(self._by_space.items(), key=lambda pair: (-pair[1], pair[0]))[: _MAX_SPACES // 2]
            self._by_space = dict(kept)

    def _turn_day(self, now: datetime) -> None:
        if now.date() != self._day:
            self._day, self._spent, self._cost, self._by_space = now.date(), 0.0, 0.0, {}

    def _check_day(self, space: str, tokens: float, cost: float, now: datetime) -> None:
        limits = self.limits
        accounts = (
            ("tokens", self._spent, tokens, limits.tokens_per_day),
            (_OF_SPACE, self._by_space.get(space, 0.0), tokens, limits.space_tokens_per_day),
            ("money", self._cost, cost, limits.cost_per_day),
        )
        for name, spent, wanted, limit in accounts:
            if limit is not None and wanted > limit:
                raise RecordError(
                    "request_refused", f"one question may take {wanted:g}, more than the {name} of a whole day: {limit:g}"
                )
            if limit is not None and spent + wanted > limit:
                message = f"the {name} of this day are used up"
                raise LaterError(message, wait_s=_until_midnight(now), is_for_one=name == _OF_SPACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetedChat:
    """A chat model whose questions are paid from a budget, by one space; made anew for each space, at no cost.

    Attributes:
        chat: The model.
        budget: The account, shared by all who ask.
        space: Who pays; empty for what belongs to no space.
        on_usage: Called after every answer, for metrics.
    """

    chat: ChatModel
    budget: Budget
    space: str = ""
    on_usage: Callable[[ChatUsage], None] | None = None

    @property
    def model(self) -> str:
        """Give the model's name."""
        return self.chat.model

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Ask once, if the budget allows; see the port."""
        prompt = estimate_tokens(request)
        async with self.budget.places:
            self.budget.reserve(self.space, prompt_tokens=prompt, completion_tokens=request.max_tokens)
            spent_prompt, spent_completion = 0, 0
            try:
                reply = await self.chat.ask(request)
                usage = self._measure(reply, prompt)
                spent_prompt, spent_completion = usage.prompt_tokens, usage.completion_tokens
            finally:
                self.budget.settle(
                    self.space,
                    prompt_tokens=spent_prompt - prompt,
                    completion_tokens=spent_completion - request.max_tokens,
                )
        if self.on_usage is not None:
            self.on_usage(usage)
        return reply

    async def close(self) -> None:
        """Close the model."""
        await self.chat.close()

    def _measure(self, reply: ChatReply, prompt_tokens: int) -> ChatUsage:
        is_known = reply.prompt_tokens > 0
        prompt = reply.prompt_tokens if is_known else prompt_tokens
        completion = reply.completion_tokens if is_known else _estimate(reply.text)
        cost = self.budget.limits.cost_of(prompt, completion)
        return ChatUsage(space=self.space, prompt_tokens=prompt, completion_tokens=completion, cost=cost, tokens_known=is_known)


def estimate_tokens(request: ChatRequest) -> int:
    """Estimate the tokens of a prompt, rather too high than too low."""
    return sum(_estimate(message.content) for message in request.messages)


def _estimate(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def _open_bucket(per_minute: float | None, now: datetime) -> _Bucket | None:
    return None if per_minute is None else _Bucket(per_minute=per_minute, level=per_minute, at=now)


def _until_midnight(now: datetime) -> float:
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), tzinfo=now.tzinfo)
    return (midnight - now).total_seconds()
