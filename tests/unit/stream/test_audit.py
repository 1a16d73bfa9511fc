"""Laws of requests for audits: what is asked about, and that asking changes nothing else."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from guardian.chat.port import ChatReply, ChatRequest
from guardian.contracts.codec import decode
from guardian.contracts.outcome import AuditRequest
from guardian.core.model import Audited, Event
from guardian.core.point import PointKind
from guardian.settings import Settings
from guardian.stream.audit import AuditAgent, ask_for_audit, note_audit
from guardian.stream.plane.batch import Role
from guardian.telemetry.metrics import Metrics
from guardian.trust.auditor import Answer, Auditor, Told
from guardian.trust.channels.regrader import ReGrader
from guardian.wiring import build_worker_setup
from tests.builders import POLICY, RECEIVED_AT, audited, corrected, deleted, erased, read, written
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


def test_the_watchdog_waits_for_the_longest_case_and_for_the_guard_no_longer() -> None:
    """A judge that may take an hour does not have its worker ended for it."""
    setup = build_worker_setup(Settings(audit={"channels": ["outcome"], "case_timeout_s": 3_600.0, "tries": 2}))
    assert setup.measure_patience_s(Role.AUDIT) > 2 * 3_600
    assert setup.measure_patience_s(Role.CANONICAL) == setup.limits.watchdog_s
    quick = build_worker_setup(Settings(audit={"channels": ["outcome"], "case_timeout_s": 1.0}))
    assert quick.measure_patience_s(Role.AUDIT) == quick.limits.watchdog_s


class Judge:
    """A judge that gives half."""

    model = "openai/gpt-4o-mini"

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Grade."""
        return ChatReply(text='{"value": 0.5, "reason": "half"}', model=self.model)

    async def close(self) -> None:
        """Hold nothing."""


async def test_an_answer_is_events_for_the_canonical_topic() -> None:
    """Keyed by space and admitted by the codec; what channels hold is released once; a judge of the agent's family is told in the log."""
    bank = Bank()
    await bank.send(written("m", kind="episode", grade=1.0, episode={"task": "Who?", "answer": "Ann."}))
    (record,) = [point async for point in bank.store.iter_points(kinds={PointKind.RECORD})]
    released: list[bool] = []

    async def release() -> None:
        released.append(True)

    with capture_logs() as logs:
        auditor = Auditor(bank.store, [ReGrader(Judge(), agent_models=["gpt-4o"])])
        agent = AuditAgent(auditor, events_topic="p.guardian.events", release=release)
    request = AuditRequest(space="s", memory_id="m", revision=record.payload["revision"], record_id=record.id)
    (sent,) = await agent.answer(request)
    await agent.close()
    assert (sent.topic, sent.key, released) == ("p.guardian.events", b"s", [True])
    verdict = decode(sent.value, policy=POLICY, received_at=RECEIVED_AT).event
    assert isinstance(verdict, Audited)
    assert (verdict.channel, verdict.value, verdict.evidence["same_family"]) == ("regrader", 0.5, "yes")
    assert logs == [{"event": "channel.opened", "log_level": "info", "channel": "regrader", "version": "1", "same_family": "yes"}]


def test_what_became_of_asking_is_counted_and_faults_are_logged() -> None:
    """By channel and outcome; silence and known verdicts are no news."""
    metrics = Metrics()
    with capture_logs() as logs:
        for answer in Answer:
            note_audit(metrics, Told(channel="checker", answer=answer, spent_s=0.5, fault="down"))
    for answer in Answer:
        labels = {"channel": "checker", "outcome": answer.value}
        assert metrics.registry.get_sample_value("guardian_audits_total", labels) == 1
    assert metrics.registry.get_sample_value("guardian_audit_seconds_count", {"channel": "checker"}) == len(Answer) - 1
    assert [line["event"] for line in logs] == ["channel.away", "channel.away", "channel.failed"]
