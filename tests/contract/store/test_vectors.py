"""The contract of the Store port: vectors that come later, run against every implementation."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from guardian.core.point import PointKind
from guardian.errors import ConfigError, InvariantError
from guardian.ports import SearchQuery, Vectors
from tests.contract.store.place import IDENTITY, SPARSE_ONLY, Place, build_record, build_upsert, list_memories, read_all, write


class TestVectors:
    """Filling in what was stored without a dense vector."""

    async def test_vectors_are_filled_in_and_nothing_else_changes(self, store: Any) -> None:
        """The record is found by its new vector, keeps payload and BM25 vector, and is not pending any more."""
        upsert = build_record("s", "m", pending="dense", sparse=((1,), (1.0,)))
        await write(store, upsert, build_record("s", "n", pending="dense"))
        await store.set_vectors({upsert.id: (0.0, 1.0, 0.0, 0.0)})
        assert list_memories(await store.search(SearchQuery(space="s", sparse=((), ()), dense=(0, 1.0, 0, 0)))) == ["m"]
        assert list_memories(await store.search(SearchQuery(space="s", sparse=((1,), (1.0,))))) == ["m"]
        assert (await read_all(store))[upsert.id] == {key: value for key, value in upsert.payload.items() if key != "pending"}
        assert await store.count(where={"pending": "dense"}) == 1

    async def test_what_was_erased_meanwhile_gets_no_vector_back(self, place: Place) -> None:
        """Tombstones and absent points are left alone, and the records beside them are filled."""
        store = await place.open()
        record = build_record("s", "m")
        tombstone = build_upsert(PointKind.TOMBSTONE, "s", "t", memory_id="t", status="erased", pending="dense")
        await write(store, record, tombstone)
        vector = (1.0, 0.0, 0.0, 0.0)
        await store.set_vectors({tombstone.id: vector, str(uuid.uuid4()): vector, record.id: vector})
        await store.set_vectors({tombstone.id: vector})
        assert await place.read_dense(record.id) == pytest.approx(vector)
        assert await place.read_dense(tombstone.id) is None
        assert (await read_all(store)) == {record.id: record.payload, tombstone.id: tombstone.payload}

    async def test_vectors_of_another_size_are_refused(self, store: Any) -> None:
        """Nothing of the call is written."""
        record, other = build_record("s", "m"), build_record("s", "n")
        await write(store, record, other)
        with pytest.raises(InvariantError, match="3 numbers"):
            await store.set_vectors({record.id: (1.0, 0.0, 0.0, 0.0), other.id: (1.0, 0.0, 0.0)})
        assert await store.search(SearchQuery(space="s", sparse=((), ()), dense=(1.0, 0, 0, 0))) == []

    async def test_vectors_come_back_as_they_are_kept(self, store: Any) -> None:
        """Dense ones of length 1, terms by ascending id, None where there is none; over all pages, absent points left out."""
        both = build_record("s", "both", dense=(3.0, 0.0, 4.0, 0.0), sparse=((2, 7, 4_000_000_000), (0.5, 1.25, 2.0)))
        only_sparse = build_record("s", "sparse", sparse=((1,), (1.0,)))
        neither = build_upsert(PointKind.READ, "s", "read")
        more = [build_record("s", f"m{number}", dense=(1.0, float(number), 0, 0)) for number in range(8)]
        await write(store, both, only_sparse, neither, *more)
        absent = str(uuid.uuid4())
        found = await store.fetch_vectors([both.id, only_sparse.id, neither.id, absent, *(record.id for record in more)])
        assert found.keys() == {both.id, only_sparse.id, neither.id, *(record.id for record in more)}
        assert found[both.id].dense == pytest.approx((0.6, 0.0, 0.8, 0.0))
        assert found[both.id].sparse == both.sparse
        assert found[only_sparse.id] == Vectors(sparse=only_sparse.sparse)
        assert found[neither.id] == Vectors()
        assert all(found[record.id].dense is not None and found[record.id].sparse is None for record in more)
        assert await store.fetch_vectors([]) == {}

    async def test_what_was_read_can_be_written_again(self, store: Any) -> None:
        """Vectors that are written as they were read are the same vectors."""
        record = build_record("s", "m", dense=(0.3, -0.7, 0.1, 2.0), sparse=((2, 7), (0.1, 1 / 3)))
        await write(store, record)
        (first,) = (await store.fetch_vectors([record.id])).values()
        await write(store, replace(record, dense=first.dense, sparse=first.sparse))
        (second,) = (await store.fetch_vectors([record.id])).values()
        assert second.sparse == first.sparse
        assert second.dense == pytest.approx(first.dense, abs=1e-6)

    async def test_a_store_without_embedding_can_get_one_later(self, place: Place) -> None:
        """BM25 alone works; then the vector is added, filled, found, and the new identity is the one to open with."""
        store = await place.open(SPARSE_ONLY)
        record = build_record("s", "m", pending="dense", sparse=((1,), (1.0,)))
        await write(store, record)
        with pytest.raises(InvariantError):
            await write(store, build_record("s", "n", dense=(1.0, 0.0, 0.0, 0.0)))
        with pytest.raises(InvariantError):
            await store.search(SearchQuery(space="s", sparse=((1,), (1.0,)), dense=(1.0, 0.0, 0.0, 0.0)))
        assert list_memories(await store.search(SearchQuery(space="s", sparse=((1,), (1.0,))))) == ["m"]
        for _ in range(2):  # a death between its two steps is mended by doing it again
            await store.add_dense(embedding="test-4", vector_size=4)
        assert store.identity == IDENTITY
        await store.set_vectors({record.id: (1.0, 0.0, 0.0, 0.0)})
        await write(store, build_record("s", "n", dense=(0.0, 1.0, 0.0, 0.0)))
        query = SearchQuery(space="s", sparse=((), ()), dense=(1.0, 0.0, 0.0, 0.0))
        assert list_memories(await store.search(query)) == ["m", "n"]
        await store.close()
        again = await place.open(IDENTITY)
        assert list_memories(await again.search(query)) == ["m", "n"]

    async def test_an_embedding_is_not_replaced_by_adding_another(self, store: Any) -> None:
        """Neither another name nor another size; nor is `none` an embedding."""
        for embedding, size in (("test-5", 5), ("other-4", 4), ("none", 4), ("test-4", 0)):
            with pytest.raises(ConfigError):
                await store.add_dense(embedding=embedding, vector_size=size)
