"""Ledger entries: what one read leaves behind, and the `memory.read` that tells the guard about it."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.codec import decode, encode_event
from guardian.contracts.ledger import ContextGiven, ContextJudged, LedgerRecord, LedgerTask
from guardian.contracts.outcome import build_outcome_id, encode_outcome
from guardian.core.model import EventRef, Read
from guardian.ports import OutcomeMessage
from guardian.read.admission.candidate import Candidate
from guardian.read.admission.decision import Decision, Ruling
from guardian.read.admission.rules.authority import may_be_evidence
from guardian.read.admission.task import Task

EVENTS_TOPIC = "guardian.events"
# Characters of a question that are brought to NFC: sorting combining marks takes the square of a longer run of them.
_COMPOSED = 8_192


def digest_query(query: str, key: bytes | None = None) -> str:
    """Digest a question to 32 hex digits, its beginning on NFC; with a key nobody without it can try guesses."""
    content = (unicodedata.normalize("NFC", query[:_COMPOSED]) + query[_COMPOSED:]).encode(errors="surrogatepass")
    return (hashlib.sha256(content) if key is None else hmac.new(key, content, "sha256")).hexdigest()[:32]


def build_records(decisions: Sequence[Decision]) -> tuple[LedgerRecord, ...]:
    """Build what the ledger keeps of each decision: ids and closed words, no text."""
    ordered = sorted(decisions, key=lambda decision: not decision.is_rendered)
    return tuple(_build_record(decision, decision.candidate) for decision in ordered)


def _build_record(decision: Decision, found: Candidate) -> LedgerRecord:
    assert decision.role is not None
    assert decision.reason is not None
    return LedgerRecord(
        record_id=found.record_id,
        memory_id=found.memory_id,
        revision=found.revision,
        role=decision.role,
        reason=decision.reason,
        rendered=decision.is_rendered,
        slot=decision.slot,
        slots=tuple(sorted(found.slots)),
        status=found.status,
        kind=found.kind,
        source_kind=found.source_kind,
        may_be_evidence=may_be_evidence(found),
    )


def build_entry(
    ruling: Ruling,
    *,
    space: str,
    task: Task,
    asked_at: datetime,
    query_digest: str,
    retrieved: int,
    searches: int,
    has_vector: bool,
    tokens: int,
    latency_ms: float,
) -> ContextGiven:
    """Build the ledger line of one read."""
    return ContextGiven(
        space=space,
        asked_at=asked_at,
        query_digest=query_digest,
        task=LedgerTask(**asdict(task)),
        retrieved=retrieved,
        records=build_records(ruling.decisions),
        conflict_policy=ruling.conflict_policy,
        conflicts=len(ruling.conflicts),
        advice=None if ruling.advice is None else ruling.advice.value,
        searches=searches,
        has_vector=has_vector,
        tokens=tokens,
        latency_ms=round(latency_ms, 3),
    )


def pack_entry(entry: ContextGiven | ContextJudged) -> OutcomeMessage:
    """Pack a ledger line for its topic, keyed by space."""
    time = entry.asked_at if isinstance(entry, ContextGiven) else entry.judged_at
    return OutcomeMessage(
        topic=entry.published_to, key=entry.space, value=encode_outcome(entry, time=time), id=build_outcome_id(entry)
    )


def build_read(entry: ContextGiven, *, source: str) -> Read | None:
    """Build the `memory.read` of what was rendered, best first; None when nothing was.

    Its id comes from the ledger line, so sending it twice is sending it once.
    """
    retrieved = tuple(dict.fromkeys(record.memory_id for record in entry.records if record.rendered))
    if not retrieved:
        return None
    ref = EventRef(time=entry.asked_at, source=source, id=f"read-{build_outcome_id(entry)}", digest="")
    read = Read(ref=ref, space=entry.space, retrieved=retrieved, session_id=entry.task.session, task_id=entry.task.task_id)
    # Through the codec: its digest is then that of the event as it is sent.
    decoded = decode(encode_event(read), policy=DecodePolicy(), received_at=entry.asked_at).event
    assert isinstance(decoded, Read)
    return decoded


def pack_read(read: Read, *, topic: str = EVENTS_TOPIC) -> OutcomeMessage:
    """Pack a `memory.read` for the canonical topic, keyed by space as all of its events are."""
    return OutcomeMessage(topic=topic, key=read.space, value=encode_event(read), id=read.ref.id)
