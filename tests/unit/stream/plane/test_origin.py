"""Laws of origin headers: they are believed downwards only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.contracts.admission import DecodePolicy
from guardian.core.model import SourceKind
from guardian.stream.plane.origin import (
    TIMESTAMP_HEADER,
    TOPIC_HEADER,
    TopicTrust,
    build_origin_headers,
    drop_origin_headers,
    read_received_at,
    to_time,
)
from tests.unit.stream.records import record

POLICY = DecodePolicy(
    trust_topics=(("chat.*", SourceKind.AGENT), ("reviews", SourceKind.HUMAN_REVIEW), ("guardian.events", SourceKind.TOOL)),
    trust_sources=(("*", SourceKind.USER),),
)
NOON_MS = 1_772_366_400_000


def test_headers_of_ingress_say_where_and_when() -> None:
    """Topic, partition, offset and timestamp are there as text."""
    read = record(b"{}", topic="chat.7", partition=3, offset=41, timestamp_ms=NOON_MS)
    assert build_origin_headers(read) == [
        ("guardian-ingress-topic", b"chat.7"),
        ("guardian-ingress-partition", b"3"),
        ("guardian-ingress-offset", b"41"),
        ("guardian-ingress-timestamp", b"1772366400000"),
    ]


def test_what_a_sender_claims_of_its_origin_is_dropped() -> None:
    """In any spelling, and nothing else is dropped."""
    headers = [("Guardian-Ingress-Topic", b"reviews"), ("ce_id", b"1"), ("guardian-ingress-timestamp", None), ("empty", None)]
    assert drop_origin_headers(headers) == [("ce_id", b"1"), ("empty", None)]


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([], "guardian.events"),
        (["chat.7"], "chat.7"),
        (["reviews"], "guardian.events"),  # forged or not: the canonical topic itself may claim no more
        (["reviews", "chat.7"], "chat.7"),
        (["chat.7", "reviews"], "chat.7"),
        (["unknown"], "guardian.events"),
    ],
)
def test_the_least_trusted_topic_holds(names: list[str], chosen: str) -> None:
    """A header can lower what a record may claim, and never raise it."""
    headers = [(TOPIC_HEADER, name.encode()) for name in names]
    assert TopicTrust(POLICY).choose_topic(record(b"{}", headers=headers)) == chosen


@given(st.lists(st.binary(max_size=12), max_size=4))
def test_no_header_raises_trust(values: list[bytes]) -> None:
    """Whatever bytes stand in the header, the cap is at most that of the record's own topic."""
    read = record(b"{}", headers=[(TOPIC_HEADER, value) for value in values])
    topic = TopicTrust(POLICY).choose_topic(read)
    assert POLICY.claim_cap(source="", ingress=topic) <= POLICY.claim_cap(source="", ingress=read.topic)


def test_the_earliest_time_holds() -> None:
    """A time noted by ingress is earlier than the forwarded record's own; a later one is a forgery and does nothing."""
    earlier, later = str(NOON_MS - 1_000).encode(), str(NOON_MS + 10**12).encode()
    read = record(b"{}", timestamp_ms=NOON_MS, headers=[(TIMESTAMP_HEADER, later), (TIMESTAMP_HEADER, earlier)])
    assert read_received_at(read) == datetime(2026, 3, 1, 12, tzinfo=UTC) - timedelta(seconds=1)


@given(st.binary(max_size=30))
def test_no_header_makes_a_record_newer(value: bytes) -> None:
    """Whatever bytes stand in the header, the time is at most the record's own, and reading it never fails."""
    read = record(b"{}", timestamp_ms=NOON_MS, headers=[(TIMESTAMP_HEADER, value)])
    assert read_received_at(read) <= to_time(NOON_MS)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_any_timestamp_is_a_time_with_room_for_a_tolerance(timestamp_ms: int) -> None:
    """A producer chooses any 64 bits; none of them breaks arithmetic."""
    assert to_time(timestamp_ms) + timedelta(days=365)


def test_a_record_without_a_time_came_now() -> None:
    """A negative timestamp is none."""
    before = datetime.now(UTC)
    assert before <= read_received_at(record(b"{}", timestamp_ms=-1)) <= datetime.now(UTC)
