"""Laws of the guard: what it reads of records, and in which order it makes a batch durable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from guardian.contracts.admission import DecodePolicy
from guardian.contracts.letter import read_dead_letter
from guardian.core.model import SourceKind, Written
from guardian.core.point import Phase, PointKind
from guardian.core.policy import Policy
from guardian.embed.bm25 import BM25_IDENTITY
from guardian.errors import DependencyError
from guardian.pipeline import Pipeline
from guardian.ports import Fence, StoreIdentity
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.memory import MemoryStore
from guardian.stream.broker.kafka import Producer
from guardian.stream.dead_letter import DeadLetterSender
from guardian.stream.guard import Guard, choose_partition
from guardian.stream.publisher import KafkaPublisher
from guardian.telemetry.metrics import Metrics
from tests.builders import envelope, written_data
from tests.unit.stream.records import CollectingProducer, build_letter_index, record

TWELVE = tuple(range(12))


class FailingStore(MemoryStore):
    """Fails to apply as many times as it is told to."""

    failures = 0

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Fail, or apply."""
        if self.failures:
            self.failures -= 1
            raise DependencyError("the store is away", dependency="store")
        await super().apply(phases, fence=fence)


class Bench:
    """A guard over the in-memory store and the producer's double."""

    def __init__(self, *, policy: DecodePolicy | None = None, max_bytes: int = 10**9) -> None:
        identity = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="none", vector_size=0, bm25=BM25_IDENTITY)
        self.store = FailingStore(identity)
        self.producer = CollectingProducer(max_bytes=max_bytes)
        self.metrics = Metrics()
        producer = cast("Producer", self.producer)
        self.letters = build_letter_index(self.producer, "p.guardian.dead-letters", self.metrics)
        self.guard = Guard(
            pipeline=Pipeline(
                store=self.store, policy_of=lambda _: Policy(), publisher=KafkaPublisher(producer, self.metrics, prefix="p.")
            ),
            policy=policy or DecodePolicy(),
            producer=producer,
            dead_letters=DeadLetterSender(producer, topic="p.guardian.dead-letters", max_bytes=10**6),
            letters=self.letters,
            metrics=self.metrics,
        )

    def read_metric(self, name: str, **labels: str) -> float:
        """Give a sample of the registry; 0 where it has no series."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
async def bench() -> Bench:
    """Give a bench with an open store."""
    made = Bench()
    await made.store.open()
    return made


def write(memory_id: str, *, space: str = "s", **fields: Any) -> dict[str, Any]:
    """Build a write as it is sent."""
    return envelope("memory.written", written_data(memory_id, **fields), space=space)


def test_partitions_of_spaces_are_those_of_kafkas_own_partitioner() -> None:
    """Values given by Kafka's Java client: toPositive(murmur2(UTF-8 of the key)) % 12."""
    assert [choose_partition(space, TWELVE) for space in ("coffee-shop", "s", "é", "space/with/1,024")] == [0, 11, 3, 11]


async def test_a_bad_record_costs_itself(bench: Bench) -> None:
    """Its neighbours are decided, it becomes a dead letter and is counted by reason."""
    partition = choose_partition("s", TWELVE)
    values: list[Any] = [write("a"), b"\xff{", {"id": 5}, b"null", b"[" * 2_000 + b"]" * 2_000, write("b")]
    records = [record(value, partition=partition, offset=offset) for offset, value in enumerate(values)]
    batch = bench.guard.read(records, partitions={"guardian.events": TWELVE})
    assert batch.verdicts == [False, True, True, True, True, False]
    await bench.guard.carry_out(batch, version=7)
    letters = [read_dead_letter(message.value or b"") for message in bench.producer.list_topic("p.guardian.dead-letters")]
    assert [(letter.offset, letter.reason) for letter in letters] == [
        (1, "not_utf8"),
        (2, "missing_field"),
        (3, "null_value"),
        (4, "nested_too_deep"),
    ]
    assert [letter.value for letter in letters[:1]] == [b"\xff{"]
    assert await bench.store.count(kinds={PointKind.RECORD}) == 2
    assert bench.read_metric("guardian_dead_letters_total", reason="not_utf8", topic_role="canonical") == 1
    assert bench.read_metric("guardian_events_total", disposition="applied") == 2
    assert len(bench.producer.list_topic("p.guardian.enriched")) == 2


async def test_a_space_in_a_strange_partition_is_sent_to_its_own(bench: Bench) -> None:
    """It is not decided here, so that one worker writes a space; the bytes stay, the key becomes the space."""
    strange = record(write("a"), partition=(choose_partition("s", TWELVE) + 1) % 12, headers=[("h", b"1")])
    batch = bench.guard.read([strange], partitions={"guardian.events": TWELVE})
    await bench.guard.carry_out(batch, version=1)
    (sent,) = bench.producer.sent
    assert (sent.topic, sent.key, sent.value) == (strange.topic, b"s", strange.value)
    assert sent.headers[0] == ("h", b"1")
    assert await bench.store.count() == 0
    assert bench.read_metric("guardian_events_rerouted_total") == 1


async def test_a_batch_that_is_tried_again_sends_its_dead_letters_once(bench: Bench) -> None:
    """What is acknowledged is left out of the next try, and counted once."""
    batch = bench.guard.read([record(b"{"), record(write("a"), offset=1)], partitions={})
    bench.store.failures = 2
    for version in range(2):
        with pytest.raises(DependencyError):
            await bench.guard.carry_out(batch, version=version)
    await bench.guard.carry_out(batch, version=2)
    assert len(bench.producer.list_topic("p.guardian.dead-letters")) == 1
    assert batch.dead_lettered == 1
    assert bench.read_metric("guardian_dead_letters_total", reason="not_json", topic_role="canonical") == 1


async def test_nothing_is_decided_before_dead_letters_are_safe(bench: Bench) -> None:
    """While the broker is away the store is not touched: the batch is one."""
    bench.producer.is_away = True
    batch = bench.guard.read([record(b"{"), record(write("a"), offset=1)], partitions={})
    with pytest.raises(DependencyError):
        await bench.guard.carry_out(batch, version=1)
    assert await bench.store.count() == 0


@pytest.mark.parametrize(
    ("headers", "kind"),
    [([], SourceKind.TOOL), ([("guardian-ingress-topic", b"chat")], SourceKind.AGENT)],
)
def test_claims_are_judged_by_the_ingress_topic(headers: list[tuple[str, bytes]], kind: SourceKind) -> None:
    """The topic an agent wrote to caps what its events may claim."""
    bench = Bench(policy=DecodePolicy(trust_topics=(("chat", SourceKind.AGENT),)))
    batch = bench.guard.read([record(write("a", src="tool"), headers=headers)], partitions={})
    (event,) = batch.events
    assert isinstance(event, Written)
    assert event.source is not None
    assert event.source.kind is kind
    assert batch.trust_lowered == (kind is SourceKind.AGENT)


def test_times_are_judged_by_the_original_timestamp() -> None:
    """An event that was from the future when ingress read it stays refused, though it is forwarded later."""
    value = envelope("memory.written", written_data("a"), t="2026-03-01T12:10:00Z")
    came = str(1_772_366_400_000).encode()  # 2026-03-01T12:00:00Z
    batch = Bench().guard.read([record(value, headers=[("guardian-ingress-timestamp", came)])], partitions={})
    assert [refused.error.reason for refused in batch.refused] == ["time_in_future"]


async def test_an_outcome_that_no_topic_takes_holds_nothing_up() -> None:
    """The state is durable, the loss of the message is counted."""
    bench = Bench(max_bytes=100)
    await bench.store.open()
    await bench.guard.carry_out(bench.guard.read([record(write("a"))], partitions={}), version=1)
    assert await bench.store.count(kinds={PointKind.RECORD}) == 1
    assert bench.read_metric("guardian_outcomes_too_large_total") == 1


def erase(memory_id: str, *, cascade: bool = False) -> dict[str, Any]:
    """Build an erasure as it is sent."""
    return envelope("memory.erased", {"memory_id": memory_id, "cascade": cascade, "authority": {"kind": "user"}}, t=9)


async def deliver(bench: Bench, *values: Any, version: int = 1) -> None:
    """Take one batch through."""
    records = [record(value, offset=offset) for offset, value in enumerate(values)]
    await bench.guard.carry_out(bench.guard.read(records, partitions={}), version=version)


def list_standing(bench: Bench) -> dict[bytes | None, bytes]:
    """Give the letters that stand on the topic."""
    latest = {message.key: message.value for message in bench.producer.list_topic("p.guardian.dead-letters")}
    return {key: value for key, value in latest.items() if value is not None}


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1)])
async def test_no_letter_of_an_erased_memory_stands(bench: Bench, order: tuple[int, ...]) -> None:
    """Whether the bad record came before, with or after the erasure, or all comes again; others' letters stay."""
    values = [write("a"), write("a", vector=["bad"]), erase("a")]
    await deliver(bench, write("b", vector=["bad"]))
    for index in order:
        await deliver(bench, values[index])
    await deliver(bench, *[values[index] for index in order])
    assert [read_dead_letter(value).memory_id for value in list_standing(bench).values()] == ["b"]
    assert bench.read_metric("guardian_dead_letters_erased_total") >= 1
    assert bench.read_metric("guardian_dead_letters_total", reason="wrong_type", topic_role="canonical") == 3


async def test_a_cascade_reaches_letters(bench: Bench) -> None:
    """Also of a memory whose only readable write declared its descent."""
    await deliver(bench, write("a"), write("heir", parents=["a"]), write("heir", parents=["a"], vector=["bad"]))
    assert len(list_standing(bench)) == 1
    await deliver(bench, erase("a", cascade=True))
    assert list_standing(bench) == {}


async def test_an_erasure_is_not_acknowledged_before_its_tombstones_are(bench: Bench) -> None:
    """The batch fails while they cannot be sent, and the next try sends them."""
    await deliver(bench, write("a", vector=["bad"]))
    batch = bench.guard.read([record(erase("a"))], partitions={})
    bench.producer.is_away = True
    with pytest.raises(DependencyError):
        await bench.guard.carry_out(batch, version=2)
    bench.producer.is_away = False
    await bench.guard.carry_out(batch, version=3)
    assert list_standing(bench) == {}
    assert bench.read_metric("guardian_events_total", disposition="duplicate") == 1


async def test_a_batch_without_erasures_does_not_read_letters(bench: Bench) -> None:
    """The usual path costs nothing more."""

    class Unread:
        async def erase(self, _: Any) -> None:
            raise AssertionError("nobody was erased")

    bench.guard._letters = cast("Any", Unread())
    await deliver(bench, write("a"), b"{")
    with pytest.raises(AssertionError):
        await deliver(bench, erase("a"))
