"""The contract of the Store port: what is walked through and counted, run against every implementation."""

from __future__ import annotations

from typing import Any

import pytest

from guardian.core.needs import Needs
from guardian.core.point import OPERATIONAL, Patch, Phase, PointKind
from guardian.errors import InvariantError
from guardian.ports import Fence
from tests.contract.store.place import build_record, build_upsert, read_all, write


class TestIteration:
    """Reading and counting everything."""

    async def test_iteration_and_count_agree_on_every_condition(self, store: Any) -> None:
        """Space, kinds and keyword values narrow both in the same way; the store's own point is never among them."""
        points = [
            *(build_record("s1", f"m{number}", pending="dense", roots=["r", f"x{number}"]) for number in range(5)),
            *(build_record("s2", f"m{number}") for number in range(4)),
            *(build_upsert(PointKind.READ, "s1", f"r{number}", mentions=["m1"]) for number in range(3)),
        ]
        await write(store, *points)
        for conditions, number in [
            ({}, 12),
            ({"space": "s1"}, 8),
            ({"space": "absent"}, 0),
            ({"kinds": [PointKind.READ]}, 3),
            ({"kinds": []}, 0),
            ({"space": "s1", "kinds": {PointKind.RECORD, PointKind.READ}, "where": {"pending": "dense"}}, 5),
            ({"where": {"memory_id": "m1", "status": "active"}}, 2),
            ({"where": {"roots": "x3"}}, 1),
        ]:
            seen = [point async for point in store.iter_points(**conditions)]
            assert len(seen) == len({point.id for point in seen}) == number, conditions
            assert await store.count(**conditions) == number, conditions
            assert all(point.whole for point in seen)

    async def test_only_indexed_keywords_can_be_asked_for(self, store: Any) -> None:
        """A field without a keyword index would be a full scan in one engine and an error in another."""
        for name in ("text", "utility", "valid_from", "version", "no.such"):
            with pytest.raises(InvariantError, match=name):
                await store.count(where={name: "x"})
            with pytest.raises(InvariantError, match=name):
                await read_all(store, where={name: "x"})

    async def test_writing_while_iterating_neither_ends_nor_repeats_it(self, store: Any) -> None:
        """Points patched behind the iteration are seen once each."""
        records = [build_record("s", f"m{number}") for number in range(10)]
        await write(store, *records)
        seen = []
        async for point in store.iter_points(space="s"):
            seen.append(point.id)
            await write(store, patches=(Patch(id=point.id, payload={"status": "superseded"}),))
        assert sorted(seen) == sorted(record.id for record in records)

    @pytest.mark.parametrize("page_points", [1, 3, 1_000])
    async def test_a_page_of_any_size_gives_every_point_once(self, store: Any, page_points: int) -> None:
        """Whoever reads beside others takes small pages, and misses nothing for it."""
        records = [build_record("s", f"m{number}") for number in range(10)]
        await write(store, *records, build_record("other", "m"))
        seen = [point.id async for point in store.iter_points(space="s", kinds={PointKind.RECORD}, page_points=page_points)]
        assert sorted(seen) == sorted(record.id for record in records)

    async def test_what_a_worker_notes_of_its_looks_is_a_kind_apart(self, store: Any) -> None:
        """Read by its own kinds, in none that anything else asks for, and writable by whoever stands outside the stream."""
        await write(store, build_record("s", "m"))
        notes = [build_upsert(kind, "s", "x", rest="{}") for kind in sorted(OPERATIONAL)]
        for _ in range(2):
            await store.apply([Phase(upserts=tuple(notes))], fence=Fence())
        assert set(await read_all(store, space="s", kinds=OPERATIONAL)) == {note.id for note in notes}
        key = {("s", "x")}
        assert await store.fetch(Needs(memories=key, verdicts=key, events=key, children=key, families=key)) == []
        assert (await store.count_values("space", kinds={PointKind.RECORD})) == {"s": 1}
        await store.apply([Phase(deletes=tuple(note.id for note in notes))], fence=Fence())
        assert await store.count(kinds=OPERATIONAL) == 0
