"""Cards made anew: all records whose card is not of today's model and prompt, in an order of their own, as far as one wants to go.

What remains is visible in the store itself, in the mark that each record keeps of its induction; so this needs no checkpoint. It can be
interrupted anywhere and begins again where it was.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from guardian.chat.budget import ChatLimits, estimate_tokens
from guardian.chat.port import ChatModel, ChatRequest, LaterError
from guardian.core.model import Induced
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.core.rules.induction import digest_node
from guardian.induce.author import Author, Authored, Progress, build_content, needs_card
from guardian.induce.inducer import Inducer
from guardian.induce.prompt import build_messages
from guardian.ports import Store

# Longest pause that is waited for when a budget of the minute is used up, seconds; a day's ends the work.
MAX_PAUSE_S: Final = 120.0
# Pause where the endpoint asks for one and says no time.
_PAUSE_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a refresh would take, at most, without repairs.

    Attributes:
        records: Records without a card of today's model and prompt.
        contents: Different contents among them; each is asked about once.
        questions, prompt_tokens, completion_tokens: All together; tokens of prompts by their length, answers at their longest.
        cost: In the unit of the prices.
    """

    records: int
    contents: int
    questions: int
    prompt_tokens: int
    completion_tokens: int
    cost: float


async def iter_due(store: Store, author: Author, space: str | None) -> AsyncIterator[Node]:
    """Give the records that may be read and have no card of today's model and prompt."""
    async for point in store.iter_points(space=space, kinds={PointKind.RECORD}):
        node = load_node(point)
        if needs_card(node) and not author.is_done(node):
            yield node


async def estimate(store: Store, author: Author, *, space: str | None, prices: ChatLimits) -> Estimate:
    """Estimate what making all cards anew would take; asks nobody."""
    records, prompt_tokens = 0, 0
    contents: set[str] = set()
    async for node in iter_due(store, author, space):
        records += 1
        digest = digest_node(node)
        if digest not in contents:
            contents.add(digest)
            prompt_tokens += _estimate_prompt(author.inducer, node)
    questions = len(contents) * author.inducer.limits.samples
    completion_tokens = questions * author.inducer.limits.max_tokens
    return Estimate(
        records=records,
        contents=len(contents),
        questions=questions,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost=round(prices.cost_of(prompt_tokens, completion_tokens), 6),
    )


def _estimate_prompt(inducer: Inducer, node: Node) -> int:
    request = ChatRequest(messages=build_messages(build_content(node), version=inducer.version))
    return inducer.limits.samples * estimate_tokens(request)


class Refresh:
    """One run over a store.

    Args:
        author: Writes the inductions.
        open_chat: Gives the model with the budget of a space.
        send: Takes the events of a few records to where they are decided; durable when it returns.
        at_once: Records asked about at the same time.
        advance: Told of each record that is done with.
        pause: Waits some seconds.

    Attributes:
        counts: Records by what became of them.
        stopped_by: The budget that ended the run early, or None.
    """

    def __init__(
        self,
        author: Author,
        *,
        open_chat: Callable[[str], ChatModel],
        send: Callable[[Sequence[Induced]], Awaitable[None]],
        at_once: int = 4,
        advance: Callable[[int], None] = lambda _: None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.stopped_by: LaterError | None = None
        self._author = author
        self._open_chat = open_chat
        self._send = send
        self._at_once = at_once
        self._advance = advance
        self._pause = pause
        self._spent: set[str] = set()

    async def run(self, due: Sequence[tuple[str, str]]) -> None:
        """Have cards written, a few at a time, until all are or a budget of the day is used up.

        Args:
            due: (space, record id) of each.

        Raises:
            DependencyError: The store, the model or the broker is away; what was sent is done.
            ConfigError: The model will never answer.
        """
        for start in range(0, len(due), self._at_once):
            part = due[start : start + self._at_once]
            authored = await asyncio.gather(*(self._write(*one) for one in part), return_exceptions=True)
            events = [one.event for one in authored if isinstance(one, Authored) and one.event is not None]
            if events:
                await self._send(events)
            for one in authored:
                if isinstance(one, Authored):
                    self.counts[one.progress.value] += 1
                    self._advance(1)
            faults = [one for one in authored if isinstance(one, BaseException)]
            if faults and not all(isinstance(fault, LaterError) for fault in faults):
                raise next(fault for fault in faults if not isinstance(fault, LaterError))
            if faults:
                self.stopped_by = next(fault for fault in faults if isinstance(fault, LaterError))
                return

    async def _write(self, space: str, record_id: str) -> Authored:
        if space in self._spent:
            return Authored(progress=Progress.OVER_BUDGET)
        while True:
            try:
                return await self._author.write(record_id, self._open_chat)
            except LaterError as exc:
                if exc.is_for_one:
                    self._spent.add(space)
                    return Authored(progress=Progress.OVER_BUDGET)
                wait_s = _PAUSE_S if exc.wait_s is None else exc.wait_s
                if wait_s > MAX_PAUSE_S:
                    raise
                await self._pause(wait_s)
