"""The ledger of reads: what was given for a question and why, and what came of it. No text, of memories or of questions.

One line a call, and one for each outcome that is reported later. From these lines the figures of `guardian ledger report` are computed.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import AwareDatetime, Field

from guardian.contracts.outcome import Outcome, OutcomeModel
from guardian.contracts.role import Reason, Role
from guardian.core.card import ConflictPolicy
from guardian.core.model import MemoryKind, Slot, SourceKind, Status

LEDGER_TOPIC = "guardian.ledger"


class LedgerTask(OutcomeModel):
    """What was known of the task; null is unknown, which is read on the careful side."""

    requires_objective_fact: bool | None = Field(None, description="The answer is right or wrong whoever asks.")
    personalization_allowed: bool | None = Field(None, description="The person's own memories may shape the answer.")
    concerns_others: bool | None = Field(None, description="The choice is somebody else's, too.")
    is_history: bool | None = Field(None, description="Asks what was believed before.")
    domain: str | None = Field(None, description="Field of knowledge.")
    task_type: str | None = Field(None, description="Sort of task.")
    project: str | None = Field(None, description="Project it belongs to.")
    user: str | None = Field(None, description="Who asks.")
    agent: str | None = Field(None, description="Which agent asks.")
    session: str | None = Field(None, description="Session of the read.")
    task_id: str | None = Field(None, description="Names the task.")


class LedgerRecord(OutcomeModel):
    """One record that was retrieved, and what became of it."""

    record_id: str = Field(description="UUID of the record in the store.")
    memory_id: str = Field(description="The memory.")
    revision: str = Field(description="The revision.")
    role: Role = Field(description="What it was for this question.")
    reason: Reason = Field(description="Why; a constant word.")
    rendered: bool = Field(description="Whether it stood in the prompt.")
    slot: Slot | None = Field(None, description="Where it stood, or would have.")
    slots: tuple[Slot, ...] = Field((), description="Where it may ever stand.")
    status: Status = Field(description="Its standing when it was read.")
    kind: MemoryKind = Field(description="What sort of thing is remembered.")
    source_kind: SourceKind = Field(description="Who said so.")
    may_be_evidence: bool = Field(description="Whether its permission lets it support an objective conclusion.")


class ContextGiven(Outcome):
    """What one question was given from memory, and what not."""

    published_to: ClassVar[str] = LEDGER_TOPIC
    event_type: ClassVar[str] = "guardian.context.given"

    space: str = Field(description="The memory bank.")
    asked_at: AwareDatetime = Field(description="When it was asked.")
    query_digest: str = Field(description="Digest of the question, keyed where a key is set; never its text.")
    task: LedgerTask = Field(description="What was known of the task.")
    retrieved: int = Field(ge=0, description="Distinct records that the searches found.")
    records: tuple[LedgerRecord, ...] = Field((), description="All that was retrieved: what was rendered first, in its order.")
    conflict_policy: ConflictPolicy = Field(description="What decides when what was given and other evidence disagree.")
    conflicts: int = Field(0, ge=0, description="Pairs of records on one subject that disagree.")
    advice: str | None = Field(None, description="What was advised for want of a verified record: flag, ask or abstain.")
    searches: int = Field(ge=1, description="Searches that were made.")
    has_vector: bool = Field(description="Whether the question's embedding was used; else words alone.")
    tokens: int = Field(ge=0, description="Tokens of the prompt, by the reader's counter.")
    latency_ms: float = Field(ge=0, description="Milliseconds from question to prompt.")


class ContextJudged(Outcome):
    """What came of an answer that a context was given for."""

    published_to: ClassVar[str] = LEDGER_TOPIC
    event_type: ClassVar[str] = "guardian.context.judged"

    space: str = Field(description="The memory bank.")
    context: str = Field(description="Id of the ledger line of the context.")
    judged_at: AwareDatetime = Field(description="When the outcome was reported.")
    value: float = Field(ge=0, le=1, description="How right the outcome was, in [0, 1]; below one half it was wrong.")
    judged_by: str = Field(description="Who says so: a channel, such as gold or tests.")
    used: tuple[str, ...] | None = Field(None, description="Memory ids that went into the answer; absent where nobody knows.")
    overridden: bool = Field(False, description="The answer went against what was decided here.")


LEDGER_MODELS: tuple[type[Outcome], ...] = (ContextGiven, ContextJudged)
