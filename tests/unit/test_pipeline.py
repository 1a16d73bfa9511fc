"""Laws of the pipeline: durable before announced, announced before acknowledged, and what it does when something is away."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest

from guardian.core.needs import Needs
from guardian.core.point import Phase, Point
from guardian.core.policy import Policy
from guardian.embed.fill import fill_pending
from guardian.embed.port import Vector
from guardian.errors import ConflictError, DependencyError
from guardian.pipeline import MAX_CONFLICTS, Pipeline, collector_paused
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


class ContestedStore(MemoryStore):
    """Notes its calls, and has a newer owner for the first of some of them."""

    def __init__(self, **conflicts: int) -> None:
        super().__init__(IDENTITY)
        self.calls: list[str] = []
        self.fences: set[Fence] = set()
        self._conflicts = conflicts

    async def claim(self, fence: Fence) -> None:
        """Claim, or meet a newer owner."""
        self._call("claim")
        self.fences.add(fence)

    async def fetch(self, needs: Needs) -> list[Point]:
        """Read."""
        self._call("fetch")
        return await super().fetch(needs)

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Write, or meet a newer owner."""
        self._call("apply")
        self.fences.add(fence)
        await super().apply(phases, fence=fence)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        left = self._conflicts.get(name, 0)
        if left:
            self._conflicts[name] = left - 1
            raise ConflictError("space 's' has a newer owner")


def build_pipeline(store: MemoryStore) -> Pipeline:
    """Build a pipeline over a store."""
    return Pipeline(store=store, policy_of=lambda _: Policy())


async def test_every_try_claims_its_spaces_before_it_first_reads() -> None:
    """After a conflict nothing that was read counts: it is claimed, read and decided anew, under the same fence."""
    store = ContestedStore(claim=1, apply=1)
    events = [written("a", "Gate 4", space="s"), written("b", "Gate 5", space="t")]
    await build_pipeline(store).process(events, fence=Fence(version=3))
    assert [name for name in store.calls if name != "fetch"] == ["claim", "claim", "apply", "claim", "apply"]
    assert store.calls[0:3] == ["claim", "claim", "fetch"]
    assert store.fences == {Fence(version=3, spaces=frozenset({"s", "t"}))}
    assert await store.count() == 2


async def test_a_newer_owner_that_stays_is_told_of_and_nothing_is_read() -> None:
    """The tries are bounded, and the error names what the last one met."""
    store = ContestedStore(claim=MAX_CONFLICTS)
    with pytest.raises(DependencyError, match="space 's' has a newer owner"):
        await build_pipeline(store).process([written("a", "Gate 4", space="s")], fence=Fence(version=3))
    assert store.calls == ["claim"] * MAX_CONFLICTS


def test_the_collector_rests_until_the_last_batch_is_done() -> None:
    """Batches that overlap and end in any order leave it as it was before the first."""
    assert gc.isenabled()
    first, second = collector_paused(), collector_paused()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    """Whoever turned it off before knows why."""
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
