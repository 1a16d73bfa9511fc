"""What is sent in a kill test: thousands of small spaces whose events collide, some twice, some astray, and poison; all from one seed.

Spaces are small, so that the reference can work each of them out, and many. They are mixed: some live briefly, others over much of the
run, so that the events of one space meet several batches, kills and owners. Within a space times are in no order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from guardian.contracts.codec import encode_event
from tests.simulation.population import draw_events, spoil

# Spaces under way at once; of the second sort events come twenty times less often.
_BRISK, _SLOW = 60, 60
_SLOWNESS = 20
_SIZES = (4, 12, 20, 24, 30, 40)
# Shares of all events that are sent once more, in the partition of another space, and of records that can never succeed.
_AGAIN, _ASTRAY, _POISON = 0.04, 0.005, 0.01


@dataclass(frozen=True, slots=True)
class Sent:
    """A record to send; the key chooses its partition, and is not always the space."""

    key: bytes
    value: bytes | None


def iter_records(seed: int, events: int) -> Iterator[Sent]:
    """Give the records of a seed in the order of their sending: so many distinct draws, and what is sent beside them."""
    random = Random(seed)
    waiting = _iter_spaces(random, events)
    brisk, slow = _take(waiting, _BRISK), _take(waiting, _SLOW)
    while brisk or slow:
        chosen = slow if slow and (not brisk or random.randrange(_SLOWNESS) == 0) else brisk
        place = random.randrange(len(chosen))
        yield from _accompany(random, chosen[place].pop())
        if not chosen[place]:
            chosen[place : place + 1] = _take(waiting, 1)


def _take(waiting: Iterator[list[Sent]], count: int) -> list[list[Sent]]:
    return [space for _, space in zip(range(count), waiting, strict=False)]


def _iter_spaces(random: Random, events: int) -> Iterator[list[Sent]]:
    left, number = events, 0
    while left > 0:
        size = min(left, random.choice(_SIZES))
        yield _draw_space(random, f"bank-{number}", size)
        left, number = left - size, number + 1


def _draw_space(random: Random, space: str, size: int) -> list[Sent]:
    """Draw the events of one space, the last to be sent first."""
    drawn = draw_events(random, count=size, spaces=(space,))
    if random.random() < 0.5:
        random.shuffle(drawn)
    sent = [Sent(space.encode(), encode_event(event)) for event in drawn]
    for again in random.choices(sent, k=sum(random.random() < _AGAIN for _ in range(size))):
        sent.insert(random.randint(0, len(sent)), again)
    return sent[::-1]


def _accompany(random: Random, sent: Sent) -> Iterator[Sent]:
    """Give a record, perhaps where it does not belong, and now and then poison made of it before it."""
    if random.random() < _POISON:
        assert sent.value is not None
        yield Sent(sent.key, spoil(random, sent.value))
    yield Sent(b"astray-%d" % random.randrange(1000), sent.value) if random.random() < _ASTRAY else sent
