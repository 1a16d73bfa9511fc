"""The guard's requests to have records judged, and the agent that answers them.

A request is a function of a write and the record it leads to, so publishing changes nothing else and a redelivered write asks again under the
same id. The agent's answers are `memory.audited` events for the canonical topic; it is one more sender there, and the guard decides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import structlog

from guardian.contracts.codec import encode_event
from guardian.contracts.outcome import AuditRequest, seal_outcome
from guardian.core.model import Status, Written
from guardian.core.plan import Outcome
from guardian.ports import OutcomeMessage
from guardian.stream.broker.kafka import Outgoing
from guardian.telemetry.metrics import Metrics
from guardian.trust.auditor import Answer, Auditor, Told
from guardian.trust.case import REPORTERS, reports_on_task
from guardian.trust.channels.regrader import ReGrader
from guardian.trust.truth import EPISODE_KINDS

log = structlog.stdlib.get_logger(__name__)


def ask_for_audit(outcomes: Sequence[Outcome]) -> list[OutcomeMessage]:
    """Ask to have written records judged: an episode, a skill, what the agent graded, and a tool's report on a task."""
    return [message for outcome in outcomes for message in _ask(outcome)]


def _ask(outcome: Outcome) -> list[OutcomeMessage]:
    record, event = outcome.record, outcome.event
    if record is None or not isinstance(event, Written) or record.status is Status.ERASED:
        return []
    is_report = event.source is not None and event.source.kind in REPORTERS and reports_on_task(event)
    if record.kind not in EPISODE_KINDS and record.utility is None and not is_report:
        return []
    request = AuditRequest(space=record.space, memory_id=record.memory_id, revision=record.revision, record_id=record.record_id)
    outcome_id, value = seal_outcome(request, time=event.ref.time)
    return [OutcomeMessage(topic=request.published_to, key=record.space, value=value, id=outcome_id)]


def note_audit(metrics: Metrics, told: Told) -> None:
    """Count what became of asking a channel, and log what is wrong with one."""
    metrics.note_audit(told.channel, told.answer.value, told.spent_s)
    if told.answer in {Answer.AWAY, Answer.TIMED_OUT}:
        log.warning("channel.away", channel=told.channel, outcome=told.answer.value, error=told.fault)
    elif told.answer is Answer.FAILED:
        log.error("channel.failed", channel=told.channel, error=told.fault)


class AuditAgent:
    """Answers requests by what the channels find.

    Args:
        events_topic: Full name of the canonical topic.
        release: Closes what the channels hold.
    """

    def __init__(self, auditor: Auditor, *, events_topic: str, release: Callable[[], Awaitable[None]]) -> None:
        self._auditor = auditor
        for channel in auditor.channels:
            # A judge that is the agent's kin makes the agent's mistakes; it is heard, and must pass like any other.
            kinship = {"same_family": channel.kinship.value} if isinstance(channel, ReGrader) else {}
            log.info("channel.opened", channel=channel.name, version=channel.version, **kinship)
        self._events_topic = events_topic
        self._release = release

    async def answer(self, request: AuditRequest) -> Sequence[Outgoing]:
        """Have the record judged.

        Raises:
            DependencyError: The store is away.
        """
        events = await self._auditor.audit(request.record_id)
        return [Outgoing(topic=self._events_topic, key=event.space.encode(), value=encode_event(event)) for event in events]

    async def close(self) -> None:
        """Release what the channels hold."""
        await self._release()
