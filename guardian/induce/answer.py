"""What a model is to answer, and what is made of it: a sample, in closed words wherever it restricts, cleaned wherever it speaks.

Nothing that a model adds is believed: unknown fields, among them ids it invents, are passed over. An answer that does not fit is a fault
with a name; the answer itself is never part of a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from guardian.chat import structured
from guardian.chat.port import ChatReply
from guardian.chat.structured import FaultyAnswerError
from guardian.core.card import ConditionalRule, ConflictPolicy, CounterfactualSetting, Support, Withheld
from guardian.core.model import Slot
from guardian.core.narrowing import Bar, Duty, Narrowing, build_narrowing
from guardian.induce.line import NOWHERE, Fault, Origin, clean_line, clean_lines

SCHEMA_NAME: Final = "boundary_card"
# Items that are kept of each list; the contract of the event has the same limits.
MAX_TASKS: Final = 8
MAX_SETTINGS: Final = 8
MAX_DISTINCTIONS: Final = 12
MAX_RULES: Final = 12
# Share of lines dropped for what they say from which the whole answer is taken to be led by the memory.
_MAX_DROPPED: Final = 0.34


class Influence(StrEnum):
    """What a rule may let a memory do, the strictest first."""

    NONE = "no influence"
    ATTENTION = "may direct attention, may not decide"
    REPORT = "may be reported as somebody's statement"
    PRECEDENT = "may show a way of working, not an answer"
    CHOICE = "may shape the choice and the form of the answer"
    RESTRICT = "may restrict the answer"
    CONCLUDE = "may support a conclusion"


_STRICTNESS = tuple(Influence)
_Cleaned = TypeVar("_Cleaned", str, CounterfactualSetting, ConditionalRule)


class _Part(BaseModel):
    """Part of an answer: what is unknown is passed over, and the schema that is sent allows nothing more."""

    model_config = ConfigDict(frozen=True, extra="ignore", json_schema_extra={"additionalProperties": False})


class SettingAnswer(_Part):
    """One hypothetical use."""

    request: str = Field(description="What might be asked.")
    evidence: str = Field(description="Which other evidence stands beside the memory.")
    support: Support = Field(description="How far the memory supports the answer.")
    scope: str = Field(description="Where that holds.")
    limitation: str = Field(description="What the memory does not show.")


class RuleAnswer(_Part):
    """One conditional rule."""

    condition: str = Field(description="While this holds,")
    influence: Influence = Field(description="the memory may have this influence.")


class CardAnswer(_Part):
    """A boundary card, and what the memory may ever be used for."""

    task_types: Annotated[list[str], Field(max_length=50)] = Field(description="Kinds of tasks the memory may matter for.")
    settings: Annotated[list[SettingAnswer], Field(min_length=1, max_length=50)] = Field(description="Three to five.")
    distinctions: Annotated[list[str], Field(max_length=50)] = Field(description="Differences that decide.")
    rules: Annotated[list[RuleAnswer], Field(min_length=1, max_length=50)] = Field(description="The strictest first.")
    summary: str = Field(description="One sentence.")
    slots: Annotated[list[Slot], Field(max_length=50)] = Field(description="Places of a prompt it may enter.")
    never: Annotated[list[Withheld], Field(max_length=50)] = Field(description="What it may never establish or override.")
    must_use: Annotated[list[Duty], Field(max_length=50)] = Field(description="Duties of whoever uses it.")
    must_not: Annotated[list[Bar], Field(max_length=50)] = Field(description="Uses that are barred.")
    conflict: ConflictPolicy = Field(description="What decides when it disagrees with other evidence.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One usable answer.

    Attributes:
        rules: The strictest first.
        slots: What the model would let it enter; what is missing is taken from the record.
        narrowing: What it takes.
        dropped: Lines that were left out for what they say.
    """

    task_types: tuple[str, ...]
    settings: tuple[CounterfactualSetting, ...]
    distinctions: tuple[str, ...]
    rules: tuple[ConditionalRule, ...]
    summary: str
    slots: frozenset[Slot]
    narrowing: Narrowing
    dropped: int = 0


def build_schema() -> Mapping[str, Any]:
    """Build the JSON Schema of an answer."""
    return structured.build_schema(CardAnswer)


def read_answer(reply: ChatReply, origin: Origin = NOWHERE) -> Sample:
    """Read an answer.

    Args:
        reply: As it came.
        origin: Of the memory: what no line may repeat, and the scripts it may be written in.

    Raises:
        FaultyAnswerError: It is cut, is no JSON of the schema, or says too much that no card may say.
    """
    return build_sample(structured.read_structured(reply, CardAnswer), origin)


def build_sample(answer: CardAnswer, origin: Origin = NOWHERE) -> Sample:
    """Build a sample of an answer, without the lines that no card may have.

    Raises:
        FaultyAnswerError: Too little is left, or so much had to go that the memory must have led the model.
    """
    tasks, faults = clean_lines(answer.task_types, origin, limit=MAX_TASKS)
    distinctions, more = clean_lines(answer.distinctions, origin, limit=MAX_DISTINCTIONS)
    settings, odd_settings = _part([_clean_setting(one, origin) for one in answer.settings])
    rules, odd_rules = _part([_clean_rule(one, origin) for one in answer.rules])
    summary = clean_line(answer.summary, origin)
    faults = [*faults, *more, *odd_settings, *odd_rules]
    total = len(answer.task_types) + len(answer.distinctions) + len(answer.settings) + len(answer.rules)
    if isinstance(summary, Fault) or not settings or not rules or len(faults) > _MAX_DROPPED * total:
        raise FaultyAnswerError(_describe([*faults, *([summary] if isinstance(summary, Fault) else [])]))
    rules.sort(key=lambda rule: _STRICTNESS.index(Influence(rule.influence)))
    return Sample(
        task_types=tuple(tasks),
        settings=tuple(settings[:MAX_SETTINGS]),
        distinctions=tuple(distinctions),
        rules=tuple(rules[:MAX_RULES]),
        summary=summary,
        slots=frozenset(answer.slots),
        narrowing=_take(answer),
        dropped=len(faults),
    )


def _describe(faults: Sequence[Fault]) -> str:
    """Say in our own words why an answer cannot be used, the commonest reason first."""
    reasons = "; ".join(f"{fault.value} ({count})" for fault, count in Counter(faults).most_common())
    return f"too little of it can stand on a card: {reasons}; describe the memory only, in its own script"


def _part(cleaned: Sequence[_Cleaned | Fault]) -> tuple[list[_Cleaned], list[Fault]]:
    """Part what can stand on a card from the reasons why the rest cannot."""
    return [one for one in cleaned if not isinstance(one, Fault)], [one for one in cleaned if isinstance(one, Fault)]


def _take(answer: CardAnswer) -> Narrowing:
    return build_narrowing(
        barred_slots=set(Slot) - set(answer.slots),
        authority=answer.never,
        must_use=answer.must_use,
        must_not=answer.must_not,
        conflict=answer.conflict,
    )


def _clean_setting(given: SettingAnswer, origin: Origin) -> CounterfactualSetting | Fault:
    lines, faults = _part([clean_line(text, origin) for text in (given.request, given.evidence, given.scope, given.limitation)])
    if faults:
        return faults[0]
    request, evidence, scope, limitation = lines
    return CounterfactualSetting(request=request, evidence=evidence, support=given.support, scope=scope, limitation=limitation)


def _clean_rule(given: RuleAnswer, origin: Origin) -> ConditionalRule | Fault:
    condition = clean_line(given.condition, origin)
    return condition if isinstance(condition, Fault) else ConditionalRule(condition=condition, influence=given.influence.value)
