"""Chunks: what was fetched at once, split into what is worked on at once. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiokafka import TopicPartition


def iter_chunks(taken: Mapping[TopicPartition, Sequence[Any]], size: int) -> Iterator[dict[TopicPartition, Sequence[Any]]]:
    """Split what was fetched into batches of at most `size` records; the order within a partition stays."""
    chunk: dict[TopicPartition, Sequence[Any]] = {}
    room = size
    for partition, read in taken.items():
        start = 0
        while start < len(read):
            part = read[start : start + room]
            chunk[partition] = part
            start += len(part)
            room -= len(part)
            if not room:
                yield chunk
                chunk, room = {}, size
    if chunk:
        yield chunk
