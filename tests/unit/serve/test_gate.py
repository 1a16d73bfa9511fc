"""Laws of the gate that need no socket: how answers leave."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import Response
from starlette.types import Message

from guardian.serve.gate import Gate, Limits
from guardian.serve.key import Key, Keyring
from guardian.telemetry.serve import ServeMetrics

ANSWER = bytes(range(256)) * 4_000  # a megabyte
PART = 64 * 1024
SCOPE = {"type": "http", "method": "GET", "path": "/v1/x", "raw_path": b"/v1/x", "headers": [(b"host", b"localhost")]}


class Client:
    """The server's side of a connection whose other end reads so many parts of a body, and then no more."""

    def __init__(self, reads: int) -> None:
        self.reads, self.parts, self.ended = reads, list[bytes](), False

    async def receive(self) -> Message:
        """Give a request without a body."""
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Message) -> None:
        """Take a part, or wait for ever, as a server does whose buffer is full."""
        if message["type"] == "http.response.body":
            if len(self.parts) == self.reads:
                await asyncio.Event().wait()
            self.parts.append(message["body"])
            self.ended = not message.get("more_body", False)


async def ask(client: Client, answer: bytes = ANSWER) -> None:
    """Ask for an answer of a megabyte, or another."""
    key = Key(name="local", actor="local", source="/local")
    limits = Limits(timeout_s=0.2)
    await Gate(Response(answer), keyring=Keyring([], anonymous=key), limits=limits, metrics=ServeMetrics())(
        dict(SCOPE), client.receive, client.send
    )


@pytest.mark.parametrize("reads", [0, 2])
async def test_a_client_that_does_not_read_is_let_go(reads: int) -> None:
    """At the request's deadline, with a part of the answer in its connection and not all of it."""
    client = Client(reads)
    async with asyncio.timeout(10):
        await ask(client)
    assert not client.ended
    assert max(map(len, client.parts), default=0) <= PART


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 2 * PART, len(ANSWER)])
async def test_a_client_that_reads_gets_all(size: int) -> None:
    """The parts are the answer, whatever its size."""
    client = Client(1_000)
    await ask(client, ANSWER[:size])
    assert client.ended
    assert b"".join(client.parts) == ANSWER[:size]
