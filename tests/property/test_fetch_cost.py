"""What a decision reads: a new leaf is decided from its parents alone, however large their family is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from guardian.core.model import Event
from guardian.core.point import Phase, Upsert, build_point_id
from guardian.store.memory import MemoryStore
from tests.builders import audited, corrected, deleted, linked, read, retracted, written
from tests.property.bank import FENCE, IDENTITY, Bank

FAMILY = 100_000
# Points that a decision about one leaf may read, whatever lies beside it.
FEW = 20


@dataclass
class Family:
    """A bank with one huge family, and the events that made its first members."""

    bank: Bank
    correction: Event


@pytest.fixture(scope="module")
def family() -> Family:
    """Give a family of 100,000; one of its members was corrected."""
    return asyncio.run(build_family())


async def build_family() -> Family:
    """Build a root and one recap through the pipeline, and copies of the recap past it."""
    bank = Bank(store=MemoryStore(IDENTITY))
    await bank.send(written("root", "Kiln 4 fires at 900", src="tool", ref="manual", session="long", subject="kiln"))
    await bank.send(written("m1", "So kiln 4 fires at 900", parents=["root"], session="long", t=1))
    recap = next(payload for payload in bank.payloads().values() if payload["memory_id"] == "m1")
    copies = []
    for number in range(2, FAMILY):
        name = f"m{number}"
        payload = {**recap, "memory_id": name, "revision": f"{number:032x}", "session_id": f"session-{number}"}
        copies.append(Upsert(id=build_point_id("s", "node", name, payload["revision"]), payload=payload))
    await bank.store.apply([Phase(upserts=tuple(copies))], fence=FENCE)
    correction = corrected("m1", "n", extent="record", t=2)
    await bank.send(correction)
    return Family(bank, correction)


@pytest.mark.parametrize(
    "event",
    [
        written("new", "As read, kiln 4 fires at 900", parents=["root"], t=3),
        written("below", "As read, kiln 4 fires at 900", parents=["m77"], t=3),
        written("other", "Depot 7 is full", src="tool", t=3),
        written("m50", "Kiln 4 was rebuilt", src="tool", parents=[], t=4),
        audited("m60", 0.25, t=5),
        deleted("m61", t=5),
        read(["root", "m62"], session="another", t=5),
    ],
    ids=["child", "grandchild", "stranger", "new revision", "verdict", "deletion", "read"],
)
async def test_one_leaf_is_decided_without_its_family(family: Family, event: Event) -> None:
    """One event about one leaf reads a handful of points."""
    report = await family.bank.send(event)
    assert report.fetched < FEW
    assert report.rounds <= 3


async def test_a_leaf_of_a_leaf_falls_alone(family: Family) -> None:
    """Correcting a leaf by its own, taking it back, and linking it elsewhere read no more than it and what it names."""
    bank = family.bank
    await bank.send(written("z", "Another origin", src="tool", t=3))
    correction = corrected("m90", "z", extent="descendants", t=6)
    for event in (correction, retracted(correction), linked("m91", remove=["root"], add=["z"], t=7)):
        report = await bank.send(event)
        assert report.fetched < FEW
    found = {name: [p.payload async for p in bank.store.iter_points(where={"memory_id": name})] for name in ("m90", "m91")}
    assert [payload["status"] for payload in found["m90"]] == ["active"]
    assert [payload["roots"] for payload in found["m91"] if payload["point"] == "record"] == [["z"]]
