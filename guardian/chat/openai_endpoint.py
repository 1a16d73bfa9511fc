"""Chat by any endpoint that speaks OpenAI's `/v1/chat/completions`: OpenAI, vLLM, Ollama, llama.cpp, LiteLLM, gateways.

The official client retries 408, 409, 429 and 5xx and obeys `Retry-After`; every question has one deadline over all its attempts, which a
body that drips for ever meets like any other, and no body is read beyond a limit. What an endpoint cannot do is found out once and
remembered: structured output by schema, else any JSON object, else words, with the schema in the system's message; and parameters that a
model refuses by name. Settings come by argument only: the client's own environment names are closed. Neither messages nor answers nor the
key appear in errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson
from pydantic import SecretStr

from guardian.chat.form import Abilities
from guardian.chat.port import ChatReply, ChatRequest, LaterError
from guardian.errors import ConfigError, DependencyError, GuardianError, InvariantError, RecordError

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI
    from openai._response import AsyncAPIResponse

# Status codes that a wait may cure; 5xx as well.
_AWAY: Final = frozenset({408, 409, 425})
_LIMITED: Final = 429
# Status codes by which an endpoint refuses one request for its content or its form.
_REFUSED: Final = frozenset({400, 413, 415, 422, 501})
# Times a question is asked again because the answer broke off or was no answer of the protocol: the client retries only up to the headers.
_BROKEN_RETRIES: Final = 1
# Requests one question may take while it is found out what the endpoint can: two steps down from a schema, and three parameters.
_MAX_FORMS: Final = 6
# Endpoints without keys want some header nevertheless.
_NO_KEY: Final = "none"


class OpenAIChat:
    """A client of one endpoint and one model; made by `build_openai_chat`."""

    def __init__(
        self, *, client: AsyncOpenAI, model: str, deadline_s: float, max_answer_bytes: int, section: str = "GUARDIAN_CHAT"
    ) -> None:
        self._client = client
        self._model = model
        self._deadline_s = deadline_s
        self._max_answer_bytes = max_answer_bytes
        self._section = section
        self._abilities = Abilities()
        self._is_closed = False

    @property
    def model(self) -> str:
        """Give the name by which the endpoint knows the model."""
        return self._model

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Ask once; see the port."""
        if self._is_closed:
            raise InvariantError(f"{self._model} was asked after it was closed")
        try:
            async with asyncio.timeout(self._deadline_s):
                return await self._ask(request)
        except TimeoutError as exc:
            raise self._away(f"gave no whole answer in {self._deadline_s:g} seconds") from exc

    async def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        await self._client.close()

    async def _ask(self, request: ChatRequest) -> ChatReply:
        """Ask in the best form that is not known to be refused; each refusal leads to another, what works is remembered."""
        tried = self._abilities
        for _ in range(_MAX_FORMS):
            try:
                reply = await self._exchange(tried.write(request, model=self._model))
            except _RefusedError as exc:
                other = tried.after_refusal(request, parameter=exc.parameter)
                if other is None:
                    raise self._refuse(exc.status) from exc
                tried = other
            else:
                self._abilities = self._abilities.after_success(request, tried)
                return reply
        raise self._refuse(400)

    async def _exchange(self, body: Mapping[str, Any]) -> ChatReply:
        """Send one body; an answer that breaks off or cannot be read is asked for once more."""
        for attempt in range(_BROKEN_RETRIES + 1):
            try:
                return read_reply(await self._post(body), model=self._model)
            except _BrokenError as exc:
                if attempt == _BROKEN_RETRIES:
                    raise self._away(f"gave no usable answer: {exc}") from exc
        raise AssertionError("the last attempt returns or raises")

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        from openai import APIConnectionError, APIStatusError, OpenAIError  # noqa: PLC0415 - an extra

        try:
            async with self._client.chat.completions.with_streaming_response.create(**body) as response:
                return await self._read(response)
        except APIStatusError as exc:
            raise self._translate(exc) from exc
        except APIConnectionError as exc:
            raise self._away(f"cannot be reached: {type(exc).__name__} {exc.__cause__!r}") from exc
        except OpenAIError as exc:
            raise _BrokenError(type(exc).__name__) from exc

    async def _read(self, response: AsyncAPIResponse[Any]) -> bytes:
        """Read a body up to the limit."""
        from httpx2 import HTTPError  # noqa: PLC0415 - comes with the extra

        parts = bytearray()
        try:
            async for part in response.iter_bytes():
                parts += part
                if len(parts) > self._max_answer_bytes:
                    raise self._away(f"gave an answer of more than {self._max_answer_bytes} bytes")
        except HTTPError as exc:
            raise _BrokenError(f"the body broke off ({type(exc).__name__})") from exc
        return bytes(parts)

    def _away(self, what: str) -> DependencyError:
        return DependencyError(f"model {self._model!r} at {self._client.base_url} {what}", dependency="model")

    def _refuse(self, status: int) -> RecordError:
        return RecordError("request_refused", f"model {self._model!r} refused a request with status {status}")

    def _translate(self, exc: APIStatusError) -> GuardianError | _RefusedError:
        """Give the error whose family says what to do about a status code."""
        status = exc.status_code
        if status == _LIMITED:
            return LaterError(f"model {self._model!r} answered 429 after all retries", wait_s=_read_wait(exc))
        if 300 <= status < 400:
            return self._away(
                f"answered {status}: it is elsewhere, and memories are sent to no address but {self._section}__BASE_URL"
            )
        if status in _AWAY or (status >= 500 and status not in _REFUSED):
            return self._away(f"answered {status} after all retries")
        if status in _REFUSED:
            return _RefusedError(status, parameter=_read_parameter(exc))
        if status in {401, 403}:
            return ConfigError(
                f"The endpoint refused the key for model {self._model!r} with status {status}.",
                setting=f"{self._section}__API_KEY",
                mend=f"set {self._section}__API_KEY to a key that may use this model.",
            )
        return ConfigError(
            f"The endpoint does not serve model {self._model!r}: status {status}.",
            setting=f"{self._section}__MODEL",
            mend=f"set {self._section}__MODEL to a model that it serves, and check {self._section}__BASE_URL.",
        )


class _RefusedError(Exception):
    """The endpoint refused one request for its content or form; never leaves this module."""

    def __init__(self, status: int, *, parameter: str | None) -> None:
        self.status = status
        self.parameter = parameter
        super().__init__(f"status {status}")


class _BrokenError(Exception):
    """An answer came that is none; never leaves this module."""


def build_openai_chat(
    *,
    model: str,
    base_url: str = "https://api.openai.com/v1",
    api_key: SecretStr | None = None,
    timeout_s: float = 60.0,
    deadline_s: float = 180.0,
    max_retries: int = 2,
    max_answer_bytes: int = 1_000_000,
    section: str = "GUARDIAN_CHAT",
) -> OpenAIChat:
    """Make a client. Nothing is asked yet: an endpoint that is away must not keep a worker from starting.

    Args:
        model: Name by which the endpoint knows the model.
        base_url: Address with its version part, `http(s)://…/v1`.
        api_key: Sent as bearer token; None for endpoints without keys.
        timeout_s: Longest silence of one attempt.
        deadline_s: Longest time of one question with all its attempts and pauses.
        max_retries: Attempts after the first, 0 or more.
        max_answer_bytes: Longest body that is read.
        section: Prefix of the settings that errors name.

    Raises:
        ConfigError: The extra is not installed, or the address is none.
    """
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise ConfigError(
            "Asking an OpenAI-compatible endpoint needs the extra `openai`, which is not installed.",
            setting=f"{section}__MODEL",
            mend="run: pip install 'guardian-memory[openai]'",
        ) from exc
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(
            f"{base_url!r} is no address of an endpoint.",
            setting=f"{section}__BASE_URL",
            mend=f"set {section}__BASE_URL to something like http://localhost:11434/v1.",
        )
    key = _NO_KEY if api_key is None else api_key.get_secret_value()
    # Else OPENAI_CUSTOM_HEADERS could replace the key.
    headers = {"Authorization": f"Bearer {key}"}
    client = AsyncOpenAI(
        base_url=base_url,
        api_key=key,
        timeout=timeout_s,
        max_retries=max_retries,
        default_headers=headers,
        # What is asked holds memories: it goes to the address that was set, and an endpoint sends it to no other.
        http_client=DefaultAsyncHttpxClient(follow_redirects=False),
    )
    # The client fills these from its own environment names; settings here come by argument only.
    client.organization = None
    client.project = None
    return OpenAIChat(client=client, model=model, deadline_s=deadline_s, max_answer_bytes=max_answer_bytes, section=section)


def read_reply(body: bytes, *, model: str) -> ChatReply:
    """Read the body of an answer; what is missing of its fields reads as empty, what is no answer is an error."""
    try:
        answer = orjson.loads(body)
        [choice, *_] = answer["choices"]
        message = choice["message"]
        text = message.get("content")
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as exc:
        raise _BrokenError(f"not of the chat protocol ({type(exc).__name__})") from exc
    if not isinstance(text, str):  # a refusal has no content, and neither has a call of a tool that nobody offered
        text = ""
    usage = answer.get("usage")
    reply = ChatReply(text=text, model=model, is_cut=choice.get("finish_reason") == "length")
    named = answer.get("model")
    return replace(
        reply,
        model=named if isinstance(named, str) and named else model,
        prompt_tokens=_read_count(usage, "prompt_tokens"),
        completion_tokens=_read_count(usage, "completion_tokens"),
    )


def _read_count(usage: object, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and count > 0 else 0


def _read_wait(exc: APIStatusError) -> float | None:
    """Read the seconds of `Retry-After`; a date is left to the caller's own patience."""
    try:
        wait_s = float(exc.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return wait_s if 0 <= wait_s < float("inf") else None


def _read_parameter(exc: APIStatusError) -> str | None:
    """Read which parameter the endpoint names as the culprit, if it does."""
    named = exc.body.get("param") if isinstance(exc.body, dict) else None
    return named if isinstance(named, str) else None
