"""Cards and narrowings as they stand in `memory.induced`: short plain lines where they speak, closed words where they restrict."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from guardian.contracts.wire_model import WireModel
from guardian.core.card import ConflictPolicy, Support, Withheld
from guardian.core.model import Slot
from guardian.core.narrowing import Bar, Duty
from guardian.core.script import has_pile, is_hidden

# Characters are told by the schema; bytes are what a line weighs in a store and in a prompt.
MAX_LINE_BYTES: Final = 1_000


def _check_line(line: str) -> str:
    """Refuse what cannot be shown as what it is: a card is read by models."""
    if len(line.encode(errors="surrogatepass")) > MAX_LINE_BYTES:
        raise ValueError(f"has more than {MAX_LINE_BYTES:,} bytes")
    if any(map(is_hidden, line)):
        raise ValueError("has characters that are not seen, or steer what is around them")
    if has_pile(line):
        raise ValueError("has combining marks in piles")
    return line


Line = Annotated[
    str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$"), AfterValidator(_check_line)
]


class SettingWire(WireModel):
    """One counterfactual setting of a card."""

    request: Line = Field(description="What might be asked.")
    evidence: Line = Field(description="Which other evidence stands beside the memory.")
    support: Support = Field(description="How far the memory supports the answer.")
    scope: Line = Field(description="Where that holds.")
    limitation: Line = Field(description="What it does not show.")


class RuleWire(WireModel):
    """One conditional rule of a card."""

    condition: Line = Field(description="While this holds,")
    influence: Line = Field(description="the memory may have this influence.")


class CardWire(WireModel):
    """What a model says about the boundaries of a memory; shown to models, so its lines are short and plain."""

    task_types: Annotated[tuple[Line, ...], Field(max_length=8)] = Field(description="Kinds of tasks it may matter for.")
    settings: Annotated[tuple[SettingWire, ...], Field(max_length=8)] = Field(description="Hypothetical uses that were compared.")
    distinctions: Annotated[tuple[Line, ...], Field(max_length=12)] = Field(description="Differences that decide.")
    rules: Annotated[tuple[RuleWire, ...], Field(max_length=12)] = Field(description="Conditional rules, the strictest first.")
    summary: Line = Field(description="One sentence.")


class NarrowingWire(WireModel):
    """What the record's permission loses; nothing can be added to it."""

    barred_slots: tuple[Slot, ...] | None = Field(None, description="Slots it may not enter; background cannot be barred.")
    authority: tuple[Withheld, ...] | None = Field(None, description="What it may, besides, never establish or override.")
    must_use: tuple[Duty, ...] | None = Field(None, description="Further duties of whoever uses it.")
    must_not: tuple[Bar, ...] | None = Field(None, description="Further uses that are barred.")
    conflict: ConflictPolicy | None = Field(None, description="What decides on disagreement, if stricter than the rules' choice.")
