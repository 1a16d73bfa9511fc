"""The words of Guardian: one word for one thing, used alike in topics, payloads, logs and metrics.

space       one memory bank; lineage never crosses it
memory      a thing remembered, named by `memory_id`, unique in its space
revision    one text of a memory; a digest of observed time, text and declared parents
record      one revision as stored: what has status, lineage, utility, card, vectors
parents     the memories a record was derived from
roots       the ancestors of a record without parents; a record without parents is its own root
family      all records of a space that share a root
correction  a verified statement that replaces what some memories say
self_grade  the utility r in [0, 1] that the agent gave its own episode
verdict     a score V in [0, 1] by an evidence channel that is not the agent
calibration which channels may demote a self-grade, and how far each is believed
card        the boundary card: under which conditions a memory may influence which part of an answer
slot        where in a prompt a record may stand

Events are facts in the past tense. Times are aware and in UTC. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class MemoryKind(StrEnum):
    """What sort of thing is remembered; `other` where the writer did not say."""

    FACT = "fact"
    BELIEF = "belief"
    PREFERENCE = "preference"
    INSTRUCTION = "instruction"
    PROFILE = "profile"
    EPISODE = "episode"
    SKILL = "skill"
    SUMMARY = "summary"
    OTHER = "other"


class SourceKind(StrEnum):
    """Who or what a statement comes from; a missing source is `unknown`, never `user`."""

    USER = "user"
    TOOL = "tool"
    DOCUMENT = "document"
    HUMAN_REVIEW = "human_review"
    AGENT = "agent"
    SYSTEM_IMPORT = "system_import"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """The standing of a record; erased beats superseded beats verified beats active."""

    ACTIVE = "active"
    VERIFIED = "verified"
    SUPERSEDED = "superseded"
    ERASED = "erased"


class Slot(StrEnum):
    """Where in a prompt a record may stand."""

    FACTS = "facts"
    PREFERENCES = "preferences"
    CONSTRAINTS = "constraints"
    EXAMPLES = "examples"
    BACKGROUND = "background"


class Extent(StrEnum):
    """How far a correction reaches from its targets."""

    RECORD = "record"
    DESCENDANTS = "descendants"
    FAMILY = "family"


class Confidence(StrEnum):
    """How the writer came by the statement."""

    OBSERVED = "observed"
    INFERRED = "inferred"
    REVIEWED = "reviewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a statement comes from. The same shape names the authority of a correction."""

    kind: SourceKind = SourceKind.UNKNOWN
    ref: str | None = None
    actor: str | None = None


Authority = Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """For whom and where a memory holds; every part is optional."""

    user_id: str | None = None
    agent_id: str | None = None
    project_id: str | None = None
    session_id: str | None = None
    domain: str | None = None
    task_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTrust:
    """What a calibration says of an evidence channel, or of the mean of several.

    Attributes:
        alpha: How far it is believed, in [0, 1].
        payoff: Variance of the bias that it removes, or squared error as a detector, in [0, 1]; of several the largest is used.
        passes: Whether it may demote; one that fails demotes nothing.
        members: Channels whose mean it is; empty for the channel of its own name.
        detects: Whether it counts as a detector: verdicts below one half are flags, any other is as if it were not there.
    """

    alpha: float
    payoff: float
    passes: bool
    members: tuple[str, ...] = ()
    detects: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One task an agent did: what was asked, answered, and which memories were retrieved for it."""

    task: str | None = None
    answer: str | None = None
    language: str | None = None
    retrieved: tuple[str, ...] = ()
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRef:
    """Identity of an event: (`source`, `id`), and a digest of its data.

    A reused (`source`, `id`) with other data is another event, so the digest is part of the identity.

    Attributes:
        time: The envelope's time, aware, UTC.
        digest: Hex digest of the canonical JSON of the data.
    """

    time: datetime
    source: str
    id: str
    digest: str

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """The one order of events: (time, source, id, digest); never the order of arrival."""
        return (self.time, self.source, self.id, self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """`memory.written`: an agent, a user, a tool or a document put a text into memory.

    Attributes:
        parents: None when the event names no parents (they are inherited), a tuple (maybe empty) when it does.
        kind, source, scope: None when the event does not name them.
        verified: The claim, as far as the event's origin may make it; the core decides whether it is believed.
        vector: Given embedding, or None; finite, non-zero.
        metadata: The writer's own nested mapping; never read by any rule.
        extra: Unknown fields of the data, kept as they came.
    """

    ref: EventRef
    space: str
    memory_id: str
    text: str
    observed_at: datetime
    kind: MemoryKind | None = None
    source: Source | None = None
    parents: tuple[str, ...] | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    scope: Scope | None = None
    subject: str | None = None
    verified: bool = False
    supersedes: tuple[str, ...] = ()
    confidence: Confidence | None = None
    self_grade: float | None = None
    episode: Episode | None = None
    vector: tuple[float, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """`memory.read`: an agent retrieved memories. Its time is the envelope's."""

    ref: EventRef
    space: str
    retrieved: tuple[str, ...]
    used: tuple[str, ...] = ()
    session_id: str | None = None
    task_id: str | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """`memory.corrected`: some authority states that memories are wrong, and what holds instead.

    Attributes:
        targets: Memory ids, all their revisions; may be empty when `subject` is given.
        replacement: Memory id of what holds instead (also when `inline` is given), or None.
        inline: The replacement as a write of its own, when it came inside the correction. Its `ref` is this event's.
        extent: None for the default of design 4.3.
    """

    ref: EventRef
    space: str
    targets: tuple[str, ...]
    effective_at: datetime
    subject: str | None = None
    replacement: str | None = None
    inline: Written | None = None
    extent: Extent | None = None
    authority: Authority | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """`memory.audited`: a channel's verdict on a memory, `value` in [0, 1]."""

    ref: EventRef
    space: str
    memory_id: str
    channel: str
    value: float
    revision: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """`memory.retracted`: the correction, verdict or calibration named by (`event_source`, `event_id`) is withdrawn."""

    ref: EventRef
    space: str
    event_source: str
    event_id: str
    authority: Authority | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """`memory.deleted`: the agent deleted the memory; its revisions up to `observed_at` are barred from answers."""

    ref: EventRef
    space: str
    memory_id: str
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """`memory.linked`: lineage set by hand."""

    ref: EventRef
    space: str
    memory_id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    authority: Authority | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """`memory.erased`: the data subject's right; revisions up to `observed_at` lose text, vectors, card, metadata."""

    ref: EventRef
    space: str
    memory_id: str
    observed_at: datetime
    cascade: bool = False
    authority: Authority | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Induced:
    """`memory.induced`: a model said under which conditions a revision may be used.

    Attributes:
        revision: Which revision.
        observed_at: When that was observed.
        digest: Of the content that was shown to the model.
        inducer, version: The model, and the version of what it was asked.
        confidence: Agreement of its samples, in [0, 1].
        card: The card as `Card.to_json` gives it; None leaves the rules' card.
        narrowing: What the permission loses, as `Narrowing.to_json` gives it.
    """

    ref: EventRef
    space: str
    memory_id: str
    revision: str
    observed_at: datetime
    digest: str
    inducer: str
    version: str
    confidence: float
    card: Mapping[str, Any] | None = None
    narrowing: Mapping[str, Any] = field(default_factory=dict)
    authority: Authority | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """`space.calibrated`: some authority activates a calibration for the space, from `effective_at` on.

    Attributes:
        calibration: Its id, a digest of the figures where `guardian audit report` made it.
        channels: Name -> what it says of the channel; whoever is not named demotes nothing.
    """

    ref: EventRef
    space: str
    calibration: str
    channels: Mapping[str, ChannelTrust]
    effective_at: datetime
    authority: Authority | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """`memory.rated`: the utilities of these memories are to be those of the calibration in force; says nothing new."""

    ref: EventRef
    space: str
    memory_ids: tuple[str, ...]


Event = Written | Read | Corrected | Audited | Retracted | Deleted | Linked | Erased | Induced | Calibrated | Rated
