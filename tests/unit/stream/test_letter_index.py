"""Laws of the letter index: an erasure reaches every letter of its memory, and no other."""

from __future__ import annotations

from typing import Any, cast

import pytest

from guardian.core.model import Event
from guardian.errors import DependencyError
from guardian.stream.broker.kafka import Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.plane.batch import Refused
from guardian.telemetry.metrics import Metrics
from tests.builders import START, envelope, erased, written
from tests.property.bank import Bank
from tests.unit.stream.records import CollectingProducer, build_letter_index, record
from tests.unit.stream.test_dead_letter import WHY

TOPIC = "guardian.dead-letters"


class Shelf:
    """Letters of some memories on a topic, and an index of them."""

    def __init__(self) -> None:
        self.producer = CollectingProducer()
        self.metrics = Metrics()
        self.index = build_letter_index(self.producer, TOPIC, self.metrics)
        self._sender = DeadLetterSender(cast("Producer", self.producer), topic=TOPIC, max_bytes=10**6)

    async def put(self, memory_id: str, *, space: str = "s", offset: int = 0, t: int = 0) -> bytes:
        """Put a letter on the topic; gives its key."""
        value = envelope("memory.written", {"memory_id": memory_id, "text": "t0ken", "vector": ["bad"]}, space=space, t=t)
        await self._sender.send([Refused(record=record(value, offset=offset), error=WHY)])
        return self.producer.sent[-1].key or b""

    def list_tombstones(self) -> list[bytes | None]:
        """Give the keys that got a tombstone."""
        return [message.key for message in self.producer.sent if message.value is None]


@pytest.fixture
def shelf() -> Shelf:
    """Give an empty topic."""
    return Shelf()


def covering(memory_id: str, *, space: str = "s") -> dict[tuple[str, str], Any]:
    """Say that a memory is erased up to the start of the tests' time."""
    return {(space, memory_id): START}


async def test_an_erasure_reaches_all_letters_of_its_memory(shelf: Shelf) -> None:
    """Those there before the index was first asked, and those that came since; each tombstone once."""
    first = await shelf.put("a")
    await shelf.put("b")
    await shelf.put("a", space="other")
    await shelf.put("a", offset=7, t=5)  # of a later life
    await shelf.index.erase(covering("a"))
    assert shelf.list_tombstones() == [first]
    second = await shelf.put("a", offset=1)
    await shelf.index.erase(covering("a"))
    await shelf.index.erase(covering("a"))
    assert shelf.list_tombstones() == [first, second]
    assert shelf.metrics.registry.get_sample_value("guardian_dead_letters_erased_total") == 2


async def test_what_is_no_letter_of_a_memory_is_passed_over(shelf: Shelf) -> None:
    """Records that nobody can read hold nothing up."""
    for value in (b"{", b"null", None):
        shelf.producer.sent += [await _raw(value, offset) for offset in range(2)]
    await shelf.index.erase(covering("a"))
    assert len(shelf.list_tombstones()) == 2  # the two that lay there


async def _raw(value: bytes | None, offset: int) -> Any:
    producer = CollectingProducer()
    await DeadLetterSender(cast("Producer", producer), topic=TOPIC, max_bytes=10**6).send(
        [Refused(record=record(value, offset=offset), error=WHY)]
    )
    (sent,) = producer.sent
    return sent if value is not None else type(sent)(topic=TOPIC, key=sent.key, value=None)


async def test_a_letter_that_was_driven_again_is_forgotten(shelf: Shelf) -> None:
    """It has its tombstone from there."""
    key = await shelf.put("a")
    await shelf.index.erase(covering("b"))
    shelf.producer.sent.append(type(shelf.producer.sent[0])(topic=TOPIC, key=key, value=None))
    await shelf.index.erase(covering("a"))
    assert shelf.list_tombstones() == [key]


async def test_an_erasure_waits_for_its_tombstones(shelf: Shelf) -> None:
    """While the broker is away it is not done, and the next try finds the letter again."""
    key = await shelf.put("a")
    shelf.producer.is_away = True
    with pytest.raises(DependencyError):
        await shelf.index.erase(covering("a"))
    shelf.producer.is_away = False
    await shelf.index.erase(covering("a"))
    assert shelf.list_tombstones() == [key]


async def test_letters_that_others_wrote_are_found_by_looking_after(shelf: Shelf) -> None:
    """The store says whose memory is erased, also by a cascade; each letter is asked about once."""
    bank = Bank()
    story: list[Event] = [written("a"), written("heir", parents=["a"]), erased("a", observed=0, cascade=True)]
    await bank.send(*story, written("living"))
    keys = [await shelf.put(name, offset=offset) for offset, name in enumerate(("a", "heir", "living", "unknown"))]
    for _ in range(2):
        await shelf.index.look_after(bank.store)
        assert sorted(shelf.list_tombstones()) == sorted(keys[:2])  # type: ignore[type-var] # keys are bytes here
    await bank.send(erased("living", observed=0))
    await shelf.index.erase(covering("living"))
    assert shelf.list_tombstones()[2:] == [keys[2]]
