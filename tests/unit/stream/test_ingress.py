"""Laws of ingress: it judges where an event enters, forwards bytes as they are, and never reads what Guardian writes."""

from __future__ import annotations

from typing import cast

import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.letter import read_dead_letter
from guardian.errors import ConfigError
from guardian.stream.broker.kafka import Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.ingress import Ingress, check_ingress, choose_ingress_topics
from guardian.telemetry.metrics import Metrics
from tests.builders import as_wire, envelope, induced, written, written_data
from tests.unit.stream.records import CollectingProducer, record

OWN = frozenset({"guardian.events", "guardian.enriched"})


def build_ingress(producer: CollectingProducer, letters: CollectingProducer | None = None) -> Ingress:
    """Build ingress over the double; dead letters may go through one of their own."""
    sink = cast("Producer", producer)
    grave = sink if letters is None else cast("Producer", letters)
    return Ingress(
        events_topic="guardian.events",
        policy=DecodePolicy(vector_size=3),
        producer=sink,
        dead_letters=DeadLetterSender(grave, topic="guardian.dead-letters", max_bytes=10**6),
        metrics=Metrics(),
    )


async def test_an_event_is_forwarded_byte_for_byte_under_its_space() -> None:
    """Bytes and headers stay; the key becomes the space; forged origin headers go, true ones come."""
    producer = CollectingProducer()
    ingress = build_ingress(producer)
    headers = [("trace", b"\xff"), ("guardian-ingress-topic", b"reviews")]
    read = record(
        envelope("memory.written", written_data("a"), space="s"),
        topic="chat",
        partition=4,
        offset=2,
        timestamp_ms=2**41,
        headers=headers,
    )
    await ingress.carry_out(ingress.read([read], partitions={"chat": range(9)}), version=1)
    (sent,) = producer.sent
    assert (sent.topic, sent.key, sent.value) == ("guardian.events", b"s", read.value)
    assert sent.headers == [
        ("trace", b"\xff"),
        ("guardian-ingress-topic", b"chat"),
        ("guardian-ingress-partition", b"4"),
        ("guardian-ingress-offset", b"2"),
        ("guardian-ingress-timestamp", str(2**41).encode()),
    ]


async def test_agents_topics_carry_no_cards() -> None:
    """What a model says of a record comes from Guardian's own inducer; an agent's would be a way to silence memories."""
    producer = CollectingProducer()
    ingress = build_ingress(producer)
    forged = as_wire(induced(written("a"), narrowing={"barred_slots": ["facts"]}))
    await ingress.carry_out(ingress.read([record(forged, topic="chat")], partitions={"chat": range(9)}), version=1)
    (sent,) = producer.sent
    assert (sent.topic, read_dead_letter(sent.value or b"").reason) == ("guardian.dead-letters", "type_unknown")


async def test_a_bad_event_becomes_a_dead_letter_of_its_own_topic() -> None:
    """The letter names the topic, partition and offset that it entered through."""
    producer = CollectingProducer()
    ingress = build_ingress(producer)
    await ingress.carry_out(ingress.read([record(b"{", topic="chat", partition=1, offset=8)], partitions={}), version=1)
    (sent,) = producer.sent
    letter = read_dead_letter(sent.value or b"")
    assert (letter.topic, letter.partition, letter.offset, letter.reason) == ("chat", 1, 8, "not_json")


async def test_an_event_that_the_canonical_topic_does_not_take_is_refused_alone() -> None:
    """It becomes a dead letter, its neighbour is forwarded."""
    producer, letters = CollectingProducer(max_bytes=3_000), CollectingProducer()
    ingress = build_ingress(producer, letters)
    small, large = (envelope("memory.written", written_data("a", metadata={"x": "y" * size})) for size in (1, 2_900))
    await ingress.carry_out(ingress.read([record(large), record(small, offset=1)], partitions={}), version=1)
    assert len(producer.list_topic("guardian.events")) == 1
    (letter,) = (read_dead_letter(message.value or b"") for message in letters.sent)
    assert (letter.reason, letter.offset) == ("record_too_large", 0)


def test_the_size_of_a_vector_is_left_to_the_guard() -> None:
    """Ingress may run where no collection is known."""
    read = record(envelope("memory.written", written_data("a", vector=[1.0, 2.0])))
    assert build_ingress(CollectingProducer()).read([read], partitions={}).verdicts == [False]


def test_a_pattern_matches_whole_names_of_others_topics() -> None:
    """Neither Guardian's own topics nor Kafka's can be matched, or an event would be forwarded for ever."""
    present = {"chat.a", "chat.b", "xchat.a", "guardian.events", "guardian.enriched", "__consumer_offsets", "named"}
    assert choose_ingress_topics(present, names=["named", "missing"], pattern=r"chat\..*", own=OWN) == {
        "chat.a",
        "chat.b",
        "named",
    }
    assert choose_ingress_topics(present, names=[], pattern=".*", own=OWN) == {"chat.a", "chat.b", "xchat.a", "named"}
    assert choose_ingress_topics(present, names=[], pattern=None, own=OWN) == set()


def test_reading_what_guardian_writes_is_refused() -> None:
    """The message names the topic."""
    with pytest.raises(ConfigError, match=r"guardian\.events is written by Guardian itself"):
        check_ingress(["chat", "guardian.events"], None, own=OWN)


def test_a_pattern_that_is_none_is_refused() -> None:
    """The message carries the fault of the expression."""
    with pytest.raises(ConfigError, match=r"is no regular expression: missing \)"):
        check_ingress([], "(", own=OWN)
