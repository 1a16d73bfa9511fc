"""What a model might answer, for tests of whoever reads it."""

from __future__ import annotations

import json
from typing import Any

from guardian.chat.port import ChatReply, ChatRequest


def card_answer(**more: Any) -> dict[str, Any]:
    """Give a sensible answer about a user's belief, with fields changed."""
    setting = {
        "request": "what is objectively so",
        "evidence": "nothing else",
        "support": "none",
        "scope": "every objective question",
        "limitation": "shows what somebody holds, not what is so",
    }
    return {
        "task_types": ["conversation"],
        "settings": [setting, setting | {"request": "what the person thinks", "support": "direct"}],
        "distinctions": ["a belief, not an observation"],
        "rules": [
            {"condition": "the request asks what is objectively so", "influence": "no influence"},
            {"condition": "the request asks what the person thinks", "influence": "may be reported as somebody's statement"},
        ],
        "summary": "A belief of a person about a drug, good for conversation and no evidence.",
        "slots": ["preferences", "background"],
        "never": ["objective_fact", "current_value"],
        "must_use": ["name whose statement it is"],
        "must_not": ["support an objective conclusion"],
        "conflict": "current_evidence_wins",
    } | more


def reply(answer: object, *, is_cut: bool = False) -> ChatReply:
    """Give the reply of a model: an answer as JSON, or any text."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return ChatReply(text=text, model="stub", prompt_tokens=100, completion_tokens=50, is_cut=is_cut)


class Model:
    """A model that answers from a list, the last again and again.

    Attributes:
        asked: Requests, in order.
    """

    model = "stub"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[ChatRequest] = []

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Give the next answer, or raise it."""
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, ChatReply) else reply(answer)

    async def close(self) -> None:
        """Nothing to close."""
