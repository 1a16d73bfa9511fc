"""Laws of the dates: a topic's own settings bound how long it may hold what was erased, and nothing is called over too early."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from guardian.contracts.letter import build_dead_letter
from guardian.errors import RecordError
from guardian.read.holding import Erasure
from guardian.settings import KafkaSettings
from guardian.stream.dead_letter import StoredLetter
from guardian.stream.holding import HoldingTopic, bound_topic, list_letters, list_topics
from guardian.topics import load_declarations

SINCE = datetime(2026, 3, 1, tzinfo=UTC)
ERASURE = Erasure(space="s", memory_id="a", cascade=False, observed_at=SINCE, stated_at=SINCE)
DAY = timedelta(days=1)
DAY_MS = str(24 * 3_600_000)


@pytest.mark.parametrize(
    ("config", "is_overwritten", "expected"),
    [
        ({"cleanup.policy": "delete", "retention.ms": "-1"}, False, None),
        ({"cleanup.policy": "delete", "retention.ms": DAY_MS, "segment.ms": DAY_MS}, False, 2 * DAY),
        ({"cleanup.policy": "delete"}, False, 14 * DAY),  # Kafka's defaults
        ({"cleanup.policy": "compact", "max.compaction.lag.ms": DAY_MS}, True, DAY),
        ({"cleanup.policy": "compact", "max.compaction.lag.ms": DAY_MS}, False, None),
        ({"cleanup.policy": "compact", "max.compaction.lag.ms": str(2**63 - 1)}, True, None),
        (
            {"cleanup.policy": "compact,delete", "retention.ms": DAY_MS, "max.compaction.lag.ms": str(9 * 24 * 3_600_000)},
            True,
            8 * DAY,
        ),
    ],
)
def test_a_bound_follows_from_the_settings(config: Mapping[str, str], is_overwritten: bool, expected: timedelta | None) -> None:
    """Retention counts from the newest record of a segment, compaction only where a tombstone follows; the earlier ends it."""
    bound = bound_topic(config, SINCE, is_overwritten=is_overwritten)
    assert bound == (None if expected is None else SINCE + expected)


def test_a_topic_is_listed_until_its_date() -> None:
    """From the latest erasure on; what is over, or not on the broker, is not listed."""
    topics = [HoldingTopic(name=name, holds="text", is_overwritten=False) for name in ("in", "for-ever", "missing")]
    configs = {"in": {"retention.ms": DAY_MS, "segment.ms": "0"}, "for-ever": {"retention.ms": "-1"}}
    later = replace(ERASURE, stated_at=SINCE + DAY)
    for hours, names in ((1, ["in", "for-ever"]), (47, ["in", "for-ever"]), (49, ["for-ever"])):
        found = list_topics(topics, configs, [ERASURE, later], now=SINCE + timedelta(hours=hours))
        assert [holding.place for holding in found] == names
    assert list_topics(topics, configs, [], now=SINCE) == []


async def test_letters_that_say_whose_they_are_are_not_suspect() -> None:
    """One of another space is not either; one that says nothing, or only the space, is."""

    async def letters() -> AsyncIterator[StoredLetter]:
        for number, value in enumerate(
            [
                b"{",
                b'{"space": "s"}',
                b'{"space": "t"}',
                b'{"space": "s", "data": {"memory_id": "a"}}',
                b'{"data": {"memory_id": "a"}}',
                b'{"data": {"memory_id": "b"}}',
            ]
        ):
            error = RecordError("not_json", "bad")
            letter = build_dead_letter(error, value, topic="in", partition=0, offset=number, timestamp=SINCE)
            yield StoredLetter(key=str(number), letter=letter, written_at=SINCE)

    found = await list_letters(letters(), {"retention.ms": DAY_MS, "segment.ms": "0"}, [ERASURE], topic="letters")
    assert [holding.place.split("offset ")[1][0] for holding in found] == ["0", "1", "4"]
    assert {holding.until for holding in found} == {SINCE + DAY}


def test_every_declared_topic_is_judged() -> None:
    """Each holds words of memories, or is known not to: a topic added later has to be thought about."""
    from guardian.cli.holdings import list_holding_topics

    names = [topic.name for topic in load_declarations()]
    found = {topic.name for topic in list_holding_topics(KafkaSettings(ingress_topics=("chat",)), [*names, "chat", "strange"])}
    operational = {"guardian.alerts", "guardian.audit-requests", "guardian.card-requests", "guardian.drift", "guardian.ledger"}
    assert found == {*names, "chat"} - operational - {"guardian.supersessions"}
