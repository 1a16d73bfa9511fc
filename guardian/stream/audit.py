"""The guard's requests to have records judged, and the agent that answers them.

A request is a function of a write and the record it leads to, so publishing changes nothing else and a redelivered write asks again under the
same id. The agent's answers are `memory.audited` events for the canonical topic; it is one more sender there, and the guard decides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from guardian.contracts.codec import encode_event
from guardian.contracts.outcome import AuditRequest, build_outcome_id, encode_outcome
from guardian.core.model import SourceKind, Status, Written
from guardian.core.plan import Outcome
from guardian.ports import OutcomeMessage
from guardian.stream.broker.kafka import Outgoing
from guardian.trust.auditor import Auditor
from guardian.trust.truth import EPISODE_KINDS


def ask_for_audit(outcome: Outcome) -> list[OutcomeMessage]:
    """Ask to have a written record judged: an episode, a skill, what the agent graded, and a tool's report on a task."""
    record, event = outcome.record, outcome.event
    if record is None or not isinstance(event, Written) or record.status is Status.ERASED:
        return []
    is_report = event.source is not None and event.source.kind is SourceKind.TOOL and event.source.ref is not None
    if record.kind not in EPISODE_KINDS and record.utility is None and not is_report:
        return []
    request = AuditRequest(space=record.space, memory_id=record.memory_id, revision=record.revision, record_id=record.record_id)
    value = encode_outcome(request, time=event.ref.time)
    return [OutcomeMessage(topic=request.published_to, key=record.space, value=value, id=build_outcome_id(request))]


class AuditAgent:
    """Answers requests by what the channels find.

    Args:
        events_topic: Full name of the canonical topic.
        release: Closes what the channels hold.
    """

    def __init__(self, auditor: Auditor, *, events_topic: str, release: Callable[[], Awaitable[None]]) -> None:
        self._auditor = auditor
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
