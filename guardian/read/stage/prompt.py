"""What the model is asked at each stage: prompts as files of their own, one a version; a changed text is a new file.

Memories stand in the block that the prompt compiler made, and what the caller gave in one of its own behind it. The question, notes and what has to be revised stand behind it, each one line
of JSON with the same escaping: no text can end its line or pose as a section.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from guardian.chat.port import ChatMessage
from guardian.core.card import Card
from guardian.core.escape import dump_line
from guardian.read.prompt.compile import Prompt
from guardian.read.stage.check import SENTENCES, Span
from guardian.read.stage.evidence import NO_EVIDENCE, Hand

REFLECT_VERSION: Final = "reflect-1"
REASON_VERSION: Final = "reason-2"
# The same where the caller gave evidence beside memory.
REFLECT_GIVEN_VERSION: Final = "reflect-given-1"
REASON_GIVEN_VERSION: Final = "reason-given-2"
# Of a question that is shown, in characters.
_MAX_QUESTION: Final = 8_192
# Rules of a card that are shown: the strictest come first.
_MAX_RULES: Final = 4
# Characters of a cite that are shown again.
_MAX_CITE: Final = 200
_REVISE: Final = (
    "A program checked an answer to this question and took these spans out, for the reasons beside them. Write each again so that it stands,"
    " or leave it out. Give the new spans only."
)


@functools.cache
def load_prompt(version: str) -> str:
    """Load the system's message of a version."""
    return (files("guardian.read.stage") / "prompts" / f"{version}.md").read_text(encoding="utf-8")


def build_reflect_messages(
    prompt: Prompt, question: str, cards: Mapping[str, Card], *, hand: Hand = NO_EVIDENCE
) -> tuple[ChatMessage, ...]:
    """Build the question of the reflection; cards by handle."""
    shown = [{"handle": handle, **_show_card(card)} for handle, card in cards.items()]
    asked = {"question": question[:_MAX_QUESTION], "handles": [*prompt.handles, *hand.sources]}
    return _build(REFLECT_GIVEN_VERSION if hand.block else REFLECT_VERSION, prompt, hand, asked, cards=shown)


def build_reason_messages(
    prompt: Prompt, question: str, notes: Sequence[Mapping[str, str]], *, hand: Hand = NO_EVIDENCE
) -> tuple[ChatMessage, ...]:
    """Build the question of the reasoning."""
    asked = {"question": question[:_MAX_QUESTION]}
    return _build(REASON_GIVEN_VERSION if hand.block else REASON_VERSION, prompt, hand, asked, notes=notes)


def build_revise_messages(
    prompt: Prompt,
    question: str,
    notes: Sequence[Mapping[str, str]],
    fallen: Sequence[Span],
    *,
    hand: Hand = NO_EVIDENCE,
) -> tuple[ChatMessage, ...]:
    """Build the question for spans that failed."""
    lines = [dump_line(_show_span(span)) for span in fallen]
    revise = ChatMessage(role="user", content="\n".join([_REVISE, *lines]))
    return (*build_reason_messages(prompt, question, notes, hand=hand), revise)


def _build(
    version: str, prompt: Prompt, hand: Hand, asked: Mapping[str, Any], **lists: Sequence[Mapping[str, Any]]
) -> tuple[ChatMessage, ...]:
    lines = [prompt.block, *([hand.block] if hand.block else ()), dump_line(asked)]
    guides = [load_prompt(version), prompt.guide, *([hand.guide] if hand.guide else ())]
    for name, items in lists.items():
        lines += [f"{name}:", *map(dump_line, items)] if items else []
    return (
        ChatMessage(role="system", content="\n".join(guides)),
        ChatMessage(role="user", content="\n".join(lines)),
    )


def _show_card(card: Card) -> dict[str, Any]:
    rules = [{"while": rule.condition, "influence": rule.influence} for rule in card.rules[:_MAX_RULES]]
    return {"by": card.inducer, "rules": rules, "summary": card.summary}


def _show_span(span: Span) -> dict[str, Any]:
    return {
        "text": span.text[: 2 * _MAX_CITE],
        "claim": span.claim.value,
        "support": [{"handle": cite.handle[:_MAX_CITE], "quote": cite.quote[:_MAX_CITE]} for cite in span.cites[:_MAX_RULES]],
        "wrong": [SENTENCES[fault] for fault in span.all_faults],
    }
