"""What an induction does to a record and to what derives from it, and whose word counts."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from guardian.contracts.outcome import ReviewItem
from guardian.core.intake import Disposition
from guardian.core.model import Event
from guardian.core.payload import load_node
from guardian.core.point import Point, PointKind
from tests.builders import card_data, corrected, erased, event_of, induced, retracted, written
from tests.property.bank import Bank

GATE = written("gate", "The gate is 12.", src="document", kind="fact")
NO_FACTS = {"barred_slots": ["facts"], "authority": ["objective_fact"], "must_not": ["support an objective conclusion"]}


async def look(bank: Bank, memory_id: str) -> dict[str, Any]:
    """Give the payload of a memory's only record, its JSON read."""
    (payload,) = [p for p in bank.payloads().values() if p["point"] == PointKind.RECORD and p["memory_id"] == memory_id]
    return payload | {name: orjson.loads(payload[name]) for name in ("permission", "card", "lineage")}


async def test_the_card_and_the_narrowing_are_the_records(bank: Bank) -> None:
    """The record shows the model's card, who made it, and what it may still enter."""
    await bank.send_each(GATE, induced(GATE, card=card_data(), narrowing=NO_FACTS, confidence=0.8, t=1))
    found = await look(bank, "gate")
    assert found["slots"] == found["permission"]["slots"] == ["background"]
    assert "objective_fact" in found["permission"]["never"]
    assert "support an objective conclusion" in found["permission"]["must_not"]
    assert (found["card"]["by"], found["card"]["version"], found["card"]["confidence"]) == ("stub", "card-1", 0.8)
    assert found["card"]["summary"] == "An announcement of a gate."
    assert found["status"] == "active"


async def test_without_a_card_the_rules_card_stays(bank: Bank) -> None:
    """The narrowing holds all the same, and the mark says who was asked."""
    await bank.send_each(GATE, induced(GATE, narrowing=NO_FACTS, confidence=0.2, t=1))
    found = await look(bank, "gate")
    assert (found["card"]["by"], found["slots"]) == ("rules", ["background"])
    assert found["lineage"]["in"][:4] == ["stub", "card-1", 0.2, None]


async def test_what_derives_is_narrowed_with_it(bank: Bank) -> None:
    """A recap that was there before may no more than its parent may now, and gets it back with the parent."""
    recap = written("recap", "So gate 12 it is.", parents=["gate"], kind="fact", t=1)
    grandchild = written("note", "Gate 12, they say.", parents=["recap"], kind="fact", t=2)
    await bank.send(GATE, recap, grandchild)
    assert "facts" in (await look(bank, "note"))["slots"]
    await bank.send(induced(GATE, narrowing=NO_FACTS, t=3))
    assert [(await look(bank, name))["slots"] for name in ("recap", "note")] == [["background"]] * 2
    await bank.send(induced(GATE, card=card_data(), t=4))
    assert "facts" in (await look(bank, "note"))["slots"]


@pytest.mark.parametrize("is_turned", [False, True])
async def test_the_latest_by_its_event_stands(bank: Bank, is_turned: bool) -> None:
    """Whatever came first."""
    said = [induced(GATE, card=card_data(summary=f"Word {t}."), t=t) for t in (1, 2)]
    await bank.send_each(GATE, *(reversed(said) if is_turned else said))
    assert (await look(bank, "gate"))["card"]["summary"] == "Word 2."
    assert len([p for p in bank.payloads().values() if p["point"] == PointKind.INDUCTION]) == 1


async def test_another_content_ignores_it(bank: Bank) -> None:
    """A new revision, and the same one told to be of another kind, have their own cards."""
    await bank.send_each(GATE, induced(GATE, card=card_data(), narrowing=NO_FACTS, t=1))
    await bank.send(written("gate", "The gate is 14.", src="document", kind="fact", t=5))
    slots = {p["current"]: p["slots"] for p in bank.payloads().values() if p["point"] == PointKind.RECORD}
    assert slots == {"no": ["background"], "yes": ["background", "facts"]}
    earlier = written("gate", "The gate is 12.", src="document", kind="summary", observed=0, t=-1)
    await bank.send(earlier)
    (old,) = [p for p in bank.payloads().values() if p["point"] == PointKind.RECORD and p["current"] == "no"]
    assert (old["kind"], old["slots"], orjson.loads(old["card"])["by"]) == ("summary", ["background", "facts"], "rules")


@pytest.mark.parametrize(
    "change",
    [{"by": "agent"}, {"by": None}, {"by": "user"}, {"by": "unknown"}, {"source": "/agent-7"}, {"source": "/guardian/inducers"}],
)
async def test_another_word_is_a_dispute(bank: Bank, change: dict[str, Any]) -> None:
    """An agent can neither write a card nor narrow one: it would be a way to silence a memory."""
    await bank.send_each(GATE, induced(GATE, card=card_data(), narrowing=NO_FACTS, t=1, **change))
    assert bank.outcomes[-1].disposition is Disposition.DISPUTED
    found = await look(bank, "gate")
    assert (found["card"]["by"], found["slots"]) == ("rules", ["background", "facts"])
    (question,) = [m for m in bank.published if m.topic == ReviewItem.published_to]
    assert orjson.loads(question.value or b"")["data"]["subjects"] == ["gate"]


async def test_a_capped_origin_cannot_send_one(bank: Bank) -> None:
    """A topic that may claim no more than an agent is lowered before anything is believed."""
    from guardian.contracts.codec import DecodePolicy
    from guardian.core.model import SourceKind
    from tests.builders import as_wire

    policy = DecodePolicy(trust_sources=(("/guardian/*", SourceKind.AGENT),))
    lowered = event_of(as_wire(induced(GATE, narrowing=NO_FACTS, t=1)), policy=policy)
    await bank.send_each(GATE, lowered)
    assert bank.outcomes[-1].disposition is Disposition.DISPUTED


async def test_a_card_never_raises_a_status(bank: Bank) -> None:
    """A superseded record stays superseded, an unverified one unverified."""
    new = written("gate-2", "Gate 14.", src="document", kind="fact", t=2)
    await bank.send_each(GATE, new, corrected("gate", "gate-2", t=3), induced(GATE, card=card_data(summary="Verified."), t=4))
    found = await look(bank, "gate")
    assert (found["status"], found["verified"]) == ("superseded", "no")


async def test_an_erasure_before_or_after_leaves_nothing(bank: Bank) -> None:
    """A card that was under way when its memory was erased is not kept."""
    said = induced(GATE, card=card_data(summary="About gate twelve."), t=1)
    await bank.send_each(GATE, said, erased("gate", t=2, observed=2), induced(GATE, card=card_data(), t=9))
    assert not [p for p in bank.payloads().values() if p["point"] == PointKind.INDUCTION or "card" in p]
    await bank.send(said)
    assert not [p for p in bank.payloads().values() if p["point"] == PointKind.INDUCTION]


async def test_an_induction_waits_for_its_record(bank: Bank) -> None:
    """A card that comes before its record is there when the record comes."""
    await bank.send_each(induced(GATE, card=card_data(), narrowing=NO_FACTS, t=1), GATE)
    found = await look(bank, "gate")
    assert (found["card"]["by"], found["slots"]) == ("stub", ["background"])


async def test_a_change_elsewhere_leaves_a_models_card(bank: Bank) -> None:
    """A parent that arrives late makes lineage anew, not the card."""
    recap = written("recap", "So gate 12 it is.", parents=["gate"], kind="fact", t=1)
    await bank.send_each(recap, induced(recap, card=card_data(), t=2), GATE)
    found = await look(bank, "recap")
    assert (found["card"]["by"], found["depth"]) == ("stub", 1)


async def test_the_outcome_shows_the_record_and_asks_nothing_new(bank: Bank) -> None:
    """Consumers of enriched records see the new slots; no question is opened again."""
    twin = written("other", "The gate is 13.", src="document", kind="fact", subject="gate")
    gate = written("gate", "The gate is 12.", src="document", kind="fact", subject="gate")
    await bank.send(gate, twin)
    before = len(bank.published)
    await bank.send(induced(gate, narrowing=NO_FACTS, t=3))
    (message,) = bank.published[before:]
    data = orjson.loads(message.value or b"")["data"]
    assert (message.topic, data["memory_id"], data["slots"]) == ("guardian.enriched", "gate", ["background"])


async def test_an_induction_cannot_be_retracted_only_replaced(bank: Bank) -> None:
    """A retraction of its event changes nothing; a later one without narrowing gives all back."""
    said: Event = induced(GATE, narrowing=NO_FACTS, t=1)
    await bank.send_each(GATE, said, retracted(said, t=2))
    assert (await look(bank, "gate"))["slots"] == ["background"]
    await bank.send(induced(GATE, t=3))
    assert (await look(bank, "gate"))["slots"] == ["background", "facts"]


async def test_a_lineage_read_knows_the_narrowing(bank: Bank) -> None:
    """What is read without its heavy parts still knows what a model took from it."""
    await bank.send_each(GATE, induced(GATE, narrowing=NO_FACTS, t=1))
    ((key, payload),) = [(k, p) for k, p in bank.payloads().items() if p["point"] == PointKind.RECORD]
    light = {name: value for name, value in payload.items() if name not in {"card", "text", "rest"}}
    node = load_node(Point(key, light, whole=False))
    assert node.induced is not None
    assert [slot.value for slot in node.induced.narrowing.barred_slots] == ["facts"]
