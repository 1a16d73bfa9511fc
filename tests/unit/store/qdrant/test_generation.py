"""What a migration on a server promises: readers go on, no write is lost, and an old worker never writes into the new collection.

On the client's local mode, and on a server where QDRANT_URL names one.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, models

from guardian.core.point import Phase
from guardian.errors import ConfigError, DependencyError
from guardian.migration import Aim, MigrationReport, Step, migrate
from guardian.ports import Fence, SearchQuery, StoreIdentity
from guardian.store.identity import META_ID, build_meta_payload
from guardian.store.qdrant.collection import create_collection, create_indexes
from guardian.store.qdrant.generation import QdrantGenerations
from guardian.store.qdrant.store import QdrantStore, build_client
from tests.generations import (
    NEW,
    NONE,
    OLD,
    Model,
    aim_at,
    build_local_client,
    build_read,
    build_record,
    embed,
    observe,
    read_all,
    write,
)

QDRANT_URL = os.environ.get("QDRANT_URL")


@dataclass
class Server:
    """A server with one store's generations."""

    client: AsyncQdrantClient
    has_indexes: bool
    alias: str = field(default_factory=lambda: f"migrate-{uuid.uuid4().hex}")

    def build_store(self, identity: StoreIdentity | None) -> QdrantStore:
        """Build a store as a worker or a reader has it."""
        return QdrantStore(
            self.client, collection=self.alias, identity=identity, has_indexes=self.has_indexes, closes_client=False
        )

    async def open(self, identity: StoreIdentity | None) -> QdrantStore:
        """Open a store."""
        store = self.build_store(identity)
        await store.open()
        return store

    def build_generations(self) -> QdrantGenerations:
        """Build what migrates; nothing is under way here, so nothing is waited for."""
        return QdrantGenerations(self.client, alias=self.alias, has_indexes=self.has_indexes, settle_s=0)

    async def migrate(self, aim: Aim | None, **options: Any) -> MigrationReport:
        """Migrate to the end."""
        return await migrate(self.build_generations(), aim, **{"observe": observe, **options})

    async def list_collections(self) -> list[str]:
        """Give the names without the alias, in order."""
        names = [item.name for item in (await self.client.get_collections()).collections]
        return sorted(name.removeprefix(self.alias) for name in names if name.startswith(self.alias))


@pytest.fixture(params=["local", *(["server"] if QDRANT_URL else [])])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """Give a server without collections of the test."""
    is_local = request.param == "local"
    server = Server(build_local_client() if is_local else build_client(str(QDRANT_URL)), has_indexes=not is_local)
    yield server
    for name in await server.list_collections():
        await server.client.delete_collection(server.alias + name)
    await server.client.close()


def build_bank(number: int = 12) -> list[Any]:
    """Build records of the old model and a point without vectors."""
    return [*(build_record(f"m{place}", size=OLD.vector_size) for place in range(number)), build_read("m1")]


async def make_plain(server: Server, *upserts: Any) -> None:
    """Make a collection as it was made before there were aliases: by the name of the settings."""
    await write(await server.open(OLD), *upserts)
    records, _ = await server.client.scroll(server.alias, limit=1_000, with_payload=True, with_vectors=True)
    await server.client.delete_collection(f"{server.alias}-1")
    await create_collection(server.client, server.alias, OLD)
    if server.has_indexes:
        await create_indexes(server.client, server.alias)
    structs = [models.PointStruct(id=record.id, payload=record.payload, vector=record.vector or {}) for record in records]
    await server.client.upsert(server.alias, structs, wait=True)


async def test_a_new_store_lies_behind_an_alias(server: Server) -> None:
    """And is found there again."""
    await write(await server.open(OLD), build_record("m", size=3))
    assert await server.list_collections() == ["-1"]
    assert await (await server.open(OLD)).count() == 1
    assert (await server.client.count(server.alias, exact=True)).count == 2


async def test_a_migration_moves_the_alias_and_keeps_the_old_one_until_it_is_told(server: Server) -> None:
    """The new identity opens the new collection; the old one stays for its readers, then goes on request."""
    old = await server.open(OLD)
    await write(old, *build_bank())
    before = await read_all(old)
    report = await server.migrate(aim_at(NEW))
    assert (report.is_switched, report.embedded, report.kept) == (True, 12, [f"{server.alias}-1"])
    new = await server.open(NEW)
    assert await read_all(new) == before
    assert (await new.search(SearchQuery(space="s", sparse=((), ()), dense=embed("text of m3", 4))))[0].point.payload
    with pytest.raises(ConfigError, match="guardian migrate"):
        await server.open(OLD)
    again = await server.migrate(aim_at(NEW), drops_old=True)
    assert (again.is_switched, again.dropped) == (False, [f"{server.alias}-1"])
    assert await server.list_collections() == ["-2"]
    assert await read_all(await server.open(NEW)) == before


async def test_readers_answer_at_every_step(server: Server) -> None:
    """One that opened before goes on, one that opens anew finds the whole store, and so does a search by the alias."""
    old = await server.open(OLD)
    await write(old, *build_bank())
    seen: list[Step] = []
    reads: list[tuple[int, int, int]] = []

    async def read() -> None:
        anew = await server.open(None)
        direct = await server.client.count(server.alias, exact=True)
        reads.append((await old.count(), await anew.count(), direct.count))

    class Watched(QdrantGenerations):
        """Reads before each step that changes something; the last read is after all."""

        async def open_next(self, identity: StoreIdentity) -> QdrantStore:
            await read()
            return await super().open_next(identity)

        async def retire_current(self) -> None:
            await read()
            await super().retire_current()

        async def switch(self) -> None:
            await read()
            await super().switch()

    watched = Watched(server.client, alias=server.alias, has_indexes=server.has_indexes, settle_s=0)
    await migrate(watched, aim_at(NEW), observe=lambda step, *_: seen.append(step))
    await read()
    assert reads == [(13, 13, 14)] * 5
    assert list(dict.fromkeys(seen)) == list(Step)


async def test_what_is_written_while_it_is_filled_is_carried_over(server: Server) -> None:
    """Workers go on until the switch; their writes, with or without vectors, are in the new collection."""
    old = await server.open(OLD)
    await write(old, *build_bank(), version=5)
    model = Model()
    assert not (await server.migrate(aim_at(NEW, model), stops_before_switch=True)).is_switched
    changed = replace(build_record("m1", size=3), payload={**build_record("m1").payload, "status": "superseded"})
    await write(old, changed, build_record("late", size=3), deletes=(build_record("m2").id,), version=6)
    model.asked.clear()
    assert (await server.migrate(aim_at(NEW, model))).is_switched
    assert model.asked == ["text of late"]
    found = await read_all(await server.open(NEW))
    assert found == await read_all(old)
    assert found[changed.id]["status"] == "superseded"


async def test_a_worker_of_the_old_identity_can_write_nowhere_after_the_switch(server: Server) -> None:
    """Neither into the new collection nor, unheard, into the old one; also when the old one is gone."""
    old = await server.open(OLD)
    await write(old, *build_bank())
    await server.migrate(aim_at(NEW))
    before = await read_all(await server.open(NEW))
    for attempt in range(2):
        with pytest.raises(ConfigError, match=r"given up.*guardian migrate"):
            await write(old, build_record("late", size=3), version=2**50)
        with pytest.raises(ConfigError, match="given up"):
            await old.set_vectors({build_record("m1").id: (1.0, 0.0, 0.0)})
        assert await read_all(await server.open(NEW)) == before
        if not attempt:
            await server.migrate(aim_at(NEW), drops_old=True)


async def test_a_batch_that_was_under_way_at_the_mark_is_not_acknowledged(server: Server) -> None:
    """The collection is given up between its last write and its end: `apply` raises, so its offsets are not committed."""
    old = await server.open(OLD)
    await write(old, *build_bank())
    generations = server.build_generations()
    await generations.open_current()
    await generations.open_next(NEW)

    class Late:
        """Gives the collection up while a write is under way."""

        def __init__(self, client: AsyncQdrantClient) -> None:
            self._client = client

        def __getattr__(self, name: str) -> Any:
            return getattr(self._client, name)

        async def upsert(self, *arguments: Any, **options: Any) -> Any:
            answer = await self._client.upsert(*arguments, **options)
            await generations.retire_current()
            return answer

    old._client = Late(server.client)  # type: ignore[assignment]
    with pytest.raises(ConfigError, match="given up"):
        await old.apply([Phase(upserts=(build_record("late", size=3),))], fence=Fence(version=9))


@pytest.mark.parametrize("cut", ["filling", "retired", "finished", "switched"])
async def test_cut_off_anywhere_it_goes_on_and_embeds_nothing_twice(server: Server, cut: str) -> None:
    """After each step the store in use is whole, and the next run ends what was begun."""
    await write(await server.open(OLD), *build_bank())
    before = await read_all(await server.open(None))
    model = Model(fails_after=5 if cut == "filling" else None)
    if cut == "filling":
        with pytest.raises(DependencyError, match="away"):
            await server.migrate(aim_at(NEW, model))
    else:
        await server.migrate(aim_at(NEW, model), stops_before_switch=True)
        generations = server.build_generations()
        await generations.open_current()
        await generations.open_next(NEW)
        await generations.retire_current()
        if cut == "finished":
            await server.client.delete_payload(f"{server.alias}-2", ["unfinished"], [META_ID], wait=True)
        if cut == "switched":
            await generations.switch()
    assert await read_all(await server.open(None)) == before
    if cut in ("retired", "finished"):
        with pytest.raises(ConfigError, match="given up"):
            await server.open(OLD)
    model.fails_after = None
    report = await server.migrate(aim_at(NEW, model), drops_old=True)
    assert report.is_switched is (cut != "switched")
    assert await read_all(await server.open(NEW)) == before
    assert sorted(model.asked) == sorted(f"text of m{number}" for number in range(12))
    assert await server.list_collections() == ["-2"]


async def test_the_way_back_before_the_switch_is_the_old_settings(server: Server) -> None:
    """Asked for what the store is already, a migration removes what was begun and lets writers in again."""
    old = await server.open(OLD)
    await write(old, *build_bank())
    generations = server.build_generations()
    await generations.open_current()
    await generations.open_next(NEW)
    await generations.retire_current()
    with pytest.raises(ConfigError, match="given up"):
        await write(old, build_record("late", size=3))
    report = await server.migrate(aim_at(OLD))
    assert (report.is_switched, report.discarded) == (False, True)
    assert await server.list_collections() == ["-1"]
    await write(old, build_record("late", size=3))
    assert await (await server.open(OLD)).count() == 14


async def test_the_way_back_after_the_switch_is_another_migration(server: Server) -> None:
    """What was written since is in it."""
    await write(await server.open(OLD), *build_bank())
    await server.migrate(aim_at(NEW))
    await write(await server.open(NEW), build_record("late", size=4))
    await server.migrate(aim_at(OLD), drops_old=True)
    assert await (await server.open(OLD)).count() == 14
    assert await server.list_collections() == ["-3"]


async def test_a_collection_without_an_alias_opens_and_is_migrated_on_request_alone(server: Server) -> None:
    """Its name must be freed, so the switch removes it; not unasked, and not before the new one is complete."""
    await make_plain(server, *build_bank())
    assert await server.list_collections() == [""]
    before = await read_all(await server.open(OLD))
    assert len(before) == 13
    with pytest.raises(ConfigError, match=r"before there were aliases.*--drop-old"):
        await server.migrate(aim_at(NEW))
    assert await server.list_collections() == [""]
    await server.migrate(aim_at(NEW), drops_old=True)
    assert await server.list_collections() == ["-2"]
    assert await read_all(await server.open(NEW)) == before


async def test_cut_off_between_removing_the_name_and_making_the_alias_nothing_is_made_anew(server: Server) -> None:
    """The complete collection is found and gets its alias: an empty store in its place would be the loss of all."""
    await make_plain(server, *build_bank())
    before = await read_all(await server.open(OLD))
    await server.migrate(aim_at(NEW), stops_before_switch=True, drops_old=True)
    await server.client.delete_payload(f"{server.alias}-2", ["unfinished"], [META_ID], wait=True)
    await server.client.delete_collection(server.alias)
    assert await read_all(await server.open(NEW)) == before
    assert (await server.client.count(server.alias, exact=True)).count == 14


async def test_without_an_alias_an_unfinished_collection_is_not_the_store(server: Server) -> None:
    """Nor is a new one made beside it."""
    await make_plain(server, *build_bank())
    await server.migrate(aim_at(NEW), stops_before_switch=True, drops_old=True)
    await server.client.delete_collection(server.alias)
    for identity in (NEW, OLD, None):
        with pytest.raises(ConfigError, match="no alias"):
            await server.open(identity)
    assert await server.list_collections() == ["-2"]


async def test_somebody_elses_collection_of_a_like_name_is_left_alone(server: Server) -> None:
    """It is neither filled nor removed, and its number is passed over."""
    await write(await server.open(OLD), *build_bank())
    foreign = f"{server.alias}-7"
    await server.client.create_collection(foreign, vectors_config={}, sparse_vectors_config={"x": models.SparseVectorParams()})
    await server.client.upsert(foreign, [models.PointStruct(id=META_ID, vector={}, payload={"mine": "yes"})], wait=True)
    await server.migrate(aim_at(NEW), drops_old=True)
    assert await server.list_collections() == ["-7", "-8"]
    assert (await server.client.count(foreign, exact=True)).count == 1


async def test_two_complete_collections_without_an_alias_are_not_chosen_between(server: Server) -> None:
    """Both are named."""
    await write(await server.open(OLD), *build_bank())
    await server.migrate(aim_at(NEW))
    for number in (1, 2):
        note = build_meta_payload(OLD)
        await server.client.overwrite_payload(f"{server.alias}-{number}", note, [META_ID], wait=True)
    drop = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=server.alias))
    await server.client.update_collection_aliases([drop])
    with pytest.raises(ConfigError, match=rf"{server.alias}-1, {server.alias}-2"):
        await server.open(OLD)


async def test_compacting_makes_the_collection_anew_and_removes_the_old_one(server: Server) -> None:
    """The same points under the same alias, vectors kept, and a worker opens it again."""
    old = await server.open(OLD)
    await write(old, *build_bank())
    before, vectors = await read_all(old), await old.fetch_vectors([build_record("m1").id])
    report = await server.migrate(None, drops_old=True)
    assert report.dropped == [f"{server.alias}-1"]
    assert await server.list_collections() == ["-2"]
    new = await server.open(OLD)
    assert await read_all(new) == before
    assert (await new.fetch_vectors([build_record("m1").id])).popitem()[1].sparse == vectors.popitem()[1].sparse
    await write(new, build_record("later", size=3), version=3)


async def test_a_store_that_is_not_there_is_not_made(server: Server) -> None:
    """Nothing is created by asking."""
    with pytest.raises(ConfigError, match="no store"):
        await server.migrate(aim_at(NONE))
    assert await server.list_collections() == []
