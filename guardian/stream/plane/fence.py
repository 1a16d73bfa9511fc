"""Fences: versions that grow over all owners a partition ever has, so that a store can refuse the writes of a former one.

The broker is the judge of ownership: it takes a commit only from the present member of the group. So the version travels in the
metadata of the committed offsets. Whoever is assigned a partition reads the version committed last, leaps above everything its
predecessor can have used since, and commits that before its first write. From then on each batch takes the next number, one number
for all partitions in it; a partition whose last commit lies a leap behind is committed anew before it is used. A worker that lost its
partitions cannot commit, so it can never come above its successor, whatever offsets either of them writes.

Neither the group's generation nor the offset would do: generations begin anew when a group expires (seven days without members) and
offsets are read again by every successor. No owner begins below the present second: that lies above all versions of a group that is
gone, and of the partition that a space lived in before partitions were added, since no worker takes a million numbers a second. Clocks
are only leaned on there; that a successor comes above its predecessor of the same partition needs none.
"""

from __future__ import annotations

# How far an owner may use versions beyond the one it committed last for a partition, and what its successor leaps over.
LEAP = 1 << 16
# Versions a second of the clock: 2**53 is reached in the year 2242.
_PER_SECOND = 1 << 20
_MAX_VERSION = 2**53 - 1


def take_over(metadata: str, now_s: float) -> int:
    """Give the first version of a new owner.

    Args:
        metadata: Of the offset committed last; empty where there is none, or where a broker does not keep it.
        now_s: Seconds since 1970.
    """
    now = int(now_s) * _PER_SECOND
    if metadata.isascii() and metadata.isdigit() and int(metadata) <= _MAX_VERSION - LEAP:
        return max(int(metadata) + LEAP, now)
    return now


def format_version(version: int) -> str:
    """Give the metadata to commit with an offset."""
    return str(version)
