"""Admissions without a store and answers of a model, for tests of the stages."""

from __future__ import annotations

from typing import Any

from guardian.read.admission.admit import admit
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.task import Task
from guardian.read.calibrator import Admission
from guardian.read.prompt.budget import estimate_tokens
from guardian.read.prompt.compile import compile_prompt
from tests.candidates import AT, FACT, candidate, ranked, setting

QUESTION = "What do Arabica beans cost?"
PRICE = candidate("price", "Arabica beans cost $20 per kg since April 1.", status="verified", subject="price")
RUMOUR = candidate("rumour", "Robusta beans cost $9 per kg.", source="tool")
WISH = candidate("wish", "I want Arabica beans to cost $5.", kind="preference", source="user")


def admission_of(*candidates: Candidate, task: Task = FACT, **policy: Any) -> Admission:
    """Give what a calibrator would have given for these candidates."""
    decided = setting(task, **policy)
    prompt, ruling = compile_prompt(admit(ranked(*candidates), decided), decided.policy, count_tokens=estimate_tokens)
    return Admission(
        space="s",
        task=task,
        ruling=ruling,
        prompt=prompt,
        query_digest="d",
        asked_at=AT,
        retrieved=len(candidates),
        searches=1,
        has_vector=False,
        latency_ms=1.0,
    )


def span(text: str, *support: tuple[str, str], claim: str = "fact") -> dict[str, Any]:
    """Give one span as a model writes it."""
    return {"text": text, "claim": claim, "support": [{"handle": handle, "quote": quote} for handle, quote in support]}


def spans(*said: dict[str, Any]) -> dict[str, Any]:
    """Give an answer of the reasoning."""
    return {"spans": list(said)}


def uses(**use: str) -> dict[str, Any]:
    """Give an answer of the reflection: handle -> use."""
    return {
        "instructions": [
            {"handle": handle, "use": word, "instruction": f"Take {handle} for {word}."} for handle, word in use.items()
        ]
    }


GOOD = span("Arabica beans cost $20 per kg.", ("E1", "Arabica beans cost $20 per kg"))
