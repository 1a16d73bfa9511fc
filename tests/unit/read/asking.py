"""What tests of a read share: tasks, a store that keeps what it was asked, and the memories of an admission."""

from __future__ import annotations

from guardian.embed.bm25 import BM25_IDENTITY
from guardian.ports import Hit, SearchQuery, StoreIdentity
from guardian.read import Role, Task
from guardian.store.layout import SCHEMA_VERSION
from guardian.store.memory import MemoryStore
from tests.property.bank import IDENTITY

FACT = Task(requires_objective_fact=True)
PERSONAL = Task(requires_objective_fact=False, personalization_allowed=True)
DENSE = StoreIdentity(schema_version=SCHEMA_VERSION, embedding="fake", vector_size=2, bm25=BM25_IDENTITY)


class CountingStore(MemoryStore):
    """An in-memory store that keeps what it was asked."""

    def __init__(self, identity: StoreIdentity = IDENTITY) -> None:
        super().__init__(identity)
        self.asked: list[SearchQuery] = []

    async def search(self, query: SearchQuery) -> list[Hit]:
        """Search, and keep the query."""
        self.asked.append(query)
        return await super().search(query)


def memories(admission: object, *roles: Role) -> list[str]:
    """Give the memory ids of some roles, in order."""
    return [item.candidate.memory_id for item in admission.decisions if item.role in roles]  # type: ignore[attr-defined] # an admission
