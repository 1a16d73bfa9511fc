"""Laws of offsets: a version is used only within a leap of one that the broker took from this owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, KafkaConnectionError

from guardian.errors import DependencyError
from guardian.stream.broker.kafka import KafkaOptions
from guardian.stream.plane.fence import LEAP
from guardian.stream.plane.offset import Offsets

ONE, TWO = TopicPartition("t", 1), TopicPartition("t", 2)


class Group:
    """Plays a consumer and its group's stored offsets."""

    def __init__(self) -> None:
        self.stored: dict[TopicPartition, tuple[int, str]] = {}
        self.error: Exception | None = None

    async def commit(self, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Store offsets, or fail."""
        if self.error is not None:
            raise self.error
        self.stored.update(offsets)


class GroupOffsets(Offsets):
    """Offsets that read the metadata from the double instead of a broker."""

    def __init__(self, group: Group) -> None:
        super().__init__(KafkaOptions(bootstrap="nowhere:1"), group="g")
        self._stored_in = group

    async def _fetch_metadata(self, partitions: Sequence[TopicPartition]) -> list[str]:
        return [self._stored_in.stored.get(partition, (0, ""))[1] for partition in partitions]


async def test_the_first_version_is_committed_before_it_is_used() -> None:
    """The claim stands at the batch's first offset: it acknowledges nothing of it."""
    group = Group()
    version = await GroupOffsets(group).choose_version(group, {ONE: 5, TWO: 9})
    assert version is not None
    assert group.stored == {ONE: (5, str(version - 1)), TWO: (9, str(version - 1))}


async def test_a_claim_that_is_not_answered_is_made_again() -> None:
    """A version is not taken for claimed because it was tried."""
    group = Group()
    offsets = GroupOffsets(group)
    group.error = KafkaConnectionError()
    for _ in range(2):
        with pytest.raises(DependencyError):
            await offsets.choose_version(group, {ONE: 5})
    group.error = None
    await offsets.choose_version(group, {ONE: 5})
    assert group.stored[ONE][0] == 5


async def test_a_partition_that_went_to_another_gives_no_version() -> None:
    """The broker refuses the claim: nothing may be written."""
    group = Group()
    group.error = CommitFailedError()
    assert await GroupOffsets(group).choose_version(group, {ONE: 5}) is None


async def test_a_successor_is_above_all_that_was_used() -> None:
    """Also where one partition lay idle while the versions of another ran on, and the owner died before a commit."""
    group = Group()
    first = GroupOffsets(group)
    await first.choose_version(group, {ONE: 0, TWO: 0})
    first._version += 3 * LEAP  # as many batches of ONE alone
    await first.commit(group, {ONE: 1})
    used = await first.choose_version(group, {TWO: 0})
    begun = await GroupOffsets(group).choose_version(group, {TWO: 0})
    assert used is not None
    assert begun is not None
    assert begun > used


async def test_a_commit_carries_the_version_and_survives_a_broker_that_is_away() -> None:
    """Without an answer the work goes on; a refusal is told."""
    group = Group()
    offsets = GroupOffsets(group)
    version = await offsets.choose_version(group, {ONE: 0})
    assert await offsets.commit(group, {ONE: 4})
    assert group.stored == {ONE: (4, str(version))}
    group.error = KafkaConnectionError()
    assert await offsets.commit(group, {ONE: 5})
    group.error = CommitFailedError()
    assert not await offsets.commit(group, {ONE: 6})
    assert offsets.done == {ONE: 6}


async def test_a_commit_that_was_not_answered_stays_owed_until_the_next() -> None:
    """Also when nothing more comes of its partition, and whatever comes of others; a claim settles its own as well."""
    group = Group()
    offsets = GroupOffsets(group)
    version = await offsets.choose_version(group, {ONE: 0, TWO: 0})
    group.error = KafkaConnectionError()
    await offsets.commit(group, {ONE: 4})
    assert offsets.owed == {ONE: 4}
    group.error = None
    await offsets.commit(group, {TWO: 7})
    assert group.stored == {ONE: (4, str(version)), TWO: (7, str(version))}
    assert not offsets.owed


async def test_an_answer_of_an_ownership_that_is_over_says_nothing_of_the_next() -> None:
    """The version must be claimed anew, though the commit was taken after the partitions were given up."""
    group = Group()
    offsets = GroupOffsets(group)
    await offsets.choose_version(group, {ONE: 0})

    async def answer_late(stored: Mapping[TopicPartition, tuple[int, str]]) -> None:
        group.stored.update(stored)
        offsets.forget()

    group.commit, commit = answer_late, group.commit  # type: ignore[method-assign] # the double is changed for one call
    await offsets.commit(group, {ONE: 4})
    group.commit = commit  # type: ignore[method-assign] # and set right again
    assert not offsets.owed
    before = group.stored[ONE][1]
    await offsets.choose_version(group, {ONE: 4})
    assert int(group.stored[ONE][1]) >= int(before) + LEAP
