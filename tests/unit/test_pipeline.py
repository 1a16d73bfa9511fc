"""The pipeline's dealings with its store, and with the collector of reference cycles."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest

from guardian.core.needs import Needs
from guardian.core.point import Phase, Point
from guardian.core.policy import Policy
from guardian.errors import ConflictError, DependencyError
from guardian.pipeline import MAX_CONFLICTS, Pipeline, collector_paused
from guardian.ports import Fence, StoreIdentity
from guardian.store.memory import MemoryStore
from tests.builders import written

IDENTITY = StoreIdentity(schema_version=1, embedding="none", vector_size=0, bm25="test")


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
