"""Laws of cutting what was fetched into batches."""

from __future__ import annotations

from aiokafka import TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from guardian.stream.plane.chunk import iter_chunks


@given(st.lists(st.integers(min_value=0, max_value=30), max_size=6), st.integers(min_value=1, max_value=10))
def test_chunks_hold_every_record_once_and_in_order(lengths: list[int], size: int) -> None:
    """No batch is larger than it may be, only the last one smaller, and each partition keeps its order."""
    taken = {TopicPartition("t", number): list(range(length)) for number, length in enumerate(lengths)}
    chunks = list(iter_chunks(taken, size))
    counts = [sum(map(len, chunk.values())) for chunk in chunks]
    assert all(count == size for count in counts[:-1])
    assert all(0 < count <= size for count in counts[-1:])
    for partition, records in taken.items():
        assert [record for chunk in chunks for record in chunk.get(partition, ())] == records
