"""A store that can be away, have a bug, or hang, and what is written into it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import pytest

from guardian.core.point import Phase, PointKind
from guardian.errors import DependencyError, InvariantError
from guardian.ports import Fence
from guardian.store.memory import MemoryStore, Shelf
from tests.brokers import embedded_available
from tests.builders import envelope, written_data
from tests.integration.worker_rig import (
    IDENTITY,
)


class Mood(StrEnum):
    """How a store feels."""

    WELL = "well"
    AWAY = "away"
    BROKEN = "broken"
    STUCK = "stuck"


class MoodyStore(MemoryStore):
    """An in-memory store that can be away, have a bug, or hang; it remembers the fences it was given.

    Attributes:
        tries: Times that something was to be applied.
    """

    def __init__(self, shelf: Shelf | None = None) -> None:
        super().__init__(IDENTITY, shelf=shelf)
        self.mood = Mood.WELL
        self.tries = 0
        self.versions: list[int] = []

    async def apply(self, phases: Sequence[Phase], *, fence: Fence) -> None:
        """Apply as the mood has it."""
        self.tries += 1
        match self.mood:
            case Mood.AWAY:
                raise DependencyError("the store is away", dependency="store")
            case Mood.BROKEN:
                raise InvariantError("two and two are five")
            case Mood.STUCK:
                await asyncio.Event().wait()
            case Mood.WELL:
                await super().apply(phases, fence=fence)
                self.versions.append(fence.version)


needs_embedded = pytest.mark.skipif(embedded_available() is not None, reason=str(embedded_available()))


def write(number: int, *, space: str = "s") -> dict[str, Any]:
    """Build one of many writes."""
    return envelope("memory.written", written_data(f"m{number}", f"Trailer {number}", src="tool"), t=number, space=space)


async def count_records(store: MemoryStore) -> int:
    """Give the records of a store."""
    return await store.count(kinds={PointKind.RECORD})
