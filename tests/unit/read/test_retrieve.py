"""Laws of plain search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from guardian.core.needs import Needs
from guardian.ports import Hit, SearchQuery
from guardian.read.retrieve import Question, retrieve
from guardian.store.memory import MemoryStore
from tests.builders import corrected, deleted, erased, written
from tests.property.bank import IDENTITY, Bank


class RankingStore(MemoryStore):
    """A store that ranks first and reads then, as a server does, and to which something happens in between.

    Attributes:
        bank: Who writes to it.
        events: What happens, once.
    """

    bank: Bank
    events: Sequence[object] = ()

    async def search(self, query: SearchQuery) -> list[Hit]:
        """Rank, let it happen, and read."""
        hits = await super().search(query)
        events, self.events = self.events, ()
        if events:
            await self.bank.send(*events)  # type: ignore[arg-type] # events
        points = {point.id: point for point in await self.fetch(Needs(ids={hit.point.id for hit in hits}))}
        return [replace(hit, point=points[hit.point.id]) for hit in hits if hit.point.id in points]


@pytest.mark.parametrize(
    "fall",
    [corrected("m1", "new", by="human_review", t=9), deleted("m1", t=9), erased("m1", t=9)],
    ids=["corrected", "deleted", "erased"],
)
async def test_what_fell_between_ranking_and_reading_answers_no_more(fall: object) -> None:
    """A default search never gives what was superseded before it was read."""
    store = RankingStore(IDENTITY)
    store.bank = Bank(store=store)
    await store.bank.send(written("m1", "the kiln fires at 900", src="tool"), written("m2", "the kiln is red", src="tool"))
    store.events = [fall]
    hits = await retrieve(store, Question(space="s", text="kiln"))
    assert [hit.point.payload["memory_id"] for hit in hits] == ["m2"]
