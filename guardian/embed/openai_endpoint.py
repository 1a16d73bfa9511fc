"""Embedding by any endpoint that speaks OpenAI's `/v1/embeddings`: OpenAI, vLLM, Ollama, llama.cpp, LiteLLM, gateways.

The official client retries 408, 409, 429 and 5xx and obeys `Retry-After`; every call has one deadline over all its
attempts. What the endpoint says is not believed: the number, order, size and finiteness of vectors are checked.
Settings come by argument only: the client's own environment names for base address, organization, project and key are
closed (OPENAI_CUSTOM_HEADERS can still add headers). Neither texts nor the key appear in messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from guardian.embed.cache import VectorCache
from guardian.embed.port import Vector, blame_text, check_vectors, text_index
from guardian.errors import ConfigError, DependencyError, GuardianError, InvariantError, RecordError

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI
    from openai.types import CreateEmbeddingResponse

# Seconds. The longest pause of the client between two attempts when the endpoint names none.
_PAUSE_MAX_S: Final = 8.0
# Status codes that a wait may cure; 5xx as well.
_AWAY: Final = frozenset({408, 409, 425, 429})
# Status codes by which an endpoint refuses one request for its content.
_REFUSED: Final = frozenset({400, 413, 422})
# Endpoints without keys want some header nevertheless.
_NO_KEY: Final = "none"


class OpenAIEmbedder:
    """A client of one endpoint and one model; made by `open_openai_endpoint`."""

    embeds = True

    def __init__(
        self,
        *,
        client: AsyncOpenAI,
        model: str,
        dimensions: int | None,
        deadline_s: float,
        batch_size: int,
        cache: VectorCache,
    ) -> None:
        self.identity = f"openai:{model}"
        self._client = client
        self._model = model
        self._dimensions = dimensions
        self._size = dimensions
        self._deadline_s = deadline_s
        self._batch_size = batch_size
        self._cache = cache
        self._is_closed = False

    @property
    def size(self) -> int:
        """Number of components, known after the first answer."""
        if self._size is None:
            raise InvariantError(f"the size of {self.identity} was read before its first answer")
        return self._size

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give one vector for each text, in order; see the port."""
        if self._is_closed:
            raise InvariantError(f"{self.identity} was asked for vectors after it was closed")
        return await self._cache.embed(texts, self._compute)

    def forget(self, texts: Sequence[str]) -> None:
        """Drop the vectors remembered for these texts."""
        self._cache.forget(texts)

    async def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        await self._client.close()

    async def _compute(self, texts: list[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), self._batch_size):
            try:
                vectors += await self._request(texts[start : start + self._batch_size], start)
            except _RefusedError:
                vectors += await self._request_singly(texts[start : start + self._batch_size], start)
        return vectors

    async def _request_singly(self, texts: list[str], start: int) -> list[Vector]:
        """Find the text for which a whole request was refused."""
        vectors: list[Vector] = []
        for index, text in enumerate(texts, start):
            try:
                vectors += await self._request([text], index)
            except _RefusedError as exc:
                raise RecordError("text_refused", f"{self.identity} refused a text: {exc}", path=f"texts[{index}]") from exc
        return vectors

    async def _request(self, texts: list[str], start: int) -> list[Vector]:
        """Ask once; `start` is the index of the first text among those of the caller."""
        answer = await self._post(texts)
        rows = _read_rows(answer, self.identity)
        try:
            vectors = check_vectors(rows, expected=len(texts), size=self._size, model=self.identity)
        except RecordError as exc:
            raise blame_text(exc, start + text_index(exc)) from exc
        self._size = len(vectors[0])
        return vectors

    async def _post(self, texts: list[str]) -> CreateEmbeddingResponse:
        from openai import APIConnectionError, APIStatusError, OpenAIError, omit  # noqa: PLC0415 - an extra

        dimensions = omit if self._dimensions is None else self._dimensions
        try:
            async with asyncio.timeout(self._deadline_s):
                return await self._client.embeddings.create(
                    model=self._model, input=texts, dimensions=dimensions, encoding_format="float"
                )
        except APIStatusError as exc:
            raise _translate(exc, model=self._model) from exc
        except (APIConnectionError, TimeoutError) as exc:
            raise DependencyError(f"{self.identity} at {self._client.base_url} is away: {exc!r}", dependency="model") from exc
        except (OpenAIError, ValueError) as exc:  # a body that is no JSON
            raise DependencyError(
                f"{self.identity} at {self._client.base_url} gave an answer that cannot be read: {exc!r}",
                dependency="model",
            ) from exc


class _RefusedError(Exception):
    """The endpoint refused one request for its content; never leaves this module."""


async def open_openai_endpoint(
    *,
    model: str,
    base_url: str = "https://api.openai.com/v1",
    api_key: SecretStr | None = None,
    dimensions: int | None = None,
    timeout_s: float = 30.0,
    max_retries: int = 3,
    batch_size: int = 64,
    cache_entries: int = 10_000,
) -> OpenAIEmbedder:
    """Make a client and ask it for one vector, so that wrong settings are found at the start.

    Args:
        model: Name by which the endpoint knows the model.
        base_url: Address with its version part, `http(s)://…/v1`.
        api_key: Sent as bearer token; None for endpoints without keys.
        dimensions: Number of components to ask for, where the model can shorten its vectors; None takes its own.
        timeout_s: Of one attempt. A call with its retries ends after (timeout_s + 8) * (max_retries + 1).
        max_retries: Attempts after the first, 0 or more.
        batch_size: Texts in one request, at least 1; OpenAI takes up to 2,048.
        cache_entries: Vectors remembered by content.

    Raises:
        ConfigError: The extra is not installed, or the endpoint refuses key, model or dimensions.
        DependencyError: The endpoint is away.
    """
    _check_numbers(dimensions=dimensions, timeout_s=timeout_s, max_retries=max_retries, batch_size=batch_size)
    embedder = OpenAIEmbedder(
        client=_build_client(base_url, api_key, timeout_s=timeout_s, max_retries=max_retries),
        model=model,
        dimensions=dimensions,
        deadline_s=(timeout_s + _PAUSE_MAX_S) * (max_retries + 1),
        batch_size=batch_size,
        cache=VectorCache(entries=cache_entries),
    )
    try:
        await embedder.embed(["size"])
    except RecordError as exc:
        await embedder.close()
        raise ConfigError(
            f"The endpoint {base_url} gives no vector by model {model!r}: {exc}",
            setting="GUARDIAN_EMBEDDING__MODEL",
            mend="set GUARDIAN_EMBEDDING__MODEL (and GUARDIAN_EMBEDDING__DIMENSIONS) to what the endpoint serves.",
        ) from exc
    except BaseException:
        await embedder.close()
        raise
    return embedder


def _check_numbers(*, dimensions: int | None, timeout_s: float, max_retries: int, batch_size: int) -> None:
    lows = {"DIMENSIONS": (dimensions, 1), "MAX_RETRIES": (max_retries, 0), "BATCH_SIZE": (batch_size, 1)}
    for name, (value, low) in lows.items():
        if value is not None and value < low:
            setting = f"GUARDIAN_EMBEDDING__{name}"
            raise ConfigError(f"{setting} is {value}.", setting=setting, mend=f"set it to {low} or more.")
    if not timeout_s > 0:
        setting = "GUARDIAN_EMBEDDING__TIMEOUT_S"
        raise ConfigError(f"{setting} is {timeout_s}.", setting=setting, mend="set it to more than 0 seconds.")


def _build_client(base_url: str, api_key: SecretStr | None, *, timeout_s: float, max_retries: int) -> AsyncOpenAI:
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise ConfigError(
            "Embedding by an OpenAI-compatible endpoint needs the extra `openai`, which is not installed.",
            setting="GUARDIAN_EMBEDDING__PROVIDER",
            mend="run: pip install 'guardian-memory[openai]'",
        ) from exc
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(
            f"{base_url!r} is no address of an endpoint.",
            setting="GUARDIAN_EMBEDDING__BASE_URL",
            mend="set GUARDIAN_EMBEDDING__BASE_URL to something like http://localhost:11434/v1.",
        )
    key = _NO_KEY if api_key is None else api_key.get_secret_value()
    client = AsyncOpenAI(
        base_url=base_url,
        api_key=key,
        timeout=timeout_s,
        max_retries=max_retries,
        # Else OPENAI_CUSTOM_HEADERS could replace the key.
        default_headers={"Authorization": f"Bearer {key}"},
        # Texts of memories go to the address that was set, and an endpoint sends them to no other.
        http_client=DefaultAsyncHttpxClient(follow_redirects=False),
    )
    # The client fills these from its own environment names; settings here come by argument only.
    client.organization = None
    client.project = None
    return client


def _read_rows(answer: CreateEmbeddingResponse, identity: str) -> list[list[float]]:
    """Give the vectors by the index that the endpoint wrote beside each; the client itself checks no shape."""
    try:
        rows = {row.index: row.embedding for row in answer.data}
        ordered = [rows[index] for index in range(len(answer.data))]
    except (AttributeError, TypeError, KeyError) as exc:
        raise _no_protocol(identity) from exc
    if not all(isinstance(row, list) for row in ordered):
        raise _no_protocol(identity)
    return ordered


def _no_protocol(identity: str) -> DependencyError:
    message = f"{identity} gave an answer that is not of the embeddings protocol; check GUARDIAN_EMBEDDING__BASE_URL."
    return DependencyError(message, dependency="model")


def _translate(exc: APIStatusError, *, model: str) -> GuardianError | _RefusedError:
    """Give the error whose family says what to do about a status code."""
    status = exc.status_code
    if 300 <= status < 400:
        told = f"openai:{model} answered {status}: it is elsewhere, and texts are sent to no address but GUARDIAN_EMBEDDING__BASE_URL"
        return DependencyError(told, dependency="model")
    if status in _AWAY or status >= 500:
        return DependencyError(f"openai:{model} answered {status} after all retries", dependency="model")
    if status in _REFUSED:
        return _RefusedError(f"status {status}")
    if status in {401, 403}:
        return ConfigError(
            f"The endpoint refused the key for model {model!r} with status {status}.",
            setting="GUARDIAN_EMBEDDING__API_KEY",
            mend="set GUARDIAN_EMBEDDING__API_KEY to a key that may use this model.",
        )
    return ConfigError(
        f"The endpoint does not serve model {model!r}: status {status}.",
        setting="GUARDIAN_EMBEDDING__MODEL",
        mend="set GUARDIAN_EMBEDDING__MODEL to a model that it serves, and check GUARDIAN_EMBEDDING__BASE_URL.",
    )
