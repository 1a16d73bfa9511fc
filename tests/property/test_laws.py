"""The promises, as laws over sets of events that collide in every way: state is a function of the set, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guardian.core.model import (
    Audited,
    Authority,
    Calibrated,
    ChannelTrust,
    Corrected,
    Event,
    EventRef,
    Read,
    Retracted,
    Scope,
    Source,
    SourceKind,
    Written,
)
from guardian.core.point import PointKind
from guardian.core.policy import VERIFYING_KINDS, Policy
from guardian.errors import DependencyError
from guardian.pipeline import BatchReport
from tests.property.bank import IDENTITY, Bank, CrashingStore, Row, export, play, resume, rows
from tests.reference.forge import sign
from tests.reference.policy import ReferencePolicy
from tests.reference.state import compute_state
from tests.strategies import event_sets, shuffled, split

# Settings under which the package and the reference must agree.
POLICIES = (
    (Policy(), ReferencePolicy()),
    (Policy(max_roots=2, session_reads=2), ReferencePolicy(max_roots=2, session_reads=2)),
    (
        Policy(verify_kinds=VERIFYING_KINDS | {SourceKind.USER}),
        ReferencePolicy(verifying_kinds=VERIFYING_KINDS | {SourceKind.USER}),
    ),
    (
        Policy(
            verify_actors=frozenset({"kim"}),
            alphas={"execution": 0.75, "grounding": 0.5},
            payoffs={"grounding": 0.2},
            detectors=frozenset({"grounding"}),
            calibration="cal-0",
            gold_sources=("/o*",),
        ),
        ReferencePolicy(
            verifying_actors=frozenset({"kim"}),
            calibration="cal-0",
            channels={
                "execution": ChannelTrust(alpha=0.75, payoff=0.0, passes=True),
                "grounding": ChannelTrust(alpha=0.5, payoff=0.2, passes=True, detects=True),
            },
            gold_sources=frozenset({"/one"}),
        ),
    ),
)
# What a tombstone keeps of what the reference works out.
TOMBSTONE_FIELDS = ("space", "memory_id", "revision", "observed_at", "status", "roots", "parents", "depth")
USER = Authority(kind=SourceKind.USER)
AGENT = Source(kind=SourceKind.AGENT)


def arrivals(events: Sequence[Event]) -> st.SearchStrategy[list[list[Event]]]:
    """Draw an arrival of the events: any order, some twice, in any batches."""
    return shuffled(events).flatmap(split)


def comparable(found: Sequence[Row], fields: set[str]) -> list[Row]:
    """Give the rows as far as both sides tell; of a tombstone only what it keeps."""
    kept = []
    for row in found:
        names = fields.intersection(TOMBSTONE_FIELDS) if row["status"] == "erased" else fields
        utility = row["utility"]
        kept.append({name: row[name] for name in names} | {"utility": None if utility is None else round(utility, 6)})
        kept[-1]["reasons"] = [] if row["status"] == "erased" else sorted(row["reasons"], key=repr_sorted)
    return kept


def repr_sorted(reason: Row) -> str:
    """Give a reason as text, for sorting."""
    return repr(sorted(reason.items()))


@settings(max_examples=250)
@given(st.data(), st.sampled_from(POLICIES), st.sampled_from((8, 15, 30)))
def test_state_equals_its_definition(data: st.DataObject, policies: tuple[Policy, ReferencePolicy], size: int) -> None:
    """Whatever the arrival, the state is what the definitions give for the set (P2)."""
    policy, reference = policies
    events = data.draw(event_sets(max_events=size))
    found = rows(play(data.draw(arrivals(events)), policy=policy))
    expected = compute_state(events, policy=reference)
    fields = set(expected[0]) & set(found[0]) if expected and found else set()
    assert comparable(found, fields) == comparable(expected, fields)


@settings(max_examples=200)
@given(st.data(), st.sampled_from((8, 15, 25)))
def test_arrival_leaves_no_trace(data: st.DataObject, size: int) -> None:
    """Order, repetition and batches change no byte of an export, nor of any stored payload (P2)."""
    events = data.draw(event_sets(max_events=size))
    one, other = play([events]), play(data.draw(arrivals(events)))
    assert export(one) == export(other)
    assert one.payloads() == other.payloads()


@settings(max_examples=150)
@given(st.data())
def test_a_retracted_correction_never_was(data: st.DataObject) -> None:
    """Retracting a correction, a verdict or a calibration leaves every byte as if it had never been sent (P5)."""
    events = data.draw(event_sets(max_events=14))
    withdrawn = data.draw(st.sampled_from([e for e in events if isinstance(e, (Corrected, Audited, Calibrated))] or [None]))
    assume(withdrawn is not None)
    assert withdrawn is not None
    named = (withdrawn.ref.source, withdrawn.ref.id)
    others = [e for e in events if (e.ref.source, e.ref.id) != named]
    others = [e for e in others if not (isinstance(e, Retracted) and (e.event_source, e.event_id) == named)]
    retraction = retract(withdrawn)
    live = play([*data.draw(arrivals([*others, withdrawn])), [retraction]])
    never = play([*data.draw(arrivals(others)), [retraction]])
    assert export(live) == export(never)
    assert live.payloads() == never.payloads()


@settings(max_examples=100)
@given(st.data())
def test_a_retracted_verification_corrects_nothing(data: st.DataObject) -> None:
    """A verified write that is retracted leaves what it wrote, and of what it corrected nothing (P5)."""
    events = data.draw(event_sets(max_events=12))
    writes = [e for e in events if isinstance(e, Written) and e.verified]
    assume(writes)
    retraction = retract(data.draw(st.sampled_from(writes)))
    live = play([*data.draw(arrivals(events)), [retraction]])
    assert export(live) == export(play([[retraction, *events]]))


def retract(event: Event) -> Retracted:
    """Withdraw an event by a user's authority."""
    ref = EventRef(time=event.ref.time, source="/desk", id=f"withdraw-{event.ref.id}", digest="")
    retraction: Retracted = sign(
        Retracted(ref=ref, space=event.space, event_source=event.ref.source, event_id=event.ref.id, authority=USER)
    )
    return retraction


@settings(max_examples=150)
@given(st.data())
def test_a_replay_writes_nothing(data: st.DataObject) -> None:
    """The plan for events that are all known has no writes, in whatever batches they come again (P6)."""
    events = data.draw(event_sets(max_events=18))
    bank = play(data.draw(arrivals(events)))
    for batch in data.draw(arrivals(events)):
        plan = asyncio.run(bank.pipeline.plan(batch, BatchReport()))
        assert plan.phases == ()


@settings(max_examples=120)
@given(st.data())
def test_spaces_do_not_touch(data: st.DataObject) -> None:
    """All that is stored for a space is what its own events alone would have stored (P7)."""
    events = data.draw(event_sets(max_events=20))
    together = play(data.draw(arrivals(events)))
    for space in ("S1", "S2"):
        alone = play([[event for event in events if event.space == space]])
        assert together.payloads(space=space) == alone.payloads()


@settings(max_examples=80)
@given(st.data())
def test_every_event_has_one_outcome(data: st.DataObject) -> None:
    """A batch gives one outcome an event, in the order of the events (P1)."""
    events = data.draw(event_sets(max_events=15))
    bank = Bank()
    for batch in data.draw(arrivals(events)):
        report = asyncio.run(bank.send(*batch))
        assert [outcome.event for outcome in report.outcomes] == batch
        assert sum(report.dispositions.values()) == len(batch)


@settings(max_examples=150)
@given(st.data(), st.booleans())
def test_restating_raises_nothing(data: st.DataObject, is_declared: bool) -> None:
    """An agent that says again what is there, declared or in a session that read it, changes no row but its own (P8)."""
    events = data.draw(event_sets(max_events=14, spaces=("S1",)))
    writes = [event for event in events if isinstance(event, Written)]
    assume(writes)
    original = data.draw(st.sampled_from(writes))
    before = rows(play([events]))
    after = {row["memory_id"]: row for row in rows(play(data.draw(arrivals([*events, *restate(original, is_declared)]))))}
    echo = after["echo"]
    assert [row for row in rows(play([[*events, *restate(original, is_declared)]])) if row["memory_id"] != "echo"] == before
    assert (echo["status"] == "verified", echo["verified"]) == (False, False)
    if echo["parents"] and echo["status"] != "erased":
        origin = [row for row in before if row["memory_id"] == original.memory_id]
        assert echo["support"] in {max(len(row["roots"]), 1) for row in origin}
        assert echo["utility_basis"] == "unaudited"


def restate(original: Written, is_declared: bool) -> list[Event]:
    """Say the original again a little later: with it as declared parent, or after reading it."""
    later = original.observed_at + timedelta(minutes=1)
    ref = EventRef(time=later, source="/echo", id="restated", digest="")
    write = Written(
        ref=ref,
        space=original.space,
        memory_id="echo",
        text=original.text,
        observed_at=later,
        source=AGENT,
        parents=(original.memory_id,) if is_declared else None,
        scope=Scope(session_id="echo"),
        verified=True,
        self_grade=1.0,
    )
    read_ref = EventRef(time=original.observed_at, source="/echo", id="read", digest="")
    read = Read(ref=read_ref, space=original.space, retrieved=(original.memory_id,), session_id="echo")
    return [sign(write)] if is_declared else [sign(read), sign(write)]


@settings(max_examples=250)
@given(st.data())
def test_a_crash_loses_nothing(data: st.DataObject) -> None:
    """A plan of which only a beginning was written comes out right when its events come again, in any batches."""
    events = data.draw(event_sets(max_events=18))
    batches = data.draw(arrivals(events))
    struck = data.draw(st.integers(0, len(batches) - 1))
    again = data.draw(arrivals(batches[struck]))
    store = CrashingStore(IDENTITY)
    bank = Bank(store=store)
    resume(bank, batches[:struck])
    writes = count_writes(bank, batches[struck])
    store.left = data.draw(st.integers(0, max(writes - 1, 0)))
    if writes:
        assert_dies(bank, batches[struck])
    store.left = None
    resume(bank, [*again, *batches[struck + 1 :]])
    assert bank.payloads() == play([events]).payloads()


def count_writes(bank: Bank, batch: Sequence[Event]) -> int:
    """Give the number of single writes that a batch asks for now."""
    plan = asyncio.run(bank.pipeline.plan(batch, BatchReport()))
    return sum(len(phase.upserts) + len(phase.patches) + len(phase.deletes) for phase in plan.phases)


def assert_dies(bank: Bank, batch: Sequence[Event]) -> None:
    """Process a batch whose plan the store does not live to finish."""
    try:
        asyncio.run(bank.send(*batch))
    except DependencyError:
        return
    raise AssertionError("the store was to die in the middle of the plan")


@settings(max_examples=80)
@given(st.data())
def test_outcomes_are_told_alike_again(data: st.DataObject) -> None:
    """For an unchanged state an event's messages are the same bytes under the same ids, in whatever batch it comes (P6)."""
    events = data.draw(event_sets(max_events=14))
    bank = play(data.draw(arrivals(events)))
    one_by_one = [told(batch) for batch in resume(bank, [[event] for event in events])]
    assert one_by_one == [told(batch) for batch in resume(bank, [[event] for event in events])]
    (together,) = resume(bank, [events])
    assert told(together) == sorted(message for messages in one_by_one for message in messages)


def told(messages: Sequence[Any]) -> list[tuple[str, str, str, bytes]]:
    """Give messages as sorted tuples."""
    return sorted((message.topic, message.key, message.id, message.value) for message in messages)


@settings(max_examples=60)
@given(st.data())
def test_a_dispute_is_never_stored(data: st.DataObject) -> None:
    """What has no authority leaves no point at all (P1, P5)."""
    events = data.draw(event_sets(max_events=14))
    bank = play(data.draw(arrivals(events)))
    kinds = {PointKind.CORRECTION, PointKind.RETRACTION, PointKind.ERASURE, PointKind.LINK}
    refused = [
        e for e in events if getattr(e, "authority", USER) is None or getattr(e, "authority", USER).kind is SourceKind.AGENT
    ]
    heard = [event for event in events if event not in refused]
    assert {k for k, p in bank.payloads().items() if p["point"] in kinds} == {
        k for k, p in play([heard]).payloads().items() if p["point"] in kinds
    }
