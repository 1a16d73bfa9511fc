"""Laws of opening: every envelope that agents and connectors put around a row is told by its content, in one order."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import RecordError
from guardian.sources.live.arrival import Arrival, Native
from guardian.sources.live.opening import MAX_UNPACKED_BYTES, open_arrival
from guardian.sources.port import RowChange, RowOperation, Skipped

AT = datetime(2026, 5, 1, tzinfo=UTC)
OWN = {"specversion": "1.0", "id": "1", "source": "/a", "type": "memory.written", "time": "2026-05-01T00:00:00Z", "space": "s"}
ROW = {"id": "m1", "text": "Desk 3"}
SOURCE = {"connector": "postgresql", "ts_ms": 1_777_622_400_000, "snapshot": "false", "table": "memories", "lsn": 42}


def arrive(value: Any, headers: Sequence[tuple[str, bytes | None]] = (), key: bytes | None = None) -> Arrival:
    """Build a record; what is no bytes is written as JSON."""
    raw = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return Arrival(topic="t", position="t/0/1", time=AT, key=key, value=raw, headers=headers)


def open_all(value: Any, **given: Any) -> list[Any]:
    """Give all pieces."""
    return list(open_arrival(arrive(value, **given)))


def open_one(value: Any, **given: Any) -> Any:
    """Give the only piece."""
    (piece,) = open_all(value, **given)
    return piece


def test_ones_own_event_goes_on_as_it_came() -> None:
    """Byte for byte, with its headers, though it stands in a strange spelling."""
    raw = b' {"type":"memory.written", "specversion":"1.0"}'
    headers = [("trace", b"\xff")]
    assert open_one(raw, headers=headers) == Native(raw, headers)


@pytest.mark.parametrize("prefix", ["ce_", "ce-"])
def test_binary_cloudevents_are_told_by_either_prefix(prefix: str) -> None:
    """`ce-` is HTTP's, and many producers send it."""
    headers = [(f"{prefix}{name}", str(value).encode()) for name, value in OWN.items()]
    assert open_one({"memory_id": "a"}, headers=headers) == Native(b'{"memory_id": "a"}', headers)


def test_a_structured_event_by_its_content_type_needs_no_look_inside() -> None:
    """Also when it is not JSON at all: what is wrong is told where events are decoded."""
    headers = [("content-type", b"Application/CloudEvents+JSON; charset=utf-8")]
    assert open_one(OWN, headers=headers).value == json.dumps(OWN).encode()
    assert isinstance(open_one(b"{", headers=headers), RecordError)


def test_a_foreign_cloudevent_is_an_envelope_with_identity_and_time() -> None:
    """Its (source, id) is the row's identity, its time the row's."""
    foreign = {**OWN, "type": "note.saved", "data": ROW}
    piece = open_one(foreign)
    assert (piece.after, piece.time) == (ROW, AT)
    assert piece.identity == open_one({**foreign, "extra": 1}).identity
    assert piece.identity != open_one({**foreign, "id": "2"}).identity


@pytest.mark.parametrize(
    ("op", "operation"),
    [("c", RowOperation.CREATE), ("u", RowOperation.UPDATE), ("r", RowOperation.SNAPSHOT)],
)
def test_a_debezium_change_is_a_row_at_its_commit(op: str, operation: RowOperation) -> None:
    """The time is the source's, not the connector's."""
    piece = open_one({"before": None, "after": ROW, "op": op, "source": SOURCE, "ts_ms": 1})
    assert (piece.operation, piece.after, piece.table) == (operation, ROW, "memories")
    assert piece.time == datetime(2026, 5, 1, 8, tzinfo=UTC)


def test_a_deletion_and_its_tombstone_count_once() -> None:
    """The tombstone is skipped with its reason."""
    piece = open_one({"before": ROW, "after": None, "op": "d", "source": SOURCE})
    assert (piece.operation, piece.before, piece.after) == (RowOperation.DELETE, ROW, None)
    skipped = open_one(None, key=b'{"id":"m1"}')
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "tombstone"


def test_a_plain_record_without_a_value_stays_to_be_refused() -> None:
    """Under a plain key nobody knows what it means."""
    assert open_one(None, key=b"m1") == Native(None, ())


@pytest.mark.parametrize("op", ["t", "m"])
def test_changes_about_no_row_are_skipped(op: str) -> None:
    """A truncation, a logical message."""
    assert open_one({"before": None, "after": None, "op": op, "source": SOURCE}).reason == "rowless_change"


def test_an_unchanged_long_column_is_taken_from_before_or_unknown() -> None:
    """The placeholder is never a text."""
    after = {"id": "m1", "text": "__debezium_unavailable_value"}
    known = open_one({"before": ROW, "after": after, "op": "u", "source": SOURCE})
    assert (known.after, known.unavailable) == (ROW, frozenset())
    unknown = open_one({"before": {"id": "m1"}, "after": after, "op": "u", "source": SOURCE})
    assert (unknown.after, unknown.unavailable) == ({"id": "m1"}, frozenset({"text"}))


def test_a_change_delivered_again_is_the_same_change() -> None:
    """After a restart the connector reads the log again at another time."""
    change = {"before": None, "after": ROW, "op": "c", "source": SOURCE, "ts_ms": 1}
    again = {**change, "ts_ms": 2, "source": {**SOURCE, "snapshot": "true"}}
    other = {**change, "source": {**SOURCE, "lsn": 43}}
    assert open_one(change).identity == open_one(again).identity != open_one(other).identity


def test_a_flattened_row_keeps_its_columns_only() -> None:
    """`__deleted` is the string `true`; `__op` and its like say what happened."""
    flat = {**ROW, "__op": "u", "__source_ts_ms": SOURCE["ts_ms"], "__table": "memories", "__deleted": "false"}
    piece = open_one(flat)
    assert (piece.operation, piece.after, piece.table) == (RowOperation.UPDATE, ROW, "memories")
    assert open_one({**flat, "__deleted": "true"}).operation is RowOperation.DELETE
    assert open_one({**ROW, "__deleted": "false"}).operation is RowOperation.STATE


def test_mongodbs_documents_are_strings_of_extended_json() -> None:
    """Ids, numbers and dates become plain; an update may say only what changed."""
    after = json.dumps({"_id": {"$oid": "65f"}, "n": {"$numberLong": "12"}, "at": {"$date": 5}, "x": {"$numberDouble": "1.5"}})
    piece = open_one({"before": None, "after": after, "op": "c", "source": {"collection": "notes"}})
    assert (piece.after, piece.table) == ({"_id": "65f", "n": 12, "at": 5, "x": 1.5}, "notes")
    update = {"op": "u", "before": None, "after": None, "source": {}, "updateDescription": {"updatedFields": '{"text":"new"}'}}
    assert open_one(update, key=b'{"id":"{\\"$oid\\": \\"65f\\"}"}').after == {"_id": "65f", "text": "new"}


def test_connects_envelope_is_opened_by_its_schema() -> None:
    """Times and decimals become readable; the rest stays; Debezium may lie inside."""
    fields = [
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        {"field": "us", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
        {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date"},
        {"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
        {"field": "doc", "type": "string", "name": "io.debezium.data.Json"},
        {"field": "text", "type": "string"},
    ]
    payload = {"at": 1000, "us": 1_000_000, "day": 1, "price": "BnI=", "doc": '{"a":1}', "text": "x"}
    piece = open_one({"schema": {"type": "struct", "fields": fields}, "payload": payload})
    time = "1970-01-01T00:00:01Z"
    assert piece.after == {"at": time, "us": time, "day": "1970-01-02", "price": "16.50", "doc": {"a": 1}, "text": "x"}
    inside = {"schema": None, "payload": {"before": None, "after": ROW, "op": "c", "source": SOURCE}}
    assert open_one(inside).operation is RowOperation.CREATE
    assert open_one({"schema": None, "payload": None}, key=b'{"id":1}').reason == "tombstone"


def test_a_value_that_does_not_fit_its_schema_is_kept() -> None:
    """Whoever reads the field judges it."""
    schema = {"type": "struct", "fields": [{"field": "at", "name": "org.apache.kafka.connect.data.Timestamp"}]}
    assert open_one({"schema": schema, "payload": {"at": "soon"}}).after == {"at": "soon"}


def test_the_outbox_header_is_the_identity() -> None:
    """The payload stands alone, its event id in the header `id`."""
    first, second = (open_one({"text": text}, headers=[("id", b"e1")]) for text in ("a", "b"))
    assert first.identity == second.identity != open_one({"text": "a"}).identity


def test_json_in_a_json_string_is_opened_once_more() -> None:
    """Double encoding is common; a string that holds no JSON is refused."""
    assert open_one(json.dumps(ROW)).after == ROW
    assert open_one(json.dumps(OWN)).value is not None
    assert open_one("hello").reason == "not_object"


def test_gzip_is_told_by_its_first_bytes_and_bounded() -> None:
    """A bomb costs itself; a cut stream is told."""
    assert open_one(gzip.compress(json.dumps(ROW).encode())).after == ROW
    assert open_one(gzip.compress(b" " * (MAX_UNPACKED_BYTES + 1))).reason == "unpacked_too_large"
    assert open_one(gzip.compress(json.dumps(ROW).encode())[:-9]).reason == "file_damaged"


def test_several_rows_in_a_record_fail_alone() -> None:
    """An array or JSON lines: the good ones stay, each with an identity and a place of its own."""
    pieces = open_all([ROW, 5, {"id": "m2"}, OWN])
    assert [type(piece) for piece in pieces] == [RowChange, RecordError, RowChange, Native]
    assert pieces[0].position == "t/0/1[0]"
    lines = open_all(json.dumps(ROW).encode() + b"\n{oops\n" + json.dumps({"id": "m2"}).encode() + b"\n")
    assert [type(piece) for piece in lines] == [RowChange, RecordError, RowChange]


@pytest.mark.parametrize("value", [b"\x00\x00\x00\x00\x07body", b"\x01" + bytes(range(16)) + b"body"])
def test_a_registrys_framing_is_never_guessed_at(value: bytes) -> None:
    """Without a registry it is refused with the mend."""
    piece = open_one(value)
    assert piece.reason == "schema_registry_unset"
    assert "SCHEMA_REGISTRY_URL" in str(piece)


def test_the_schema_may_be_named_by_a_header() -> None:
    """Then the body stands without a prefix."""
    assert open_one(b"body", headers=[("__value_schema_id", b"\x01" + bytes(16))]).reason == "schema_registry_unset"


def test_the_same_row_in_another_record_is_another_change() -> None:
    """A row without identity is told by what it says and when; the same record again is the same."""
    later = Arrival(topic="t", position="t/0/2", time=datetime(2026, 5, 2, tzinfo=UTC), key=None, value=json.dumps(ROW).encode())
    (piece,) = open_arrival(later)
    assert isinstance(piece, RowChange)
    assert piece.identity != open_one(ROW).identity == open_one(ROW).identity


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(max_size=4), st.lists, max_leaves=5))
def test_no_bytes_do_anything_but_open_or_refuse(value: Any) -> None:
    """A refusal is a piece, never an exception."""
    for piece in open_all(value):
        assert isinstance(piece, Native | RowChange | Skipped | RecordError)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.none()
            | st.integers()
            | st.text(max_size=5)
            | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
            for name in (
                "op",
                "before",
                "after",
                "source",
                "schema",
                "payload",
                "__op",
                "__deleted",
                "specversion",
                "type",
                "data",
                "ts_ms",
            )
        },
    )
)
def test_no_envelope_does_anything_but_open_or_refuse(value: dict[str, Any]) -> None:
    """Whatever stands in the fields that tell envelopes apart."""
    for piece in open_all(value):
        assert isinstance(piece, Native | RowChange | Skipped | RecordError)
