"""Offsets of the partitions that a consumer owns: where each one stands, what was committed, and under which fence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, ConsumerStoppedError, IllegalStateError, KafkaError

from guardian.errors import DependencyError
from guardian.stream.fence import format_version, take_over
from guardian.stream.kafka import KafkaOptions, broker_errors, build_admin

log = structlog.stdlib.get_logger(__name__)

# The group has moved on, or this consumer has left it.
_NOT_OURS = (CommitFailedError, IllegalStateError, ConsumerStoppedError)


class Offsets:
    """The offsets of one consumer.

    Attributes:
        done: Next offset to work on, by partition; known once records of it were read.
    """

    def __init__(self, options: KafkaOptions, *, group: str) -> None:
        self.done: dict[TopicPartition, int] = {}
        self._options = options
        self._group = group
        self._versions: dict[TopicPartition, int] = {}

    def forget(self) -> None:
        """Forget everything: partitions were given up or are to be taken over."""
        self.done.clear()
        self._versions.clear()

    async def choose_version(self, consumer: Any, partition: TopicPartition, offset: int) -> int | None:
        """Give the next version of the fence, or None when the partition is no longer ours.

        The first one of an ownership is committed before it is used: the broker takes it from the present owner alone.

        Args:
            consumer: Owns the partition.
            partition: Of the batch.
            offset: Where the batch begins.

        Raises:
            DependencyError: The broker is away.
        """
        version = self._versions.get(partition)
        if version is None:
            version = take_over(await self._fetch_metadata(partition), time.time())
            try:
                async with broker_errors(self._options):
                    await consumer.commit({partition: (offset, format_version(version))})
            except DependencyError as exc:
                if isinstance(exc.__cause__, _NOT_OURS):
                    return None
                raise
        self._versions[partition] = version + 1
        return version + 1

    async def commit(self, consumer: Any, partition: TopicPartition, offset: int) -> bool:
        """Commit that everything before an offset is durable; False when the group has moved on.

        A broker that does not answer is only told of: the next commit makes good for it, or a redelivery changes nothing.
        """
        self.done[partition] = offset
        try:
            async with asyncio.timeout(self._options.request_timeout_s):
                await consumer.commit({partition: (offset, format_version(self._versions[partition]))})
        except _NOT_OURS as exc:
            log.warning("commit.refused", topic=partition.topic, partition=partition.partition, offset=offset, error=repr(exc))
            return False
        except (KafkaError, TimeoutError) as exc:
            log.warning("commit.failed", topic=partition.topic, partition=partition.partition, offset=offset, error=repr(exc))
        return True

    def measure_known_lag(self, consumer: Any) -> int:
        """Give the records behind the high watermarks of the latest fetches."""
        return sum(max(0, (consumer.highwater(partition) or 0) - start) for partition, start in self.done.items())

    async def measure_lag(self, consumer: Any, owned: Collection[TopicPartition]) -> int:
        """Give the records not yet worked on, asking the broker too: a consumer that fetches nothing knows of no lag."""
        ends: dict[TopicPartition, int] = {}
        starts = {partition: self.done[partition] for partition in owned if partition in self.done}
        try:
            async with broker_errors(self._options, timeout_s=min(10.0, self._options.request_timeout_s)):
                ends = await consumer.end_offsets(list(owned))
                for partition in set(owned) - starts.keys():
                    starts[partition] = await consumer.position(partition)
        except DependencyError as exc:
            log.warning("lag.not_measured", error=str(exc))
        ends = {partition: max(ends.get(partition, 0), consumer.highwater(partition) or 0) for partition in starts}
        return sum(max(0, ends[partition] - start) for partition, start in starts.items())

    async def _fetch_metadata(self, partition: TopicPartition) -> str:
        """Give the metadata of the offset committed last; the consumer itself gives offsets alone."""
        admin = build_admin(self._options)
        try:
            async with broker_errors(self._options):
                await admin.start()
                found = await admin.list_consumer_group_offsets(self._group, partitions=[partition])
        finally:
            await admin.close()
        return found[partition].metadata or "" if partition in found else ""
