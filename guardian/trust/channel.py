"""Evidence channels: what something other than the agent says of an episode.

A channel looks at one case and gives a value in [0, 1], or nothing when it has nothing to say; it never guesses. Its errors must not be the
agent's: a channel is believed only after its independence was measured on audited episodes (the Error-Independence Assumption, "Memory
Reward Inflation in Self-Improving LLM Agents"). Channels work off the hot path; what they find becomes a `memory.audited` event.

A third party adds one as an entry point in the group `guardian.channels` (see `registry`); `tests/contract/test_channel_contract.py` says
what every channel keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a tool or an environment said of a task in a record of its own.

    Attributes:
        id: Of its record.
        text: As it was written.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One episode as a channel sees it; its own grade is not shown.

    Attributes:
        task: What was asked.
        answer: What the agent gave: a text, or a query.
        language: Of the answer, such as `sql`, `python`, `text`; None where the episode does not say.
        evidence: Texts that the episode declares or retrieved, as they stand in the store.
        outcome: What a tool or a person wrote into the episode itself; an agent's own word on it is not shown.
        task_id: By which outcomes are reported later.
        reports: Those that are there, by id.
    """

    space: str
    memory_id: str
    revision: str
    task: str | None = None
    answer: str | None = None
    language: str | None = None
    evidence: tuple[str, ...] = ()
    outcome: str | None = None
    task_id: str | None = None
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a channel says.

    Attributes:
        value: In [0, 1]; 1 is right.
        reason: Constant, counted word such as `not_in_evidence`.
        evidence: What shows it, small plain JSON; never a secret of the data that was looked at.
        basis: Digest of what it rests on beside the case's own texts, where that grows; on another basis stands another verdict.
    """

    value: float
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    basis: str = ""


class Channel(Protocol):
    """One source of evidence.

    Attributes:
        name: The channel of its verdicts; stable, as calibrations refer to it.
        version: Another one judges the same case anew, and its verdict takes the place of the old one's.
        grows: A case that it judged may be judged otherwise later, since more has been reported by then.
    """

    @property
    def name(self) -> str:
        """Give the channel of its verdicts."""

    @property
    def version(self) -> str:
        """Give its version."""

    @property
    def grows(self) -> bool:
        """Tell whether what it looks at grows."""

    async def judge(self, case: Case) -> Finding | None:
        """Judge a case; None when the channel has nothing to say about it.

        Raises:
            DependencyError: What it asks is away; the same case can be judged later.
        """
