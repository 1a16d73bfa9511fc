"""Faults that users of memory systems met in the field, each with the outcome that is right."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import pytest

from guardian.core.model import Event, Slot
from tests.builders import audited, corrected, deleted, linked, read, retracted, written
from tests.property.bank import Bank

REWORDINGS = (
    "Kiln 4 fires at 900",
    "kiln 4 fires at 900.",
    "So kiln 4 fires at 900",
    "Kiln 4 fires at 900, noted",
    "As read, kiln 4 fires at 900",
)


def reasons_of(row: dict[str, object]) -> list[str]:
    """Give the names of a row's reasons."""
    reasons = row["reasons"]
    assert isinstance(reasons, list)
    return [reason["reason"] for reason in reasons]


def standing(found: dict[str, list[str]]) -> set[str]:
    """Give the memories of which some revision stands."""
    return {memory_id for memory_id, statuses in found.items() if {"active", "verified"} & set(statuses)}


async def test_rewordings_are_one_family_with_one_origin(bank: Bank) -> None:
    """Nineteen recaps, half of them undeclared, add nothing to the support of the one thing a user said."""
    await bank.send(written("m1", "Kiln 4 fires at 900", src="user"))
    for number in range(2, 21):
        text = REWORDINGS[number % len(REWORDINGS)]
        if number % 2:
            await bank.send(written(f"m{number}", text, parents=["m1"], t=number))
        else:
            await bank.send(read("m1", session="shift", t=number))
            await bank.send(written(f"m{number}", text, session="shift", t=number + 0.5))
    rows = {row["memory_id"]: row for row in await bank.rows()}
    assert len(rows) == 20
    assert {(*row["roots"], row["support"]) for row in rows.values()} == {("m1", 1)}
    for number in range(2, 21):
        row = rows[f"m{number}"]
        assert (row["provenance"], row["parents"]) == ("declared" if number % 2 else "inferred", ["m1"])
        assert Slot.FACTS.value not in row["slots"]


async def test_an_undeclared_summary_falls_with_any_of_its_sources(bank: Bank) -> None:
    """A summary written after a read, naming nothing, is of both families: a correction of either withholds it, in every order."""
    events = [
        written("old", "The person likes quiet jazz clubs", src="user", kind="preference"),
        written("other", "The person travels by night train", src="user", kind="preference"),
        read(["old", "other"], session="talk", t=1),
        written(
            "sum", "Known: the person likes quiet jazz clubs; also travels by night train", session="talk", kind="summary", t=2
        ),
        written("new", "The person prefers loud rock concerts", src="user", kind="preference", t=3),
        corrected("old", replacement="new", t=4),
    ]
    await bank.send(*events[:4])
    row = await bank.row("sum")
    assert (row["provenance"], row["parents"], row["roots"]) == ("inferred", ["old", "other"], ["old", "other"])
    await bank.send(*events[4:])
    felled = await bank.row("sum")
    assert (felled["status"], [reason["mixed"] for reason in felled["reasons"]]) == ("superseded", [True])
    assert (await bank.row("other"))["status"] == "active"


async def test_an_agents_own_claim_stays_its_own(bank: Bank) -> None:
    """Fifty paraphrases over six days make one family of one origin, never verified, with a utility that does not rise."""
    await bank.send(written("h1", "The operator prefers blue labels", grade=0.5))
    before = await bank.row("h1")
    for number in range(50):
        at = number * 170
        text = f"{('Noted', 'Again', 'So', 'Well')[number % 4]}: the operator prefers blue labels"
        if number % 2:
            await bank.send(written(f"p{number}", text, parents=["h1"], verified=True, grade=0.99, t=at))
        else:
            await bank.send(read("h1", session=f"day-{number}", t=at))
            await bank.send(written(f"p{number}", text, session=f"day-{number}", verified=True, grade=0.99, t=at + 1))
    rows = await bank.rows()
    assert {(row["status"], row["verified"], *row["roots"], row["support"]) for row in rows} == {("active", False, "h1", 1)}
    assert {row["source_kind"] for row in rows} == {"agent"}
    assert {row["utility_basis"] for row in rows} == {"unaudited"}
    assert await bank.row("h1") == before


async def test_being_read_is_counted_and_changes_nothing(bank: Bank) -> None:
    """A summary of a summary has one origin; 250 reads are kept and raise nothing."""
    await bank.send(
        written("a", "Pump 2 was oiled", src="tool"),
        written("b", "Pump 2: oiled", kind="summary", parents=["a"], t=1),
        written("c", "Oiled: pump 2", kind="summary", parents=["a", "b"], t=2),
    )
    before = await bank.export()
    for number in range(250):
        await bank.send(read("a", session=f"s{number}", t=3 + number))
    assert await bank.export() == before
    row = await bank.row("c")
    assert (row["roots"], row["support"], row["depth"], row["status"]) == (["a"], 1, 2, "active")
    assert sum(payload["point"] == "read" for payload in bank.payloads().values()) == 250


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


async def test_similar_facts_both_stand(bank: Bank) -> None:
    """Two facts about one person do not retire each other; the pair is offered for review."""
    await bank.send(written("j", "R. leads team Oak", src="tool", subject="R"))
    await bank.send(written("k", "R. also administers site Birch", src="tool", subject="R", t=1))
    assert await bank.statuses() == {"j": ["active"], "k": ["active"]}
    assert [question.kind for question in bank.outcomes[-1].questions] == ["same_subject"]
    assert bank.outcomes[-1].questions[0].subjects == ("j", "k")


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


async def test_metadata_names_neither_space_nor_lineage(bank: Bank) -> None:
    """What a writer puts into its metadata stays there."""
    await bank.send(written("a", space="S1"))
    await bank.send(written("a", space="S1", t=1, metadata={"space": "S2", "roots": ["q"], "memory_id": "b"}))
    assert {(row["space"], row["memory_id"], *row["roots"]) for row in await bank.rows()} == {("S1", "a", "a")}
    assert (await bank.rows())[-1]["metadata"] == {"space": "S2", "roots": ["q"], "memory_id": "b"}
    assert bank.payloads(space="S2") == {}
    assert await bank.find("A text", space="S2") == []


async def test_a_cascade_stays_in_its_space(bank: Bank) -> None:
    """One id in two spaces is two memories."""
    await bank.send(written("note-1", space="S1"), written("note-1", space="S2"))
    await bank.send(written("x", space="S2", parents=["note-1"], t=1))
    elsewhere = json.dumps(bank.payloads(space="S2"), sort_keys=True)
    await bank.send(corrected("note-1", "n2", space="S1", t=2))
    assert [(row["space"], row["memory_id"], row["status"]) for row in await bank.rows()] == [
        ("S1", "note-1", "superseded"),
        ("S2", "note-1", "active"),
        ("S2", "x", "active"),
    ]
    assert json.dumps(bank.payloads(space="S2"), sort_keys=True) == elsewhere


async def test_an_instant_is_one_whatever_its_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offset, UTC and naive spellings of one instant give one record, wherever the process runs, ten times over."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        bank = Bank()
        spellings = ["2026-03-14T00:00:00-05:00", "2026-03-14T05:00:00Z", "2026-03-14T05:00:00"]
        for _ in range(10):
            await bank.send(*[written("a", observed=spelling, t="2026-03-14T05:00:00Z") for spelling in spellings])
            restarted = Bank(store=bank.store)
            assert await restarted.export() == await bank.export()
        row = await bank.row("a")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert row["observed_at"] == "2026-03-14T05:00:00.000000Z"


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_a_repeated_write_revives_nothing(bank: Bank, times: int) -> None:
    """However often a write comes, before and after its correction and again from the start, the bytes are the same."""
    write = written("a", "Dock 8 is free", src="tool")
    correction = corrected("a", "b", t=1)
    await bank.send(write, correction)
    before = (await bank.export(), dict(bank.payloads()))
    for _ in range(times):
        await bank.send(write)
        await bank.send(correction, write)
    report = await bank.send(write, correction)
    assert (await bank.export(), bank.payloads()) == before
    assert (await bank.row("a"))["status"] == "superseded"
    assert (report.dispositions, report.records) == ({"duplicate": 2}, 0)


async def test_utility_follows_verdicts_and_nothing_else(bank: Bank) -> None:
    """Ten memories used together and graded well by the agent are worth what the verdicts say; a bystander gains nothing."""
    ids = [f"m{number}" for number in range(10)]
    await bank.send(*[written(memory_id, f"Way {memory_id}", kind="episode", grade=0.95) for memory_id in ids])
    await bank.send(written("idle", "Way not taken", kind="episode"))
    assert {(row["utility"], row["utility_basis"]) for row in await bank.rows() if row["memory_id"] != "idle"} == {
        (0.95, "unaudited")
    }
    for number in range(10):
        await bank.send(read([*ids, "idle"], used=ids, session=f"task-{number}", t=number))
        await bank.send(*[audited(each, float(number % 2), t=number + 0.5) for each in ids])
        await bank.send(*[audited(each, 0.95, channel="self", t=number + 0.6) for each in ids])
    assert {(row["utility"], row["utility_basis"]) for row in await bank.rows() if row["memory_id"] != "idle"} == {(0.5, "gold")}
    idle = await bank.row("idle")
    assert (idle["utility"], idle["utility_basis"], idle["status"]) == (None, None, "active")


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


async def test_neither_a_belief_nor_a_new_price_is_laundered(bank: Bank) -> None:
    """An agent's recap of a user's belief never becomes a fact; another price after reading one is no recap of it."""
    await bank.send(written("b", "I think the fee is waived", src="user", kind="belief"))
    await bank.send(written("r", "The fee is waived", kind="fact", parents=["b"], t=1))
    await bank.send(written("t", "The fee is $16.50", src="tool", t=1))
    await bank.send(read("t", session="desk", t=2), written("u", "The fee is $20", session="desk", t=3))
    assert Slot.FACTS.value not in (await bank.row("r"))["slots"]
    other = await bank.row("u")
    assert (other["parents"], other["provenance"], other["roots"]) == ([], "none", ["u"])


async def test_a_wrong_inference_is_undone_by_hand(bank: Bank) -> None:
    """A link that removes an inferred parent makes the record its own root, for good."""
    await bank.send(written("m", "Kiln 4 fires at 900", src="tool"), read("m", session="q", t=1))
    await bank.send(written("r", "So kiln 4 fires at 900", session="q", t=2))
    assert (await bank.row("r"))["parents"] == ["m"]
    await bank.send(linked("r", remove=["m"], t=3))
    await bank.send(read("m", session="q", t=1.5))
    row = await bank.row("r")
    assert (row["parents"], row["roots"], row["provenance"]) == ([], ["r"], "none")


async def test_what_was_deleted_is_kept_and_never_found(bank: Bank) -> None:
    """A deletion bars a memory from answers; a text written after it stands."""
    await bank.send(written("a", "Crate 3 is blue", src="tool"))
    await bank.send(deleted("a", observed=1, t=1))
    assert await bank.find("crate") == []
    assert reasons_of(await bank.row("a")) == ["deleted"]
    await bank.send(written("a", "Crate 3 is grey", src="tool", t=2))
    assert await bank.statuses() == {"a": ["superseded", "active"]}


async def test_an_agent_cannot_supersede_by_its_own_word(bank: Bank) -> None:
    """A write that supersedes without being believed lands, supersedes nothing, and is put before a person."""
    await bank.send(written("a", "Gate 4 opens at 7", src="tool"))
    report = await bank.send(written("b", "Gate 4 opens at 9", src="agent", verified=True, supersedes=["a"], t=5))
    assert {bank_row["status"] for bank_row in (await bank.row("a"), await bank.row("b"))} == {"active"}
    (question,) = report.outcomes[0].questions
    assert (question.kind, question.subjects, question.detail["replacement"]) == ("dispute", ("a",), "b")
    assert report.refused_claims == 1


@pytest.mark.parametrize("first", ["agent", "user"])
async def test_agents_that_rest_on_each_other_rest_on_nothing(bank: Bank, first: str) -> None:
    """Two writes that name each other are no evidence, nor what descends from them; a tool's word outside the circle makes them so."""
    circle = [
        written("a", "Kiln 4 is hot", src=first, parents=["b"]),
        written("b", "Kiln 4 glows", src="agent", parents=["a"], t=1),
    ]
    await bank.send(*circle, written("c", "Kiln 4 shines", src="agent", parents=["b"], t=2))
    assert [row["slots"] for row in await bank.rows()] == [["background"]] * 3
    fed = [
        written("a", "Kiln 4 is hot", src="agent", parents=["b", "t"], space="fed"),
        written("b", "Kiln 4 glows", src="agent", parents=["a"], t=1, space="fed"),
        written("t", "Kiln 4 is at 900", src="tool", space="fed"),
    ]
    await bank.send(*fed)
    assert all(Slot.FACTS.value in row["slots"] for row in await bank.rows(space="fed"))
