"""What belongs to one project or person is told to no other, however it was written down again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import permutations

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.contracts.role import Reason
from guardian.core.point import Patch, Phase
from guardian.ports import Fence
from guardian.read import Calibrator, ReadPolicy, Task
from tests.builders import erased, linked, read, written
from tests.property.bank import Bank, play, resume, rows
from tests.strategies import event_sets, shuffled, split


def bounds_of(bank: Bank, memory_id: str) -> dict[str, list[str]]:
    """Give the bounds of the only revision of a memory."""
    (found,) = (row["bounds"] for row in rows(bank) if row["memory_id"] == memory_id)
    return found


async def reason_of(bank: Bank, memory_id: str, **task: str) -> Reason:
    """Ask about everything, and give why a memory is in or out."""
    admission = await Calibrator(bank.store, ReadPolicy(per_family=9)).context(
        "kiln fires", Task(requires_objective_fact=True, **task), space="s"
    )
    (decision,) = (found for found in admission.decisions if found.candidate.memory_id == memory_id)
    return decision.reason


@pytest.mark.parametrize("is_declared", [True, False])
async def test_a_recap_without_a_scope_is_told_to_the_project_of_its_parent_alone(bank: Bank, is_declared: bool) -> None:
    """Declared or inferred, it holds where what it recaps holds, over any number of steps."""
    await bank.send(
        written("fact", "Kiln 4 fires at 900", src="document", scope={"project_id": "alpha"}),
        read("fact", session="shift", t=1),
        written("recap", "So kiln 4 fires at 900", session="shift", parents=["fact"] if is_declared else None, t=2),
        written("again", "Kiln 4 fires at 900, noted", parents=["recap"], t=3),
    )
    for memory_id in ("recap", "again"):
        assert bounds_of(bank, memory_id) == {"project_id": ["alpha"]}
        assert await reason_of(bank, memory_id, project="beta") is Reason.OUT_OF_SCOPE
        assert await reason_of(bank, memory_id, project="alpha") is await reason_of(bank, "fact", project="alpha")


async def test_no_scope_of_its_own_makes_a_recap_wider(bank: Bank) -> None:
    """What its writer says of it is asked beside what its parents say: there is no question that matches both projects."""
    await bank.send(
        written("fact", "Kiln 4 fires at 900", src="document", scope={"project_id": "alpha"}),
        written("recap", "So kiln 4 fires at 900", parents=["fact"], scope={"project_id": "beta", "user_id": "ann"}, t=1),
    )
    assert bounds_of(bank, "recap") == {"project_id": ["alpha", "beta"], "user_id": ["ann"]}
    for project in ("alpha", "beta"):
        assert await reason_of(bank, "recap", project=project, user="ann") is Reason.OUT_OF_SCOPE


async def test_what_joins_memories_of_two_persons_belongs_to_neither(bank: Bank) -> None:
    """Each of them alone would be told what the other said."""
    await bank.send(
        written("one", "Kiln 4 fires at 900", src="document", scope={"user_id": "ann"}),
        written("other", "The kiln shop fires at night", src="document", scope={"user_id": "bo"}),
        written("sum", "The kiln fires at night, kiln 4 at 900", kind="summary", parents=["one", "other"], t=1),
    )
    assert bounds_of(bank, "sum") == {"user_id": ["ann", "bo"]}
    assert {await reason_of(bank, "sum", user=user) for user in ("ann", "bo")} == {Reason.OUT_OF_SCOPE}


async def test_a_prompt_says_that_a_joint_recap_holds_where_both_do(bank: Bank) -> None:
    """Where the question leaves the project open, its reader is told each of them."""
    await bank.send(
        written("one", "Kiln 4 fires at 900", src="document", scope={"project_id": "alpha"}),
        written("other", "The kiln shop fires at night", src="document", scope={"project_id": "beta"}),
        written("sum", "The kiln fires at night, kiln 4 at 900", kind="summary", parents=["one", "other"], t=1),
    )
    calibrator = Calibrator(bank.store, ReadPolicy(per_family=9))
    admission = await calibrator.context("kiln fires", Task(requires_objective_fact=True), space="s")
    assert "alpha and beta" in admission.prompt.text


async def test_a_parent_that_comes_late_bounds_what_is_there(bank: Bank) -> None:
    """Any order of three writes gives the same bounds, to the byte."""
    events = [
        written("fact", "Kiln 4 fires at 900", src="document", scope={"project_id": "alpha"}),
        written("recap", "So kiln 4 fires at 900", parents=["fact"], t=1),
        written("again", "Kiln 4 fires at 900, noted", parents=["recap"], t=2),
    ]
    found = []
    for order in permutations(events):
        late = Bank()
        for event in order:
            await late.send(event)
        assert bounds_of(late, "again") == {"project_id": ["alpha"]}
        found.append(late.payloads())
    assert all(one == found[0] for one in found)


async def test_a_link_that_is_taken_away_takes_its_bounds_along(bank: Bank) -> None:
    """The way out of a wrong parent."""
    await bank.send(
        written("fact", "Kiln 4 fires at 900", src="document", scope={"project_id": "alpha"}),
        written("recap", "So kiln 4 fires at 900", parents=["fact"], t=1),
        linked("recap", remove=["fact"], t=2),
    )
    assert bounds_of(bank, "recap") == {}


async def test_erasure_takes_the_bounds_that_an_erased_scope_set(bank: Bank) -> None:
    """The name of a person goes with their memory; what derived from it is background, for nobody knows whose it was."""
    await bank.send(
        written("fact", "Kiln 4 fires at 900", src="document", scope={"user_id": "ann"}),
        written("recap", "So kiln 4 fires at 900", parents=["fact"], t=1),
        written("again", "Kiln 4 fires at 900, noted", parents=["recap"], t=2),
    )
    assert bounds_of(bank, "again") == {"user_id": ["ann"]}
    await bank.send(erased("fact", t=3))
    assert bounds_of(bank, "recap") == bounds_of(bank, "again") == {}
    assert "ann" not in repr(bank.payloads())
    assert {tuple(row["slots"]) for row in rows(bank) if row["status"] != "erased"} == {("background",)}


@settings(max_examples=60)
@given(st.data())
def test_a_replay_gives_an_older_store_its_bounds(data: st.DataObject) -> None:
    """Where a Guardian that knew no bounds wrote the records, all events once more, in any order, leave what a new store has."""
    events = data.draw(event_sets(max_events=14))
    fresh, older = play([events]), play([events])
    asyncio.run(older.store.apply([Phase(patches=tuple(strip_bounds(older)))], fence=Fence()))
    resume(older, data.draw(shuffled(events).flatmap(split)))
    assert older.payloads() == fresh.payloads()


def strip_bounds(bank: Bank) -> Iterator[Patch]:
    """Give the writes that leave every record as it was before bounds were kept."""
    for point_id, payload in bank.payloads().items():
        lineage = orjson.loads(payload.get("lineage", "{}"))
        if lineage.pop("wi", None) is not None:
            yield Patch(id=point_id, payload={"lineage": orjson.dumps(lineage).decode()})
