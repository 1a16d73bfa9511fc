"""Erasure as laws: of what it covers not a word is left anywhere that the pipeline writes, whatever came when."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.core.model import Erased, Event, SourceKind
from guardian.core.point import PointKind
from guardian.embed.given import GivenEmbedder
from guardian.pipeline import BatchReport
from guardian.ports import OutcomeMessage
from guardian.read.erased import fetch_erased
from tests.builders import audited, corrected, erased, linked, read, written, written_data
from tests.property.bank import Bank, export, play, resume
from tests.strategies import event_sets, shuffled, split

# Stands in every field that somebody may fill with words.
TOKEN = "t0ken"


def tell_of(memory_id: str, *, cascade: bool = False) -> list[Event]:
    """Tell of a memory in every field there is, and erase it; its child is no secret, its heir is covered by a cascade only."""
    words = {"metadata": {"note": TOKEN}, "unknown_field": TOKEN, "subject": f"{TOKEN} subject", "session": f"{TOKEN}-session"}
    episode = {"task": TOKEN, "answer": TOKEN, "language": TOKEN, "retrieved": [], "outcome": TOKEN}
    inside = written_data(memory_id, f"{TOKEN} inside", src=None, observed=3, metadata={"note": TOKEN})
    return [
        written(memory_id, f"The {TOKEN} is out", t=0, src="user", ref=f"{TOKEN}-ref", actor=TOKEN, kind="preference", **words),
        written(memory_id, f"The {TOKEN} is still out", t=1, verified=True, episode=episode, kind="episode", grade=0.5, **words),
        written("child", "Its child", parents=[memory_id], t=2),
        written(
            "heir", "Its heir" if not cascade else f"The {TOKEN} is told", parents=["child"], t=3, **(words if cascade else {})
        ),
        audited(memory_id, 0.5, channel="execution", t=4, evidence={"seen": TOKEN}),
        audited(memory_id, 0.25, t=4, evidence={"seen": TOKEN}),
        read(memory_id, query=TOKEN, t=4),
        linked(memory_id, add=["elder"], t=4, reason=TOKEN),
        corrected(memory_id, "better", t=5, reason=TOKEN),
        corrected("worse", memory_id, t=5, reason=TOKEN),
        corrected("wrong", inside, t=5, reason=TOKEN),
        erased(memory_id, observed=9, t=9, cascade=cascade),
    ]


def kept(bank: Bank) -> str:
    """Give all that a bank's store and topics hold at the end, as consumers of compacted topics see them."""
    topics: dict[tuple[str, str], OutcomeMessage] = {(m.topic, m.key): m for m in bank.published}
    return json.dumps(bank.payloads()) + "".join((m.value or b"").decode() for m in topics.values())


@settings(max_examples=120)
@given(st.data(), st.booleans())
def test_not_a_word_of_an_erased_memory_is_left(data: st.DataObject, cascade: bool) -> None:
    """Text, metadata, episode, source, scope, subject, evidence, query and reasons are gone, in any order, multiplicity and batches."""
    events = tell_of("a", cascade=cascade)
    bank = play(data.draw(shuffled(events).flatmap(split)))
    assert TOKEN not in kept(bank)
    assert bank.payloads() == play([events]).payloads()
    resume(bank, data.draw(shuffled(events).flatmap(split)))
    assert TOKEN not in kept(bank)


def test_the_words_are_there_without_an_erasure() -> None:
    """The law above destroys something: without the erasure each field keeps its words."""
    without = [event for event in tell_of("a") if not isinstance(event, Erased)]
    found = kept(play([without])).count(TOKEN)
    assert found > 15
    spared = [*without, erased("a", by="agent", observed=9, t=9)]
    assert kept(play([spared])).count(TOKEN) == found


def test_what_is_said_after_an_erasure_lives() -> None:
    """A later text, its verdict and a later reason are no part of what was erased."""
    later = [
        written("a", "New life", t=20),
        audited("a", 0.5, t=21, evidence={"seen": "now"}),
        corrected("a", "better", t=22, reason="said later"),
        linked("a", add=["elder"], t=23, reason="linked later"),
    ]
    bank = play([tell_of("a"), later])
    words = kept(bank)
    assert all(word in words for word in ("New life", "now", "said later", "linked later"))
    assert TOKEN not in words


@settings(max_examples=100)
@given(st.data())
def test_the_store_tells_what_is_erased(data: st.DataObject) -> None:
    """What an erasing batch says it covers is what the store answers afterwards, and so it does when it comes again."""
    events = data.draw(event_sets(max_events=18))
    bank = Bank()
    told: dict[tuple[str, str], object] = {}
    for batch in data.draw(shuffled(events).flatmap(split)):
        told |= asyncio.run(bank.send(*batch)).erased
    tombs = {(p["space"], p["memory_id"]) for p in bank.payloads().values() if p["point"] == PointKind.TOMBSTONE}
    named = {(e.space, e.memory_id) for e in events if isinstance(e, Erased) and _is_heard(e)}
    assert tombs | named <= told.keys() | tombs
    assert asyncio.run(fetch_erased(bank.store, told)).keys() == told.keys()
    again = asyncio.run(bank.send(*events)).erased
    assert again == asyncio.run(fetch_erased(bank.store, again))
    assert tombs | named == again.keys()


def _is_heard(event: Erased) -> bool:
    return event.authority is not None and event.authority.kind in {
        SourceKind.USER,
        SourceKind.DOCUMENT,
        SourceKind.TOOL,
        SourceKind.HUMAN_REVIEW,
    }


@settings(max_examples=100)
@given(st.data())
def test_the_topic_keeps_no_record_that_is_gone(data: st.DataObject) -> None:
    """After every batch the latest message of each record that the store does not hold any more is a tombstone."""
    bank = Bank()
    for batch in data.draw(shuffled(data.draw(event_sets(max_events=16))).flatmap(split)):
        resume(bank, [batch])
        latest = {message.key: message.value for message in bank.published if message.topic == "guardian.enriched"}
        standing = {key for key, value in latest.items() if value is not None}
        assert standing <= bank.payloads().keys()


def test_the_tombstone_of_a_record_goes_out_before_the_store_forgets_it() -> None:
    """A crash between the two leaves the record to be found again; afterwards nobody would know its id."""
    bank = play([tell_of("a")[:1]])
    (key,) = [message.key for message in bank.published]
    seen: list[bool] = []

    class Watching:
        async def publish(self, messages: Sequence[OutcomeMessage]) -> None:
            seen.extend(key in bank.payloads() for message in messages if message.value is None)

    bank.pipeline.publisher = Watching()
    asyncio.run(bank.send(tell_of("a")[-1]))
    assert seen == [True]
    assert key not in bank.payloads()


def test_a_batch_without_erasures_is_told_none() -> None:
    """A late text of an erased memory is buried without another look at what is kept elsewhere."""
    bank = play([tell_of("a")])
    report = asyncio.run(bank.send(*tell_of("a")[:2]))
    assert report.erased == {}
    assert asyncio.run(bank.pipeline.plan(tell_of("a"), BatchReport())).phases == ()
    assert TOKEN.encode() not in export(bank)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_cascade_that_comes_again_tells_all_it_covers(order: tuple[int, ...]) -> None:
    """Also in one batch with the late texts that it buries: whoever keeps refused records of them has to hear of each."""
    events = [
        written("b", "From a", parents=["a"], t=1),
        written("c", "From b", parents=["b"], t=2),
        erased("a", observed=5, cascade=True, t=6),
    ]
    bank = play([[events[index]] for index in order])
    report = asyncio.run(bank.send(*[events[index] for index in order]))
    assert {memory_id for _, memory_id in report.erased} == {"a", "b", "c"}


def test_a_model_is_told_what_to_forget() -> None:
    """The texts of every revision that an erasure covers, also of one that comes late; nothing else is forgotten."""
    bank, forgotten = Bank(), list[str]()

    class Remembering(GivenEmbedder):
        def forget(self, texts: Sequence[str]) -> None:
            forgotten.extend(texts)

    bank.pipeline.embedder = Remembering(size=2)
    resume(bank, [[written("a", "One"), written("a", "Two", t=1), written("b", "Other")]])
    assert forgotten == []
    resume(bank, [[erased("a", observed=5, t=5)], [written("a", "Late", t=2)]])
    assert sorted(forgotten) == ["Late", "One", "Two"]
