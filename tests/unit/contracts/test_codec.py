"""What decoding gives: defaults, normal forms, limits of trust."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from guardian.contracts.codec import Decoded, DecodePolicy, decode
from guardian.core.model import Corrected, Episode, Erased, MemoryKind, Scope, Source, SourceKind, Written
from tests import builders as build

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def decode_wire(wire: dict[str, Any], *, policy: DecodePolicy | None = None, ingress: str | None = None) -> Decoded:
    """Decode a mapping as received long after all test times."""
    return decode(orjson.dumps(wire), policy=policy or DecodePolicy(), received_at=build.RECEIVED_AT, ingress=ingress)


def write_wire(**fields: Any) -> dict[str, Any]:
    """Give the envelope of a small write."""
    return build.envelope("memory.written", {"memory_id": "m", "text": "x", **fields})


def test_a_write_that_names_nothing_gets_only_defaults() -> None:
    """Absent stays absent; the observed time is the envelope's."""
    event = decode_wire(write_wire()).event
    assert event == Written(ref=event.ref, space="s", memory_id="m", text="x", observed_at=T0)


def test_every_field_of_a_write_arrives() -> None:
    """Wire names map one to one to the core."""
    event = build.written(
        "m",
        "x",
        src="document",
        ref="r",
        actor="a",
        parents=["p2", "p1", "p2"],
        observed=-5,
        verified=True,
        supersedes=["o", "n", "o"],
        kind="episode",
        subject="k",
        scope={"user_id": "u", "agent_id": "g", "project_id": "j", "domain": "d", "task_type": "y"},
        session="i",
        grade=1,
        episode={"task": "q", "answer": "w", "language": "sql", "retrieved": ["p"], "outcome": "fine"},
        confidence="reviewed",
        valid_from="2026-01-01T00:00:00Z",
        valid_until="2027-01-01T00:00:00Z",
        vector=[0, 0.5],
        metadata={"space": "other"},
        surprise=[1],
    )
    assert event.source == Source(kind=SourceKind.DOCUMENT, ref="r", actor="a")
    assert event.parents == ("p1", "p2")
    assert event.observed_at == T0 - timedelta(minutes=5)
    assert (event.verified, event.supersedes) == (True, ("o", "n"))
    assert (event.kind, event.subject, event.self_grade, event.confidence) == (MemoryKind.EPISODE, "k", 1.0, "reviewed")
    assert event.scope == Scope(user_id="u", agent_id="g", project_id="j", session_id="i", domain="d", task_type="y")
    assert event.episode == Episode(task="q", answer="w", language="sql", retrieved=("p",), outcome="fine")
    assert (event.valid_from, event.valid_until) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    assert event.vector == (0.0, 0.5)
    assert (event.space, event.metadata, event.extra) == ("s", {"space": "other"}, {"surprise": [1]})


@pytest.mark.parametrize("text", ["東京🗼", "مرحبا Kafka", "e\u0301", "\u00e9", " padded\n", "a\u200bb", "x" * 32_768])
def test_a_text_arrives_unchanged(text: str) -> None:
    """Neither normalised, stripped nor cut."""
    assert build.written("m", text).text == text


@pytest.mark.parametrize("memory_id", ["7", "A1B2C3D4-0000-4000-8000-00000000000F", "i" * 200, "../x", 'a"b', "a\nb", " "])
def test_any_non_empty_id_arrives_unchanged(memory_id: str) -> None:
    """Ids are names, not paths, numbers or UUIDs."""
    assert build.written(memory_id, parents=[memory_id]).parents == (memory_id,)


def test_naming_no_parents_is_apart_from_naming_none() -> None:
    """Absent or null parents are inherited, an empty list denies them."""
    given = [write_wire(), write_wire(parents=None), write_wire(parents=[])]
    assert [decode_wire(wire).event.parents for wire in given] == [None, None, ()]  # type: ignore[union-attr] # the test knows that it is there


def test_unknown_fields_of_nested_objects_are_kept_under_their_name() -> None:
    """Nothing a writer says about a source, scope or episode is lost."""
    wire = write_wire(source={"kind": "tool", "url": "u"}, scope={"team": "t"}, episode={"steps": 3})
    event = decode_wire(wire).event
    assert isinstance(event, Written)
    assert event.extra == {"source": {"url": "u"}, "scope": {"team": "t"}, "episode": {"steps": 3}}
    assert build.as_wire(event)["data"]["source"] == {"kind": "tool", "url": "u"}


def test_a_source_without_a_kind_is_unknown() -> None:
    """A missing kind never becomes `user`."""
    assert build.written("m", src=None, ref="r").source == Source(kind=SourceKind.UNKNOWN, ref="r")


def test_an_empty_subject_is_no_subject() -> None:
    """Records without a subject do not share the empty one."""
    assert build.written("m", subject="").subject is None


@pytest.mark.parametrize(
    ("given", "naive"),
    [
        ("2026-03-01T00:00:00-05:00", 0),
        ("2026-03-01T05:00:00Z", 0),
        ("2026-03-01t05:00:00z", 0),
        ("2026-03-01 05:00:00.000000999+00:00", 0),
        ("2026-03-01T05:00:00", 1),
    ],
)
def test_one_instant_is_one_time_however_it_is_written(given: str, naive: int) -> None:
    """Offsets are converted, naive times are read as UTC and counted."""
    decoded = decode_wire(write_wire(observed_at=given))
    assert isinstance(decoded.event, Written)
    assert (decoded.event.observed_at, decoded.naive_times) == (T0 + timedelta(hours=5), naive)
    assert decoded.event.observed_at.tzinfo is UTC


def test_every_naive_time_of_an_event_is_counted() -> None:
    """The envelope's time counts like those of the data."""
    wire = write_wire(observed_at="2026-03-01T00:00:00", valid_from="2026-03-01T00:00:00")
    wire["time"] = "2026-03-01T00:00:00"
    assert decode_wire(wire).naive_times == 3


def test_a_clock_may_be_off_by_the_tolerance() -> None:
    """Five minutes ahead is accepted to the second; validity may lie in the future."""
    wire = write_wire(observed_at=build.at(5), valid_until="2099-01-01T00:00:00Z")
    assert decode(orjson.dumps(wire), policy=DecodePolicy(), received_at=T0).event.space == "s"


def test_the_digest_tells_data_apart_and_nothing_else() -> None:
    """Key order and envelope do not matter; any difference of the data does."""
    one = {"memory_id": "m", "text": "x", "subject": None}
    same = [
        build.envelope("memory.written", one),
        build.envelope("memory.written", dict(reversed(one.items())), space="z"),
    ]
    other = [write_wire(), write_wire(text="y"), write_wire(subject=None, more=1)]
    digests = [decode_wire(wire).event.ref.digest for wire in same + other]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4
    assert all(len(digest) == 32 for digest in digests)


def test_the_digest_never_moves() -> None:
    """Stored identities rest on it: SHA-256 of the canonical JSON of the data, 32 hex digits."""
    canonical = b'{"memory_id":"m","parents":null,"text":"x"}'
    wire = write_wire(parents=None)
    assert decode_wire(wire).event.ref.digest == hashlib.sha256(canonical).hexdigest()[:32]


def test_a_correction_without_times_is_effective_at_the_events_time() -> None:
    """The default is the envelope's time."""
    event = build.corrected("old", "new", t=3)
    assert (event.effective_at, event.targets, event.replacement, event.inline) == (
        T0 + timedelta(minutes=3),
        ("old",),
        "new",
        None,
    )


def test_an_inline_replacement_is_a_write_of_the_correction() -> None:
    """It has the correction's identity, effective time and, if it names no source, authority."""
    event = build.corrected("old", build.written_data("new", "y", src=None), by="human_review", effective=-9, t=0)
    assert event.replacement == "new"
    assert event.inline == Written(
        ref=event.ref,
        space="s",
        memory_id="new",
        text="y",
        observed_at=T0 - timedelta(minutes=9),
        source=Source(kind=SourceKind.HUMAN_REVIEW),
    )


def test_an_inline_replacement_keeps_the_source_it_names() -> None:
    """Authority is only the default."""
    event = build.corrected("old", build.written_data("new", src="document", observed=-20), by="user")
    assert event.inline is not None
    assert event.inline.source == Source(kind=SourceKind.DOCUMENT)
    assert event.inline.observed_at == T0 - timedelta(minutes=20)


def test_a_correction_may_name_only_a_subject() -> None:
    """Targets or subject, either is enough."""
    event = build.corrected(subject="price")
    assert (event.targets, event.subject) == ((), "price")


def test_the_other_types_arrive() -> None:
    """Each type's own fields, defaults included."""
    read = build.read(["b", "a", "b"], used=["a"], query="q", task_id="t")
    assert (read.retrieved, read.used, read.session_id, read.query, read.task_id) == (
        ("b", "a"),
        ("a",),
        "session",
        "q",
        "t",
    )
    audited = build.audited("m", 0, channel="gold", evidence={"k": 1})
    assert (audited.value, audited.channel, audited.evidence, audited.revision) == (0.0, "gold", {"k": 1}, None)
    retracted = build.retracted(audited)
    assert (retracted.event_source, retracted.event_id) == (audited.ref.source, audited.ref.id)
    assert build.deleted("m", t=2).observed_at == T0 + timedelta(minutes=2)
    linked = build.linked("m", add=["x", "y", "x"], remove=["z"], by="tool", reason="why")
    assert (linked.add, linked.remove, linked.authority, linked.reason) == (
        ("x", "y"),
        ("z",),
        Source(kind=SourceKind.TOOL),
        "why",
    )
    erased = build.erased("m", cascade=True, observed=-1)
    assert erased == Erased(
        ref=erased.ref,
        space="s",
        memory_id="m",
        observed_at=T0 - timedelta(minutes=1),
        cascade=True,
        authority=Source(kind=SourceKind.USER),
    )


TRUST = DecodePolicy(
    trust_topics=(("desk.*", SourceKind.HUMAN_REVIEW), ("agents.*", SourceKind.USER), ("*", SourceKind.AGENT)),
    trust_sources=(("/tools/trusted", SourceKind.DOCUMENT), ("/tools/*", SourceKind.TOOL)),
)


@pytest.mark.parametrize(
    ("ingress", "source", "claim", "kept"),
    [
        ("desk.reviews", "/who", "human_review", "human_review"),
        ("agents.a", "/who", "user", "user"),
        ("agents.a", "/who", "tool", "agent"),
        ("agents.a", "/who", "system_import", "system_import"),
        ("agents.a", "/who", "unknown", "unknown"),
        ("elsewhere", "/who", "user", "agent"),
        (None, "/who", "human_review", "human_review"),
        (None, "/tools/x", "document", "agent"),
        (None, "/tools/trusted", "document", "document"),
        ("agents.a", "/tools/trusted", "document", "agent"),
    ],
)
def test_a_claim_above_the_cap_is_lowered_to_agent(ingress: str | None, source: str, claim: str, kept: str) -> None:
    """First rule of each sort holds, and the lower cap of the two: a source of one's own choosing lifts nothing."""
    wire = build.envelope("memory.written", build.written_data("m", src=claim, actor="who"), source=source)
    decoded = decode_wire(wire, policy=TRUST, ingress=ingress)
    assert isinstance(decoded.event, Written)
    assert decoded.event.source == Source(kind=SourceKind(kept), actor="who")
    assert decoded.trust_lowered == (claim != kept)


def test_authority_and_inline_source_are_capped_alike() -> None:
    """A correction claims by its authority; a lowered one is also the inline replacement's default, counted once."""
    data = {"targets": ["m"], "authority": {"kind": "tool"}, "replacement": {"memory_id": "n", "text": "y"}}
    decoded = decode_wire(build.envelope("memory.corrected", data), policy=TRUST, ingress="agents.a")
    assert isinstance(decoded.event, Corrected)
    assert decoded.event.inline is not None
    assert [decoded.event.authority, decoded.event.inline.source] == [Source(kind=SourceKind.AGENT)] * 2
    assert decoded.trust_lowered == 1
