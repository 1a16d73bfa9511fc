"""What a model is to answer at each stage. What is unknown in an answer is passed over; what is too much or of no known word is a fault."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from guardian.contracts.role import Role

# Longest texts that are read at all; what is shown is shorter.
MAX_SPAN: Final = 400
MAX_INSTRUCTION: Final = 200
_MAX_READ: Final = 2_000
_MAX_ENTRIES: Final = 200


class Use(StrEnum):
    """How a memory may be used for one question."""

    SUPPORT = "support"
    RESTRICT = "restrict"
    SHAPE = "shape"
    PRECEDENT = "precedent"
    ATTEND = "attend"
    REPORT = "report"
    IGNORE = "ignore"


class Claim(StrEnum):
    """What a span of an answer claims."""

    FACT = "fact"
    RULE = "rule"
    WISH = "wish"
    PRECEDENT = "precedent"
    CONTEXT = "context"
    PAST = "past"


# Role -> the uses it allows, its ceiling first. A reflection may take less, never more.
USES: Final[dict[Role, tuple[Use, ...]]] = {
    Role.EVIDENCE_CANDIDATE: (Use.SUPPORT, Use.ATTEND, Use.IGNORE),
    Role.SCOPE_CONSTRAINT: (Use.RESTRICT, Use.SHAPE, Use.ATTEND, Use.IGNORE),
    Role.PREFERENCE: (Use.SHAPE, Use.ATTEND, Use.IGNORE),
    Role.EXAMPLE: (Use.PRECEDENT, Use.ATTEND, Use.IGNORE),
    Role.BACKGROUND: (Use.ATTEND, Use.IGNORE),
    Role.SUPERSEDED: (Use.REPORT, Use.IGNORE),
}
# What the caller gave beside memory may support what is so, on the caller's word; it is nobody's wish, rule or precedent.
GIVEN_USES: Final[tuple[Use, ...]] = (Use.SUPPORT, Use.ATTEND, Use.IGNORE)
# Use -> the claims that it may carry.
CLAIMS: Final[dict[Use, frozenset[Claim]]] = {
    Use.SUPPORT: frozenset({Claim.FACT, Claim.CONTEXT}),
    Use.RESTRICT: frozenset({Claim.RULE, Claim.WISH}),
    Use.SHAPE: frozenset({Claim.WISH}),
    Use.PRECEDENT: frozenset({Claim.PRECEDENT}),
    Use.ATTEND: frozenset({Claim.CONTEXT}),
    Use.REPORT: frozenset({Claim.PAST}),
    Use.IGNORE: frozenset(),
}


class _Part(BaseModel):
    """Part of an answer; the schema that is sent allows nothing more."""

    model_config = ConfigDict(frozen=True, extra="ignore", json_schema_extra={"additionalProperties": False})


class InstructionAnswer(_Part):
    """One memory's instruction."""

    handle: Annotated[str, Field(max_length=20)] = Field(description="Handle of the record.")
    use: Use = Field(description="How it may be used for this question.")
    instruction: Annotated[str, Field(max_length=_MAX_READ)] = Field(description="One sentence.")


class ReflectionAnswer(_Part):
    """An instruction for every memory."""

    instructions: Annotated[list[InstructionAnswer], Field(max_length=_MAX_ENTRIES)] = Field(description="One for every handle.")


class CiteAnswer(_Part):
    """What a span rests on."""

    handle: Annotated[str, Field(max_length=300)] = Field(description="Handle of the record.")
    quote: Annotated[str, Field(max_length=_MAX_READ)] = Field(description="Words of its text, unchanged.")


class SpanAnswer(_Part):
    """One statement of the answer."""

    text: Annotated[str, Field(max_length=_MAX_READ)] = Field(description="One sentence.")
    claim: Claim = Field(description="What it claims.")
    support: Annotated[list[CiteAnswer], Field(max_length=_MAX_ENTRIES)] = Field(description="What it rests on.")


class ReasonedAnswer(_Part):
    """The answer in spans."""

    spans: Annotated[list[SpanAnswer], Field(max_length=_MAX_ENTRIES)] = Field(
        description="In the order of the answer; none if memory has none."
    )
