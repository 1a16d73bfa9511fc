"""Laws of the auditor: one verdict for a record, channel and version however often it is asked, and a channel's fault costs its own say."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from typing import Any

import pytest

from guardian.chat.port import LaterError
from guardian.contracts.codec import encode_event
from guardian.core.model import Audited, Event, Retracted
from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.errors import ConfigError, DependencyError
from guardian.trust.auditor import MAX_EVIDENCE_BYTES, Answer, AuditLimits, Auditor, Told
from guardian.trust.channel import Case, Finding
from guardian.trust.channels.outcome import ReportedOutcome
from tests.builders import erased, event_of, written
from tests.property.bank import Bank

QUICK = AuditLimits(case_timeout_s=0.2, tries=2, retry_pause_s=0.001)


class Checker:
    """A channel that does as it is told."""

    name = "checker"
    grows = False

    def __init__(self, act: Callable[[Case], Finding | None], *, version: str = "1") -> None:
        self.version = version
        self.seen: list[Case] = []
        self._act = act

    async def judge(self, case: Case) -> Finding | None:
        """Do it."""
        self.seen.append(case)
        return self._act(case)


def say(value: float, **more: Any) -> Callable[[Case], Finding]:
    """Say always the same."""
    return lambda _case: Finding(value=value, reason="checked", **more)


def fail(error: BaseException) -> Callable[[Case], Finding]:
    """Fail always."""

    def act(case: Case) -> Finding:
        raise error

    return act


def episode(memory_id: str = "e", *, t: float = 0, **fields: Any) -> Event:
    """Write an episode that the agent is content with."""
    given = {"task": "Who?", "answer": "Ann.", "retrieved": ["page"], **fields.pop("episode", {})}
    return written(memory_id, "Who? Ann.", kind="episode", grade=1.0, episode=given, t=t, **fields)


async def find(bank: Bank, memory_id: str = "e") -> Node:
    """Give the record of a memory that has one."""
    points = await bank.store.fetch(Needs(memories={("s", memory_id)}))
    (node,) = (load_node(point) for point in points if point.payload["point"] == PointKind.RECORD)
    return node


def report(memory_id: str, outcome: str, *, t: float = 5, **fields: Any) -> Event:
    """Write a tool's report on the task."""
    return written(
        memory_id, "The run is over", t=t, **{"src": "tool", "ref": "task-7", "episode": {"outcome": outcome}, **fields}
    )


async def audit(bank: Bank, *channels: Any, memory_id: str = "e", limits: AuditLimits = QUICK, note: Any = None) -> list[Event]:
    """Have a memory's record judged, as a request for it would."""
    record = await find(bank, memory_id)
    return await Auditor(bank.store, channels, limits=limits, note=note).audit(record.id)


async def deliver(bank: Bank, events: list[Event]) -> None:
    """Send events as they come from a topic."""
    await bank.send(*(event_of(json.loads(encode_event(event))) for event in events))


async def test_a_finding_becomes_a_verdict_on_the_revision_that_was_judged() -> None:
    """With the reason and the version in its evidence, at the record's own time, and it moves the utility."""
    bank = Bank()
    await bank.send(written("page", "Ann does it.", src="document", kind="fact"), episode(t=3))
    checker = Checker(say(0.0, evidence={"seen": 1}))
    (verdict,) = await audit(bank, checker)
    assert isinstance(verdict, Audited)
    assert (verdict.channel, verdict.value, verdict.revision) == ("checker", 0.0, (await find(bank)).revision)
    assert verdict.evidence == {"seen": 1, "reason": "checked", "version": "1"}
    assert (verdict.ref.source, verdict.ref.time.isoformat()) == ("/guardian/channels/checker", "2026-03-01T00:03:00+00:00")
    (case,) = checker.seen
    assert (case.task, case.answer, case.evidence) == ("Who?", "Ann.", ("Ann does it.",))
    await deliver(bank, [verdict])
    judged = await find(bank)
    assert (judged.utility, judged.utility_basis) == (0.5, "checker")


async def test_asking_again_is_the_same_event_and_none_once_it_stands() -> None:
    """Before the verdict is there it is built again byte for byte; afterwards the channel is not even asked."""
    bank = Bank()
    await bank.send(episode())
    checker = Checker(say(0.25))
    first, second = await audit(bank, checker), await audit(bank, checker)
    assert list(map(encode_event, first)) == list(map(encode_event, second))
    await deliver(bank, [*first, *second])
    assert await audit(bank, checker) == []
    assert len(checker.seen) == 2


async def test_another_version_takes_the_place_of_the_verdict_and_the_way_back_is_open() -> None:
    """The mean is of what stands: the old verdict is withdrawn, and may come back."""
    bank = Bank()
    await bank.send(episode())
    for version, value in (("1", 0.0), ("2", 0.5), ("1", 0.0), ("2", 0.5)):
        events = await audit(bank, Checker(say(value), version=version))
        await deliver(bank, events)
        await deliver(bank, events)  # read twice
        points = await bank.store.fetch(Needs(verdicts={("s", "e")}))
        (standing,) = (json.loads(point.payload["facts"])["v"] for point in points if point.payload["point"] == PointKind.VERDICT)
        assert standing == value
    assert sum(isinstance(event, Retracted) for event in events) == 1


@pytest.mark.parametrize("is_first", [True, False], ids=["report first", "episode first"])
async def test_what_a_tool_reports_later_is_found_by_the_task(is_first: bool) -> None:
    """The request for whichever comes last has the episode judged."""
    bank = Bank()
    parts = [
        episode(ref="task-7", episode={"outcome": "passed"}),
        report("report", "tests failed", kind="other"),
    ]
    for event in reversed(parts) if is_first else parts:
        await bank.send(event)
    found = await audit(bank, ReportedOutcome(), memory_id="e" if is_first else "report")
    (verdict,) = found
    assert isinstance(verdict, Audited)
    assert (verdict.memory_id, verdict.value) == ("e", 0.0)


async def test_a_later_report_takes_the_place_of_what_was_known_before() -> None:
    """First the episode's own word, then the runner's, then a second runner's: one verdict stands each time."""
    bank = Bank()
    await bank.send(episode(ref="task-7", src="tool", episode={"outcome": "passed"}))
    await deliver(bank, await audit(bank, ReportedOutcome()))
    assert ((await find(bank)).verdicts or {})["outcome"] == [1.0, 1]
    for number, (text, value) in enumerate([("failed", 0.0), ("passed", 0.5)]):
        await bank.send(report(f"r{number}", text, t=5 + number))
        await deliver(bank, await audit(bank, ReportedOutcome(), memory_id=f"r{number}"))
        assert ((await find(bank)).verdicts or {})["outcome"] == [value, 1]
    assert await audit(bank, ReportedOutcome()) == []


async def test_a_report_asks_nobody_whose_case_is_as_it_was() -> None:
    """A re-grader that costs is not asked about an episode for each report on its task."""
    bank = Bank()
    await bank.send(episode(ref="task-7"), report("report", "failed"))
    checker = Checker(say(0.5))
    (verdict,) = await audit(bank, checker, ReportedOutcome(), memory_id="report")
    assert isinstance(verdict, Audited)
    assert (verdict.channel, checker.seen) == ("outcome", [])


@pytest.mark.parametrize(
    "other",
    [
        report("note", "passed", src="agent"),
        episode("other", ref="task-7", src="tool", episode={"outcome": "passed"}),
        report("note", "passed", ref="task-8"),
        written("note", "passed", src="tool", ref="task-7", t=5),
        written("note", "0", src="tool", ref="task-7", t=5),
    ],
    ids=["the agent's", "another attempt", "of another task", "a tool's text", "a tool's result"],
)
async def test_what_is_no_tools_outcome_of_this_task_is_no_report(other: Event) -> None:
    """Nobody's word on the task but a tool's, and not what a tool returned by the way; least of all the agent's in the episode itself."""
    bank = Bank()
    await bank.send(episode(ref="task-7", episode={"outcome": "passed"}), other)
    assert await audit(bank, ReportedOutcome()) == []


async def test_the_task_may_be_named_in_the_metadata() -> None:
    """Where `source.ref` says something else."""
    bank = Bank()
    await bank.send(episode(ref="chat-1", metadata={"task_id": "task-7"}), report("report", "reward: 0.5"))
    (verdict,) = await audit(bank, ReportedOutcome())
    assert isinstance(verdict, Audited)
    assert verdict.value == 0.5


@pytest.mark.parametrize(
    ("act", "answer", "asked"),
    [
        (fail(DependencyError("down", dependency="model")), Answer.AWAY, 2),
        (fail(TimeoutError()), Answer.TIMED_OUT, 2),
        (fail(LaterError("spent for the day", wait_s=9_000.0)), Answer.OVER_BUDGET, 1),
        (fail(LaterError("spent")), Answer.OVER_BUDGET, 1),
        (fail(LaterError("spent for the second", wait_s=0.01)), Answer.OVER_BUDGET, 2),
        (fail(ConfigError("no such model")), Answer.FAILED, 1),
        (fail(ZeroDivisionError("the text of a memory")), Answer.FAILED, 1),
        (say(1.5), Answer.FAILED, 1),
        (say(float("nan")), Answer.FAILED, 1),
        (lambda _: Finding(value=0.5, reason="Because of the text"), Answer.FAILED, 1),
        (say(0.5, evidence={"x": object()}), Answer.FAILED, 1),
        (say(0.5, evidence={"x": "y" * MAX_EVIDENCE_BYTES}), Answer.FAILED, 1),
        (say(0.5, evidence={"x": "\ud800"}), Answer.FAILED, 1),
        (say(0.5, evidence={"x": 1 << 70}), Answer.FAILED, 1),
        (say(0.5, evidence={1: 2}), Answer.FAILED, 1),
        (say(0.5, evidence=[("x", 1)]), Answer.FAILED, 1),
        (say(0.5, evidence=functools.reduce(lambda inner, _: {"x": inner}, range(250), {})), Answer.FAILED, 1),
        (say(0.5, basis=5), Answer.FAILED, 1),
        (say(0.5, basis="\ud800"), Answer.FAILED, 1),
        (lambda _: 7, Answer.FAILED, 1),
        (fail(asyncio.CancelledError()), Answer.FAILED, 1),
        (fail(SystemExit(3)), Answer.FAILED, 1),
        (lambda _: None, Answer.SILENT, 1),
    ],
)
async def test_a_fault_of_a_channel_costs_its_own_say_alone(act: Any, answer: Answer, asked: int) -> None:
    """It is tried again only where that may help, told, and the other channel is heard; no words of a memory are told."""
    bank = Bank()
    await bank.send(episode())
    faulty, other = Checker(act), Checker(say(0.25))
    other.name = "other"  # type: ignore[misc] # for this one
    told: list[Told] = []
    (verdict,) = await audit(bank, faulty, other, note=told.append)
    assert isinstance(verdict, Audited)
    assert verdict.channel == "other"
    assert sorted((one.channel, one.answer) for one in told) == [("checker", answer), ("other", Answer.JUDGED)]
    assert len(faulty.seen) == asked
    assert "the text" not in repr(told)


async def test_what_passed_can_be_sent() -> None:
    """Evidence as deep, and of such numbers and characters, as is let through is held by the verdict's event, and read again as it was."""
    bank = Bank()
    await bank.send(episode())
    evidence = {"x": functools.reduce(lambda inner, _: {"x": inner}, range(10), {}), "y": 2**63, "z": "\x00\u202e🙂"}
    (verdict,) = await audit(bank, Checker(say(0.5, evidence=evidence, basis="a" * 64)))
    read = event_of(json.loads(encode_event(verdict)))
    assert isinstance(read, Audited)
    assert read.evidence == {**evidence, "reason": "checked", "version": "1", "basis": "a" * 64}


async def test_a_stop_is_no_fault_of_a_channel() -> None:
    """Whoever cancels the audit is obeyed."""
    bank = Bank()
    await bank.send(episode())

    class Slow(Checker):
        async def judge(self, case: Case) -> Finding | None:
            await asyncio.Event().wait()
            return None

    task = asyncio.create_task(audit(bank, Slow(say(1)), limits=AuditLimits()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_channel_that_hangs_is_cut_off() -> None:
    """Each try has its time."""
    bank = Bank()
    await bank.send(episode())

    class Hanging(Checker):
        async def judge(self, case: Case) -> Finding | None:
            await asyncio.Event().wait()
            return None

    told: list[Told] = []
    limits = AuditLimits(case_timeout_s=0.01, tries=2, retry_pause_s=0.001)
    assert await audit(bank, Hanging(say(1)), limits=limits, note=told.append) == []
    assert [one.answer for one in told] == [Answer.TIMED_OUT]


async def test_what_is_no_episode_or_is_there_no_more_is_not_judged() -> None:
    """A fact, an erased episode, and a record that nobody has."""
    bank = Bank()
    await bank.send(written("fact", src="document", kind="fact"), episode())
    checker = Checker(say(0.0))
    assert await audit(bank, checker, memory_id="fact") == []
    record = await find(bank)
    late = await audit(bank, checker)
    await bank.send(erased("e", t=60))
    auditor = Auditor(bank.store, [checker], limits=QUICK)
    assert await auditor.audit(record.id) == []
    assert await auditor.audit("00000000-0000-5000-8000-000000000000") == []
    # A verdict that was on its way when the record was erased brings no word of it back.
    before = await bank.export()
    await deliver(bank, late)
    assert await bank.export() == before


async def test_cases_are_asked_about_no_faster_than_allowed() -> None:
    """The first at once, each next one a turn later; what is known takes no turn."""
    bank = Bank()
    names = ["a", "b", "c"]
    await bank.send(*(episode(name) for name in names))
    auditor = Auditor(bank.store, [Checker(say(0.5))], limits=AuditLimits(cases_per_minute=1_200))
    ids = [(await find(bank, name)).id for name in names]
    loop = asyncio.get_running_loop()
    started = loop.time()
    found = await asyncio.gather(*map(auditor.audit, ids))
    assert loop.time() - started >= 0.09
    assert [len(events) for events in found] == [1, 1, 1]
