"""A server on loopback that speaks OpenAI's chat-completions protocol, and every fault of it, for tests of whoever asks a model.

    async with serve_chat() as server:
        server.answer = lambda question: "text of the answer"     # or a dict, which becomes JSON
        server.faults.append(refuse(429, retry_after="0.01"))     # one a request, before it answers again
        chat = build_openai_chat(model="stub", base_url=server.base_url)

Nothing of it knows cards or grades: `Answer` is given what was asked and gives what the model says.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MODEL = "stub"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request as it came.

    Attributes:
        body: The whole body.
        headers: Of the request.
    """

    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def system(self) -> str:
        """Give the system's message."""
        return self.text("system")

    @property
    def user(self) -> str:
        """Give the user's messages."""
        return self.text("user")

    def text(self, role: str) -> str:
        """Give all that one role says."""
        return "\n".join(message["content"] for message in self.body["messages"] if message["role"] == role)


Answer = Callable[[Question], str | Mapping[str, Any]]
Fault = Callable[[web.Request, Question], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class ChatServer:
    """The server's script and what it saw.

    Attributes:
        answer: What the model says.
        faults: Given one a request, in order, before it answers again.
        questions: What was asked, in order, refused ones too.
        key: Bearer token it wants, or None.
        takes: Kinds of `response_format` it takes; others earn a 400.
        refuses: Parameters it refuses by name with a 400.
        latency_s: Pause before every answer.
        counts_tokens: Whether it says how many.
        is_down: Closes every connection without an answer.
        most_at_once: Most requests that were open at the same time.
    """

    answer: Answer = lambda _: "yes"
    faults: deque[Fault] = field(default_factory=deque)
    questions: list[Question] = field(default_factory=list)
    key: str | None = None
    takes: frozenset[str] = frozenset({"json_schema", "json_object"})
    refuses: frozenset[str] = frozenset()
    latency_s: float = 0.0
    counts_tokens: bool = True
    is_down: bool = False
    most_at_once: int = 0
    base_url: str = ""
    released: asyncio.Event = field(default_factory=asyncio.Event)
    _open: int = 0

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Speak the protocol, or the next fault."""
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            return await self._respond(request)
        finally:
            self._open -= 1

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        if self.is_down:
            return await reset(request, Question(body={}, headers={}))
        question = Question(body=await request.json(), headers=dict(request.headers))
        self.questions.append(question)
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        if self.faults:
            return await self.faults.popleft()(request, question)
        return self._judge(question) or web.json_response(self.complete(question))

    def _judge(self, question: Question) -> web.Response | None:
        """Refuse what a real endpoint would."""
        if self.key is not None and question.headers.get("Authorization") != f"Bearer {self.key}":
            return _error(401, "bad key")
        if question.body["model"] != MODEL:
            return _error(404, "no such model")
        for name in sorted(self.refuses & question.body.keys()):
            return _error(400, f"Unsupported parameter: {name}", param=name, code="unsupported_parameter")
        kind = question.body.get("response_format", {}).get("type")
        return _error(400, f"cannot {kind}") if kind is not None and kind not in self.takes else None

    def complete(self, question: Question, **changes: Any) -> dict[str, Any]:
        """Give the body of a good answer, with fields changed."""
        said = self.answer(question)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        usage = {"prompt_tokens": len(question.system + question.user) // 4, "completion_tokens": len(text) // 4}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        body = {"id": "c1", "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice]}
        return body | ({"usage": usage} if self.counts_tokens else {}) | changes


@asynccontextmanager
async def serve_chat(**script: Any) -> AsyncIterator[ChatServer]:
    """Run a server until the end of the block."""
    server = ChatServer(**script)
    application = web.Application(client_max_size=64_000_000)
    application.router.add_post("/v1/chat/completions", server.respond)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        server.released.set()
        await runner.cleanup()


# ----------------------------------------------------------------------------------------------- faults
def refuse(status: int, *, retry_after: str | None = None, **error: Any) -> Fault:
    """Answer with a status code; 408, 429 and 5xx ask for a retry at once unless `retry_after` says when."""
    headers = {"retry-after-ms": "1"} if retry_after is None else {"Retry-After": retry_after}

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        return web.json_response({"error": {"message": "fault"} | error}, status=status, headers=headers)

    return fault


def redirect(status: int, location: str) -> Fault:
    """Answer that it is elsewhere."""

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": location})

    return fault


def say(text: str) -> Fault:
    """Answer in the protocol with another text, whatever was asked."""

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        return web.json_response(ChatServer(answer=lambda _: text).complete(question))

    return fault


def send(body: bytes | str, *, content_type: str = "application/json") -> Fault:
    """Answer with this body, of the protocol or not."""
    raw = body.encode() if isinstance(body, str) else body

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        return web.Response(body=raw, content_type=content_type)

    return fault


def cut(text: str) -> Fault:
    """Answer in the protocol with a text that ended at the longest allowed."""

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
        return web.json_response(ChatServer().complete(question, choices=[choice]))

    return fault


def hang(server: ChatServer) -> Fault:
    """Never answer."""

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        await server.released.wait()
        return web.Response()

    return fault


def drip(server: ChatServer, *, pause_s: float = 0.01) -> Fault:
    """Begin an answer and send a blank now and then, for ever: no silence is long enough for a read timeout."""

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while not server.released.is_set():
            await response.write(b" ")
            await asyncio.sleep(pause_s)
        return response

    return fault


def flood(*, size_bytes: int) -> Fault:
    """Send a body without measure, in pieces."""

    async def fault(request: web.Request, question: Question) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _ in range(size_bytes // 65_536):
            await response.write(b" " * 65_536)
        return response

    return fault


async def reset(request: web.Request, question: Question) -> web.StreamResponse:
    """Drop the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def break_off(request: web.Request, question: Question) -> web.StreamResponse:
    """Drop the connection within the body."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.abort()
    return response


def _error(status: int, message: str, **fields: Any) -> web.Response:
    return web.json_response({"error": {"message": message, **fields}}, status=status)
