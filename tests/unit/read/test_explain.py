"""Laws of explanations: what else they hold, they hold up nobody."""

from __future__ import annotations

import asyncio

from guardian.read.explain import MAX_TREE, explain
from tests import builders as build
from tests.property.bank import Bank


async def test_a_large_family_lets_others_have_their_turn() -> None:
    """A service answers all of its callers in one loop: who explains a root must not stop it for the others."""
    bank, turns = Bank(), 0
    await bank.send(build.written("root", "kiln 4 fires at 900", src="tool"))
    await bank.send(*(build.written(f"m{number}", f"note {number}", parents=["root"], t=1) for number in range(600)))

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    known = await explain(bank.store, "s", "root")
    other.cancel()
    assert turns > 10
    assert known is not None
    assert (known.family_size, len(known.descendants.branches)) == (601, MAX_TREE - 1)


async def test_every_node_is_drawn_once_wherever_it_was_found() -> None:
    """Children of the family, and those whose roots were cut off, in one tree."""
    bank = Bank()
    await bank.send(build.written("a", "kiln", src="tool"), build.written("b", "note b", parents=["a"], t=1))
    await bank.send(build.written("c", "note c", parents=["b"], t=2), build.written("d", "note d", parents=["a", "b"], t=2))
    known = await explain(bank.store, "s", "a")
    assert known is not None
    drawn, queue = [], [known.descendants]
    while queue:
        branch = queue.pop()
        drawn.append(branch.memory_id)
        queue.extend(branch.branches)
    assert sorted(drawn) == ["a", "b", "c", "d"]
    assert known.family_size == 4
