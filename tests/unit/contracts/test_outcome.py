"""What Guardian publishes: identities, envelopes, and dead letters there and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from guardian.contracts.codec import DecodePolicy, decode
from guardian.contracts.letter import DeadLetter, build_dead_letter, read_dead_letter
from guardian.contracts.outcome import (
    EnrichedRecord,
    EventId,
    ReviewItem,
    ReviewKind,
    StandingReason,
    SupersessionNotice,
    build_outcome_id,
    encode_outcome,
)
from guardian.core.model import MemoryKind, Slot, Status
from guardian.errors import RecordError
from tests import builders as build

T0 = datetime(2026, 3, 1, tzinfo=UTC)
CAUSE = EventId(source="/test", id="e1")
NAMES = st.text(st.characters(exclude_categories=["Cs"]))
ERROR = RecordError("text_blank", "no visible character", path="data.text")


def enriched(**changes: Any) -> EnrichedRecord:
    """Build a record's outcome."""
    fields: dict[str, Any] = {
        "space": "s",
        "memory_id": "m",
        "revision": "r",
        "record_id": "00000000-0000-0000-0000-000000000000",
        "status": Status.SUPERSEDED,
        "current": True,
        "reasons": ({"reason": "corrected", "id": "/test#e1", "via": "a", "replacement": None, "mixed": True},),
        "roots": ("a",),
        "parents": ("a",),
        "depth": 1,
        "slots": (Slot.FACTS,),
        "kind": MemoryKind.FACT,
        "caused_by": CAUSE,
    }
    return EnrichedRecord(**{**fields, **changes})


def letter(value: bytes | None = b"{}", headers: Any = (), **changes: Any) -> DeadLetter:
    """Build a dead letter of a value."""
    place: dict[str, Any] = {"topic": "guardian.events", "partition": 3, "offset": 42, "timestamp": T0, **changes}
    return build_dead_letter(ERROR, value, headers, **place)


def test_an_outcome_is_a_cloud_event_of_its_cause_time() -> None:
    """All attributes of the envelope come from the outcome and its cause, none from the clock."""
    outcome = enriched()
    wire = orjson.loads(encode_outcome(outcome, time=T0))
    data = wire.pop("data")
    assert wire == {
        "specversion": "1.0",
        "id": build_outcome_id(outcome),
        "source": "/guardian",
        "type": "guardian.record.enriched",
        "time": "2026-03-01T00:00:00Z",
        "datacontenttype": "application/json",
        "space": "s",
    }
    assert EnrichedRecord.model_validate(data) == outcome


def test_equal_outcomes_have_one_id_and_others_have_another() -> None:
    """Redelivery publishes the same ids again; any change of content, or another sort of outcome, changes it."""
    notice = SupersessionNotice(space="s", correction=CAUSE, targets=("m",), waiting=False)
    review = ReviewItem(space="s", kind=ReviewKind.DISPUTE, subjects=("m",), caused_by=CAUSE)
    assert build_outcome_id(enriched()) == build_outcome_id(enriched(slots=[Slot.FACTS]))
    others = [
        enriched(),
        enriched(depth=2),
        enriched(utility=0.5),
        notice,
        notice.model_copy(update={"exempt": 1}),
        review,
    ]
    assert len({build_outcome_id(outcome) for outcome in others}) == len(others)


def test_a_field_that_came_later_leaves_ids_as_they_were() -> None:
    """What says nothing of a calibration has the id that it had before there were any; what does has another."""
    assert build_outcome_id(enriched()) == "31ab680d2e5c396ff92500fcf1a6233a"
    assert build_outcome_id(enriched(calibration="cal-1")) != build_outcome_id(enriched())


def test_what_is_written_forbids_unknown_fields() -> None:
    """An outcome says exactly what its schema says."""
    with pytest.raises(ValidationError, match="extra_forbidden"):
        enriched(text="secret")
    with pytest.raises(ValidationError, match="extra_forbidden"):
        StandingReason.model_validate({"reason": "revised", "id": "r", "more": 1})


@settings(deadline=None)
@given(
    st.none() | st.binary(max_size=40),
    st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.none() | st.binary(max_size=9)), max_size=3),
)
def test_a_dead_letter_gives_the_record_back_byte_for_byte(value: bytes | None, headers: Any) -> None:
    """Re-driving sends exactly what came."""
    sent = letter(value, headers)
    read = read_dead_letter(encode_outcome(sent, time=T0))
    assert read == sent
    assert (read.value, read.record_headers) == (value, headers)
    assert (read.topic, read.partition, read.offset, read.timestamp) == ("guardian.events", 3, 42, T0)
    assert (read.reason, read.message, read.path) == ("text_blank", "no visible character", "data.text")


def test_a_dead_letter_is_known_by_where_and_what_not_by_why() -> None:
    """A redelivery, or a later wording, is the same dead letter; another place or value is another."""
    reworded = build_dead_letter(
        RecordError("text_blank", "other words"), b"{}", topic="guardian.events", partition=3, offset=42, timestamp=T0
    )
    same = [letter(), reworded, letter(timestamp=T0.astimezone(timezone(timedelta(hours=9))))]
    others = [
        letter(offset=43),
        letter(partition=4),
        letter(topic="x"),
        letter(b"[]"),
        letter(timestamp=build.RECEIVED_AT),
    ]
    assert len({build_outcome_id(outcome) for outcome in same}) == 1
    assert len({build_outcome_id(outcome) for outcome in same + others}) == 1 + len(others)


@pytest.mark.parametrize(
    ("value", "headers", "names"),
    [
        (orjson.dumps(build.envelope("memory.written", {"memory_id": "m", "text": ""})), [], ("s", "m")),
        (b'{"memory_id":"m"}', [("ce_id", b"1"), ("ce_space", b"s")], ("s", "m")),
        (b'{"space":5,"data":{"memory_id":null}}', [], (None, None)),
        (b'{"space":"s","data":"x"}', [], ("s", None)),
        (b"\xff", [("ce_space", b"\xff")], (None, None)),
        (None, [], (None, None)),
    ],
)
def test_a_dead_letter_names_space_and_memory_where_they_can_be_read(value: Any, headers: Any, names: Any) -> None:
    """So that a space's owner, or an erasure, finds it."""
    outcome = letter(value, headers)
    assert (outcome.space, outcome.memory_id) == names
    assert orjson.loads(encode_outcome(outcome, time=T0)).get("space") == names[0]


def test_a_mended_dead_letter_decodes_once_its_time_has_come() -> None:
    """Re-driving needs nothing but the dead letter."""
    value = orjson.dumps(build.envelope("memory.deleted", {"memory_id": "m"}, t=10))
    with pytest.raises(RecordError) as caught:
        decode(value, policy=DecodePolicy(), received_at=T0)
    sent = build_dead_letter(caught.value, value, topic="t", partition=0, offset=0, timestamp=T0)
    again = read_dead_letter(encode_outcome(sent, time=T0)).value
    assert decode(again, policy=DecodePolicy(), received_at=T0 + timedelta(minutes=5)).event == build.deleted("m", t=10)


@pytest.mark.parametrize("value", [b"{}", b'{"data":5}', encode_outcome(enriched(), time=T0)])
def test_what_is_no_dead_letter_is_refused(value: bytes) -> None:
    """The dead-letter topic may hold other things; they are named as such."""
    with pytest.raises(RecordError, match="no dead letter"):
        read_dead_letter(value)


@pytest.mark.parametrize("fields", [{"raw": "abcde"}, {"raw": "é"}, {"raw": "a b="}, {"headers": [{"name": "h", "value": "!"}]}])
def test_a_dead_letter_whose_bytes_are_no_base64_is_refused(fields: dict[str, Any]) -> None:
    """What is read as a letter gives its record back; it is not found out when the record is wanted."""
    error = RecordError("not_json", "no JSON")
    letter = build_dead_letter(error, b"{", topic="t", partition=0, offset=0, timestamp=T0)
    document = orjson.loads(encode_outcome(letter, time=T0))
    document["data"] |= fields
    with pytest.raises(RecordError, match="no dead letter"):
        read_dead_letter(orjson.dumps(document))
