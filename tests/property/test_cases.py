"""Faults that users of memory systems met in the field, each with the outcome that is right: lineage, standing, spaces and times."""

from __future__ import annotations

import json
import time

import pytest

from guardian.core.model import Slot
from tests.builders import audited, corrected, deleted, linked, read, written
from tests.property.bank import Bank
from tests.property.standing import reasons_of

REWORDINGS = (
    "Kiln 4 fires at 900",
    "kiln 4 fires at 900.",
    "So kiln 4 fires at 900",
    "Kiln 4 fires at 900, noted",
    "As read, kiln 4 fires at 900",
)


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


async def test_similar_facts_both_stand(bank: Bank) -> None:
    """Two facts about one person do not retire each other; the pair is offered for review."""
    await bank.send(written("j", "R. leads team Oak", src="tool", subject="R"))
    await bank.send(written("k", "R. also administers site Birch", src="tool", subject="R", t=1))
    assert await bank.statuses() == {"j": ["active"], "k": ["active"]}
    assert [question.kind for question in bank.outcomes[-1].questions] == ["same_subject"]
    assert bank.outcomes[-1].questions[0].subjects == ("j", "k")


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
