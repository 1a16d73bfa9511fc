"""Reads a topic of a broker to its end as the broker tells it: a silence of the broker is no end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

# Silence after which a topic that ought to give more is taken for broken, milliseconds.
_PATIENCE_MS = 30_000


class TopicReader:
    """Reads a topic from zero to its present end, and later on to its next one."""

    def __init__(self, consumer: Any, topic: str) -> None:
        self._consumer = consumer
        self._partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        assert self._partitions, f"the broker does not have {topic}"
        consumer.assign(self._partitions)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the partitions."""
        return tuple(partition.partition for partition in self._partitions)

    async def fetch_ends(self) -> dict[int, int]:
        """Give the end offsets as they are now."""
        return {partition.partition: end for partition, end in (await self._consumer.end_offsets(self._partitions)).items()}

    async def read_on(self) -> AsyncIterator[Any]:
        """Give what has come since the last call, up to the end as it is now, as aiokafka's `ConsumerRecord`."""
        ends = await self._consumer.end_offsets(self._partitions)
        left = {partition for partition in self._partitions if await self._consumer.position(partition) < ends[partition]}
        while left:
            taken = await self._consumer.getmany(*left, timeout_ms=_PATIENCE_MS)
            assert taken, f"the broker gives nothing of {sorted(left)} before {ends}"
            for records in taken.values():
                for record in records:
                    yield record
            left = {partition for partition in left if await self._consumer.position(partition) < ends[partition]}


@asynccontextmanager
async def reading(bootstrap: str, topic: str) -> AsyncIterator[TopicReader]:
    """Open a reader of a topic."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8_000_000,
        fetch_max_bytes=32_000_000,
    )
    await consumer.start()
    try:
        consumer.unsubscribe()
        yield TopicReader(consumer, topic)
    finally:
        await consumer.stop()


async def read_all(bootstrap: str, topic: str) -> list[Any]:
    """Give all that lies on a topic now."""
    async with reading(bootstrap, topic) as reader:
        return [record async for record in reader.read_on()]
