"""The contract of the Store port: what is fetched, run against every implementation."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from guardian.core.needs import Needs
from guardian.core.point import HEAVY_FIELDS, PointKind, build_point_id
from guardian.store.layout import KEY_SETS
from tests.contract.store.place import Place, build_record, build_upsert, list_ids, write

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
