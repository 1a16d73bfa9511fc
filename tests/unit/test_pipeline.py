"""Laws of the pipeline: durable before announced, announced before acknowledged, and what it does when something is away."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from guardian.core.needs import Needs
from guardian.core.point import Phase, Point
from guardian.core.policy import Policy
from guardian.embed.fill import fill_pending
from guardian.embed.port import Vector
from guardian.errors import ConflictError, DependencyError
from guardian.pipeline import MAX_CONFLICTS, Pipeline
from guardian.ports import Fence, OutcomeMessage, StoreIdentity
from guardian.store.memory import MemoryStore
from tests.builders import written
from tests.property.bank import IDENTITY

FENCE = Fence(version=1)
DENSE = StoreIdentity(schema_version=IDENTITY.schema_version, embedding="double", vector_size=2, bm25=IDENTITY.bm25)


class Model:
    """An embedder that can be away."""

    identity, size, embeds = "double", 2, True

    def __init__(self) -> None:
        self.is_away = True

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give a vector for each text."""
        if self.is_away:
            raise DependencyError("the model is away", dependency="model")
        return [(1.0, float(len(text))) for text in texts]

    async def close(self) -> None:
        """Hold nothing."""


class Contested(MemoryStore):
    """A store in which another writer comes in between the first so many times."""

    conflicts = 0
    fetched = 0

    async def fetch(self, needs: Needs) -> list[Point]:
        """Count the rounds."""
        self.fetched += 1
        return await super().fetch(needs)

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Refuse while there is another writer."""
        if self.conflicts:
            self.conflicts -= 1
            raise ConflictError("another writer")
        await super().apply(phases, fence=fence)


class Announcer:
    """A publisher that looks at the store when it is called, and can be away."""

    def __init__(self, store: MemoryStore) -> None:
        self.stored_at: list[int] = []
        self.is_away = False
        self._store = store

    async def publish(self, messages: Sequence[OutcomeMessage]) -> None:  # the port's parameter
        """Note how much is stored."""
        if self.is_away:
            raise DependencyError("the broker is away", dependency="broker")
        self.stored_at.append(await self._store.count())


async def test_a_model_that_is_away_delays_no_write() -> None:
    """The record is found by its words, marked pending, and gets its vector later; never a zero vector."""
    store, model = MemoryStore(DENSE), Model()
    pipeline = Pipeline(store=store, policy_of=lambda _: Policy(), embedder=model)
    report = await pipeline.process([written("a", "the gate is green")], fence=FENCE)
    assert report.pending == 1
    assert await store.count(where={"pending": "dense"}) == 1
    assert not store.shelf.dense
    assert len(store.shelf.sparse) == 1
    model.is_away = False
    assert await fill_pending(store, model, batch=10, advance=lambda _: None) == 1
    assert await store.count(where={"pending": "dense"}) == 0
    assert len(store.shelf.dense) == 1


async def test_outcomes_are_announced_when_their_state_is_durable() -> None:
    """Whoever hears of a record finds it."""
    store = MemoryStore(IDENTITY)
    announcer = Announcer(store)
    await Pipeline(store=store, policy_of=lambda _: Policy(), publisher=announcer).process([written("a", "x")], fence=FENCE)
    assert announcer.stored_at == [await store.count()]
    assert announcer.stored_at != [0]


async def test_outcomes_that_could_not_be_announced_are_announced_by_the_next_try() -> None:
    """The batch is not to be acknowledged, and its second try is no silent duplicate."""
    store = MemoryStore(IDENTITY)
    announcer = Announcer(store)
    pipeline = Pipeline(store=store, policy_of=lambda _: Policy(), publisher=announcer)
    announcer.is_away = True
    with pytest.raises(DependencyError):
        await pipeline.process([written("a", "x")], fence=FENCE)
    announcer.is_away = False
    await pipeline.process([written("a", "x")], fence=FENCE)
    assert len(announcer.stored_at) == 1


async def test_a_conflict_is_decided_anew_on_what_stands_now() -> None:
    """Everything is fetched again; the write then goes through."""
    store = Contested(IDENTITY)
    store.conflicts = 2
    await Pipeline(store=store, policy_of=lambda _: Policy()).process([written("a", "x")], fence=FENCE)
    assert store.conflicts == 0
    assert await store.count() > 0
    assert store.fetched % 3 == 0
    assert store.fetched >= 3


async def test_conflicts_without_end_are_a_store_that_is_away() -> None:
    """Bounded: the data plane waits then, with growing pauses."""
    store = Contested(IDENTITY)
    store.conflicts = MAX_CONFLICTS
    with pytest.raises(DependencyError):
        await Pipeline(store=store, policy_of=lambda _: Policy()).process([written("a", "x")], fence=FENCE)
    assert await store.count() == 0
