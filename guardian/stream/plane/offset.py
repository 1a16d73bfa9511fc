"""Offsets of the partitions that a consumer owns: where each one stands, what was committed, and under which fence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, ConsumerStoppedError, IllegalStateError, KafkaError

from guardian.errors import DependencyError
from guardian.stream.broker.kafka import KafkaOptions, broker_errors, build_admin
from guardian.stream.plane.fence import LEAP, format_version, take_over

log = structlog.stdlib.get_logger(__name__)

# The group has moved on, or this consumer has left it.
_NOT_OURS = (CommitFailedError, IllegalStateError, ConsumerStoppedError)


class Offsets:
    """The offsets of one consumer.

    Attributes:
        done: Next offset to work on, by partition; known once records of it were read.
        owed: Offsets whose batches are durable and whose commit was not answered; the next commit takes them along.
    """

    def __init__(self, options: KafkaOptions, *, group: str) -> None:
        self.done: dict[TopicPartition, int] = {}
        self.owed: dict[TopicPartition, int] = {}
        self._options = options
        self._group = group
        self._version = 0
        self._committed: dict[TopicPartition, int] = {}  # versions, by partition

    def forget(self) -> None:
        """Forget everything: partitions were given up or are to be taken over."""
        # New ones, as an answer to a commit of before may still be on its way, and is then about partitions of before.
        self.done, self.owed, self._committed = {}, {}, {}

    async def choose_version(self, consumer: Any, starts: Mapping[TopicPartition, int]) -> int | None:
        """Give the version of a batch's fence, or None when its partitions are no longer ours.

        The first one of an ownership is committed before it is used: the broker takes it from the present owner alone.

        Args:
            consumer: Owns the partitions.
            starts: Where the batch begins, by partition.

        Raises:
            DependencyError: The broker is away.
        """
        claims = {
            partition: offset
            for partition, offset in starts.items()
            if self._version + 1 - self._committed.get(partition, self._version + 1 - LEAP) >= LEAP
        }
        if claims and not await self._claim(consumer, claims):
            return None
        self._version += 1
        return self._version

    async def commit(self, consumer: Any, ends: Mapping[TopicPartition, int]) -> bool:
        """Commit that everything before some offsets is durable, with what is owed; False when the group has moved on.

        A broker that does not answer is only told of: what is owed then is committed again, or a redelivery changes nothing.
        """
        self.done.update(ends)
        self.owed.update(ends)
        offsets = dict(self.owed)
        try:
            async with asyncio.timeout(self._options.request_timeout_s):
                await self._send(consumer, offsets, self._version)
        except _NOT_OURS as exc:
            log.warning("commit.refused", offsets=describe_offsets(offsets), error=repr(exc))
            return False
        except (KafkaError, TimeoutError) as exc:
            log.warning("commit.failed", offsets=describe_offsets(offsets), error=repr(exc))
        return True

    async def _claim(self, consumer: Any, claims: Mapping[TopicPartition, int]) -> bool:
        """Commit a version above all that was used of some partitions; False when they are no longer ours."""
        unknown = [partition for partition in claims if partition not in self._committed]
        now_s = time.time()
        found = [take_over(metadata, now_s) for metadata in await self._fetch_metadata(unknown)]
        version = max([self._version, *found])
        try:
            async with broker_errors(self._options):
                await self._send(consumer, claims, version)
        except DependencyError as exc:
            if isinstance(exc.__cause__, _NOT_OURS):
                return False
            raise
        self._version = version
        return True

    async def _send(self, consumer: Any, offsets: Mapping[TopicPartition, int], version: int) -> None:
        metadata, committed, owed = format_version(version), self._committed, self.owed
        await consumer.commit({partition: (offset, metadata) for partition, offset in offsets.items()})
        committed.update(dict.fromkeys(offsets, version))
        for partition, offset in offsets.items():
            if owed.get(partition) == offset:
                del owed[partition]

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

    async def measure_group_lag(self, consumer: Any, partitions: Collection[TopicPartition]) -> int:
        """Give the records beyond the offsets that the group has committed, also of partitions that others own.

        Raises:
            DependencyError: The broker is away.
        """
        async with broker_errors(self._options, timeout_s=min(10.0, self._options.request_timeout_s)):
            ends = await consumer.end_offsets(list(partitions))
            committed = {partition: await consumer.committed(partition) or 0 for partition in partitions}
        return sum(max(0, ends[partition] - committed[partition]) for partition in partitions)

    async def _fetch_metadata(self, partitions: Sequence[TopicPartition]) -> list[str]:
        """Give the metadata of the offsets committed last; the consumer itself gives offsets alone."""
        if not partitions:
            return []
        admin = build_admin(self._options)
        try:
            async with broker_errors(self._options):
                await admin.start()
                found = await admin.list_consumer_group_offsets(self._group, partitions=list(partitions))
        finally:
            await admin.close()
        return [(found[partition].metadata or "") if partition in found else "" for partition in partitions]


def describe_offsets(offsets: Mapping[TopicPartition, int]) -> dict[str, int]:
    """Give offsets by topic/partition, for a log line."""
    return {f"{partition.topic}/{partition.partition}": offset for partition, offset in sorted(offsets.items())}
