"""Memories that are corrected while a model writes: nothing is told that fell before the answer was."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.chat_server import ChatServer, Fault, serve_chat
from tests.integration.serve_rig import Service, code_of, running
from tests.integration.test_serve_answer import ANSWER, QUESTION, build_answering
from tests.unit.read.stage.answers import span, spans, uses

OLD, NEW = "Arabica beans cost $20 per kg", "Arabica beans cost $24 per kg"


def speak(question: Any) -> dict[str, Any]:
    """Say what the one record of the prompt says."""
    if "may be used for one question" in question.system:
        return uses(E1="support")
    price = next(text for text in (OLD, NEW) if text in question.user)
    return spans(span(f"{price}.", ("E1", price)))


def correcting(service: Service, server: ChatServer, names: Any) -> Fault:
    """Answer a question of the model only after what was rendered for it is corrected."""

    async def fault(request: web.Request, question: Any) -> web.StreamResponse:
        old, new = next(names)
        replacement = {"memory_id": new, "text": NEW, "source": {"kind": "tool"}}
        body = {"targets": [old], "replacement": replacement}
        response = await service.call("POST", "/v1/spaces/shop/corrections", body, by="reviewer")
        assert response.json()["disposition"] == "applied"
        return web.json_response(server.complete(question))

    return fault


@pytest.mark.parametrize("times", [1, 2])
async def test_what_falls_while_it_is_answered_is_not_told(fast_path: Path, times: int) -> None:
    """Once, and it is answered anew from what stands; again, and the caller is told to ask again."""
    async with serve_chat(answer=speak) as server, running(build_answering(fast_path, server, reflects=False)) as service:
        await service.write("m0", OLD, by="tool", source={"kind": "tool"}, kind="fact")
        names = ((f"m{number}", f"m{number + 1}") for number in itertools.count())
        server.faults.extend([correcting(service, server, names)] * times)
        response = await service.call("POST", ANSWER, QUESTION, by="tool")
        assert len(server.questions) == 2
        if times == 1:
            assert response.json()["text"].startswith(NEW)
        else:
            assert code_of(response, 503) == "memory_changed"
        assert OLD not in response.text
