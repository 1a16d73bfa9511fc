"""Every reason for which an input is refused, and that nothing else ever happens to bad input."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from guardian.contracts.codec import REASONS, DecodePolicy, Reason, decode
from guardian.contracts.wire import EVENT_MODELS
from guardian.errors import RecordError
from tests import builders as build

RECEIVED_AT = datetime(2026, 3, 1, tzinfo=UTC)
LATE = "2026-03-01T00:05:00.000001Z"


def refusal(value: bytes | None, *, policy: DecodePolicy | None = None, headers: Any = ()) -> tuple[str, str]:
    """Give (reason, path) of the refusal of a value."""
    with pytest.raises(RecordError) as caught:
        decode(value, headers, policy=policy or DecodePolicy(vector_size=2), received_at=RECEIVED_AT)
    return caught.value.reason, caught.value.path


def wire(kind: str = "memory.written", /, *, envelope: dict[str, Any] | None = None, **fields: Any) -> bytes:
    """Give an event whose data and envelope are valid but for what is given."""
    data = {
        "memory.written": {"memory_id": "m", "text": "x"},
        "memory.corrected": {"targets": ["m"]},
        "memory.audited": {"memory_id": "m", "channel": "gold", "value": 1},
        "memory.read": {"retrieved": []},
        "memory.retracted": {"event": {"source": "/s", "id": "1"}},
    }.get(kind, {"memory_id": "m"})
    return orjson.dumps({**build.envelope(kind, {**data, **fields}), **(envelope or {})})


def without(name: str) -> bytes:
    """Give a valid write but for one attribute of the envelope."""
    return orjson.dumps({key: value for key, value in orjson.loads(wire()).items() if key != name})


def raw(data: str) -> bytes:
    """Give a write whose data is the given JSON text."""
    return wire(envelope={"data": "@"}).replace(b'"@"', data.encode())


def inline(**fields: Any) -> bytes:
    """Give a correction with an inline replacement that is valid but for what is given."""
    return wire("memory.corrected", replacement={"memory_id": "n", "text": "y", **fields})


CASES: list[tuple[bytes | None, str, str]] = [
    (None, "null_value", ""),
    (b"null", "null_value", ""),
    (b"\xff{", "not_utf8", ""),
    (b'{"a": "\xed\xa0\x80"}', "not_utf8", ""),
    (b"", "not_json", ""),
    (b"{'a': 1}", "not_json", ""),
    (wire() + wire(), "not_json", ""),
    (b'{"a": 1e5', "not_json", ""),
    (b"[" * 2_000 + b"]" * 2_000, "nested_too_deep", ""),
    (b'{"a":' * 2_000 + b"1" + b"}" * 2_000, "nested_too_deep", ""),
    (raw('{"memory_id":"m","text":"x","metadata":{"k":' + "[" * 249 + "]" * 249 + "}}"), "nested_too_deep", "data"),
    (raw(r'{"memory_id":"m","text":"\ud800"}'), "lone_surrogate", ""),
    (raw(r'{"memory_id":"m","text":"a\udc00"}'), "lone_surrogate", ""),
    (raw(r'{"memory_id":"m","text":"\ud800 \udc00"}'), "lone_surrogate", ""),
    (raw(r'{"memory_id":"m","text":"\ud83d\ud83d\ude00"}'), "lone_surrogate", ""),
    (raw('{"memory_id":"m","text":"x","vector":[NaN,1]}'), "number_not_finite", ""),
    (raw('{"memory_id":"m","text":"x","vector":[1,-Infinity]}'), "number_not_finite", ""),
    (raw('{"memory_id":"m","text":"x","self_grade":1e999}'), "number_not_finite", ""),
    (raw('{"memory_id":"m","text":"x","self_grade":' + "9" * 5_000 + "}"), "number_not_finite", ""),
    (raw('{"memory_id":"m","text":"1e999 NaN","kind":}'), "not_json", ""),
    (b'"\\' * 500_000, "not_json", ""),
    (b"[]", "not_object", ""),
    (b'"text"', "not_object", ""),
    (wire(envelope={"data": "{}"}), "not_object", "data"),
    (wire(source="user"), "not_object", "data.source"),
    (wire(metadata=[1]), "not_object", "data.metadata"),
    (b'{"id":5}', "missing_field", "type"),
    *[(without(name), "missing_field", name) for name in ("specversion", "id", "source", "type", "time", "space", "data")],
    (wire(envelope={"space": None}), "missing_field", "space"),
    (wire(envelope={"data": None}), "missing_field", "data"),
    (wire(memory_id=None), "missing_field", "data.memory_id"),
    (wire("memory.retracted", event={"id": "1"}), "missing_field", "data.event.source"),
    (wire("memory.corrected", replacement={"memory_id": "n"}), "missing_field", "data.replacement.text"),
    (wire(envelope={"specversion": "0.3"}), "specversion_unknown", "specversion"),
    (wire(envelope={"type": "memory.forgotten"}), "type_unknown", "type"),
    (wire(envelope={"type": 5}), "wrong_type", "type"),
    (wire(memory_id=7), "wrong_type", "data.memory_id"),
    (wire(parents="p"), "wrong_type", "data.parents"),
    (wire(parents=["p", None]), "wrong_type", "data.parents.1"),
    (wire(verified="yes"), "wrong_type", "data.verified"),
    (wire(self_grade="0.5"), "wrong_type", "data.self_grade"),
    (wire(self_grade=True), "wrong_type", "data.self_grade"),
    (wire(vector=["1", 2]), "wrong_type", "data.vector.0"),
    (wire(memory_id=""), "id_invalid", "data.memory_id"),
    (wire(memory_id="a\x00"), "id_invalid", "data.memory_id"),
    (wire(memory_id="i" * 1_025), "id_invalid", "data.memory_id"),
    (wire(envelope={"id": ""}), "id_invalid", "id"),
    (wire(parents=["p", ""]), "id_invalid", "data.parents.1"),
    (wire("memory.corrected", replacement=""), "id_invalid", "data.replacement"),
    (wire(kind="rumour"), "enum_unknown", "data.kind"),
    (wire(source={"kind": "User"}), "enum_unknown", "data.source.kind"),
    (wire("memory.corrected", extent="all"), "enum_unknown", "data.extent"),
    (wire("memory.audited", value=1.01), "out_of_range", "data.value"),
    (wire(self_grade=-0.1), "out_of_range", "data.self_grade"),
    (wire(envelope={"time": "yesterday"}), "time_bad", "time"),
    (wire(envelope={"time": 1_772_323_200}), "time_bad", "time"),
    (wire(observed_at="2026-03-01"), "time_bad", "data.observed_at"),
    (wire(observed_at="2026-02-30T00:00:00Z"), "time_bad", "data.observed_at"),
    (wire(observed_at="0001-01-01T00:00:00+05:00"), "time_bad", "data.observed_at"),
    (wire(valid_until="9999-12-31T23:59:59-05:00"), "time_bad", "data.valid_until"),
    (wire(envelope={"time": LATE}), "time_in_future", "time"),
    (wire(observed_at=LATE), "time_in_future", "data.observed_at"),
    (wire("memory.deleted", observed_at=LATE), "time_in_future", "data.observed_at"),
    (wire("memory.erased", observed_at=LATE), "time_in_future", "data.observed_at"),
    (inline(observed_at=LATE), "time_in_future", "data.replacement.observed_at"),
    (wire("memory.corrected", effective_at="2026-03-01T00:00:01Z"), "effective_after_event", "data.effective_at"),
    *[(wire(text=text), "text_blank", "data.text") for text in ("", "  \t\n", "\u200b", "\u00a0\u3000\ufeff\u2066\x1b")],
    (inline(text=" "), "text_blank", "data.replacement.text"),
    (wire(text="x" * 32_769), "text_too_large", "data.text"),
    (wire(text="é" * 16_385), "text_too_large", "data.text"),
    (wire(text="\U0001f600" * 8_193), "text_too_large", "data.text"),
    (wire(text=" " * 2_000_000), "text_too_large", "data.text"),
    (wire(text="a\x00b"), "text_nul", "data.text"),
    (wire(vector=[]), "vector_empty", "data.vector"),
    (wire(vector=[1]), "vector_size", "data.vector"),
    (wire(vector=[0, -0.0]), "vector_zero", "data.vector"),
    (wire(vector=[1e-30, 0]), "vector_zero", "data.vector"),
    (wire(vector=[9e-16, 0]), "vector_zero", "data.vector"),
    (wire(vector=[1.1e15, 0]), "vector_not_finite", "data.vector"),
    (wire(vector=[1e300, 1e300]), "vector_not_finite", "data.vector"),
    (inline(vector=[0, 0]), "vector_zero", "data.replacement.vector"),
    (wire("memory.corrected", targets=None), "correction_without_target", "data.targets"),
    (wire("memory.corrected", targets=[], subject=""), "correction_without_target", "data.targets"),
]


@pytest.mark.parametrize(("value", "reason", "path"), CASES)
def test_a_bad_input_is_refused_with_its_reason_and_place(value: bytes | None, reason: str, path: str) -> None:
    """One constant word and one dotted place for each way to be wrong."""
    assert refusal(value) == (reason, path)


def test_every_reason_is_explained_and_tried() -> None:
    """The table is complete, and no reason stands in it that nothing gives."""
    assert set(REASONS) == set(Reason) == {reason for _, reason, _ in CASES}
    assert all(row.meaning.endswith(".") and row.mend.endswith(".") for row in REASONS.values())


def test_a_refusal_tells_the_place_the_fault_and_the_mend() -> None:
    """The message alone is enough to act on, and counts further faults."""
    with pytest.raises(RecordError) as caught:
        decode(wire(kind="rumour", self_grade=2), policy=DecodePolicy(), received_at=RECEIVED_AT)
    message = str(caught.value)
    assert message.startswith("data.kind: Input should be 'fact', 'belief'")
    assert "(1 more faults.)" in message
    assert message.endswith(f"Mend: {REASONS[Reason.ENUM_UNKNOWN].mend}")


def test_a_refusal_never_quotes_the_text() -> None:
    """Dead letters are listed and logged; memory texts must not leak there."""
    for value in (
        wire(text="secret " * 6_000),
        wire(text=["secret"]),
        wire(text="secret\x00"),
        wire(text={"secret": 1}),
    ):
        with pytest.raises(RecordError) as caught:
            decode(value, policy=DecodePolicy(), received_at=RECEIVED_AT)
        assert "secret" not in str(caught.value)


def test_limits_are_the_policys() -> None:
    """Text size, tolerance and vector size are settings."""
    assert refusal(wire(text="xxxx"), policy=DecodePolicy(max_text_bytes=3))[0] == "text_too_large"
    assert refusal(wire(observed_at="2026-03-01T00:00:02Z"), policy=DecodePolicy(future_tolerance_s=1))[0] == "time_in_future"
    any_size = decode(wire(vector=[1, 2, 3]), policy=DecodePolicy(vector_size=None), received_at=RECEIVED_AT)
    assert any_size.event.vector == (1.0, 2.0, 3.0)  # type: ignore[union-attr] # the test knows that it is there


def test_nesting_up_to_the_limit_can_be_sent_on() -> None:
    """What is accepted can be encoded again, with its envelope around it."""
    value = raw('{"memory_id":"m","text":"x","metadata":{"k":' + "[" * 248 + "]" * 248 + "}}")
    event = decode(value, policy=DecodePolicy(), received_at=RECEIVED_AT).event
    assert orjson.loads(build.encode_event(event))["data"]["metadata"] == event.metadata  # type: ignore[union-attr] # the test knows that it is there


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_do_anything_but_refuse(value: bytes) -> None:
    """Whatever arrives, the answer is a reason of the table."""
    assert refusal(value)[0] in set(Reason)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
DATA_MODELS = [cast("type[BaseModel]", model.model_fields["data"].annotation) for model in EVENT_MODELS.values()]
FIELDS = sorted({name for model in DATA_MODELS for name in model.model_fields})


@settings(deadline=None)
@given(st.sampled_from(sorted(EVENT_MODELS)), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=3))
def test_no_value_of_any_field_does_anything_but_decode_or_refuse(kind: str, fields: dict[str, Any]) -> None:
    """A valid event with any JSON in any field is read or refused, never a crash."""
    event = orjson.loads(wire(kind))
    value = json.dumps({**event, "data": {**event["data"], **fields}}).encode()
    try:
        decoded = decode(value, policy=DecodePolicy(), received_at=RECEIVED_AT)
    except RecordError as error:
        reason = error.reason
    else:
        reason = None
        assert all(map(math.isfinite, getattr(decoded.event, "vector", None) or ()))
    assert reason is None or reason in set(Reason)
