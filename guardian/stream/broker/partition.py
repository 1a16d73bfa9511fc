"""More partitions for the topics that are keyed by space, while producers and workers run.

A space then lives in another partition. What lies in its old one, and what producers with an old view of the topic still put there,
is sent on by whichever guard reads it; the order of events plays no part in the state. A new partition has no fence yet and begins at
the present second, above all versions of the partitions that were there.

When the change is over is told in waves: everything that was in the topic at one moment is worked off, then everything that was there
at the end of that, so that what was sent on, perhaps twice while views were old, is worked off, too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import TopicPartition
from aiokafka.admin import NewPartitions
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError

from guardian.errors import ConfigError, DependencyError
from guardian.stream.broker.kafka import KafkaOptions, broker_errors, build_admin, build_consumer, fetch_topics

# What lay there at the change; what the first wave sent on; what that sent on again to a partition of the old view.
WAVES = 3
_POLL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What is still to be worked off.

    Attributes:
        wave: From 1 to `WAVES`.
        left: Records of this wave that are not committed.
        total: Records of this wave that were not committed when it began.
        workers: Members of the group; without one nothing moves.
    """

    wave: int
    left: int
    total: int
    workers: int


async def raise_partitions(options: KafkaOptions, topics: Collection[str], partitions: int) -> dict[str, int]:
    """Raise the partitions of topics; gives those that were raised with the count they had.

    Args:
        options: How brokers are reached.
        topics: Full names; those that are missing are left out.
        partitions: Of each afterwards.

    Raises:
        ConfigError: One has more than that, or the broker refuses.
        DependencyError: The broker is away.
    """
    counts = {name: len(numbers) for name, numbers in (await fetch_topics(options)).items() if name in topics}
    for name, count in sorted(counts.items()):
        if count > partitions:
            raise ConfigError(
                f"{name} has {count} partitions and cannot be brought to {partitions}: Kafka takes none away, with their records.",
                mend="name a number that is not lower. For fewer, make another topic with them, set GUARDIAN_KAFKA__EVENTS_TOPIC to it for "
                "producers and workers, and copy the old topic to it; doing events twice changes nothing.",
            )
    before = {name: count for name, count in counts.items() if count < partitions}
    if before:
        await _create(options, before, partitions)
    return before


async def wait_worked_off(
    options: KafkaOptions, *, topic: str, group: str, observe: Callable[[Backlog], None], settle_s: float | None = None
) -> None:
    """Wait until a group has worked off all that was in a topic, wave by wave; can be cancelled and begun again.

    Args:
        options: How brokers are reached.
        topic: Full name.
        group: Full name of the consumer group.
        observe: Told once a second.
        settle_s: Seconds after which every worker knows the topic's partitions; the age of its metadata when None.

    Raises:
        DependencyError: The broker is away; begin again later.
    """
    settled_at = time.monotonic() + (options.metadata_max_age_s if settle_s is None else settle_s)
    async with _watching(options, topic, group) as watch:
        for wave in range(1, WAVES + 1):
            ends = await watch.fetch_ends()
            total = left = await watch.count_left(ends)
            while left or (wave == 1 and time.monotonic() < settled_at):
                observe(Backlog(wave=wave, left=left, total=total, workers=await watch.count_workers()))
                await asyncio.sleep(_POLL_S)
                left = await watch.count_left(ends)
            observe(Backlog(wave=wave, left=0, total=total, workers=await watch.count_workers()))


async def _create(options: KafkaOptions, before: Mapping[str, int], partitions: int) -> None:
    admin = build_admin(options)
    try:
        async with broker_errors(options):
            await admin.start()
            await admin.create_partitions({name: NewPartitions(partitions) for name in sorted(before)})
            # The controller has them before the broker tells of them, and only asking shows that.
            while min(len(topic["partitions"]) for topic in await admin.describe_topics(sorted(before))) < partitions:  # noqa: ASYNC110 # a broker tells nobody
                await asyncio.sleep(0.1)
    except DependencyError as exc:
        if isinstance(exc.__cause__, KafkaError) and not exc.__cause__.retriable:
            raise ConfigError(
                f"the broker refuses more partitions for {', '.join(sorted(before))}: {exc.__cause__}.",
                mend="see the broker's message; a broker may not support it, or the user may not alter topics.",
            ) from exc
        raise
    finally:
        await admin.close()


class _Watch:
    """Looks at one topic and one group."""

    def __init__(self, options: KafkaOptions, topic: str, group: str, admin: Any, consumer: Any) -> None:
        self._options, self._topic, self._group = options, topic, group
        self._admin, self._consumer = admin, consumer

    async def fetch_ends(self) -> dict[TopicPartition, int]:
        """Give the end of each partition that the topic has now."""
        numbers = (await fetch_topics(self._options)).get(self._topic, [])
        async with broker_errors(self._options):
            found: dict[TopicPartition, int] = await self._consumer.end_offsets(
                [TopicPartition(self._topic, number) for number in numbers]
            )
        return found

    async def count_left(self, ends: Mapping[TopicPartition, int]) -> int:
        """Count the records before some ends that are there and not committed."""
        async with broker_errors(self._options):
            begins = await self._consumer.beginning_offsets(list(ends))
            committed = await self._fetch_committed()
        starts = {
            partition: max(begins[partition], committed[partition].offset if partition in committed else 0) for partition in ends
        }
        return sum(max(0, end - starts[partition]) for partition, end in ends.items())

    async def count_workers(self) -> int:
        """Count the members of the group."""
        async with broker_errors(self._options):
            try:
                answers = await self._admin.describe_consumer_groups([self._group])
            except GroupCoordinatorNotAvailableError:
                return 0
        return sum(len(group[5]) for answer in answers for group in answer.groups)

    async def _fetch_committed(self) -> Mapping[TopicPartition, Any]:
        try:
            found: Mapping[TopicPartition, Any] = await self._admin.list_consumer_group_offsets(self._group)
        except GroupCoordinatorNotAvailableError:  # no group has ever been on this broker
            return {}
        return found


@asynccontextmanager
async def _watching(options: KafkaOptions, topic: str, group: str) -> AsyncIterator[_Watch]:
    admin, consumer = build_admin(options), build_consumer(options, group=None)
    try:
        async with broker_errors(options):
            await admin.start()
            await consumer.start()
        yield _Watch(options, topic, group, admin, consumer)
    finally:
        await consumer.stop()
        await admin.close()
