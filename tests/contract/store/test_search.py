"""The contract of the Store port: what is searched, run against every implementation."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from guardian.core.model import MemoryKind, Slot, Status
from guardian.core.point import PointKind
from guardian.errors import InvariantError
from guardian.ports import SearchQuery
from tests.contract.store.place import T0, build_record, build_upsert, list_memories, write


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
