"""Laws of side topics: each request is answered once it can be, what is done is left out of a second try, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any, cast

import pytest

from guardian.contracts.letter import read_dead_letter
from guardian.contracts.outcome import AuditRequest, ReviewItem, build_outcome_id, encode_outcome, read_request
from guardian.core.point import NAMESPACE
from guardian.errors import DependencyError, RecordError
from guardian.stream.broker.kafka import Outgoing, Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.plane.batch import Role
from guardian.stream.side import SideSetup, SideWork
from guardian.telemetry.metrics import Metrics
from tests.builders import START
from tests.unit.stream.records import CollectingProducer, record


def build_record_id(memory_id: str) -> str:
    """Give a record of a memory an id."""
    return str(uuid.uuid5(NAMESPACE, memory_id))


def ask(memory_id: str, **fields: Any) -> AuditRequest:
    """Build a request."""
    return AuditRequest(space="s", memory_id=memory_id, revision="r", record_id=build_record_id(memory_id), **fields)


class Echo:
    """Answers with the memory's id; is away for some, has a bug with others."""

    def __init__(self) -> None:
        self.away: set[str] = set()
        self.broken: set[str] = set()
        self.answered: list[str] = []
        self.running = self.most = 0

    async def answer(self, request: AuditRequest) -> Sequence[Outgoing]:
        """Answer, or fail as told."""
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if request.memory_id in self.broken:
            raise ZeroDivisionError
        if request.memory_id in self.away:
            raise DependencyError("away", dependency="store")
        self.answered.append(request.memory_id)
        return [Outgoing(topic="guardian.events", key=b"s", value=request.memory_id.encode())]

    async def close(self) -> None:
        """Hold nothing."""


def build_side(agent: Echo, producer: CollectingProducer, *, concurrency: int = 2) -> SideWork:
    """Build the work over doubles."""

    async def open_agent(store: Any, metrics: Metrics) -> Echo:
        return agent

    setup = SideSetup(role=Role.AUDIT, request=AuditRequest, open_agent=open_agent, concurrency=concurrency)
    sink = cast("Producer", producer)
    letters = DeadLetterSender(sink, topic="guardian.dead-letters", max_bytes=10**6)
    return SideWork(setup, agent, producer=sink, dead_letters=letters, metrics=Metrics())


def read(*requests: AuditRequest) -> list[Any]:
    """Give the records of requests."""
    return [record(encode_outcome(one, time=START), topic="guardian.audit-requests", offset=n) for n, one in enumerate(requests)]


async def test_every_request_is_answered_within_the_concurrency() -> None:
    """Answers are sent to where they belong, and no more are worked on than allowed."""
    agent, producer = Echo(), CollectingProducer()
    side = build_side(agent, producer)
    batch = side.read(read(*map(ask, "abcdef")), partitions={})
    await side.carry_out(batch, version=1)
    assert sorted(message.value or b"" for message in producer.list_topic("guardian.events")) == [
        b"a",
        b"b",
        b"c",
        b"d",
        b"e",
        b"f",
    ]
    assert (batch.requests, batch.answered, agent.most) == ([], 6, 2)


async def test_what_is_answered_is_left_out_of_the_next_try() -> None:
    """One that waits for the store holds up nobody, and is asked again alone."""
    agent, producer = Echo(), CollectingProducer()
    agent.away = {"b"}
    side = build_side(agent, producer)
    batch = side.read(read(*map(ask, "abc")), partitions={})
    with pytest.raises(DependencyError):
        await side.carry_out(batch, version=1)
    assert sorted(agent.answered) == ["a", "c"]
    agent.away = set()
    await side.carry_out(batch, version=2)
    assert sorted(agent.answered) == ["a", "b", "c"]


async def test_a_bug_is_not_taken_for_something_that_is_away() -> None:
    """It ends the worker; waiting would not help."""
    agent = Echo()
    agent.away, agent.broken = {"a"}, {"b"}
    side = build_side(agent, CollectingProducer())
    with pytest.raises(ZeroDivisionError):
        await side.carry_out(side.read(read(ask("a"), ask("b")), partitions={}), version=1)


async def test_what_is_no_request_costs_itself() -> None:
    """It becomes a dead letter, its neighbour is answered."""
    agent, producer = Echo(), CollectingProducer()
    side = build_side(agent, producer)
    batch = side.read([record(b"{", topic="guardian.audit-requests"), *read(ask("a"))], partitions={})
    await side.carry_out(batch, version=1)
    (letter,) = (read_dead_letter(message.value or b"") for message in producer.list_topic("guardian.dead-letters"))
    assert (letter.topic, letter.reason) == ("guardian.audit-requests", "not_json")
    assert agent.answered == ["a"]


def test_a_request_is_read_back_and_only_as_what_it_is() -> None:
    """A field of a later version is passed over; another outcome is none."""
    one = ask("a")
    assert read_request(encode_outcome(one, time=START), (), AuditRequest) == one
    longer = encode_outcome(one, time=START).replace(b'"revision"', b'"new":1,"revision"')
    assert read_request(longer, (), AuditRequest) == one
    value, name = encode_outcome(one, time=START), f'"{one.record_id}"'.encode()
    for wrong in (value.replace(name, b"7"), encode_outcome(_review(), time=START)):
        with pytest.raises(RecordError):
            read_request(wrong, (), AuditRequest)


@pytest.mark.parametrize("wrong", ["", "a", "../x", build_record_id("a").upper(), build_record_id("a") + "\\n"])
async def test_a_request_for_what_can_be_no_record_costs_itself(wrong: str) -> None:
    """No store takes such an id, and one request must not end a worker that also guards."""
    agent, producer = Echo(), CollectingProducer()
    side = build_side(agent, producer)
    value = encode_outcome(ask("a"), time=START).replace(build_record_id("a").encode(), wrong.encode())
    batch = side.read([record(value, topic="guardian.audit-requests"), *read(ask("b"))], partitions={})
    await side.carry_out(batch, version=1)
    (letter,) = (read_dead_letter(message.value or b"") for message in producer.list_topic("guardian.dead-letters"))
    assert (letter.reason, letter.value, agent.answered) == ("wrong_type", value, ["b"])


def _review() -> ReviewItem:
    return ReviewItem.model_validate(
        {"space": "s", "kind": "mixed", "subjects": ["m"], "caused_by": {"source": "/test", "id": "1"}}
    )


def test_a_request_has_one_id_however_often_it_is_published() -> None:
    """A redelivered write asks for nothing new."""
    assert build_outcome_id(ask("a")) == build_outcome_id(ask("a")) != build_outcome_id(ask("b"))
