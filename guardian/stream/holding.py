"""What brokers may still hold of erased texts: segments of topics, and dead letters that nobody can read.

Kafka deletes by age and by key, never a record by itself. A text lies in a segment until retention or compaction takes that, so the
last date follows from the topic's own settings and the time of the erasure. Bounds are for a busy partition: a silent one keeps its
newest segment until the next record comes.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from guardian.contracts.letter import DeadLetter, read_letter_names
from guardian.read.holding import Erasure, Holding
from guardian.stream.dead_letter import StoredLetter

# Kafka's own defaults, for brokers that do not tell.
_SEGMENT_MS = 7 * 24 * 3_600_000
_RETENTION_MS = 7 * 24 * 3_600_000
# Compaction lags of a hundred years and more are Kafka's way to say never.
_NEVER_MS = 100 * 365 * 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingTopic:
    """A topic that holds texts, or words of them.

    Attributes:
        holds: What of a memory lies in it.
        is_overwritten: Whether Guardian writes a tombstone for it, so that compaction takes the text.
    """

    name: str
    holds: str
    is_overwritten: bool


def bound_topic(config: Mapping[str, str], since: datetime, *, is_overwritten: bool) -> datetime | None:
    """Give the last date at which a topic may hold what was written to it before a time; None for ever.

    Args:
        config: The topic's settings by Kafka's names.
        since: Of the erasure, or of the record itself.
        is_overwritten: Whether a tombstone follows, so that compaction counts.
    """
    policies = config.get("cleanup.policy", "delete").split(",")
    bounds = []
    retention_ms = int(config.get("retention.ms", _RETENTION_MS))
    if "delete" in policies and 0 <= retention_ms < _NEVER_MS:
        # A segment goes when its newest record is old enough, and it may have taken records for as long as this.
        bounds.append(since + timedelta(milliseconds=retention_ms + int(config.get("segment.ms", _SEGMENT_MS))))
    lag_ms = int(config.get("max.compaction.lag.ms", _NEVER_MS))
    if "compact" in policies and is_overwritten and lag_ms < _NEVER_MS:
        bounds.append(since + timedelta(milliseconds=lag_ms))
    return min(bounds, default=None)


def list_topics(
    topics: Sequence[HoldingTopic], configs: Mapping[str, Mapping[str, str]], erasures: Sequence[Erasure], *, now: datetime
) -> list[Holding]:
    """List the topics that may still hold what was erased, with the last date of the latest erasure.

    Args:
        topics: Those that hold something.
        configs: Settings of the broker's topics; one that is not there holds nothing.
        erasures: What was erased.
        now: The present; what is over is left out.
    """
    if not erasures:
        return []
    since = max(erasure.stated_at for erasure in erasures)
    found = []
    for topic in topics:
        if topic.name not in configs:
            continue
        until = bound_topic(configs[topic.name], since, is_overwritten=topic.is_overwritten)
        if until is None or until > now:
            found.append(
                Holding(
                    place=topic.name, holds=topic.holds, until=until, ends=_tell_end(configs[topic.name], until), owner="broker"
                )
            )
    return found


def _tell_end(config: Mapping[str, str], until: datetime | None) -> str:
    policy = config.get("cleanup.policy", "delete")
    if until is not None:
        return f"cleanup.policy {policy} has taken its segments"
    if "compact" in policy:
        return "nothing bounds it: set max.compaction.lag.ms"
    return "nothing bounds it: set retention.ms, or delete its records up to the erasure (kafka-delete-records)"


async def list_letters(
    letters: AsyncIterable[StoredLetter], config: Mapping[str, str], erasures: Sequence[Erasure], *, topic: str
) -> list[Holding]:
    """List the standing dead letters that may hold erased text and do not say whose it is.

    Args:
        letters: All that stand on the topic.
        config: The topic's settings.
        erasures: What was erased.
        topic: Full name of the dead-letter topic.
    """
    return [
        Holding(
            place=f"{topic}: {tell_place(stored.letter)}",
            holds=f"a record refused for {stored.letter.reason} whose memory cannot be read",
            until=bound_topic(config, stored.written_at.astimezone(UTC), is_overwritten=False),
            ends="retention; or re-drive it after a mend (`guardian dead-letters redrive`)",
            owner="you",
        )
        async for stored in letters
        if is_suspect(stored.letter, erasures)
    ]


def tell_place(letter: DeadLetter) -> str:
    """Say where a letter's record lay."""
    return f"{letter.topic} partition {letter.partition} offset {letter.offset}, {letter.timestamp:%Y-%m-%dT%H:%M:%SZ}"


def is_suspect(letter: DeadLetter, erasures: Sequence[Erasure]) -> bool:
    """Tell whether a letter may hold a text of something erased, though it does not say whose it holds."""
    names = read_letter_names(letter)
    return names.memory is None and any(
        names.space in (None, erasure.space) and names.memory_id in (None, erasure.memory_id) for erasure in erasures
    )
