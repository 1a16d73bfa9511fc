"""Sources: what a span may rest on, exactly as it was rendered. Read back from the prompt's block, so that nothing else can be cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from guardian.contracts.role import Role
from guardian.core.card import Permission
from guardian.read.admission.decision import Decision, Mark
from guardian.read.calibrator import Admission
from guardian.read.prompt.compile import SECTIONS
from guardian.read.prompt.section import Item, parse_block
from guardian.read.stage.form import GIVEN_USES, USES, Use

_ROLE_OF: Final = {name: role for role, name, _ in SECTIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One record that stands in the prompt, or one text that the caller gave beside memory.

    Attributes:
        text: What of its text was shown; a cut text supports nothing beyond the cut.
        subject: What it is about, as shown.
        dates: The dates that were shown beside it.
        use: How it may be used: its role's ceiling, or what a reflection left of that.
        decision: What the rules of the read made of a record; None for what the caller gave.
        given_by: What the caller calls it; None for a record.
    """

    handle: str
    text: str
    subject: str = ""
    dates: str = ""
    use: Use
    decision: Decision | None = None
    given_by: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether it is the caller's word, and no memory."""
        return self.decision is None

    @property
    def is_verified(self) -> bool:
        """Whether it is a record that trusted authority stands behind; what the caller gave never is."""
        return self.decision is not None and self.decision.candidate.is_verified

    @property
    def memory_id(self) -> str:
        """Its memory; empty for what the caller gave."""
        return "" if self.decision is None else self.decision.candidate.memory_id

    @property
    def permission(self) -> Permission | None:
        """What its memory may be used for; None for what the caller gave, of which its use says all."""
        return None if self.decision is None else self.decision.candidate.permission

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What must stand beside it."""
        return () if self.decision is None else self.decision.marks

    @property
    def allowed(self) -> tuple[Use, ...]:
        """The uses that it allows, its ceiling first."""
        if self.decision is None:
            return GIVEN_USES
        assert self.decision.role is not None
        return USES[self.decision.role]


def read_sources(admission: Admission) -> dict[str, Source]:
    """Give every rendered record by its handle, in the order of the prompt."""
    rendered = admission.rendered
    return {
        item.handle: source
        for section in parse_block(admission.prompt.block)
        for item in section.items
        if (source := _build_source(item, _ROLE_OF[section.name], admission.prompt.handles, rendered)) is not None
    }


def list_rejected(admission: Admission, sources: Mapping[str, Source]) -> frozenset[str]:
    """List the memory ids that were found and not rendered."""
    shown = {source.memory_id for source in sources.values()}
    return frozenset(item.candidate.memory_id for item in admission.decisions) - shown


def _build_source(item: Item, role: Role, handles: Mapping[str, str], rendered: Sequence[Decision]) -> Source | None:
    """Build the source of a line; of several revisions of one memory in one role the one whose text it is."""
    text = str(item.fields["text"])
    for decision in rendered:
        found = decision.candidate
        if decision.role is role and found.memory_id == handles.get(item.handle) and found.text.startswith(text):
            return Source(
                handle=item.handle,
                text=text,
                subject=str(item.fields.get("about", "")),
                dates=f"{item.fields.get('observed', '')} {item.fields.get('until', '')}",
                decision=decision,
                use=USES[role][0],
            )
    return None
