"""The auditor: has channels judge records, and builds the events that say what they found. Writes nothing, sends nothing.

The verdict of a channel on a record has one event id, a digest of record, channel, version, basis and what it takes the place of, and the
record's observed time: judging again is the same event, a duplicate, and an erasure that covers the record covers it too, whichever comes
first. What a channel said before in another version or on another basis is withdrawn with the new verdict, for V is the mean of what stands.

A verdict that stands is not asked for again, so a redelivery costs a lookup. A channel that is away is tried a bounded number of times and then
left out for this case; the others are heard all the same, and `guardian audit run` asks it later.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import orjson

from guardian.chat.port import LaterError
from guardian.core.fact import load_verdict
from guardian.core.model import Audited, Authority, Event, EventRef, Retracted, SourceKind
from guardian.core.needs import Needs
from guardian.core.node import Node
from guardian.core.point import PointKind
from guardian.errors import DependencyError, GuardianError
from guardian.ports import Store
from guardian.trust.case import build_case, fetch_record, fetch_reported, is_report
from guardian.trust.channel import Case, Channel, Finding
from guardian.trust.truth import is_episode

# The event source of a channel's verdicts.
SOURCE_PREFIX = "/guardian/channels/"
# Longest evidence of a finding, bytes of JSON; it is stored with the verdict.
MAX_EVIDENCE_BYTES = 4_096
_REASON = re.compile(r"[a-z][a-z0-9_]{0,63}")
_BASIS = re.compile(r"[ -~]{0,128}")


class Answer(StrEnum):
    """What became of asking a channel about a case."""

    JUDGED = "judged"
    SILENT = "silent"
    KNOWN = "known"
    AWAY = "away"
    TIMED_OUT = "timed_out"
    OVER_BUDGET = "over_budget"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLimits:
    """What one case may take.

    Attributes:
        case_timeout_s: Longest time of one channel on one case, each try.
        tries: Of a channel that is away, at least 1.
        retry_pause_s: Before the second try; doubled before each further one.
        cases_per_minute: Cases that channels are asked about; None for as many as come.
    """

    case_timeout_s: float = 60.0
    tries: int = 3
    retry_pause_s: float = 1.0
    cases_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A verdict of a channel that stands.

    Attributes:
        id: Of its event.
    """

    id: str
    version: str
    basis: str

    @classmethod
    def of(cls, event_id: str, payload: Mapping[str, Any]) -> Self:
        """Read it from the verdict's point."""
        evidence = json.loads(payload.get("rest", "{}"))
        return cls(event_id, str(evidence.get("version", "")), str(evidence.get("basis", "")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is told of asking a channel about a case.

    Attributes:
        spent_s: Seconds, pauses included.
        fault: What was wrong, for people; never words of a memory.
    """

    channel: str
    answer: Answer
    spent_s: float = 0.0
    fault: str = ""


Note = Callable[[Told], None]


class Auditor:
    """Has channels judge.

    Args:
        store: Where the records lie; open.
        note: Told of every answer.

    Attributes:
        channels: Those that judge.
        asked: Cases that a channel was asked about.
    """

    def __init__(
        self, store: Store, channels: Sequence[Channel], *, limits: AuditLimits | None = None, note: Note | None = None
    ) -> None:
        self._store = store
        self.channels = tuple(channels)
        self._limits = limits or AuditLimits()
        self._note: Note = note or (lambda _told: None)
        self._next_at = 0.0
        self.asked = 0

    async def audit(self, record_id: str) -> list[Event]:
        """Have a record judged, and, when it is a tool's report, the episodes it speaks of.

        Raises:
            DependencyError: The store is away.
        """
        record = await fetch_record(self._store, record_id)
        if record is None:
            return []  # erased, or of a text whose correction was retracted
        events = await self.judge(record) if is_episode(record) else []
        growing = tuple(channel for channel in self.channels if channel.grows)
        if growing and is_report(record):
            for node in await fetch_reported(self._store, record):
                events += await self._judge(node, growing)
        return events

    async def judge(self, node: Node) -> list[Event]:
        """Have one whole record judged by all channels that have not.

        Raises:
            DependencyError: The store is away.
        """
        return await self._judge(node, self.channels)

    async def _judge(self, node: Node, asked: Sequence[Channel]) -> list[Event]:
        standing = await self._fetch_verdicts(node)
        channels = [one for one in asked if one.grows or not is_said(standing[one.name], one)]
        for one in asked:
            if one not in channels:
                self._note(Told(channel=one.name, answer=Answer.KNOWN))
        if not channels:
            return []
        case = await build_case(self._store, node)
        self.asked += 1
        await self._take_turn()
        findings = await asyncio.gather(*(self._ask(channel, case) for channel in channels))
        events: list[Event] = []
        for channel, finding in zip(channels, findings, strict=True):
            if finding is not None:
                events += build_events(node, channel, finding, standing[channel.name])
        return events

    async def _fetch_verdicts(self, node: Node) -> dict[str, list[Standing]]:
        """Fetch what the channels said of this revision and was not withdrawn."""
        points = await self._store.fetch(Needs(verdicts={(node.space, node.memory_id)}))
        found: dict[str, list[Standing]] = {channel.name: [] for channel in self.channels}
        for point in points:
            if point.payload["point"] == PointKind.VERDICT:
                verdict = load_verdict(point.id, point.payload)
                if verdict.revision == node.revision and verdict.ref.source == SOURCE_PREFIX + verdict.channel:
                    found.get(verdict.channel, []).append(Standing.of(verdict.ref.id, point.payload))
        return found

    async def _take_turn(self) -> None:
        """Wait until the next case may be asked about."""
        rate = self._limits.cases_per_minute
        if rate is not None:
            now = time.monotonic()
            self._next_at = max(self._next_at, now) + 60.0 / rate
            await asyncio.sleep(max(0.0, self._next_at - 60.0 / rate - now))

    async def _ask(self, channel: Channel, case: Case) -> Finding | None:
        """Ask a channel, again while it is away; None when it has nothing to say, or cannot."""
        started, pause_s = time.perf_counter(), self._limits.retry_pause_s
        for attempt in range(1, self._limits.tries + 1):
            answer, finding, fault, wait_s = await self._ask_once(channel, case)
            # A budget of minutes is waited for, one of the day is not.
            if attempt == self._limits.tries or wait_s is None or wait_s > self._limits.case_timeout_s:
                self._note(Told(channel=channel.name, answer=answer, spent_s=time.perf_counter() - started, fault=fault))
                return finding
            await asyncio.sleep(max(pause_s, wait_s))
            pause_s *= 2
        raise AssertionError("the last try returns")

    async def _ask_once(self, channel: Channel, case: Case) -> tuple[Answer, Finding | None, str, float | None]:
        """Ask once: give the answer, the finding, what was wrong, and after how many seconds it is worth asking again."""
        try:
            async with asyncio.timeout(self._limits.case_timeout_s):
                finding = await channel.judge(case)
            if finding is None:
                return Answer.SILENT, None, "", None
            return Answer.JUDGED, check_finding(finding), "", None
        except LaterError as exc:
            return Answer.OVER_BUDGET, None, str(exc), exc.wait_s
        except DependencyError as exc:
            return Answer.AWAY, None, str(exc), 0.0
        except TimeoutError:
            return Answer.TIMED_OUT, None, f"no answer in {self._limits.case_timeout_s:g} s", 0.0
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return Answer.FAILED, None, "it was cancelled from within", None
        except (Exception, SystemExit) as exc:  # noqa: BLE001 # channels are anybody's code: a fault of one costs its own say on this case
            # Of foreign errors the name alone: a message, or a traceback, may quote a memory.
            fault = str(exc) if isinstance(exc, GuardianError | _FaultyError) else type(exc).__name__
            return Answer.FAILED, None, fault, None


class _FaultyError(ValueError):
    """A finding that is none; its message names what is wrong with its form alone."""


def check_finding(finding: Finding) -> Finding:
    """Check what a channel found.

    Raises:
        ValueError: Its value lies outside [0, 1], its reason is no constant word, its evidence is no small JSON, or its basis no digest.
    """
    value = finding.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # which NaN is not
        raise _FaultyError("the value of a finding is a number from 0 to 1")
    if not _REASON.fullmatch(finding.reason):
        raise _FaultyError("the reason of a finding is a word of a-z, 0-9 and _")
    if not isinstance(finding.basis, str) or not _BASIS.fullmatch(finding.basis):
        raise _FaultyError("the basis of a finding is a digest: up to 128 printable characters of ASCII")
    if not isinstance(finding.evidence, Mapping):
        raise _FaultyError("the evidence of a finding is a mapping")
    try:
        size = len(json.dumps(dict(finding.evidence), allow_nan=False))
        # Takes less than json does: what the verdict's event cannot hold would stop the worker.
        orjson.dumps(_nest(dict(finding.evidence)))
    except (TypeError, ValueError, RecursionError) as exc:
        raise _FaultyError("the evidence of a finding is plain JSON") from exc
    if size > MAX_EVIDENCE_BYTES:
        raise _FaultyError(f"the evidence of a finding has at most {MAX_EVIDENCE_BYTES} bytes")
    return finding


def _nest(evidence: dict[str, Any]) -> Any:
    """Give it as deep as it lies in an event, and some more."""
    return [[[[[[[[evidence]]]]]]]]


def is_said(standing: Sequence[Standing], channel: Channel, basis: str = "") -> bool:
    """Tell whether a channel said so already: in this version, and on this basis."""
    return any((one.version, one.basis) == (channel.version, basis) for one in standing)


def build_events(node: Node, channel: Channel, finding: Finding, standing: Sequence[Standing]) -> list[Event]:
    """Build the verdict, unless it stands, and the withdrawal of what the channel said before."""
    if is_said(standing, channel, finding.basis):
        return []
    old = sorted(one.id for one in standing)
    source = SOURCE_PREFIX + channel.name
    verdict_id = _digest(node.id, channel.name, channel.version, finding.basis, *old)
    withdrawn: list[Event] = [
        Retracted(
            ref=_build_ref(node, source, _digest(verdict_id, event_id)),
            space=node.space,
            event_source=source,
            event_id=event_id,
            authority=Authority(kind=SourceKind.TOOL, ref=source),
            reason="judged anew",
        )
        for event_id in old
    ]
    evidence: dict[str, Any] = {**finding.evidence, "reason": finding.reason, "version": channel.version}
    if finding.basis:
        evidence["basis"] = finding.basis
    verdict = Audited(
        ref=_build_ref(node, source, verdict_id),
        space=node.space,
        memory_id=node.memory_id,
        channel=channel.name,
        value=float(finding.value),
        revision=node.revision,
        evidence=evidence,
    )
    return [*withdrawn, verdict]


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _build_ref(node: Node, source: str, event_id: str) -> EventRef:
    assert node.observed_at is not None
    return EventRef(time=node.observed_at, source=source, id=event_id, digest="")
