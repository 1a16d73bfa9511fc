"""Laws of planning and applying topics, on Apache Kafka and on the embedded broker."""

from __future__ import annotations

import asyncio
import os
import re
import uuid
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from guardian.errors import ConfigError, DependencyError
from guardian.stream.broker.process import choose_port
from guardian.topics import ConfigDrift, Standing, TopicDeclaration, apply, load_declarations, plan


@pytest.fixture(params=[pytest.param("kafka_broker", marks=pytest.mark.kafka), "embedded_broker"])
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Give the address of each broker in turn."""
    address: str = request.getfixturevalue(request.param).bootstrap
    return address


@pytest.fixture
def prefix() -> str:
    """Give a prefix that no other test uses: the brokers are shared."""
    return f"{uuid.uuid4().hex[:8]}."


async def create_by_hand(bootstrap: str, name: str, partitions: int, config: dict[str, Any]) -> None:
    """Create a topic as an operator might have, before Guardian came."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answer = await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=config)])
        assert [error[1] for error in answer.topic_errors] == [0]
        # The controller has it before the broker tells of it, and only asking shows that.
        while name not in await admin.list_topics():  # noqa: ASYNC110 # a broker tells nobody when a topic is there
            await asyncio.sleep(0.05)
    finally:
        await admin.close()


async def test_planning_creates_nothing(bootstrap: str, prefix: str) -> None:
    """Asked twice, every topic is still missing, also where a broker creates topics by being asked."""
    declared = load_declarations(prefix=prefix)
    await plan(bootstrap, declared)
    found = await plan(bootstrap, declared)
    assert {topic.standing for topic in found.topics} == {Standing.MISSING}


async def test_applying_creates_what_is_declared(bootstrap: str, prefix: str) -> None:
    """Every topic exists with its partitions and its settings, read back from the broker."""
    declared = load_declarations(prefix=prefix)
    applied = await apply(bootstrap, declared)
    assert applied.created == tuple(topic.name for topic in declared)
    found = await plan(bootstrap, declared)
    assert found == applied.plan
    assert [topic for topic in found.topics if topic.standing is not Standing.OK] == []
    assert [topic.partitions for topic in found.topics] == [topic.partitions for topic in declared]


async def test_applying_twice_is_applying_once(bootstrap: str, prefix: str) -> None:
    """The second time creates nothing and finds all as it was."""
    declared = load_declarations(prefix=prefix)
    first = await apply(bootstrap, declared)
    second = await apply(bootstrap, declared)
    assert (second.created, second.plan) == ((), first.plan)


async def test_drift_is_told_and_left(bootstrap: str, prefix: str) -> None:
    """Applying creates the missing topics and leaves a setting that an operator chose."""
    declared = load_declarations(prefix=prefix)
    events = f"{prefix}guardian.events"
    await create_by_hand(bootstrap, events, 12, {"cleanup.policy": "delete", "retention.ms": "60000"})
    applied = await apply(bootstrap, declared)
    assert events not in applied.created
    (drifted,) = (await plan(bootstrap, declared)).list_standing(Standing.DRIFTED)
    assert drifted.declaration.name == events
    assert drifted.drift == (ConfigDrift(setting="retention.ms", declared="-1", actual="60000"),)


async def test_another_partition_count_stops_all_creation(bootstrap: str, prefix: str) -> None:
    """A topic with other partitions is refused, and nothing is created beside it."""
    declared = load_declarations(prefix=prefix)
    await create_by_hand(bootstrap, f"{prefix}guardian.events", 3, {"cleanup.policy": "delete", "retention.ms": "-1"})
    with pytest.raises(ConfigError, match=r"guardian\.events has 3 partitions, declared are 12"):
        await apply(bootstrap, declared)
    found = await plan(bootstrap, declared)
    assert len(found.list_standing(Standing.MISSING)) == len(declared) - 1


@pytest.mark.kafka
async def test_more_replicas_than_brokers_are_refused_by_name(kafka_broker: Any, prefix: str) -> None:
    """What the broker refuses becomes an error that names the topic and carries the broker's words."""
    with pytest.raises(ConfigError, match=r"guardian\..*replication factor"):
        await apply(kafka_broker.bootstrap, load_declarations(prefix=prefix), replication_factor=3)


@pytest.mark.kafka
async def test_an_unknown_setting_is_refused_by_name(kafka_broker: Any, prefix: str) -> None:
    """A mistyped setting names the topic and the setting."""
    topic = load_declarations(prefix=prefix)[0]
    wrong = TopicDeclaration.model_validate(topic.model_dump() | {"config": {"max.mesage.bytes": "1"}})
    with pytest.raises(ConfigError, match=rf"{re.escape(topic.name)}.*max\.mesage\.bytes"):
        await apply(kafka_broker.bootstrap, [wrong])


@pytest.mark.kafka
async def test_the_dead_letter_of_a_largest_message_fits(kafka_broker: Any, prefix: str) -> None:
    """A refused message of Kafka's default largest size still fits when it is written as base64."""
    declared = [topic for topic in load_declarations(prefix=prefix) if topic.name.endswith("dead-letters")]
    await apply(kafka_broker.bootstrap, declared)
    whole = os.urandom(1_048_576 * 4 // 3 + 64_000)
    producer = AIOKafkaProducer(bootstrap_servers=kafka_broker.bootstrap, max_request_size=4_194_304)
    await producer.start()
    try:
        sent = await producer.send_and_wait(declared[0].name, whole, key=b"guardian.events/0/0")
    finally:
        await producer.stop()
    assert sent.offset == 0


async def test_a_broker_that_is_away_is_a_dependency_error() -> None:
    """Nothing listens: the caller may try again later, so it is no configuration error."""
    with pytest.raises(DependencyError, match=r"127\.0\.0\.1") as caught:
        await plan(f"127.0.0.1:{choose_port()}", load_declarations(), timeout_s=3.0)
    assert caught.value.dependency == "broker"
