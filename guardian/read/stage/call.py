"""Calls of a stage: each question counted, an answer that does not fit asked for once more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from pydantic import BaseModel

from guardian.chat.port import ChatMessage, ChatModel, ChatRequest, LaterError
from guardian.chat.structured import FaultyAnswerError, build_schema, read_structured
from guardian.errors import ConfigError, DependencyError, RecordError

_Answer = TypeVar("_Answer", bound=BaseModel)


class CallFault(StrEnum):
    """Why a question has no answer that could be used.

    unusable: It came and did not fit.
    later: A budget is used up, or the endpoint limits how often it is asked.
    away: The model is away, or took too long.
    refused: The endpoint refuses this one question.
    misconfigured: It will refuse every question.
    given_up: Whoever asked did not wait any longer.
    """

    UNUSABLE = "unusable"
    LATER = "later"
    AWAY = "away"
    REFUSED = "refused"
    MISCONFIGURED = "misconfigured"
    GIVEN_UP = "given_up"


# In this order: a budget's error is one of something that is away, too.
_FAULTS: Final[tuple[tuple[type[BaseException], CallFault], ...]] = (
    (FaultyAnswerError, CallFault.UNUSABLE),
    (LaterError, CallFault.LATER),
    (DependencyError, CallFault.AWAY),
    (RecordError, CallFault.REFUSED),
    (ConfigError, CallFault.MISCONFIGURED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question to the model: for which stage, what it took, and what was wrong with it, if anything."""

    stage: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0
    fault: CallFault | None = None

    @property
    def is_usable(self) -> bool:
        """Whether its answer could be used."""
        return self.fault is None


@dataclass(slots=True, kw_only=True)
class Caller:
    """Asks one model, and keeps the account of it.

    Attributes:
        model: The model; mostly with the budget of the memory's space.
        max_tokens: Longest answer.
        repairs: Further questions after an answer that does not fit, each stage.
        on_call: Told of each question once it is over, also of one that was given up; for figures.
        calls: What was asked so far.
    """

    model: ChatModel
    max_tokens: int = 2_000
    repairs: int = 1
    on_call: Callable[[Call], None] | None = None
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
        started, reply, fault = time.perf_counter(), None, None
        try:
            reply = await self.model.ask(request)
            return read_structured(reply, form)
        except BaseException as exc:  # a question that was given up was asked all the same
            fault = next((fault for kind, fault in _FAULTS if isinstance(exc, kind)), CallFault.GIVEN_UP)
            raise
        finally:
            self._note(
                Call(
                    stage=stage,
                    prompt_tokens=0 if reply is None else reply.prompt_tokens,
                    completion_tokens=0 if reply is None else reply.completion_tokens,
                    latency_ms=(time.perf_counter() - started) * 1000,
                    fault=fault,
                )
            )

    def _note(self, call: Call) -> None:
        self.calls.append(call)
        if self.on_call is not None:
            self.on_call(call)
