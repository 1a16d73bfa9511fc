"""The simulated broker: logs, one consumer group, committed offsets with metadata, and topics that outcomes and dead letters go to.

It keeps what Kafka promises and nothing more: a log is never reordered, a commit is taken from the present owner of a partition alone,
and whoever waits for an answer may never get it, though the thing was done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass

from guardian.errors import DependencyError
from guardian.stream.broker.kafka import Outgoing
from guardian.stream.guard import choose_partition
from guardian.stream.plane.origin import Header, Record
from tests.simulation.faults import Fault, Faults
from tests.simulation.schedule import Pause, Schedule

TOPIC = "guardian.events"
DEAD_LETTERS = "guardian.dead-letters"
# Longest delay of one call, virtual milliseconds; workers wait about as long before they try again.
DELAY_MS = 400


@dataclass(frozen=True, slots=True)
class Committed:
    """The last commit of a partition: the next offset to read, and the fence's metadata."""

    offset: int = 0
    metadata: str = ""


class Refused(Exception):  # noqa: N818 # an answer of the broker, no failure
    """The group has moved on: who commits no longer owns the partition."""


class Broker:
    """All that outlives workers but the store.

    Attributes:
        logs: Records of the canonical topic, by partition.
        committed: By partition.
        sent: Messages of all other topics, in order.
        owners: Member that owns each partition; None while nobody does.
        generation: Of the group; rises with every assignment.
        on_append: Called with each record that a log takes.
        on_commit: Called with partition, offset before and after.
    """

    def __init__(self, schedule: Schedule, *, partitions: int) -> None:
        self.partitions = tuple(range(partitions))
        self.logs: dict[int, list[Record]] = {partition: [] for partition in self.partitions}
        self.committed = dict.fromkeys(self.partitions, Committed())
        self.sent: defaultdict[str, list[Outgoing]] = defaultdict(list)
        self.owners: dict[int, str | None] = dict.fromkeys(self.partitions)
        self.on_append: Callable[[Record], None] = lambda _: None
        self.on_commit: Callable[[int, int, int], None] = lambda *_: None
        self.generation = 0
        self._schedule = schedule

    def append(self, partition: int, *, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()) -> None:
        """Put one record at the end of a log."""
        log = self.logs[partition]
        record = Record(
            topic=TOPIC,
            partition=partition,
            offset=len(log),
            timestamp_ms=self._schedule.now_ms,
            key=key,
            value=value,
            headers=tuple(headers),
        )
        log.append(record)
        self.on_append(record)

    def take(self, message: Outgoing) -> None:
        """Take one message: of the canonical topic into the log of its key, any other into its topic."""
        if message.topic == TOPIC:
            assert message.key is not None
            partition = choose_partition(message.key.decode(), self.partitions)
            self.append(partition, key=message.key, value=message.value, headers=message.headers)
        else:
            self.sent[message.topic].append(message)

    def assign(self, owners: Mapping[int, str | None]) -> None:
        """Begin a generation."""
        self.generation += 1
        self.owners = dict(owners)

    def commit(self, member: str, generation: int, offsets: Mapping[int, int], metadata: str) -> None:
        """Commit offsets by partition for a member: all, or none.

        Raises:
            Refused: The member is of an earlier generation, or a partition is not its own.
        """
        if generation != self.generation or any(self.owners[partition] != member for partition in offsets):
            raise Refused(f"{member} of generation {generation} does not own {sorted(offsets)}")
        for partition, offset in offsets.items():
            before = self.committed[partition].offset
            self.committed[partition] = Committed(offset, metadata)
            self.on_commit(partition, before, offset)

    def rewind(self, partition: int, offset: int) -> None:
        """Set a committed offset back, as an operator does; the metadata stays."""
        self.committed[partition] = Committed(offset, self.committed[partition].metadata)


class Connection:
    """One worker's way to the broker, on which calls fail.

    Attributes:
        generation: The one its member joined last.
    """

    def __init__(self, broker: Broker, faults: Faults, member: str) -> None:
        self.member = member
        self.generation = -1
        self._broker = broker
        self._faults = faults

    async def join(self) -> list[int]:
        """Join the present generation and give the partitions that are ours."""
        await self._wait("join")
        self.generation = self._broker.generation
        return [partition for partition, owner in self._broker.owners.items() if owner == self.member]

    @property
    def is_current(self) -> bool:
        """Whether the group has not moved on."""
        return self.generation == self._broker.generation

    async def read(self, partition: int, offset: int, limit: int) -> list[Record]:
        """Read on in a partition."""
        await self._wait("poll")
        return self._broker.logs[partition][offset : offset + limit]

    async def fetch_committed(self, partition: int) -> Committed:
        """Ask for the last commit, for its offset or its metadata.

        Raises:
            DependencyError: The broker is away.
        """
        await self._wait("fetch_committed")
        self._fail(Fault.METADATA_FAILS)
        return self._broker.committed[partition]

    async def commit(self, offsets: Mapping[int, int], metadata: str) -> None:
        """Commit offsets by partition.

        Raises:
            Refused: The group has moved on.
            DependencyError: The broker is away; it may have taken the commit all the same.
        """
        await self._wait("commit")
        self._fail(Fault.COMMIT_FAILS)
        self._broker.commit(self.member, self.generation, offsets, metadata)
        self._fail(Fault.COMMIT_ANSWER_LOST)

    async def send(self, messages: Sequence[Outgoing]) -> list[int]:
        """Send messages, as the worker's producer does; when it fails some of them may have been taken.

        Raises:
            DependencyError: Not all were acknowledged.
        """
        for message in messages:
            await self._wait("send")
            self._fail(Fault.SEND_FAILS)
            self._broker.take(message)
        if messages:
            self._fail(Fault.SEND_ANSWER_LOST)
        return []

    async def read_letters(self, starts: Mapping[int, int]) -> AsyncGenerator[Record]:
        """Read on in the dead letters, as one partition; in one turn, since a killed task cannot leave a generator in its midst."""
        sent = self._broker.sent[DEAD_LETTERS]
        for offset in range(starts.get(0, 0), len(sent)):
            message = sent[offset]
            yield Record(topic=DEAD_LETTERS, partition=0, offset=offset, timestamp_ms=0, key=message.key, value=message.value)

    async def _wait(self, place: str) -> None:
        delay = self._faults.pick(DELAY_MS) if self._faults.strikes(Fault.DELAY) else 0
        await Pause(place, delay)

    def _fail(self, fault: Fault) -> None:
        if self._faults.strikes(fault):
            raise DependencyError(f"simulated: {fault}", dependency="broker")
