"""The same read from every store: the in-memory twin, the embedded engine and the server's client give one admission."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from guardian.core.model import Event
from guardian.ports import Store
from guardian.read import Admission, Calibrator, ReadPolicy, Task
from guardian.store.memory import MemoryStore
from tests.property.bank import IDENTITY, Bank
from tests.property.test_stores_agree import move, open_edge, open_qdrant
from tests.strategies import event_sets

SETS = 4
TASKS = [
    Task(requires_objective_fact=True),
    Task(requires_objective_fact=False, personalization_allowed=True),
    Task(requires_objective_fact=True, is_history=True),
]


def compare(admission: Admission) -> tuple[Any, ...]:
    """Give all that must be equal: everything but times, and scores, on whose last digit engines differ."""
    decisions = [replace(item, candidate=replace(item.candidate, score=0, similarity=0)) for item in admission.decisions]
    return (
        replace(admission.ruling, decisions=tuple(decisions)),
        admission.prompt,
        admission.task,
        admission.retrieved,
        admission.searches,
    )


@pytest.mark.parametrize("open_store", [open_edge, open_qdrant], ids=["edge", "qdrant-local"])
# Without shrinking: every step of it opens a store, and a difference is told by its assertion.
@settings(max_examples=8, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_every_store_gives_the_same_admission(
    open_store: Callable[[], AbstractAsyncContextManager[Store]], data: st.DataObject
) -> None:
    """Decisions, conflicts, prompt and the number of searches, over random histories with corrections and erasures."""
    sets = [[move(event, number) for event in data.draw(event_sets(max_events=14))] for number in range(SETS)]
    asyncio.run(ask_both(open_store, sets))


async def ask_both(open_store: Callable[[], AbstractAsyncContextManager[Store]], sets: list[list[Event]]) -> None:
    """Send the sets to both stores and ask each space what its texts say."""
    twin = Bank(store=MemoryStore(IDENTITY))
    async with open_store() as store:
        bank = Bank(store=store)
        for events in sets:
            await twin.send(*events)
            await bank.send(*events)
        rows = [row for row in await twin.rows() if row["text"] is not None]
        for space in sorted({row["space"] for row in rows}):
            question = " ".join(row["text"] for row in rows if row["space"] == space)[:400]
            for task, tells_barred in product(TASKS, (True, False)):
                policy = ReadPolicy(limit=3, overfetch=1, tells_barred=tells_barred)
                mine = await Calibrator(store, policy).context(question, task, space=space)
                theirs = await Calibrator(twin.store, policy).context(question, task, space=space)
                assert compare(mine) == compare(theirs)
                if not task.is_history:
                    assert not any(item.candidate.status in {"superseded", "erased"} for item in mine.rendered)
