"""What models say of records, as laws: it narrows and never widens, whatever it is, and comes out the same in every order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guardian.core.card import ConflictPolicy, Permission, Withheld
from guardian.core.claim import build_revision, digest_text
from guardian.core.induction import INDUCER_SOURCE, digest_content
from guardian.core.model import Erased, Event, EventRef, Induced, MemoryKind, Slot, Source, SourceKind, Written
from guardian.core.narrowing import NO_OBJECTIVE_INFLUENCE, Bar, Duty, Narrowing, build_narrowing, narrow_permission
from guardian.core.node import drop_self
from guardian.core.payload import load_node
from guardian.core.point import Point, PointKind
from guardian.pipeline import BatchReport
from tests.property.bank import Bank, export, play
from tests.reference.forge import sign
from tests.strategies import event_sets, shuffled, split

TOOL = Source(kind=SourceKind.TOOL)
CONFLICTS = tuple(ConflictPolicy)

narrowings = st.builds(
    build_narrowing,
    barred_slots=st.lists(st.sampled_from(Slot), max_size=5),
    authority=st.lists(st.sampled_from(Withheld), max_size=4),
    must_use=st.lists(st.sampled_from(Duty), max_size=3),
    must_not=st.lists(st.sampled_from(Bar), max_size=3),
    conflict=st.sampled_from((None, *ConflictPolicy)),
)
cards = st.sampled_from((None, "one", "two"))


def card_of(summary: str | None, digest: str) -> dict[str, Any] | None:
    """Give a card as the core keeps it, told apart by its summary."""
    if summary is None:
        return None
    parts = {"tasks": [], "settings": [], "distinctions": [], "rules": [], "summary": summary}
    return parts | {"by": "stub", "version": "card-1", "confidence": 0.5, "digest": digest}


@st.composite
def inductions(draw: st.DrawFn, events: Sequence[Event]) -> list[Event]:
    """Draw what a model says of some of the written revisions, some twice, some of another content, some without authority."""
    writes = [event for event in events if isinstance(event, Written)]
    drawn: list[Event] = []
    for number, write in enumerate(draw(st.lists(st.sampled_from(writes), min_size=1, max_size=5)) if writes else []):
        kind = draw(st.sampled_from((write.kind or MemoryKind.OTHER, write.kind or MemoryKind.OTHER, MemoryKind.SKILL)))
        digest = digest_content(
            text_digest=digest_text(write.text),
            kind=kind,
            source_kind=write.source.kind if write.source is not None else SourceKind.UNKNOWN,
        )
        time = write.ref.time + timedelta(minutes=draw(st.integers(0, 2)))
        event = Induced(
            ref=EventRef(time=time, source=INDUCER_SOURCE, id=f"i{draw(st.sampled_from((number, 0)))}", digest=""),
            space=write.space,
            memory_id=write.memory_id,
            revision=build_revision(
                observed_at=write.observed_at, text=write.text, parents=drop_self(write.parents, write.memory_id)
            ),
            observed_at=write.observed_at,
            digest=digest,
            inducer="stub",
            version="card-1",
            confidence=0.5,
            card=card_of(draw(cards), digest),
            narrowing=draw(st.one_of(st.just(NO_OBJECTIVE_INFLUENCE), narrowings)).to_json(),
            authority=draw(st.sampled_from((TOOL, TOOL, TOOL, Source(kind=SourceKind.AGENT), None))),
        )
        drawn.append(sign(event))
    return drawn


def arrivals(events: Sequence[Event]) -> st.SearchStrategy[list[list[Event]]]:
    """Draw an arrival of the events: any order, some twice, in any batches."""
    return shuffled(events).flatmap(split)


def permissions(bank: Bank) -> dict[str, Permission]:
    """Give the permission of every record, by record id."""
    nodes = [load_node(Point(key, payload)) for key, payload in bank.payloads().items() if payload["point"] == PointKind.RECORD]
    return {node.id: node.permission for node in nodes if node.permission is not None}


def is_no_wider(one: Permission, other: Permission) -> bool:
    """Tell whether a permission allows nothing that the other does not."""
    return (
        set(one.slots) <= set(other.slots)
        and set(one.authority) >= set(other.authority)
        and set(one.must_use) >= set(other.must_use)
        and set(one.must_not) >= set(other.must_not)
        and CONFLICTS.index(one.conflict) >= CONFLICTS.index(other.conflict)
        and (one.valid_from, one.valid_until) == (other.valid_from, other.valid_until)
    )


@settings(max_examples=60)
@given(st.data(), st.sampled_from((6, 12, 20)))
def test_arrival_leaves_no_trace(data: st.DataObject, size: int) -> None:
    """Order, repetition and batches change no byte of what is stored: the latest induction by its event counts (P2)."""
    events = data.draw(event_sets(max_events=size))
    events = [*events, *data.draw(inductions(events))]
    one, other = play([events]), play(data.draw(arrivals(events)))
    assert export(one) == export(other)
    assert one.payloads() == other.payloads()


@settings(max_examples=40)
@given(st.data())
def test_a_replay_writes_nothing(data: st.DataObject) -> None:
    """Inductions that are known, or older than what is known, have no writes (P6)."""
    events = data.draw(event_sets(max_events=12))
    events = [*events, *data.draw(inductions(events))]
    bank = play(data.draw(arrivals(events)))
    for batch in data.draw(arrivals(events)):
        assert asyncio.run(bank.pipeline.plan(batch, BatchReport())).phases == ()


@settings(max_examples=60)
@given(st.data(), st.sampled_from((6, 12, 20)))
def test_whatever_a_model_says_widens_nothing(data: st.DataObject, size: int) -> None:
    """Every permission is at most what rules and lineage give; and nothing but cards, permissions and slots differs."""
    # A later induction gives back what an earlier one took: beside what the rules give there must be none.
    events = [event for event in data.draw(event_sets(max_events=size)) if not isinstance(event, Induced)]
    said = data.draw(inductions(events))
    plain, told = play([events]), play(data.draw(arrivals([*events, *said])))
    before, after = permissions(plain), permissions(told)
    assert before.keys() == after.keys()
    assert all(is_no_wider(after[key], before[key]) for key in before)
    assert all((Slot.BACKGROUND in after[key].slots) == (Slot.BACKGROUND in before[key].slots) for key in before)
    for plain_row, told_row in zip(asyncio.run(plain.rows()), asyncio.run(told.rows()), strict=True):
        assert {**plain_row, "slots": None} == {**told_row, "slots": None}


@settings(max_examples=50)
@given(st.data())
def test_what_derives_is_never_wider_than_what_it_derives_from(data: st.DataObject) -> None:
    """Also when the parent was narrowed after the child was there: the child is narrowed with it."""
    events = data.draw(event_sets(max_events=12))
    bank = play([*data.draw(arrivals(events)), *([one] for one in data.draw(inductions(events)))])
    found = permissions(bank)
    nodes = {key: load_node(Point(key, payload)) for key, payload in bank.payloads().items() if key in found}
    for node in nodes.values():
        for edge in node.edges:
            if edge.node_id in found:
                assert set(found[node.id].slots) <= set(found[edge.node_id].slots)
                assert set(found[node.id].authority) >= set(found[edge.node_id].authority)


@settings(max_examples=50)
@given(st.data())
def test_an_erasure_leaves_nothing_of_a_card(data: st.DataObject) -> None:
    """Cards of erased revisions are gone with them, whichever came first."""
    events = data.draw(event_sets(max_events=10))
    said = data.draw(inductions(events))
    assume(said)
    last = max(event.ref.time for event in [*events, *said]) + timedelta(days=1)
    spoken = {(one.space, one.memory_id) for one in [*events, *said] if isinstance(one, Induced)}
    endings = [
        sign(
            Erased(
                ref=EventRef(time=last, source="/desk", id=f"e-{space}-{memory_id}", digest=""),
                space=space,
                memory_id=memory_id,
                observed_at=last,
                authority=Source(kind=SourceKind.USER),
            )
        )
        for space, memory_id in sorted(spoken)
    ]
    bank = play(data.draw(arrivals([*events, *said, *endings])))
    left = [payload for payload in bank.payloads().values() if payload["point"] == PointKind.INDUCTION]
    assert not left
    assert not [p for p in bank.payloads().values() if (p["space"], p.get("memory_id")) in spoken and "card" in p]


@given(narrowings, st.lists(st.sampled_from(Slot)), st.lists(st.sampled_from(Withheld)), st.sampled_from(ConflictPolicy))
def test_narrowing_narrows(narrowing: Narrowing, slots: list[Slot], authority: list[Withheld], conflict: ConflictPolicy) -> None:
    """Alone, too; twice is once; and its stored form reads as itself."""
    permission = Permission(
        slots=tuple(sorted(set(slots))), authority=tuple(sorted(set(authority))), must_use=("match subject",), conflict=conflict
    )
    narrowed = narrow_permission(permission, narrowing)
    assert is_no_wider(narrowed, permission)
    assert narrow_permission(narrowed, narrowing) == narrowed
    assert Narrowing.from_json(narrowing.to_json()) == narrowing
