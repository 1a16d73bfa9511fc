"""The contract of the Store port, run against every implementation.

A Qdrant server takes part when the environment names one in QDRANT_URL. The client's local mode takes part always; it has
no payload indexes and answers at once, so it shows the logic of the server store but not a server's timing.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient

from guardian.core.model import MemoryKind, Slot, Status
from guardian.core.needs import Needs
from guardian.core.point import HEAVY_FIELDS, OPERATIONAL, Patch, Phase, Point, PointKind, Upsert, build_point_id
from guardian.errors import ConfigError, ConflictError, InvariantError
from guardian.ports import Fence, SearchQuery, Store, StoreIdentity, Vectors
from guardian.store.edge.store import EdgeStore
from guardian.store.identity import META_ID
from guardian.store.layout import KEY_SETS
from guardian.store.memory import MemoryStore, Shelf
from guardian.store.qdrant.store import QdrantStore, build_client

IDENTITY = StoreIdentity(schema_version=1, embedding="test-4", vector_size=4, bm25="english")
SPARSE_ONLY = replace(IDENTITY, embedding="none", vector_size=0)
FENCE = Fence(version=7)
QDRANT_URL = os.environ.get("QDRANT_URL")
KINDS = ["memory", "edge", "qdrant-local", *(["qdrant-server"] if QDRANT_URL else [])]
STRANGE_IDS = [
    "../x",
    'it\'s "so"',
    "two\nlines",
    "m" * 200,
    str(uuid.UUID(int=0xABCDEF)).upper(),
    "a.b[0]",
    "靠窗座位",
    " ",
    "*",
]
T0 = datetime(2026, 3, 14, 9, tzinfo=UTC)


@dataclass
class Place:
    """One place that stores of one kind are opened at, again and again, with their contents kept."""

    kind: str
    path: Path
    shelf: Shelf = field(default_factory=Shelf)
    collection: str = field(default_factory=lambda: f"contract-{uuid.uuid4().hex}")
    client: AsyncQdrantClient | None = None
    opened: list[Any] = field(default_factory=list)

    async def open(self, identity: StoreIdentity = IDENTITY, *, page_size: int = 1_000) -> Any:
        """Open a store here."""
        store: Store
        if self.kind == "memory":
            store = MemoryStore(identity, shelf=self.shelf, page_size=page_size)
        elif self.kind == "edge":
            store = EdgeStore(self.path / "store", identity, page_size=page_size, min_free_bytes=0)
        else:
            is_local = self.kind == "qdrant-local"
            if self.client is None:
                self.client = AsyncQdrantClient(location=":memory:") if is_local else build_client(str(QDRANT_URL))
            store = QdrantStore(
                self.client,
                collection=self.collection,
                identity=identity,
                has_indexes=not is_local,
                closes_client=False,
                page_size=page_size,
            )
        await store.open()
        self.opened.append(store)
        return store

    async def read_dense(self, point_id: str) -> Any:
        """Read the dense vector of a point past the store; None without one."""
        if self.kind == "memory":
            return self.shelf.dense.get(point_id)
        if self.kind == "edge":
            (record,) = self.opened[-1]._open_shard.retrieve([point_id], False, True)
        else:
            (record,) = await self.client.retrieve(self.collection, [point_id], with_vectors=True)
        return (record.vector or {}).get("dense")

    async def clear(self) -> None:
        """Close and remove everything."""
        for store in self.opened:
            await store.close()
        if self.client is not None:
            for store in self.opened:  # behind the alias
                if await self.client.collection_exists(store.collection):
                    await self.client.delete_collection(store.collection)
            await self.client.close()


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


def build_upsert(point: PointKind, space: str, name: str, **fields: Any) -> Upsert:
    """Build a point named by its kind, space and name, with the fields as payload; vectors by `dense` and `sparse`."""
    vectors = {key: fields.pop(key) for key in ("dense", "sparse") if key in fields}
    payload = {"point": point, "space": space, **fields}
    return Upsert(id=build_point_id(space, point, name), payload=payload, **vectors)


def build_record(space: str, memory_id: str, **fields: Any) -> Upsert:
    """Build a record of a memory."""
    defaults = {"memory_id": memory_id, "text": f"text of {memory_id}", "card": "{}", "status": "active", "depth": 0}
    return build_upsert(PointKind.RECORD, space, memory_id, **{**defaults, **fields})


async def write(store: Store, *upserts: Upsert, patches: tuple[Patch, ...] = (), deletes: tuple[str, ...] = ()) -> None:
    """Write one phase."""
    await store.apply([Phase(upserts=upserts, patches=patches, deletes=deletes)], fence=FENCE)


async def read_all(store: Store, **conditions: Any) -> dict[str, Mapping[str, Any]]:
    """Read payloads by point id."""
    return {point.id: dict(point.payload) async for point in store.iter_points(**conditions)}


def list_ids(points: list[Point]) -> list[str]:
    """Give the sorted ids of points."""
    return sorted(point.id for point in points)


def list_memories(hits: list[Any]) -> list[str]:
    """Give the memory ids of hits, in their order."""
    return [hit.point.payload["memory_id"] for hit in hits]


class TestFetch:
    """What each key set finds."""

    @pytest.mark.parametrize("key_set", [one for one in KEY_SETS if one.field != "point"], ids=lambda key_set: key_set.name)
    async def test_a_key_set_finds_its_kinds_by_its_field_in_its_space_alone(self, store: Any, key_set: Any) -> None:
        """Of every kind of point with the name in the field, exactly the key set's kinds of the asked space answer."""
        is_list = key_set.field in ("mentions", "parents", "roots")
        value: Any = ["other", "wanted"] if is_list else "wanted"
        points = [
            build_upsert(kind, space, "p", text="t", card="c", rest="r", **{key_set.field: value})
            for kind in PointKind
            for space in ("s1", "s2")
        ]
        unlike = build_upsert(min(key_set.kinds), "s1", "unlike", **{key_set.field: ["other"] if is_list else "other"})
        await write(store, *points, unlike)
        found = await store.fetch(Needs(**{key_set.name: {("s1", "wanted"), ("s1", "absent"), ("s3", "wanted")}}))
        assert list_ids(found) == sorted(build_point_id("s1", kind, "p") for kind in key_set.kinds)
        assert all(point.whole is key_set.whole for point in found)
        assert all((name in point.payload) is key_set.whole for point in found for name in HEAVY_FIELDS)

    async def test_calibrations_are_found_by_their_kind_in_their_space_alone(self, store: Any) -> None:
        """All of a space, whole, and no other kind of point; another name finds nothing."""
        points = [build_upsert(kind, space, "p", facts="{}", rest="r") for kind in PointKind for space in ("s1", "s2")]
        another = build_upsert(PointKind.CALIBRATION, "s1", "another", facts="{}")
        await write(store, *points, another)
        found = await store.fetch(Needs(calibrations={("s1", "calibration"), ("s2", "verdict"), ("s3", "calibration")}))
        assert list_ids(found) == sorted(build_point_id("s1", PointKind.CALIBRATION, name) for name in ("p", "another"))
        assert all(point.whole for point in found)

    async def test_nothing_asked_finds_nothing(self, store: Any) -> None:
        """Empty needs give no points."""
        await write(store, build_record("s", "m"))
        assert await store.fetch(Needs()) == []

    async def test_absent_keys_find_nothing(self, store: Any) -> None:
        """Every set asked for what is not there gives no points."""
        await write(store, build_record("s", "m"))
        asked: dict[str, Any] = {key_set.name: {("s", "absent")} for key_set in KEY_SETS}
        assert await store.fetch(Needs(**asked, ids={str(uuid.uuid4())})) == []

    async def test_ids_are_read_whole_and_the_payload_comes_back_as_written(self, store: Any) -> None:
        """Texts, numbers and lists keep value and type; a tuple comes back as a list; nothing is added."""
        upsert = build_record(
            "s", "m", utility=0.1, depth=3, slots=("facts", "background"), parents=[], valid_from="2026-01-01T00:00:00Z"
        )
        await write(store, upsert)
        (point,) = await store.fetch(Needs(ids={upsert.id}))
        assert point.payload == {**upsert.payload, "slots": ["facts", "background"]}
        assert type(point.payload["depth"]) is int
        assert type(point.payload["utility"]) is float
        assert point.whole

    async def test_numbers_of_nine_decimals_come_back_exactly(self, store: Any) -> None:
        """So utilities are written; with all digits of a double the embedded engine gives one in nine back a step away."""
        upserts = [build_record("s", f"m{number}", utility=round(number / 997, 9)) for number in range(998)]
        await write(store, *upserts)
        found = await store.fetch(Needs(ids={upsert.id for upsert in upserts}))
        assert {point.id: point.payload["utility"] for point in found} == {
            upsert.id: upsert.payload["utility"] for upsert in upserts
        }

    async def test_a_point_asked_for_twice_comes_once_and_whole(self, store: Any) -> None:
        """A lineage read and a whole read of one point give the whole point once."""
        upsert = build_record("s", "m", parents=["p"], roots=["p"])
        await write(store, upsert)
        key = {("s", "p")}
        found = await store.fetch(Needs(children=key, families=key, memories={("s", "m")}, ids={upsert.id}))
        assert [(point.id, point.whole) for point in found] == [(upsert.id, True)]

    async def test_large_answers_are_read_over_all_pages(self, store: Any) -> None:
        """More points than several pages hold are all found, once each."""
        family = [build_record("s", f"m{place}", roots=["r"]) for place in range(40)]
        await write(store, *family)
        found = await store.fetch(Needs(families={("s", "r")}, ids={upsert.id for upsert in family[:10]}))
        assert list_ids(found) == sorted(upsert.id for upsert in family)
        assert sum(point.whole for point in found) == 10

    async def test_a_page_of_a_thousand_is_not_the_end(self, place: Place) -> None:
        """With the default page size, 1,100 children are all found."""
        store = await place.open()
        children = [build_upsert(PointKind.UNSEEN, "s", f"m{number}", parents=["p"]) for number in range(1_100)]
        await write(store, *children)
        assert len(await store.fetch(Needs(children={("s", "p")}))) == 1_100
        assert await store.count() == 1_100

    async def test_many_spaces_and_names_are_looked_up_together(self, place: Place) -> None:
        """Keys of 90 spaces, two names each, find exactly theirs."""
        store = await place.open()
        records = [build_record(f"s{number}", name) for number in range(90) for name in ("a", "b", "c")]
        await write(store, *records)
        asked = {(f"s{number}", name) for number in range(90) for name in ("a", "c", "absent")}
        found = await store.fetch(Needs(memories=asked))
        assert {(point.payload["space"], point.payload["memory_id"]) for point in found} == {
            (f"s{number}", name) for number in range(90) for name in ("a", "c")
        }
        assert len(found) == 180

    @pytest.mark.parametrize("name", STRANGE_IDS)
    async def test_strange_names_are_only_names(self, store: Any, name: str) -> None:
        """Paths, quotes, newlines, long names and upper-case UUIDs are found by their exact text alone."""
        wanted = build_record(name, name, parents=[name], roots=[name, "r"], subject=name)
        await write(store, wanted, build_record("other", name), build_record(name, name + "x"), build_record("s", "s"))
        key = {(name, name)}
        found = await store.fetch(Needs(memories=key, children=key, families=key, subjects=key))
        assert [(point.id, point.payload["memory_id"]) for point in found] == [(wanted.id, name)]
        assert await store.fetch(Needs(memories={(name, name.swapcase() + "y")})) == []
        assert await store.count(space=name) == 2


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


class TestSearch:
    """Who answers, in which order."""

    async def test_ranks_are_fused_and_ties_go_by_id(self, store: Any) -> None:
        """First in both rankings wins; equal records come in the order of their ids; scores are RRF, k = 60."""
        twins = [build_record("s", f"twin{number}", dense=(0.6, 0.8, 0, 0), sparse=((5,), (1.0,))) for number in range(4)]
        both = build_record("s", "both", dense=(1.0, 0, 0, 0), sparse=((5,), (2.0,)))
        only_dense = build_record("s", "only_dense", dense=(0, 0, 1.0, 0))
        only_sparse = build_record("s", "only_sparse", sparse=((5,), (0.5,)))
        await write(store, *twins, both, only_dense, only_sparse, build_record("s", "no_vector"))
        hits = await store.search(SearchQuery(space="s", dense=(2.0, 0, 0, 0), sparse=((5,), (1.0,))))
        in_order = [twin.payload["memory_id"] for twin in sorted(twins, key=lambda twin: twin.id)]
        assert list_memories(hits) == [
            "both",
            *in_order,
            *sorted(
                ["only_dense", "only_sparse"],
                key=lambda name: next(item.id for item in (only_dense, only_sparse) if item.payload["memory_id"] == name),
            ),
        ]
        assert [hit.score for hit in hits] == pytest.approx([2 / 60, 2 / 61, 2 / 62, 2 / 63, 2 / 64, 1 / 65, 1 / 65], rel=1e-9)
        assert hits[0].point.payload == both.payload

    async def test_the_limit_cuts_the_same_ranking(self, store: Any) -> None:
        """Every smaller limit gives a prefix of the larger one's answer."""
        await write(store, *(build_record("s", f"m{number}", sparse=((5,), (1.0,))) for number in range(12)))
        full = await store.search(SearchQuery(space="s", sparse=((5,), (1.0,)), limit=12))
        assert len(full) == 12
        for limit in (1, 5, 11):
            assert await store.search(SearchQuery(space="s", sparse=((5,), (1.0,)), limit=limit)) == full[:limit]

    async def test_a_reader_may_go_down_the_ranking_of_a_shorter_search(self, store: Any) -> None:
        """What is told behind the first hits changes nothing among them, though a deeper ranking of its own would."""
        places = random.Random(3).sample(range(240), 240)
        await write(
            store,
            *(
                build_record("s", f"m{near}", dense=(1.0, near / 100, 0, 0), sparse=((5,), (300.0 - place,)))
                for near, place in enumerate(places)
            ),
        )
        query = SearchQuery(space="s", dense=(1.0, 0, 0, 0), sparse=((5,), (1.0,)), limit=8)
        first, deep = await store.search(query), await store.search(replace(query, limit=100))
        found = await store.search(replace(query, limit=100, ranked_for=8))
        assert len(found) == 100
        assert found[:8] == first != deep[:8]
        assert len(await store.search(replace(query, limit=240, ranked_for=8))) == 240

    async def test_without_a_vector_the_score_is_bm25_with_the_spaces_own_idf(self, store: Any) -> None:
        """A term weighs ln((N - n + 0.5) / (n + 0.5) + 1) over the space's records; other spaces move nothing."""
        await write(
            store,
            build_record("s", "rare", sparse=((1, 9), (1.5, 1.0))),
            build_record("s", "common", sparse=((2, 9), (1.0, 1.0))),
            build_record("s", "common2", sparse=((2,), (0.5,))),
            build_upsert(PointKind.READ, "s", "read"),
        )
        query = SearchQuery(space="s", sparse=((1, 2), (1.0, 1.0)))
        before = await store.search(query)
        assert list_memories(before) == ["rare", "common", "common2"]
        assert [hit.score for hit in before] == pytest.approx([1.4712, 0.4700, 0.2350], abs=1e-4)
        await write(store, *(build_record("elsewhere", f"m{number}", sparse=((1,), (1.0,))) for number in range(30)))
        assert await store.search(query) == before

    async def test_another_space_never_answers(self, store: Any) -> None:
        """Equal records of another space, however well they match, are not given."""
        await write(store, build_record("other", "m", dense=(1.0, 0, 0, 0), sparse=((1,), (1.0,))))
        assert await store.search(SearchQuery(space="s", dense=(1.0, 0, 0, 0), sparse=((1,), (1.0,)))) == []

    async def test_only_records_of_the_asked_statuses_answer(self, store: Any) -> None:
        """By default active and verified; superseded when asked for; other kinds of points never."""
        vectors: Any = {"dense": (1.0, 0, 0, 0), "sparse": ((1,), (1.0,))}
        await write(
            store,
            *(build_record("s", status, status=status, **vectors) for status in Status),
            build_upsert(PointKind.TOMBSTONE, "s", "t", memory_id="t", status="active", **vectors),
        )
        query = SearchQuery(space="s", **vectors)
        assert set(list_memories(await store.search(query))) == {"active", "verified"}
        asked = replace(query, statuses=(Status.SUPERSEDED,))
        assert list_memories(await store.search(asked)) == ["superseded"]
        assert await store.search(replace(query, statuses=())) == []

    async def test_slots_and_kinds_narrow_the_answer(self, store: Any) -> None:
        """A record answers when it has one of the slots and none of the barred kinds."""
        await write(
            store,
            build_record("s", "a", slots=["facts", "background"], kind="fact", sparse=((1,), (1.0,))),
            build_record("s", "b", slots=["examples"], kind="episode", sparse=((1,), (1.0,))),
            build_record("s", "c", kind="fact", sparse=((1,), (1.0,))),
        )
        query = SearchQuery(space="s", sparse=((1,), (1.0,)))
        assert list_memories(await store.search(replace(query, slots=[Slot.BACKGROUND, Slot.PREFERENCES]))) == ["a"]
        assert set(list_memories(await store.search(replace(query, without_kinds=[MemoryKind.EPISODE])))) == {"a", "c"}
        assert await store.search(replace(query, slots=[Slot.FACTS], without_kinds=[MemoryKind.FACT])) == []

    async def test_families_can_be_left_out(self, store: Any) -> None:
        """A record with one of the barred roots does not answer, whatever else it has; nor is that family named elsewhere."""
        await write(
            store,
            build_record("s", "a", roots=["r1"], sparse=((1,), (1.0,))),
            build_record("s", "ab", roots=["r1", "r2"], sparse=((1,), (1.0,))),
            build_record("s", "b", roots=["r2"], sparse=((1,), (1.0,))),
            build_record("s", "rootless", sparse=((1,), (1.0,))),
        )
        query = SearchQuery(space="s", sparse=((1,), (1.0,)))
        found = await store.search(replace(query, without_roots=["r1", "unknown"]))
        assert set(list_memories(found)) == {"b", "rootless"}
        assert len(await store.search(query)) == 4

    async def test_a_reader_may_ask_for_some_fields(self, store: Any) -> None:
        """It gets those that are there, in the same ranking, marked as not whole; nothing else is read."""
        await write(
            store,
            build_record("s", "a", roots=["r1"], text="one", card="{}", sparse=((1,), (1.0,))),
            build_record("s", "b", text="two", sparse=((1,), (2.0,))),
        )
        query = SearchQuery(space="s", sparse=((1,), (1.0,)))
        found = await store.search(replace(query, fields=("memory_id", "roots", "text")))
        whole = await store.search(query)
        assert [(hit.point.id, hit.score) for hit in found] == [(hit.point.id, hit.score) for hit in whole]
        assert {hit.point.payload["memory_id"]: dict(hit.point.payload) for hit in found} == {
            "a": {"memory_id": "a", "roots": ["r1"], "text": "one"},
            "b": {"memory_id": "b", "text": "two"},
        }
        assert not any(hit.point.whole for hit in found)

    async def test_a_reader_may_ask_for_the_payloads_of_the_best(self, store: Any) -> None:
        """The ranking is the same; of the rest only ids and scores are given."""
        await write(store, *(build_record("s", f"m{number}", sparse=((1,), (1.0 + number,))) for number in range(5)))
        query = SearchQuery(space="s", sparse=((1,), (1.0,)))
        whole = await store.search(query)
        for count in (0, 2, 9):
            found = await store.search(replace(query, payloads=count))
            assert [(hit.point.id, hit.score) for hit in found] == [(hit.point.id, hit.score) for hit in whole]
            assert found[:count] == whole[:count]
            assert all(not hit.point.payload and not hit.point.whole for hit in found[count:])

    async def test_a_reader_may_ask_for_the_next_ones_with_a_slot(self, store: Any) -> None:
        """Beside the best, so many of the rest as have one of the slots are read; all that have one are marked."""
        slots = [["preferences"], ["facts"], ["preferences"], ["background", "facts"], [], ["examples"], ["facts"], ["facts"]]
        kinds = [*["fact"] * 7, "belief"]
        records = [
            build_record("s", f"m{n}", slots=slots[n], kind=kinds[n], sparse=((1,), (9.0 - n,))) for n in range(len(slots))
        ]
        await write(store, *records)
        query = SearchQuery(
            space="s",
            sparse=((1,), (1.0,)),
            payloads=1,
            further_slots=[Slot.FACTS, Slot.EXAMPLES],
            further_without_kinds=[MemoryKind.BELIEF, MemoryKind.SKILL],
        )
        whole = await store.search(replace(query, payloads=None, further_slots=()))
        for count, read in ((0, [0]), (2, [0, 1, 3]), (9, [0, 1, 3, 5, 6])):
            found = await store.search(replace(query, further_payloads=count))
            assert [hit.point.id for hit in found] == [hit.point.id for hit in whole]
            assert [place for place, hit in enumerate(found) if hit.point.payload] == read
            assert [place for place, hit in enumerate(found) if hit.is_fitting] == [1, 3, 5, 6]

    async def test_similarity_is_the_cosine_where_there_is_one(self, store: Any) -> None:
        """It stands beside the fused score, and is absent without a vector on either side."""
        await write(
            store,
            build_record("s", "near", dense=(0.6, 0.8, 0, 0), sparse=((1,), (1.0,))),
            build_record("s", "bare", sparse=((1,), (1.0,))),
        )
        query = SearchQuery(space="s", sparse=((1,), (1.0,)), dense=(1.0, 0, 0, 0))
        near = {hit.point.payload["memory_id"]: hit.similarity for hit in await store.search(query)}
        assert near == {"near": pytest.approx(0.6, abs=1e-4), "bare": None}
        assert {hit.similarity for hit in await store.search(replace(query, dense=None))} == {None}

    async def test_validity_begins_at_its_start_and_ends_before_its_end(self, store: Any) -> None:
        """At a time, records answer whose validity contains it; no bound is no limit; without a time all answer."""
        validity = {
            "always": {},
            "from_now": {"valid_from": "2026-03-14T10:00:00+01:00"},
            "till_now": {"valid_until": "2026-03-14T09:00:00Z"},
            "around": {"valid_from": "2026-03-14T08:59:59.999999Z", "valid_until": "2026-03-14T09:00:00.000001Z"},
            "later": {"valid_from": "2026-03-14T09:00:00.000001+00:00"},
        }
        await write(store, *(build_record("s", name, sparse=((1,), (1.0,)), **item) for name, item in validity.items()))
        query = SearchQuery(space="s", sparse=((1,), (1.0,)))
        assert set(list_memories(await store.search(query))) == set(validity)
        assert set(list_memories(await store.search(replace(query, at=T0)))) == {"always", "from_now", "around"}

    async def test_an_empty_bm25_query_finds_nothing_by_itself(self, store: Any) -> None:
        """Alone it gives nothing; beside a vector the vector decides."""
        await write(
            store,
            build_record("s", "m", dense=(1.0, 0, 0, 0), sparse=((1,), (1.0,))),
            build_record("s", "n", sparse=((), ())),
        )
        assert await store.search(SearchQuery(space="s", sparse=((), ()))) == []
        hits = await store.search(SearchQuery(space="s", sparse=((), ()), dense=(1.0, 0, 0, 0)))
        assert list_memories(hits) == ["m"]

    @pytest.mark.parametrize(
        "bad",
        [
            {"dense": (1.0, 0.0)},
            {"dense": (float("nan"), 0.0, 0.0, 1.0)},
            {"limit": 0},
            {"limit": 1_001},
            {"ranked_for": 0},
            {"sparse": ((1,), ())},
            {"payloads": -1},
            {"further_slots": [Slot.FACTS], "further_payloads": -1},
            {"further_payloads": 1},
            {"without_roots": [str(number) for number in range(1_001)]},
        ],
    )
    async def test_malformed_queries_are_refused(self, store: Any, bad: dict[str, Any]) -> None:
        """A vector of another size, a NaN or a limit out of range is a bug, not an empty answer."""
        with pytest.raises(InvariantError):
            await store.search(SearchQuery(**{"space": "s", "sparse": ((1,), (1.0,)), **bad}))


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


class TestIdentity:
    """What a store may be opened with."""

    async def test_reopened_it_holds_what_it_held(self, place: Place) -> None:
        """Payloads, lookups and both vectors survive a close."""
        store = await place.open()
        records = [
            build_record("s", f"m{number}", dense=(1.0, float(number), 0, 0), sparse=((number,), (1.0,))) for number in range(20)
        ]
        await write(store, *records, patches=())
        await write(store, patches=(Patch(id=records[3].id, payload={"status": "verified"}),), deletes=(records[4].id,))
        kept = await read_all(store)
        query = SearchQuery(space="s", dense=(1.0, 3.0, 0, 0), sparse=((3,), (1.0,)))
        hits = await store.search(query)
        await store.close()
        again = await place.open()
        assert await read_all(again) == kept
        assert len(kept) == 19
        assert await again.search(query) == hits
        assert len(await again.fetch(Needs(memories={("s", "m3"), ("s", "m4")}))) == 1

    @pytest.mark.parametrize(
        ("change", "mend"),
        [
            ({"embedding": "other"}, "guardian migrate"),
            ({"vector_size": 5}, "guardian migrate"),
            ({"bm25": "german"}, "guardian migrate"),
            ({"schema_version": 2}, "guardian migrate"),
            ({"schema_version": 0}, "newer Guardian"),
            ({"embedding": "none", "vector_size": 0}, "guardian migrate"),
        ],
    )
    async def test_another_identity_is_refused_with_both_values_and_the_mend(
        self, place: Place, change: dict[str, Any], mend: str
    ) -> None:
        """Each single difference is refused, nothing is changed, and the right identity still opens."""
        store = await place.open()
        await write(store, build_record("s", "m"))
        await store.close()
        with pytest.raises(ConfigError, match=mend) as caught:
            await place.open(replace(IDENTITY, **change))
        for name, value in change.items():
            assert repr(value) in str(caught.value)
            assert repr(getattr(IDENTITY, name)) in str(caught.value)
        assert await (await place.open()).count() == 1

    async def test_a_store_without_embedding_names_the_command_that_fills_it(self, place: Place) -> None:
        """Opening it with an embedder is refused, with filling as the mend."""
        await (await place.open(SPARSE_ONLY)).close()
        with pytest.raises(ConfigError, match="guardian embed --fill"):
            await place.open()
        await place.open(SPARSE_ONLY)


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


class TestTwin:
    """Every store gives what the in-memory twin gives."""

    @staticmethod
    def build_random_record(draw: random.Random, number: int) -> Upsert:
        """Build a record of few names, times and terms, so that much is shared and much ties."""
        names = [f"m{place}" for place in range(8)]
        optional: dict[str, Any] = {
            "roots": draw.sample(names, draw.randint(0, 3)),
            "parents": draw.sample(names, draw.randint(0, 2)),
            "subject": draw.choice("xyz"),
            "source_ref": draw.choice("def"),
            "session_id": draw.choice("uv"),
            "valid_from": f"2026-03-{draw.randint(1, 28):02}T09:00:00Z",
            "valid_until": f"2026-04-{draw.randint(1, 28):02}T09:00:00+02:00",
            "kind": draw.choice(list(MemoryKind)),
            "slots": draw.sample(list(Slot), 2),
            "dense": (*(float(draw.randint(-2, 2)) for _ in range(3)), 1.0),
            "sparse": (tuple(sorted(draw.sample(range(12), 3))), tuple(draw.choice((0.5, 1.0, 1.5)) for _ in range(3))),
        }
        chosen = {name: value for name, value in optional.items() if draw.random() < 0.7}
        return build_upsert(
            PointKind.RECORD,
            draw.choice(("s1", "s2")),
            f"r{number}",
            memory_id=draw.choice(names),
            status=draw.choice(list(Status)),
            text="t",
            **chosen,
        )

    async def test_random_writes_lookups_and_searches_give_what_the_twin_gives(self, place: Place) -> None:
        """After each of several random batches, points, lookups and hits are equal, hits in order too."""
        draw = random.Random(20260314)
        twin, store = MemoryStore(IDENTITY), await place.open(page_size=20)
        await twin.open()
        for batch in range(4):
            records = [self.build_random_record(draw, batch * 25 + number) for number in range(50)]
            known = [point.id async for point in twin.iter_points()]
            patched = draw.sample(known, min(10, len(known)))
            patches = tuple(
                Patch(id=point_id, payload={"status": "active", "roots": ["m1"], "kind": None}) for point_id in patched
            )
            deletes = tuple(draw.sample(known, min(5, len(known))))
            phases = [Phase(upserts=tuple(records)), Phase(patches=patches), Phase(deletes=deletes)]
            for each in (twin, store):
                await each.apply(phases, fence=FENCE)
            assert await read_all(store) == await read_all(twin)
            for name in ("roots", "status", "kind"):
                assert await store.count_values(name, space="s1") == await twin.count_values(name, space="s1")
            assert await store.count_without_vector() == await twin.count_without_vector()
            lacking = {point.id for point in await store.fetch_without_vector(1_000)}
            assert lacking == {point.id for point in await twin.fetch_without_vector(1_000)}
            for _ in range(10):
                keys = {(draw.choice(("s1", "s2")), draw.choice([*"xyzdefuv", "m1", "m2", "m3"])) for _ in range(4)}
                needs = Needs(**{key_set.name: keys for key_set in KEY_SETS}, ids=set(draw.sample(known, min(3, len(known)))))
                assert await store.fetch(needs) == await twin.fetch(needs)
                query = SearchQuery(
                    space=draw.choice(("s1", "s2")),
                    sparse=(tuple(sorted(draw.sample(range(12), 2))), (1.0, 0.5)),
                    dense=draw.choice((None, (1.0, float(draw.randint(-2, 2)), 0.5, 0.0))),
                    statuses=draw.sample(list(Status), 2),
                    slots=draw.choice((None, [Slot.FACTS, Slot.EXAMPLES])),
                    at=draw.choice((None, T0)),
                    without_roots=draw.choice(((), ("m1", "x"))),
                    fields=draw.choice((None, ("memory_id", "roots"))),
                    limit=draw.choice((3, 50)),
                    ranked_for=draw.choice((None, 1)),
                    payloads=draw.choice((None, 0, 2)),
                )
                assert await store.search(query) == await twin.search(query)
