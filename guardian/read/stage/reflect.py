"""Context-Aware Reflection (MemAdapter, arXiv 2610.05162): one model call over all that is admitted, one instruction for each memory.

The conditions were worked out when the memories were stored: their cards stand in the question, so nothing is induced here. A reflection
narrows: what it would allow beyond a record's role is taken as the role's ceiling, and what it does not mention keeps that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from guardian.core.card import Card
from guardian.core.needs import Needs
from guardian.core.point import PointKind
from guardian.ports import Store
from guardian.read.calibrator import Admission
from guardian.read.stage.call import Caller
from guardian.read.stage.check import clean_text
from guardian.read.stage.evidence import NO_EVIDENCE, Hand, list_sources
from guardian.read.stage.form import MAX_INSTRUCTION, InstructionAnswer, ReflectionAnswer, Use
from guardian.read.stage.prompt import build_reflect_messages
from guardian.read.stage.source import Source, read_sources

STAGE = "reflect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """How one memory may be used for one question."""

    handle: str
    use: Use
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflections:
    """What a reflection says.

    Attributes:
        instructions: By handle, of rendered records and shown evidence only, in the order of the prompt.
        invented: Entries for handles that do not exist.
        lowered: Entries that asked for more than the record's role.
    """

    instructions: Mapping[str, Instruction] = field(default_factory=dict)
    invented: int = 0
    lowered: int = 0

    @property
    def notes(self) -> list[dict[str, str]]:
        """Give it as the next stage is shown it."""
        return [{"handle": item.handle, "use": item.use.value, "instruction": item.text} for item in self.instructions.values()]


async def load_cards(store: Store, admission: Admission) -> dict[str, Card]:
    """Load the stored cards of what is rendered, by handle; one fetch.

    Raises:
        DependencyError: The store is away.
    """
    handles = {
        source.decision.candidate.record_id: handle
        for handle, source in read_sources(admission).items()
        if source.decision is not None
    }
    cards = {}
    for point in await store.fetch(Needs(ids=set(handles))) if handles else ():
        if point.payload["point"] == PointKind.RECORD and point.payload.get("card"):
            cards[handles[point.id]] = Card.from_json(orjson.loads(point.payload["card"]))
    return {handle: cards[handle] for handle in handles.values() if handle in cards}


async def reflect(
    admission: Admission,
    question: str,
    caller: Caller,
    *,
    cards: Mapping[str, Card] | None = None,
    hand: Hand = NO_EVIDENCE,
) -> Reflections:
    """Ask how each admitted memory may be used for this question.

    Args:
        admission: The context.
        question: As it was asked.
        caller: Asks the model.
        cards: Of what is rendered, by handle.
        hand: What the caller gave beside memory.

    Raises:
        FaultyAnswerError: No answer can be used.
        DependencyError: The model is away, or a budget is used up.
        RecordError: It refuses this question.
        ConfigError: It will never answer.
    """
    messages = build_reflect_messages(admission.prompt, question, cards or {}, hand=hand)
    return settle(await caller.ask(STAGE, messages, ReflectionAnswer), list_sources(admission, hand))


def settle(said: ReflectionAnswer, sources: Mapping[str, Source]) -> Reflections:
    """Settle what was said into one instruction a record: of several the strictest use stands, and none exceeds the role's."""
    by_handle: dict[str, list[InstructionAnswer]] = {}
    for item in said.instructions:
        by_handle.setdefault(item.handle.strip(), []).append(item)
    known = {handle: items for handle, items in by_handle.items() if handle in sources}
    lowered = sum(item.use not in sources[handle].allowed for handle, items in known.items() for item in items)
    return Reflections(
        instructions={handle: _settle_one(source, known.get(handle, [])) for handle, source in sources.items()},
        invented=sum(len(items) for handle, items in by_handle.items() if handle not in sources),
        lowered=lowered,
    )


def _settle_one(source: Source, said: list[InstructionAnswer]) -> Instruction:
    allowed = source.allowed
    places = [allowed.index(item.use) if item.use in allowed else 0 for item in said]
    place = max(places, default=0)
    text = said[places.index(place)].instruction if said else ""
    return Instruction(handle=source.handle, use=allowed[place], text=clean_text(text)[:MAX_INSTRUCTION])
