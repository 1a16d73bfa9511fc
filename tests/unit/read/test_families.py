"""Laws of proposals: recaps and contradictions of old logs are found, told with their differences, and never applied by themselves."""

from __future__ import annotations

import random

import orjson

from guardian.core.payload import load_node
from guardian.core.point import PointKind
from guardian.read.families import Findings, ProposalKind, build_acceptance, find_families
from tests.builders import envelope, event_of, written
from tests.property.bank import Bank

PERSON = {"kind": "human_review", "actor": "ann"}


async def find(bank: Bank) -> Findings:
    """Go through the bank's space."""
    return find_families([load_node(point) async for point in bank.store.iter_points(kinds={PointKind.RECORD})])


async def write_history(bank: Bank) -> None:
    """Write a price, its undeclared recaps, a copy with another number, an unrelated fact and a late invoice."""
    await bank.send(
        written("m1", "Arabica beans cost $16.50 per kg", t=0, src="document", ref="email:1"),
        written("m2", "As noted, Arabica beans cost $16.50 per kg", t=10, src="agent"),
        written("m3", "Arabica beans cost $16.50 per kg, remember", t=20, src="agent"),
        written("m4", "Arabica beans cost $18.50 per kg", t=30, src="agent"),
        written("x", "The window on floor 2 does not close", t=40, src="user"),
        written("m5", "Arabica beans cost $20 per kg", t=50, src="document", ref="invoice:7", verified=True),
        written("m6", "Arabica beans cost $16.50 per kg", t=60, src="document", ref="email:9"),
    )


async def test_recaps_and_contradictions_are_proposed_with_their_differences() -> None:
    """The earliest that says the same is the parent; a differing number is told; an observer's own word is no recap."""
    bank = Bank()
    await write_history(bank)
    found = {proposal.id: proposal for proposal in (await find(bank)).proposals}
    assert set(found) == {
        "recap:m2~m1",
        "recap:m3~m1",
        "recap:m4~m1",
        "contradicted:m1~m5",
        "contradicted:m2~m5",
        "contradicted:m3~m5",
        "contradicted:m4~m5",
    }
    assert found["recap:m2~m1"].differing == ()
    assert found["recap:m4~m1"].differing == ("number:16.5", "number:18.5")
    assert all(0.75 <= proposal.similarity <= 1 for proposal in found.values())


async def test_versions_tell_how_many_origins_they_really_have() -> None:
    """Four records say one price; two sources stand behind them."""
    bank = Bank()
    await write_history(bank)
    ((first, *others),) = (await find(bank)).statements
    assert (first.records, first.origins, first.memories) == (4, 2, ("m1", "m2", "m3", "m6"))
    assert {version.text: (version.origins, version.is_verified) for version in others} == {
        "Arabica beans cost $18.50 per kg": (1, False),
        "Arabica beans cost $20 per kg": (1, True),
    }


async def test_findings_do_not_depend_on_the_order_of_records() -> None:
    """They are a function of the space."""
    bank = Bank()
    await write_history(bank)
    nodes = [load_node(point) async for point in bank.store.iter_points(kinds={PointKind.RECORD})]
    expected = find_families(nodes)
    for seed in range(5):
        random.Random(seed).shuffle(nodes)
        assert find_families(nodes) == expected


async def test_nothing_changes_before_a_person_accepts_and_then_the_cascade_works() -> None:
    """Accepted links make one family, an accepted correction fells it; what is settled is not proposed again."""
    bank = Bank()
    await write_history(bank)
    before = await bank.export()
    findings = await find(bank)
    assert await bank.export() == before
    accepted = [one for one in findings.proposals if one.kind is ProposalKind.RECAP or one.memory_id == "m1"]
    for number, proposal in enumerate(accepted):
        kind, data = build_acceptance(proposal, authority=PERSON)
        await bank.send(event_of(envelope(kind, data, t=100 + number)))
    statuses = await bank.statuses()
    assert {name: statuses[name] for name in ("m1", "m2", "m3", "m4")} == {
        name: ["superseded"] for name in ("m1", "m2", "m3", "m4")
    }
    assert statuses["x"] == ["active"]
    assert (await bank.row("m3"))["provenance"] == "linked"
    assert not (await find(bank)).proposals


async def test_acceptances_name_the_person() -> None:
    """The event bears the authority of whoever accepted."""
    bank = Bank()
    await write_history(bank)
    for proposal in (await find(bank)).proposals:
        _, data = build_acceptance(proposal, authority=PERSON)
        assert data["authority"] == PERSON
        assert orjson.dumps(data)


async def test_a_family_of_thousands_is_one_group() -> None:
    """Each record is compared with groups, not with every other record."""
    bank = Bank()
    await bank.send(written("m", "Kiln 4 fires at 900", t=0, src="user"))
    await bank.send(*(written(f"r{number}", "Kiln 4 fires at 900 again", t=number + 1, src="agent") for number in range(1_500)))
    findings = await find(bank)
    assert len(findings.proposals) == 1_500
    ((version,),) = findings.statements
    assert (version.records, version.origins) == (1_501, 1)
