"""Laws of requests for audits: what is asked about, and that asking changes nothing else."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from guardian.core.model import Event
from guardian.settings import Settings
from guardian.stream.audit import ask_for_audit
from guardian.wiring import build_worker_setup
from tests.builders import audited, corrected, deleted, erased, read, written
from tests.property.bank import Bank

TOPIC = "guardian.audit-requests"


def build_bank() -> Bank:
    """Give a bank whose guard asks for audits."""
    bank = Bank()
    bank.pipeline.asks = (ask_for_audit,)
    return bank


async def ask(*events: Event) -> list[Any]:
    """Give the requests that follow from events."""
    bank = build_bank()
    await bank.send(*events)
    return [orjson.loads(message.value or b"") for message in bank.published if message.topic == TOPIC]


@pytest.mark.parametrize(
    "event",
    [
        written("m", kind="episode"),
        written("m", kind="skill"),
        written("m", kind="fact", grade=0.4),
        written("m", kind="other", src="tool", ref="task-7", episode={"outcome": "passed"}),
    ],
    ids=["episode", "skill", "graded", "report"],
)
async def test_what_can_be_judged_is_asked_about(event: Event) -> None:
    """Episodes, skills, what the agent graded, and tools' reports: by ids alone, without a text."""
    (request,) = await ask(event)
    row = request["data"]
    assert (request["type"], request["space"], row["memory_id"]) == ("guardian.audit.requested", "s", "m")
    assert set(row) == {"space", "memory_id", "revision", "record_id"}


@pytest.mark.parametrize(
    "event",
    [
        written("m", kind="fact", src="document", ref="page"),
        written("m", kind="other", src="tool", ref="task-7"),
        written("m", kind="other", src="agent", ref="task-7", episode={"outcome": "passed"}),
        read(["m"]),
        corrected(["m"]),
        audited("m", channel="checker", value=0.5),
        deleted("m"),
        erased("m"),
    ],
    ids=["fact", "tool's text", "agent's outcome", "read", "correction", "verdict", "deletion", "erasure"],
)
async def test_nothing_else_is(event: Event) -> None:
    """A verdict least of all: it would ask for itself for ever."""
    assert await ask(event) == []


async def test_a_redelivery_asks_under_the_same_id_and_a_new_revision_under_another() -> None:
    """Ids are digests of the record."""
    bank = build_bank()
    first, second = written("m", "One", kind="episode"), written("m", "Two", kind="episode", t=5)
    for event in (first, first, second):
        await bank.send(event)
    ids = [message.id for message in bank.published if message.topic == TOPIC]
    assert (len(ids), len(set(ids))) == (3, 2)
    assert {message.key for message in bank.published if message.topic == TOPIC} == {"s"}


async def test_asking_changes_nothing_else() -> None:
    """The same state, and the same other messages, byte for byte."""
    events = [written("m", kind="episode", grade=1.0), audited("m", channel="checker", value=0.0, t=2), corrected(["m"], t=4)]
    asking, silent = build_bank(), Bank()
    for bank in (asking, silent):
        await bank.send_each(*events)
    assert await asking.export() == await silent.export()
    assert [message for message in asking.published if message.topic != TOPIC] == silent.published


def test_a_worker_asks_and_answers_only_where_a_channel_is_named() -> None:
    """Else the topic need not even be there."""
    silent = build_worker_setup(Settings())
    assert (silent.asked, silent.sides) == ((), ())
    assert TOPIC not in silent.needed_topics
    assert TOPIC in silent.own_topics
    asking = build_worker_setup(Settings(audit={"channels": ["outcome"]}))
    assert [side.role.value for side in asking.sides] == ["audit"]
    assert TOPIC in asking.needed_topics
    guard = build_worker_setup(Settings(audit={"channels": ["outcome"]}, roles={"guard"}))
    assert (guard.sides, TOPIC in guard.needed_topics) == ((), True)
