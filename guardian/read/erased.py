"""What a store knows of erasures: for whoever keeps records that no store has taken."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from guardian.core.needs import Key, Needs
from guardian.core.rules.erasure import read_erasures
from guardian.ports import Store

# Memories asked about in one call; a memory of many revisions is read whole.
_PER_CALL = 200


async def fetch_erased(store: Store, memories: Iterable[Key]) -> dict[Key, datetime]:
    """Give which of some (space, memory id) are erased, each with the latest time up to which it is.

    Raises:
        DependencyError: The store is away.
    """
    erased: dict[Key, datetime] = {}
    asked = sorted(set(memories))
    for start in range(0, len(asked), _PER_CALL):
        erased |= read_erasures(await store.fetch(Needs(memories=set(asked[start : start + _PER_CALL]))))
    return erased
