"""The contract of the Store port: fences and claims, run against every implementation that has several writers."""

from __future__ import annotations

from typing import Any

import pytest

from guardian.core.needs import Needs
from guardian.core.point import Patch, Phase, build_point_id
from guardian.errors import ConfigError, ConflictError, InvariantError
from guardian.ports import Fence, SearchQuery
from guardian.store.identity import META_ID
from tests.contract.store.place import Place, build_record, list_ids, read_all, write


class TestFence:
    """What only a store with several writers promises."""

    @pytest.fixture
    def place(self, place: Place) -> Place:
        """Leave the stores out that one process owns."""
        if place.kind in ("memory", "edge"):
            pytest.skip("has one writer")
        return place

    async def test_a_lower_fence_changes_nothing_and_is_told(self, place: Place) -> None:
        """Upserts, patches and deletes under a lower fence raise a conflict and leave the newer writer's point."""
        store = await place.open()
        record = build_record("s", "m")
        await store.apply([Phase(upserts=(record,))], fence=Fence(version=2**53 - 1))
        for stale in (
            Phase(upserts=(build_record("s", "m", text="old"),)),
            Phase(patches=(Patch(id=record.id, payload={"status": "superseded", "text": None}),)),
            Phase(deletes=(record.id,)),
        ):
            with pytest.raises(ConflictError, match=record.id):
                await store.apply([stale, Phase(upserts=(build_record("s", "after"),))], fence=Fence(version=2**53 - 2))
            assert await read_all(store) == {record.id: record.payload}

    async def test_an_equal_or_higher_fence_writes(self, place: Place) -> None:
        """The same batch again, and a successor's, go through; a patch raises the fence too."""
        store = await place.open()
        record = build_record("s", "m")
        for version in (0, 5, 5, 6):
            await store.apply([Phase(upserts=(record,))], fence=Fence(version=version))
        await store.apply([Phase(patches=(Patch(id=record.id, payload={"depth": 1}),))], fence=Fence(version=9))
        with pytest.raises(ConflictError):
            await store.apply([Phase(upserts=(record,))], fence=Fence(version=8))
        await store.apply([Phase(deletes=(record.id,))], fence=Fence(version=9))
        assert await store.count() == 0

    async def test_a_former_owner_neither_brings_back_nor_makes_a_point(self, place: Place) -> None:
        """Once a successor has claimed the space, all writes below are refused, also of points it deleted or never made."""
        store = await place.open()
        kept, gone = build_record("s", "kept"), build_record("s", "gone")
        mine, later = (Fence(version=version, spaces=frozenset({"s"})) for version in (5, 6))
        await store.claim(mine)
        await store.apply([Phase(upserts=(kept, gone))], fence=mine)
        await store.claim(later)
        await store.apply([Phase(deletes=(gone.id,))], fence=later)
        for stale in (
            Phase(upserts=(gone,)),
            Phase(upserts=(build_record("s", "never"),)),
            Phase(patches=(Patch(id=kept.id, payload={"status": "superseded"}),)),
            Phase(deletes=(kept.id,)),
        ):
            with pytest.raises(ConflictError, match="'s'"):
                await store.apply([stale], fence=mine)
            assert await read_all(store) == {kept.id: kept.payload}

    async def test_a_claim_is_never_lowered_and_holds_in_its_own_space_alone(self, place: Place) -> None:
        """A lower claim is a conflict and changes nothing; equal and higher ones pass; other spaces are free."""
        store = await place.open()
        for version in (5, 5, 7):
            await store.claim(Fence(version=version, spaces=frozenset({"s", "t"})))
        for spaces in (frozenset({"s"}), frozenset({"s", "free"})):
            with pytest.raises(ConflictError, match="'s'"):
                await store.claim(Fence(version=6, spaces=spaces))
        await store.apply([Phase(upserts=(build_record("s", "m"),))], fence=Fence(version=7, spaces=frozenset({"s"})))
        await store.apply([Phase(upserts=(build_record("free", "m"),))], fence=Fence(version=6, spaces=frozenset({"free"})))
        assert await store.count() == 2

    async def test_a_writer_outside_the_stream_is_refused_where_workers_write(self, place: Place) -> None:
        """Version 0 claims nothing, writes where no worker ever did, and elsewhere is told where to send the events."""
        store = await place.open()
        marked, versioned, free = (Fence(spaces=frozenset({space})) for space in ("marked", "versioned", "free"))
        await store.claim(Fence(version=5, spaces=frozenset({"marked"})))
        await store.apply([Phase(upserts=(build_record("versioned", "m"),))], fence=Fence(version=5))
        for outside, space in ((marked, "marked"), (versioned, "versioned")):
            await store.claim(outside)
            with pytest.raises(ConfigError, match="guardian replay FILES --to-topic"):
                await store.apply([Phase(upserts=(build_record(space, "m", text="other"),))], fence=outside)
        await store.claim(free)
        await store.apply([Phase(upserts=(build_record("free", "m"),))], fence=free)
        assert await store.count() == 2
        await store.claim(Fence(version=1, spaces=frozenset({"free"})))

    async def test_the_fence_is_never_read(self, place: Place) -> None:
        """Points come back without the version, so exports of all stores are equal."""
        store = await place.open()
        await write(store, build_record("s", "m", sparse=((1,), (1.0,))))
        points = [
            *[point async for point in store.iter_points()],
            *await store.fetch(Needs(memories={("s", "m")})),
            *(hit.point for hit in await store.search(SearchQuery(space="s", sparse=((1,), (1.0,))))),
        ]
        assert len(points) == 3
        assert all("version" not in point.payload for point in points)


async def test_a_fence_beyond_53_bits_is_refused(store: Any) -> None:
    """A server compares fences as floats, where larger numbers blur."""
    for version in (-1, 2**53):
        with pytest.raises(InvariantError):
            await store.apply([Phase(upserts=(build_record("s", "m"),))], fence=Fence(version=version))
        with pytest.raises(InvariantError):
            await store.claim(Fence(version=version, spaces=frozenset({"s"})))


async def test_claims_are_never_read(place: Place) -> None:
    """Whoever asks for points, counts them or opens the store anew finds nothing of the claims; hundreds of spaces are one claim."""
    store = await place.open()
    spaces = frozenset({"s", *(f"s{number}" for number in range(700))})
    fence = Fence(version=7, spaces=spaces)
    await store.claim(fence)
    record = build_record("s", "m")
    await store.apply([Phase(upserts=(record,))], fence=fence)
    await store.claim(fence)
    await store.close()
    store = await place.open()
    assert await read_all(store) == await read_all(store, space="s") == {record.id: record.payload}
    assert await store.count() == await store.count_without_vector() == 1
    assert await store.count_values("space") == {"s": 1}
    assert await store.count_values("point") == {"record": 1}
    asked = {build_point_id(space, "mark") for space in spaces} | {META_ID, record.id}
    assert list_ids(await store.fetch(Needs(ids=asked))) == [record.id]
    assert await store.fetch_without_vector(1_000) == await store.fetch(Needs(ids={record.id}))
