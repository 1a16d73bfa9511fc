"""The contract of the Store port: what is written, run against every implementation."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from guardian.core.needs import Needs
from guardian.core.point import Patch, Phase, PointKind, Upsert
from guardian.errors import InvariantError
from guardian.ports import SearchQuery
from tests.contract.store.place import FENCE, build_record, list_ids, list_memories, read_all, write


class TestApply:
    """What writing does."""

    async def test_applying_twice_is_applying_once(self, store: Any) -> None:
        """All kinds of writes over several phases, done twice, leave what doing them once left."""
        old, gone, fresh = (
            build_record("s", "old", pending="dense"),
            build_record("s", "gone"),
            build_record("s", "fresh"),
        )
        await write(store, old, gone)
        phases = [
            Phase(upserts=(fresh,)),
            Phase(patches=(Patch(id=old.id, payload={"status": "superseded", "pending": None}),)),
            Phase(deletes=(gone.id,)),
        ]
        await store.apply(phases, fence=FENCE)
        once = await read_all(store)
        await store.apply(phases, fence=FENCE)
        assert await read_all(store) == once
        assert once == {
            fresh.id: fresh.payload,
            old.id: {**{key: value for key, value in old.payload.items() if key != "pending"}, "status": "superseded"},
        }

    async def test_phases_are_written_in_order(self, store: Any) -> None:
        """A point written, changed, removed and written again over four phases ends as the last says."""
        upsert = build_record("s", "m")
        patch = Patch(id=upsert.id, payload={"status": "superseded"})
        await store.apply([Phase(upserts=(upsert,)), Phase(patches=(patch,))], fence=FENCE)
        assert (await read_all(store))[upsert.id]["status"] == "superseded"
        await store.apply([Phase(patches=(patch,)), Phase(deletes=(upsert.id,)), Phase(upserts=(upsert,)), Phase()], fence=FENCE)
        assert await read_all(store) == {upsert.id: upsert.payload}

    async def test_a_patch_replaces_fields_and_removes_those_that_are_none(self, store: Any) -> None:
        """Lists are replaced, not merged; a removed field is gone, from lookups too; other fields and vectors stay."""
        upsert = build_record("s", "m", roots=["a", "b"], subject="x", utility=0.5, dense=(1.0, 0, 0, 0), sparse=((1,), (1.0,)))
        await write(store, upsert, build_record("s", "n", dense=(0, 1.0, 0, 0)))
        await write(store, patches=(Patch(id=upsert.id, payload={"roots": ["c"], "subject": None, "absent": None}),))
        expected = {key: value for key, value in upsert.payload.items() if key != "subject"} | {"roots": ["c"]}
        assert (await read_all(store))[upsert.id] == expected
        assert await store.fetch(Needs(subjects={("s", "x")}, families={("s", "a")})) == []
        assert list_ids(await store.fetch(Needs(families={("s", "c")}))) == [upsert.id]
        hits = await store.search(SearchQuery(space="s", sparse=((1,), (1.0,)), dense=(1.0, 0, 0, 0)))
        assert list_memories(hits) == ["m", "n"]

    async def test_patches_and_deletes_of_absent_points_do_nothing(self, store: Any) -> None:
        """An absent point stays absent, and what else is in the phase is written."""
        absent, upsert, other = str(uuid.uuid4()), build_record("s", "m"), build_record("s", "n")
        await write(store, upsert)
        await write(
            store,
            other,
            patches=(Patch(id=absent, payload={"status": "superseded"}), Patch(id=upsert.id, payload={"depth": 2})),
            deletes=(str(uuid.uuid4()),),
        )
        assert await read_all(store) == {upsert.id: {**upsert.payload, "depth": 2}, other.id: other.payload}

    async def test_an_upsert_replaces_the_whole_point(self, store: Any) -> None:
        """Fields and vectors that the new point does not name are gone: an erasure leaves nothing behind."""
        full = build_record("s", "m", subject="x", dense=(1.0, 0, 0, 0), sparse=((1,), (1.0,)))
        await write(store, full)
        bare = Upsert(id=full.id, payload={"point": PointKind.RECORD, "space": "s", "memory_id": "m", "status": "active"})
        await write(store, bare)
        assert await read_all(store) == {full.id: bare.payload}
        assert await store.search(SearchQuery(space="s", sparse=((1,), (1.0,)), dense=(1.0, 0, 0, 0))) == []
        assert await store.fetch(Needs(subjects={("s", "x")})) == []

    async def test_no_phase_writes_nothing(self, store: Any) -> None:
        """An empty plan is no error."""
        await store.apply([], fence=FENCE)
        await store.apply([Phase()], fence=FENCE)
        assert await store.count() == 0

    @pytest.mark.parametrize(
        "bad",
        [
            build_record("s", "bad", dense=(1.0, 0.0, 0.0)),
            build_record("s", "bad", dense=(float("nan"), 0.0, 0.0, 1.0)),
            build_record("s", "bad", dense=(0.0, 0.0, 0.0, 0.0)),
            build_record("s", "bad", sparse=((1, 2), (1.0,))),
            build_record("s", "bad", sparse=((2, 1), (1.0, 1.0))),
            build_record("s", "bad", utility=float("inf")),
            build_record("s", "bad", verified=True),
            build_record("s", "bad", subject=None),
            build_record("s", "bad", text="\ud800"),
            build_record("s", "bad", valid_until="tomorrow"),
            replace(build_record("s", "bad"), id="not-a-uuid"),
        ],
    )
    async def test_what_an_engine_would_garble_is_refused_before_anything_is_written(self, store: Any, bad: Upsert) -> None:
        """One bad point in the last phase keeps the first phase from being written, and the store stays usable."""
        with pytest.raises(InvariantError):
            await store.apply([Phase(upserts=(build_record("s", "good"),)), Phase(upserts=(bad,))], fence=FENCE)
        assert await store.count() == 0
        await write(store, build_record("s", "later"))
        assert await store.count() == 1

    async def test_a_point_may_be_named_once_in_a_phase(self, store: Any) -> None:
        """Writes of one phase have no order, so two for one point are a bug."""
        upsert = build_record("s", "m")
        with pytest.raises(InvariantError, match="twice"):
            await write(store, upsert, patches=(Patch(id=upsert.id, payload={"depth": 1}),))
