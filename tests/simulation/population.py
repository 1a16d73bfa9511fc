"""What happens in one seed's world: events that collide, poison among them, and the order in which they are sent.

The events are those of the property tests' forge, drawn from the seed alone: the provider below answers every choice of a Hypothesis
strategy with the seed's own random numbers, so neither a database nor what else is imported can change a set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import orjson
from hypothesis.control import BuildContext
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import PrimitiveProvider

from guardian.contracts.codec import encode_event
from guardian.core.model import Event
from tests.reference.forge import Forge
from tests.strategies import MOTIFS

SPACES = ("S1", "S2", "S3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One record that somebody sends.

    Attributes:
        number: Its place in the seed's full list; stays when others are dropped.
        space: Where its event belongs; None for poison.
        is_misplaced: The sender's partitioner put it where its space does not live.
    """

    number: int
    value: bytes | None
    space: str | None
    is_misplaced: bool = False


class _SeededProvider(PrimitiveProvider):
    """Answers the choices of strategies with one random stream."""

    def __init__(self, conjecturedata: ConjectureData | None, /, *, random: Random) -> None:
        super().__init__(conjecturedata)
        self._random = random

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self._random.random() < p

    def draw_integer(self, min_value: int | None = None, max_value: int | None = None, **_: Any) -> int:
        assert min_value is not None, "the forge draws bounded integers only"
        assert max_value is not None, "the forge draws bounded integers only"
        return self._random.randint(min_value, max_value)

    def draw_float(self, **_: Any) -> float:
        raise NotImplementedError("the forge draws no floats")

    def draw_string(self, *_: Any, **__: Any) -> str:
        raise NotImplementedError("the forge draws no texts")

    def draw_bytes(self, *_: Any, **__: Any) -> bytes:
        raise NotImplementedError("the forge draws no bytes")


def draw_events(random: Random, *, count: int, spaces: Sequence[str]) -> list[Event]:
    """Draw about `count` events of some spaces: single ones and motifs, as the property tests do."""
    draw: Any = None
    forge = Forge(draw, spaces)
    while len(forge.made) < count:
        # One piece of data takes a bounded number of choices, hence one for each motif.
        drawn = ConjectureData(random=random, provider=_SeededProvider, provider_kw={"random": random})
        with BuildContext(drawn, wrapped_test=draw_events):
            draw = drawn.draw
            forge.draw = draw
            random.choice(MOTIFS)(forge)
    return forge.made[:count]


def build_population(random: Random) -> list[Item]:
    """Give all records of a seed in the order of their sending: each event once or more, in no order of time, and poison."""
    spaces = SPACES[: random.randint(1, len(SPACES))]
    events = draw_events(random, count=random.choice((5, 10, 16, 24, 34)), spaces=spaces)
    if random.random() < 0.5:
        random.shuffle(events)
    sent: list[tuple[bytes | None, str | None]] = [(encode_event(event), event.space) for event in events]
    for again in random.choices(sent, k=random.choice((0, 0, 2, 5))):
        sent.insert(random.randint(0, len(sent)), again)
    for _ in range(random.choice((0, 1, 1, 4))):
        sent.insert(random.randint(0, len(sent)), (spoil(random, encode_event(random.choice(events))), None))
    lost = random.choice((0.0, 0.0, 0.05))
    return [
        Item(number=number, value=value, space=space, is_misplaced=space is not None and random.random() < lost)
        for number, (value, space) in enumerate(sent)
    ]


def spoil(random: Random, encoded: bytes) -> bytes | None:
    """Make of a good event what can never succeed, in one of eight ways."""
    wire = orjson.loads(encoded)
    choice = random.randrange(8)
    if choice == 0:
        return None
    if choice == 1:
        return hashlib.sha256(random.randbytes(8)).digest()
    if choice == 2:
        return orjson.dumps(wire)[: random.randint(1, 60)]
    if choice == 3:
        wire["type"] = "memory.invented"
    elif choice == 4:
        wire["time"] = "2099-01-01T00:00:00Z"  # a wrong clock must not win for years
    elif choice == 5:
        del wire["space"]
    elif choice == 6:
        wire["data"] = [wire["data"]]
    else:
        wire["type"], wire["data"] = "memory.written", {"memory_id": "a", "text": "nul \0 in the midst"}
    return orjson.dumps(wire)
