"""An empty place and an open store of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.store.place import KINDS, Place


@pytest.fixture(params=KINDS)
async def place(request: pytest.FixtureRequest, fast_path: Path) -> AsyncIterator[Place]:
    """Give an empty place for each kind of store."""
    place = Place(request.param, fast_path)
    yield place
    await place.clear()


@pytest.fixture
async def store(place: Place) -> Any:
    """Give an open, empty store of each kind, with pages of three points."""
    return await place.open(page_size=3)
