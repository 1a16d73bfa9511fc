"""Laws of decoding and encoding, over all event types."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.contracts.codec import DecodePolicy, decode, encode_event
from guardian.core.model import Confidence, Corrected, Event, Extent, MemoryKind, SourceKind
from tests import builders as build

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
IDS = TEXT.filter(bool)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(2026, 3, 1), timezones=st.just(UTC)).map(build.at)  # noqa: DTZ001
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
# Beyond 64 bits JSON has only doubles, so such integers are none on arrival.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
SHARES = st.floats(0, 1) | st.integers(0, 1)
SOURCES = st.fixed_dictionaries({}, optional={"kind": st.sampled_from(SourceKind), "ref": TEXT, "actor": TEXT, "more": JSON})
ID_LISTS = st.lists(IDS, max_size=4)
EPISODES = st.fixed_dictionaries(
    {}, optional={"task": TEXT, "answer": TEXT, "language": TEXT, "retrieved": ID_LISTS, "outcome": TEXT, "more": JSON}
)
SCOPES = st.fixed_dictionaries({}, optional=dict.fromkeys(("user_id", "agent_id", "session_id", "task_type", "more"), TEXT))
WRITES = st.fixed_dictionaries(
    {"memory_id": IDS, "text": TEXT.map(lambda text: "x" + text)},
    optional={
        "kind": st.sampled_from(MemoryKind),
        "source": SOURCES,
        "parents": ID_LISTS,
        "observed_at": TIMES,
        "valid_from": TIMES,
        "valid_until": TIMES,
        "scope": SCOPES,
        "subject": TEXT,
        "verified": st.booleans(),
        "supersedes": ID_LISTS,
        "confidence": st.sampled_from(Confidence),
        "self_grade": SHARES,
        "episode": EPISODES,
        "vector": st.lists(st.floats(0.1, 1), min_size=1, max_size=4),
        "metadata": OBJECTS,
        "surprise": JSON,
        "authority": JSON,  # known elsewhere, unknown here
    },
)
REASONED = {"authority": SOURCES, "reason": TEXT}
CHANNELS = st.fixed_dictionaries(
    {"alpha": SHARES, "payoff": SHARES, "passes": st.booleans()}, optional={"members": ID_LISTS, "detects": st.booleans()}
)
DATA: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "memory.written": WRITES,
    "memory.read": st.fixed_dictionaries(
        {"retrieved": ID_LISTS}, optional={"used": ID_LISTS, "session_id": TEXT, "task_id": TEXT, "query": TEXT}
    ),
    "memory.corrected": st.fixed_dictionaries(
        {"targets": st.lists(IDS, min_size=1, max_size=3)},
        optional={"subject": TEXT, "replacement": IDS | WRITES, "extent": st.sampled_from(Extent), **REASONED},
    ),
    "memory.audited": st.fixed_dictionaries(
        {"memory_id": IDS, "channel": IDS, "value": SHARES}, optional={"revision": IDS, "evidence": OBJECTS}
    ),
    "memory.retracted": st.fixed_dictionaries({"event": st.fixed_dictionaries({"source": IDS, "id": IDS})}, optional=REASONED),
    "memory.deleted": st.fixed_dictionaries({"memory_id": IDS}, optional={"observed_at": TIMES}),
    "memory.linked": st.fixed_dictionaries({"memory_id": IDS}, optional={"add": ID_LISTS, "remove": ID_LISTS, **REASONED}),
    "memory.erased": st.fixed_dictionaries(
        {"memory_id": IDS}, optional={"cascade": st.booleans(), "authority": SOURCES, "observed_at": TIMES}
    ),
    "space.calibrated": st.fixed_dictionaries(
        {"calibration": IDS, "channels": st.dictionaries(IDS, CHANNELS, max_size=3)}, optional=REASONED
    ),
    "memory.rated": st.fixed_dictionaries({"memory_ids": ID_LISTS}),
}


@st.composite
def wires(draw: st.DrawFn) -> dict[str, Any]:
    """Give a valid event of any type, as a sender may spell it."""
    kind = draw(st.sampled_from(sorted(DATA)))
    return build.envelope(kind, draw(DATA[kind]), t=draw(TIMES), space=draw(IDS), source=draw(IDS), id=draw(IDS))


def decode_bytes(value: bytes, **headers: bytes) -> Event:
    """Decode with defaults."""
    return decode(value, list(headers.items()), policy=DecodePolicy(), received_at=build.RECEIVED_AT).event


def with_digest(event: Event, digest: str) -> Event:
    """Give the event with another digest, in an inline replacement too."""
    event = replace(event, ref=replace(event.ref, digest=digest))
    if isinstance(event, Corrected) and event.inline is not None:
        event = replace(event, inline=replace(event.inline, ref=event.ref))
    return event


@settings(deadline=None)
@given(wires())
def test_decoding_what_was_encoded_gives_the_event_but_for_the_digest(wire: dict[str, Any]) -> None:
    """Nothing the core knows is lost; the digest is of the spelling, and this is another spelling."""
    event = decode_bytes(orjson.dumps(wire))
    again = decode_bytes(encode_event(event))
    assert with_digest(again, event.ref.digest) == event


@settings(deadline=None)
@given(wires())
def test_what_guardian_encodes_is_a_normal_form(wire: dict[str, Any]) -> None:
    """From the second time on everything is equal, digest and bytes."""
    again = decode_bytes(encode_event(decode_bytes(orjson.dumps(wire))))
    assert decode_bytes(encode_event(again)) == again
    assert encode_event(decode_bytes(encode_event(again))) == encode_event(again)


@settings(deadline=None)
@given(wires())
def test_binary_mode_gives_the_same_event_as_structured_mode(wire: dict[str, Any]) -> None:
    """The mode is carriage, not content."""
    headers = {f"ce_{name}": value.encode() for name, value in wire.items() if name != "data"}
    assert decode_bytes(orjson.dumps(wire["data"]), **headers) == decode_bytes(orjson.dumps(wire))


@settings(deadline=None)
@given(wires(), st.randoms(use_true_random=False))
def test_key_order_changes_nothing(wire: dict[str, Any], random: Any) -> None:
    """Two senders that differ in the order of keys send one event."""
    data = list(wire["data"].items())
    random.shuffle(data)
    assert decode_bytes(orjson.dumps({"data": dict(data), **wire, **{"data": dict(data)}})) == decode_bytes(orjson.dumps(wire))
