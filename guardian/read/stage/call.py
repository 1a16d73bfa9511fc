"""Calls of a stage: each question counted, an answer that does not fit asked for once more."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from guardian.chat.port import ChatMessage, ChatModel, ChatRequest
from guardian.chat.structured import FaultyAnswerError, build_schema, read_structured

_Answer = TypeVar("_Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question to the model: for which stage, what it took, and whether its answer could be used."""

    stage: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0
    is_usable: bool = False


@dataclass(slots=True, kw_only=True)
class Caller:
    """Asks one model, and keeps the account of it.

    Attributes:
        model: The model; mostly with the budget of the memory's space.
        max_tokens: Longest answer.
        repairs: Further questions after an answer that does not fit, each stage.
        calls: What was asked so far.
    """

    model: ChatModel
    max_tokens: int = 2_000
    repairs: int = 1
    calls: list[Call] = field(default_factory=list)

    async def ask(
        self, stage: str, messages: Sequence[ChatMessage], form: type[_Answer], *, repairs: int | None = None
    ) -> _Answer:
        """Ask for an answer of a form.

        Raises:
            FaultyAnswerError: None of the answers fits.
            DependencyError: The model is away, or a budget is used up.
            RecordError: It refuses this question.
            ConfigError: It will never answer.
        """
        left = self.repairs if repairs is None else repairs
        asked = tuple(messages)
        while True:
            try:
                return await self._ask_once(stage, asked, form)
            except FaultyAnswerError as exc:
                if not left:
                    raise
                left -= 1
                repair = f"The answer before this one could not be used: {exc}. Answer again with one JSON object of the schema."
                asked = (*messages, ChatMessage(role="user", content=repair))

    async def _ask_once(self, stage: str, messages: tuple[ChatMessage, ...], form: type[_Answer]) -> _Answer:
        request = ChatRequest(messages=messages, schema=build_schema(form), schema_name=stage, max_tokens=self.max_tokens)
        started = time.perf_counter()
        prompt_tokens = completion_tokens = 0
        is_usable = False
        try:
            reply = await self.model.ask(request)
            prompt_tokens, completion_tokens = reply.prompt_tokens, reply.completion_tokens
            answer = read_structured(reply, form)
            is_usable = True
        finally:
            self.calls.append(
                Call(
                    stage=stage,
                    prompt_tokens=prompt_tokens,
                    completion_tokens=completion_tokens,
                    latency_ms=(time.perf_counter() - started) * 1000,
                    is_usable=is_usable,
                )
            )
        return answer
