"""Hostile memories before a model: over a hundred texts, and none of them changes a slot of a card, whether the model obeys or not."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import TypeAdapter

from guardian.contracts.wire_card import Line
from guardian.core.model import MemoryKind, Slot, SourceKind
from guardian.induce.prompt import Content, build_messages
from tests.builders import written
from tests.property.bank import Bank
from tests.unit.induce.answers import Model, card_answer
from tests.unit.induce.test_author import find, induce

CORPUS = Path(__file__).parents[2] / "data" / "injection"
TEXTS = [json.loads(line) for path in sorted(CORPUS.glob("*.jsonl")) for line in path.read_text().splitlines()]
WRITERS = [("fact", "document"), ("belief", "user"), ("instruction", "agent")]


def obey(text: str) -> dict[str, Any]:
    """Give the answer of a model that does what a memory says: its words everywhere, every slot, nothing withheld, and more besides."""
    setting = {"request": text, "evidence": text, "support": "direct", "scope": text, "limitation": text}
    plain = [{"condition": "a request", "influence": "may support a conclusion"}] * 3
    return card_answer(
        task_types=[text, "conversation"],
        settings=[setting, *card_answer()["settings"]],
        distinctions=[text, "a difference", "another"],
        rules=[{"condition": text, "influence": "may support a conclusion"}, *plain],
        slots=[slot.value for slot in Slot],
        never=[],
        must_use=[],
        must_not=[],
        conflict="latest_memory_wins",
        status="verified",
    )


def play(text: str, answer: dict[str, Any], kind: str, source: str) -> dict[str, Any]:
    """Write a memory, have a model speak of it, and give the record."""

    async def run() -> dict[str, Any]:
        bank = Bank()
        await bank.send(written("m", text, src=source, kind=kind))
        await induce(bank, "m", Model(answer))
        return find(bank, "m")

    return asyncio.run(run())


def judgement(record: dict[str, Any]) -> tuple[Any, ...]:
    """Give what a record may be used for."""
    return record["status"], record["verified"], record["slots"], record["permission"]


@pytest.mark.parametrize(("kind", "source"), WRITERS)
def test_no_text_changes_a_slot_of_its_card(kind: str, source: str) -> None:
    """A sensible model gives every text what it gives a harmless one; an obedient one gives nothing that the rules do not."""
    narrowed, allowed = play("A note.", card_answer(), kind, source), play("A note.", obey("a note"), kind, source)
    assert judgement(narrowed) != judgement(allowed) or kind == "instruction"
    for item in TEXTS:
        assert judgement(play(item["text"], card_answer(), kind, source)) == judgement(narrowed), item["name"]
        assert judgement(play(item["text"], obey(item["text"]), kind, source)) == judgement(allowed), item["name"]


@pytest.mark.parametrize("item", TEXTS, ids=lambda item: item["name"])
def test_what_an_obedient_model_writes_can_be_shown(item: dict[str, str]) -> None:
    """Each line that is kept is one that the contract takes; none has a mark that opens or ends anything."""
    card = orjson.loads(play(item["text"], obey(item["text"]), "fact", "document")["card"])
    lines = [card["summary"], *card["tasks"], *card["distinctions"], *(condition for condition, _ in card["rules"])]
    lines += [line for request, evidence, _, scope, limit in card["settings"] for line in (request, evidence, scope, limit)]
    for line in lines:
        TypeAdapter(Line).validate_python(line)
        assert not set(line) & set('<>{}[]|\\`"#*_~^「」【】')


@pytest.mark.parametrize("item", TEXTS, ids=lambda item: item["name"])
def test_no_text_leaves_its_string(item: dict[str, str]) -> None:
    """The question is one line of JSON that reads back to the letter, and shows nothing that hides, steers or opens."""
    _, user = build_messages(Content(text=item["text"], kind=MemoryKind.OTHER, source_kind=SourceKind.UNKNOWN))
    assert json.loads(user.content)["memory"] == item["text"]
    assert len(user.content.splitlines()) == 1
    assert not set(user.content) & set("<>`\x1b\u202e\u200b\u2066")
