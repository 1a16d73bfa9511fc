"""Generations of a collection on a server: the one in use, the next one that is being filled, and those that were given up.

```
guardian     an alias: the name in the settings
guardian-1   given up: its own point says for which one; nobody may write it, who reads it goes on reading
guardian-2   in use: where the alias leads
guardian-3   being filled: its own point says so, nobody opens it but a migration
```

The switch moves the alias in one request, so whoever opens the store, or searches it by the alias, has the old one or the new one.
A collection made before there were aliases has the name itself, which cannot be both; its switch removes it and then makes the alias.

Why no write is lost: a writer looks at the collection's own point before every request and after the last, before its batch is
acknowledged. A migration notes there that the collection is given up, waits until requests on their way must have ended, and only
then carries over what was written since it began. A batch that ends after the note is not acknowledged: its events are read again
by the worker that comes next, which finds the new collection.
"""

from __future__ import annotations

import asyncio

from qdrant_client import AsyncQdrantClient

from guardian.errors import ConfigError
from guardian.ports import StoreIdentity
from guardian.store.identity import META_ID, RETIRED, UNFINISHED, build_absent_error
from guardian.store.qdrant.collection import Role, find_collection, list_numbered, point_alias, read_note, read_number
from guardian.store.qdrant.query import vendor_errors
from guardian.store.qdrant.store import QdrantStore


class QdrantGenerations:
    """The generations of one store on a server; see `guardian.migration.Generations`.

    Args:
        client: Stays open.
        settle_s: Seconds after which a request on its way has ended; at least the time limit of the workers' clients.
    """

    is_shared = True

    def __init__(self, client: AsyncQdrantClient, *, alias: str, has_indexes: bool = True, settle_s: float = 30.0) -> None:
        self.place = f"the Qdrant collection '{alias}'"
        self._client = client
        self._alias = alias
        self._has_indexes = has_indexes
        self._settle_s = settle_s
        self._current = self._next = ""

    async def open_current(self) -> QdrantStore:
        """Open the collection in use as it is."""
        with vendor_errors(self.place):
            self._current = await find_collection(self._client, self._alias)
            if not await self._client.collection_exists(self._current):
                raise build_absent_error(self.place)
            return await self._open(self._current, None, Role.READ_AS_IT_IS)

    async def open_next(self, identity: StoreIdentity) -> QdrantStore:
        """Open the collection that an earlier attempt was filling for the same identity, or make one."""
        with vendor_errors(self.place):
            for name in await self._list_begun():
                store = await self._open(name, identity, Role.FILLED)
                if store.identity == identity and not store.faults:
                    self._next = name
                    return store
                await self._client.delete_collection(name)
            numbers = [read_number(name) for name in await list_numbered(self._client, self._alias)]
            self._next = f"{self._alias}-{1 + max([1, *numbers])}"
            return await self._open(self._next, identity, Role.FILLED)

    def check_switch(self, *, drops_old: bool) -> None:
        """Refuse what the switch would have to remove unasked.

        Raises:
            ConfigError: The collection has the alias's name.
        """
        if self._current == self._alias and not drops_old:
            raise ConfigError(
                f"{self.place} was made before there were aliases: its name must be freed for one, so the switch has to remove it, "
                "and for the moment between two requests readers find nothing.",
                mend="say --drop-old. The new collection is complete before the old one is removed.",
            )

    async def retire_current(self) -> None:
        """Bar writers from the collection in use, and wait until requests on their way have ended. Readers go on."""
        with vendor_errors(self.place):
            await self._client.set_payload(self._current, {RETIRED: self._next}, [META_ID], wait=True)
            await asyncio.sleep(self._settle_s)

    async def switch(self) -> None:
        """Let the alias lead to the filled collection."""
        with vendor_errors(self.place):
            await self._client.delete_payload(self._next, [UNFINISHED], [META_ID], wait=True)
            if self._current == self._alias:
                await self._client.delete_collection(self._current)
            await point_alias(self._client, self._alias, self._next)

    async def discard_next(self) -> bool:
        """Remove what earlier attempts were filling, and let writers back in; tells whether there was anything."""
        with vendor_errors(self.place):
            begun = await self._list_begun()
            for name in begun:
                await self._client.delete_collection(name)
            await self._client.delete_payload(self._current, [RETIRED], [META_ID], wait=True)
            return bool(begun)

    async def list_old(self) -> list[str]:
        """List the collections that were given up."""
        with vendor_errors(self.place):
            in_use = await find_collection(self._client, self._alias)
            return [
                name
                for name, note in (await list_numbered(self._client, self._alias)).items()
                if RETIRED in note and name != in_use
            ]

    async def drop_old(self) -> list[str]:
        """Remove the collections that were given up; gives their names."""
        with vendor_errors(self.place):
            dropped = await self.list_old()
            for name in dropped:
                await self._client.delete_collection(name)
            return dropped

    async def check_room(self) -> None:
        """Do nothing: a server's disk is seen by the server alone."""

    async def measure_bytes(self) -> int | None:
        """Give None: a server does not say what it has on disk."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _open(self, name: str, identity: StoreIdentity | None, role: Role) -> QdrantStore:
        store = QdrantStore(
            self._client, collection=name, identity=identity, has_indexes=self._has_indexes, closes_client=False, role=role
        )
        await store.open()
        return store

    async def _list_begun(self) -> list[str]:
        """List what was being filled; a switch that was cut off leaves one that only the collection in use names."""
        numbered = await list_numbered(self._client, self._alias)
        named = (await read_note(self._client, self._current)).get(RETIRED)
        begun = [name for name, note in numbered.items() if UNFINISHED in note or name == named]
        return [name for name in begun if name != self._current]
