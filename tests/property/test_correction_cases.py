"""Faults that users of memory systems met in the field, each with the outcome that is right: corrections."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from guardian.core.model import Event
from tests.builders import corrected, retracted, written
from tests.property.bank import Bank
from tests.property.standing import reasons_of, standing


async def test_an_echo_of_the_corrected_is_born_superseded(bank: Bank) -> None:
    """A recap that comes after the correction never stands, and the corrected one gains nothing from it."""
    await bank.send(written("f", "Depot A owns trailer 7", grade=0.4))
    await bank.send(corrected("f", "g", t=1), written("g", "Depot B owns trailer 7", src="user", t=1))
    report = await bank.send(written("r", "Earlier I said depot A owns trailer 7", parents=["f"], grade=1.0, t=2))
    assert report.born_superseded == 1
    assert await bank.statuses() == {"f": ["superseded"], "g": ["active"], "r": ["superseded"]}
    assert (await bank.row("f"))["utility"] == 0.4
    (reason,) = (await bank.row("r"))["reasons"]
    assert (reason["via"], reason["replacement"], reason["mixed"]) == ("f", "g", False)


async def test_a_search_gives_the_new_text_only(bank: Bank) -> None:
    """The corrected text is found with the history alone, and points to what holds instead."""
    await bank.send(written("x", "Printer P uses toner T1", src="tool"))
    await bank.send(corrected("x", "y", t=1), written("y", "Printer P uses toner T2", src="user", t=1))
    assert await bank.find("toner for printer P") == ["y"]
    assert sorted(await bank.find("toner for printer P", with_history=True)) == ["x", "y"]
    assert [reason["replacement"] for reason in (await bank.row("x"))["reasons"]] == ["y"]


async def test_all_that_derives_falls_before_it_is_announced(bank: Bank) -> None:
    """Descendants over three steps fall by the same announcement; one with another standing root is listed as mixed."""
    await bank.send(
        written("a", "Lamp 3 is red", src="tool"),
        written("b", "b: lamp 3 is red", parents=["a"], t=1),
        written("c", "c: lamp 3 is red", parents=["b"], t=2),
        written("d", "d: lamp 3 is red", parents=["c"], t=3),
        written("z", "Lamp 9 is green", src="tool"),
        written("e", "Lamps 3 and 9", parents=["a", "z"], t=4),
    )
    await bank.send(corrected("a", "a2", t=5), written("a2", "Lamp 3 is blue", src="user", t=5))
    assert standing(await bank.statuses()) == {"a2", "z"}
    notice = bank.outcomes[-2].correction
    assert notice is not None
    assert [(felled.memory_id, felled.via, felled.is_mixed) for felled in notice.felled] == [
        ("a", "a", False),
        ("b", "a", False),
        ("c", "a", False),
        ("d", "a", False),
        ("e", "a", True),
    ]
    assert [(q.kind, q.subjects) for q in bank.outcomes[-2].questions] == [("mixed", ("e",))]
    told = next(message for message in bank.published if message.topic == "guardian.supersessions")
    assert json.loads(told.value or b"")["data"]["felled_count"] == 5


async def test_a_slow_summary_of_the_corrected_is_never_visible(bank: Bank) -> None:
    """It was read before the correction and written after it, with another process in between."""
    await bank.send(written("a", "Gate 2 opens at 6", src="tool"))
    await bank.send(corrected("a", "a2", t=1), written("a2", "Gate 2 opens at 7", src="user", t=1))
    restarted = Bank(store=bank.store)
    await restarted.send(written("s", "Summary: gate 2 opens at 6", kind="summary", parents=["a"], observed=0.5, t=9))
    assert (await restarted.row("s"))["status"] == "superseded"
    assert await restarted.find("gate 2 opens") == ["a2"]


def corrections_of_a_desk() -> list[Event]:
    """Give an old text, its correction, and one that came late but was true before."""
    return [
        written("d", "Desk is on floor 1", src="user", t="2023-01-01T00:00:00Z"),
        written("n", "Desk is on floor 5", src="user", t="2026-03-01T00:00:00Z"),
        written("o", "Desk is on floor 2", src="user", t="2024-01-01T00:00:00Z"),
        corrected("d", "n", t="2026-03-01T00:00:00Z"),
        corrected("d", "o", t="2026-03-05T00:00:00Z", effective="2024-01-01T00:00:00Z"),
    ]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (0, 2, 4, 1, 3)])
async def test_a_late_correction_does_not_win_by_arriving_late(bank: Bank, order: Sequence[int]) -> None:
    """The one that took effect last gives the current text; the earlier one's is superseded by it."""
    events = corrections_of_a_desk()
    await bank.send_each(*[events[index] for index in order])
    assert await bank.statuses() == {"d": ["superseded"], "n": ["active"], "o": ["superseded"]}
    assert [reason["replacement"] for reason in (await bank.row("o"))["reasons"]] == ["n"]


@pytest.mark.parametrize("is_reversed", [False, True])
async def test_two_producers_leave_one_head(bank: Bank, is_reversed: bool) -> None:
    """Of two corrections of one memory the later one's replacement stands, and supersedes the earlier one's."""
    events = [written(name, f"Text {name}", src="user") for name in "abc"]
    events += [corrected("a", "b", t=1, source="/one"), corrected("a", "c", t=2, source="/two")]
    await bank.send_each(*(reversed(events) if is_reversed else events))
    assert await bank.statuses() == {"a": ["superseded"], "b": ["superseded"], "c": ["active"]}


async def test_a_correction_without_authority_is_a_dispute(bank: Bank) -> None:
    """No authority and an agent's change nothing, and both are told on the review topic."""
    await bank.send(written("a", "Valve 1 is shut", src="document", verified=True))
    before = bank.payloads().copy()
    report = await bank.send(corrected("a", "b", by=None, t=1), corrected("a", "c", by="agent", t=2))
    assert report.dispositions == {"disputed": 2}
    assert bank.payloads() == before
    assert [json.loads(m.value or b"")["data"]["kind"] for m in bank.published if m.topic == "guardian.reviews"] == [
        "dispute"
    ] * 2


async def test_a_bare_rewrite_loses_nothing_and_wins_nothing(bank: Bank) -> None:
    """Source, parents and scope carry over; the unverified text does not displace the verified one."""
    await bank.send(written("a", "Tank 5 holds 30", src="tool", parents=["z"], verified=True, session="shift"))
    await bank.send(written("a", "Tank 5 holds 40", src=None, t=5))
    old, new = await bank.rows("a")
    assert (old["status"], old["current"]) == ("verified", True)
    assert (new["status"], new["current"], reasons_of(new)) == ("superseded", False, ["revised"])
    assert (new["source_kind"], new["parents"], new["roots"]) == ("tool", ["z"], ["z"])
    payload = next(p for p in bank.payloads().values() if p.get("revision") == new["revision"])
    assert payload["session_id"] == "shift"


async def test_a_retracted_replacement_gives_back_what_it_felled(bank: Bank) -> None:
    """Exactly the two that fell come back; the write itself stays."""
    await bank.send(written("a", "Bay 1 is full", src="tool"), written("b", "So bay 1 is full", parents=["a"], t=1))
    before = await bank.rows()
    update = written("a2", "Bay 1 is empty", src="tool", verified=True, supersedes=["a"], t=2)
    await bank.send(update)
    assert await bank.statuses() == {"a": ["superseded"], "a2": ["verified"], "b": ["superseded"]}
    await bank.send(retracted(update, t=3))
    assert await bank.statuses() == {"a": ["active"], "a2": ["verified"], "b": ["active"]}
    assert [row for row in await bank.rows() if row["memory_id"] != "a2"] == before


@pytest.mark.slow
async def test_a_long_chain_falls_whole(bank: Bank) -> None:
    """Ten thousand derivations in a row fall by one correction of the first, without a limit of depth."""
    length = 10_000
    chain = [written(f"c{n}", f"Step {n}", parents=[f"c{n - 1}"] if n else None, t=n * 0.01) for n in range(length)]
    for start in range(0, length, 2_000):
        await bank.send(*chain[start : start + 2_000])
    await bank.send(corrected("c0", "n", t=200))
    statuses = await bank.statuses()
    assert len(statuses) == length
    assert {status for found in statuses.values() for status in found} == {"superseded"}
    assert (await bank.row(f"c{length - 1}"))["depth"] == length - 1


async def test_a_wide_family_falls_whole(bank: Bank) -> None:
    """A thousand children of one root fall by one correction."""
    await bank.send(written("root", "Origin", src="tool"))
    await bank.send(*[written(f"w{n}", f"Leaf {n}", parents=["root"], t=1) for n in range(1_000)])
    await bank.send(corrected("root", "n", t=2))
    assert standing(await bank.statuses()) == set()
    assert len(await bank.rows()) == 1_001


async def test_a_later_correction_of_another_chain_frees_nothing(bank: Bank) -> None:
    """A summary of the corrected stays superseded when its other parent becomes some other correction's replacement."""
    await bank.send(*[written(name, f"Text {name}", src="tool") for name in ("a", "k", "k2", "n")])
    await bank.send(written("s", "Summary of both", kind="summary", parents=["a", "k2"], t=1))
    await bank.send(corrected("a", "n", t=2))
    await bank.send(corrected("k", "k2", t=3))
    assert standing(await bank.statuses()) == {"k2", "n"}
    assert [reason["replacement"] for reason in (await bank.row("s"))["reasons"]] == ["n"]


async def test_correcting_a_wrong_recap_spares_its_source(bank: Bank) -> None:
    """The recap and what derives from it fall; the source and its other child stand."""
    await bank.send(
        written("email", "Meet at 4", src="document", kind="fact"),
        written("recap", "Meet at 5", parents=["email"], t=1),
        written("kid", "Room booked for 5", parents=["recap"], t=2),
        written("other", "Bring the plan", parents=["email"], t=2),
    )
    await bank.send(corrected("recap", "email", t=3))
    assert standing(await bank.statuses()) == {"email", "other"}


async def test_a_profile_written_anew_stands_again(bank: Bank) -> None:
    """A new revision that derives from the replacement is active; the old one and its recap stay superseded."""
    await bank.send(
        written("f", "Lives on hill road", src="user"),
        written("prof", "Home: hill road", kind="profile", parents=["f"], t=1),
        written("recap", "They live on hill road", parents=["prof"], t=2),
    )
    await bank.send(corrected("f", "f2", t=3), written("f2", "Lives on lake road", src="user", t=3))
    await bank.send(written("prof", "Home: lake road", kind="profile", parents=["f2"], t=4))
    assert await bank.statuses() == {
        "f": ["superseded"],
        "f2": ["active"],
        "prof": ["superseded", "active"],
        "recap": ["superseded"],
    }


async def test_a_verified_update_in_place_fells_old_recaps_only(bank: Bank) -> None:
    """The old text and its recap are superseded; a recap of the new text is active."""
    await bank.send(written("a", "gate 4", src="tool"), written("r", "It is gate 4", parents=["a"], t=1))
    await bank.send(written("a", "gate 5", src="tool", verified=True, t=2))
    await bank.send(written("q", "It is gate 5", parents=["a"], t=3))
    assert await bank.statuses() == {"a": ["superseded", "verified"], "q": ["active"], "r": ["superseded"]}
    assert await bank.find("gate") == ["a", "q"]


async def test_an_episodes_other_facts_stand(bank: Bank) -> None:
    """A correction of one thing learned in an episode spares the episode and the rest of it."""
    await bank.send(
        written("ep", "Repaired the belt", kind="episode", grade=0.9),
        written("x", "Belt is 90 long", parents=["ep"], t=1),
        written("y", "Belt is black", parents=["ep"], t=1),
    )
    await bank.send(corrected("x", "x2", t=2))
    assert standing(await bank.statuses()) == {"ep", "y"}


async def test_an_agent_cannot_supersede_by_its_own_word(bank: Bank) -> None:
    """A write that supersedes without being believed lands, supersedes nothing, and is put before a person."""
    await bank.send(written("a", "Gate 4 opens at 7", src="tool"))
    report = await bank.send(written("b", "Gate 4 opens at 9", src="agent", verified=True, supersedes=["a"], t=5))
    assert {bank_row["status"] for bank_row in (await bank.row("a"), await bank.row("b"))} == {"active"}
    (question,) = report.outcomes[0].questions
    assert (question.kind, question.subjects, question.detail["replacement"]) == ("dispute", ("a",), "b")
    assert report.refused_claims == 1
