"""Laws of requests for cards: who is asked about, and what an agent does when it cannot answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from guardian.chat.budget import Budget, BudgetedChat, ChatLimits, ChatUsage
from guardian.chat.port import LaterError
from guardian.contracts.outcome import CardRequest, encode_outcome, read_request
from guardian.core.model import Event
from guardian.core.point import PointKind
from guardian.errors import ConfigError, DependencyError, RecordError
from guardian.induce.author import Authored, Progress
from guardian.ports import OutcomeMessage
from guardian.stream.induce import CardAgent, CardWanted, ask_for_cards, split_request
from tests.builders import audited, corrected, deleted, induced, read, written, written_data
from tests.property.bank import Bank, Collector
from tests.unit.induce.answers import Model, card_answer
from tests.unit.induce.test_author import open_author

GATE = written("gate", "The gate is 12.", src="document", kind="fact", verified=True)


async def list_requests(*events: Event) -> list[OutcomeMessage]:
    """Give what the last of some events asks for."""
    bank = Bank()
    await bank.send_each(*events)
    return ask_for_cards(bank.outcomes[-1:])


async def test_a_written_record_is_asked_about_without_its_text() -> None:
    """Ids alone, under the key of its space; the same again for a redelivery."""
    (first,), (again,) = await list_requests(GATE), await list_requests(GATE, GATE)
    assert (first.key, first.id, first.value) == ("s", again.id, again.value)
    request = read_request(first.value, (), CardRequest)
    assert (request.space, len(request.record_ids)) == ("s", 1)
    assert b"gate" not in (first.value or b"").lower()


async def test_a_batch_asks_in_few_messages() -> None:
    """One for sixteen records of a space; each record once, however often it was written, and every record in some message."""
    bank = Bank()
    writes = [written(f"m{number}", f"Depot {number}.", space=space) for space in ("a", "b") for number in range(20)]
    await bank.send(*writes, *writes[:5])
    messages = ask_for_cards(bank.outcomes)
    requests = [read_request(message.value, (), CardRequest) for message in messages]
    assert [(message.key, len(request.record_ids)) for message, request in zip(messages, requests, strict=True)] == [
        ("a", 16), ("a", 4), ("b", 16), ("b", 4),
    ]  # fmt: skip
    asked = [(one.space, one.record_id) for request in requests for one in split_request(request)]
    stored = {(p["space"], key) for key, p in bank.payloads().items() if p["point"] == PointKind.RECORD}
    assert len(asked) == len(set(asked))
    assert set(asked) == stored


class Dying(Collector):
    """A publisher whose process dies when it is first asked to publish."""

    died = False

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
        """Die, or keep the messages."""
        if not self.died:
            self.died = True
            raise DependencyError("killed", dependency="broker")
        await super().publish(messages)


async def test_no_request_is_lost_when_a_worker_is_killed() -> None:
    """The state was durable, the request was not: the redelivered batch, all of it known by now, asks again before it is acknowledged."""
    bank, publisher = Bank(), Dying()
    bank.pipeline.publisher, bank.pipeline.asks = publisher, (ask_for_cards,)
    with pytest.raises(DependencyError):
        await bank.send(GATE)
    await bank.send(GATE)
    (request,) = [message for message in publisher.messages if message.topic == CardRequest.published_to]
    assert read_request(request.value, (), CardRequest).record_ids == tuple(
        key for key, p in bank.payloads().items() if p["point"] == PointKind.RECORD
    )


def test_a_request_of_an_earlier_version_is_read() -> None:
    """It named one record, with its memory and revision; such requests lie in the topic for a week."""
    old = encode_outcome(
        CardRequest(space="s", record_ids=("6b0f3c1e-6f3e-5c0b-9a53-6d1f0c2a7e11",)), time=GATE.ref.time
    ).replace(
        b'"record_ids":["6b0f3c1e-6f3e-5c0b-9a53-6d1f0c2a7e11"]',
        b'"memory_id":"gate","revision":"r","record_id":"6b0f3c1e-6f3e-5c0b-9a53-6d1f0c2a7e11"',
    )
    assert split_request(read_request(old, (), CardRequest)) == [CardWanted("s", "6b0f3c1e-6f3e-5c0b-9a53-6d1f0c2a7e11")]
    for wrong in (old.replace(b'"record_id"', b'"record"'), old.replace(b'"6b0f3c1e-6f3e-5c0b-9a53-6d1f0c2a7e11"', b"1")):
        with pytest.raises(RecordError):
            read_request(wrong, (), CardRequest)


async def test_a_replacement_inside_a_correction_is_asked_about() -> None:
    """It is a record like any other."""
    inside = written_data("gate-2", "The gate is 14.", src="document")
    bank = Bank()
    await bank.send_each(GATE, corrected("gate", inside, t=2))
    (message,) = ask_for_cards(bank.outcomes[-1:])
    (record_id,) = read_request(message.value, (), CardRequest).record_ids
    assert bank.payloads()[record_id]["memory_id"] == "gate-2"


@pytest.mark.parametrize(
    "events",
    [
        [GATE, read("gate", t=1)],
        [GATE, audited("gate", 1.0, t=1)],
        [GATE, deleted("gate", t=1)],
        [GATE, induced(GATE, card=None, t=1)],
        [GATE, induced(GATE, t=1), GATE],
        [GATE, written("gate", "The gate was 3.", src="agent", t=-5)],
        [corrected("gate", "x", t=9), GATE],
    ],
    ids=["read", "audited", "deleted", "induced", "known", "older-revision", "born-superseded"],
)
async def test_nobody_is_asked_about_what_needs_no_card(events: list[Event]) -> None:
    """What is said by others, what has its card, and what may not be read."""
    assert await list_requests(*events) == []


class Desk:
    """An agent over a bank of one record, with its notes and a clock that is set by hand."""

    def __init__(self, model: Model) -> None:
        self.bank = Bank()
        self.model = model
        self.notes: list[Authored] = []
        self.now = 100.0
        self.request: Any = None

    async def open(self) -> CardAgent:
        """Write the record and build the agent."""
        await self.bank.send(GATE)
        ((key, _),) = [(k, p) for k, p in self.bank.payloads().items() if p["point"] == PointKind.RECORD]
        self.request = CardWanted("s", key)
        return CardAgent(
            open_author(self.bank),
            open_chat=lambda _: self.model,
            events_topic="guardian.events",
            note=self.notes.append,
            clock=lambda: self.now,
        )

    @property
    def progress(self) -> list[Progress]:
        """What was noted."""
        return [note.progress for note in self.notes]


async def test_an_answer_is_an_event_for_the_canonical_topic() -> None:
    """Keyed by space; asked again after it was decided, there is nothing to say."""
    desk = Desk(Model(card_answer()))
    agent = await desk.open()
    (message,) = await agent.answer(desk.request)
    assert (message.topic, message.key, orjson.loads(message.value or b"")["type"]) == ("guardian.events", b"s", "memory.induced")
    assert desk.progress == [Progress.INDUCED]


async def test_a_model_that_is_away_is_waited_for_and_not_asked_by_everybody() -> None:
    """The requests beside fail at once; after a moment it is asked again."""
    desk = Desk(Model(DependencyError("away", dependency="model")))
    agent = await desk.open()
    for _ in range(3):
        with pytest.raises(DependencyError):
            await agent.answer(desk.request)
    assert len(desk.model.asked) <= 3  # the samples of one question
    desk.now += 1.5
    desk.model.answers = [card_answer()]
    assert len(await agent.answer(desk.request)) == 1


async def test_a_wrong_setting_is_waited_for_too() -> None:
    """A worker that also guards must not end for a key."""
    desk = Desk(Model(ConfigError("bad key", setting="GUARDIAN_INDUCE__API_KEY")))
    agent = await desk.open()
    with pytest.raises(DependencyError, match="bad key"):
        await agent.answer(desk.request)
    assert desk.progress == [Progress.AWAY]


async def test_an_endpoint_that_asks_for_a_pause_is_left_alone_by_all() -> None:
    """One request hears of it; the others, and the same again, wait without a question until it is over."""
    desk = Desk(Model(LaterError("429", wait_s=30)))
    agent = await desk.open()
    for _ in range(4):
        with pytest.raises(DependencyError):
            await agent.answer(desk.request)
    assert (len(desk.model.asked) <= 3, desk.progress) == (True, [Progress.OVER_BUDGET])
    desk.now += 30
    desk.model.answers = [card_answer()]
    assert len(await agent.answer(desk.request)) == 1


@pytest.mark.parametrize("is_for_one", [False, True])
async def test_a_budget_of_all_is_waited_for_and_one_of_a_space_is_not(is_for_one: bool) -> None:
    """One space without budget must not hold up the others."""
    desk = Desk(Model(LaterError("spent", wait_s=9, is_for_one=is_for_one)))
    agent = await desk.open()
    if is_for_one:
        assert await agent.answer(desk.request) == []
    else:
        with pytest.raises(LaterError):
            await agent.answer(desk.request)
    assert desk.progress == [Progress.OVER_BUDGET]


async def test_the_space_of_a_record_pays_for_it_whatever_its_request_says() -> None:
    """A bundle that mixes spaces, or names another one, spends each one's own budget, and what one has left helps no other."""
    bank = Bank()
    await bank.send(*(written(f"m-{space}", f"The gate of {space} is 12.", space=space) for space in ("a", "b")))
    ids = {p["space"]: key for key, p in bank.payloads().items() if p["point"] == PointKind.RECORD}
    model = Model(*[card_answer()] * 3)
    usages: list[ChatUsage] = []
    budget = Budget(ChatLimits(space_tokens_per_day=100_000))
    budget.settle("a", prompt_tokens=100_000, completion_tokens=0)  # its day is used up
    notes: list[Authored] = []
    agent = CardAgent(
        open_author(bank),
        open_chat=lambda space: BudgetedChat(chat=model, budget=budget, space=space, on_usage=usages.append),
        events_topic="guardian.events",
        note=notes.append,
    )
    mixed = CardRequest(space="a", record_ids=(ids["b"], ids["a"]))
    answered = [await agent.answer(wanted) for wanted in split_request(mixed)]
    assert [[message.key for message in messages] for messages in answered] == [[b"b"], []]
    assert [note.progress for note in notes] == [Progress.INDUCED, Progress.OVER_BUDGET]
    assert {usage.space for usage in usages} == {"b"}
    assert await agent.answer(CardWanted("b", ids["a"])) == []
    assert notes[-1].progress is Progress.OVER_BUDGET
