"""What lies in topics: how many records, and how many of them a group has not worked on. For looks now and then: each builds clients."""

from __future__ import annotations

from aiokafka import TopicPartition

from guardian.stream.broker.kafka import KafkaOptions, broker_errors, build_admin, build_consumer


async def fetch_ends(options: KafkaOptions, topic: str) -> dict[TopicPartition, int]:
    """Give the end offset of each partition of a topic; nothing where it is not there.

    Raises:
        DependencyError: The broker is away.
    """
    consumer = build_consumer(options, group=None)
    try:
        async with broker_errors(options):
            await consumer.start()
            if topic not in await consumer.topics():
                return {}
            partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
            return dict(await consumer.end_offsets(partitions))
    finally:
        await consumer.stop()


async def measure_backlog(options: KafkaOptions, *, group: str, topic: str) -> int:
    """Give the records of a topic beyond the offsets a group has committed, whoever of it works on them.

    Raises:
        DependencyError: The broker is away.
    """
    ends = await fetch_ends(options, topic)
    admin = build_admin(options)
    try:
        async with broker_errors(options):
            await admin.start()
            found = await admin.list_consumer_group_offsets(group, partitions=list(ends))
    finally:
        await admin.close()
    committed = {partition: max(0, found[partition].offset) if partition in found else 0 for partition in ends}
    return sum(max(0, end - committed[partition]) for partition, end in ends.items())
