"""The port of chat models: messages in, text out. Whoever asks validates what comes back: a model's word is data, never instruction.

Nothing on the write path waits for a model. What stands in a message and comes from memory was escaped by whoever built the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from guardian.errors import DependencyError


class LaterError(DependencyError):
    """Not now: a budget is used up, or the endpoint limits how often it is asked. Whoever asks puts the work off.

    Attributes:
        wait_s: Seconds after which it is worth asking again; None where nobody knows.
        is_for_one: It is the budget of one space that is used up; others may go on.
    """

    def __init__(self, message: str, *, wait_s: float | None = None, is_for_one: bool = False) -> None:
        self.wait_s = wait_s
        self.is_for_one = is_for_one
        super().__init__(message, dependency="model")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a model is asked.

    Attributes:
        messages: In order; the first is mostly the system's.
        schema: JSON Schema of the answer, used where the endpoint has structured output; None for plain text. Strict endpoints want
            every property required and `additionalProperties` false.
        schema_name: Name of the schema, of letters, digits, `_` and `-`.
        temperature: At least 0; 0 for the likeliest answer.
        max_tokens: Longest answer, tokens.
        seed: Asks for the same sample again, where the endpoint can.
    """

    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = None
    schema_name: str = "answer"
    temperature: float = 0.0
    max_tokens: int = 1024
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What a model answered.

    Attributes:
        text: The answer as it came; with a schema mostly, but not surely, JSON.
        model: Name the endpoint gives to what answered.
        prompt_tokens, completion_tokens: As the endpoint counts them; 0 where it does not say.
        is_cut: The answer ended at `max_tokens`.
    """

    text: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_cut: bool = False


class ChatModel(Protocol):
    """A model that answers.

    Attributes:
        model: Its name; tells the family of a judge, and whether a card is of today's model.
    """

    @property
    def model(self) -> str:
        """Give its name."""

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Ask once; retries within its limits are its own affair.

        Raises:
            LaterError: A budget is used up, or the endpoint limits how often it is asked; a DependencyError that names a wait.
            DependencyError: The endpoint is away, took too long, or what it says cannot be read; the same may be asked later.
            RecordError: It refuses this one request for its content (`request_refused`): too long, filtered.
            ConfigError: It will never answer any request (no such model, a key that is refused).
        """

    async def close(self) -> None:
        """Release connections."""
