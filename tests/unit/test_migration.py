"""Laws of filling one store from another, on in-memory stores; those of generations stand beside each store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from guardian.core.point import Phase
from guardian.embed.bm25 import bm25_document
from guardian.errors import ConfigError, DependencyError
from guardian.migration import Aim, Copy, MigrationReport, check_aim, list_changes
from guardian.ports import Fence, StoreIdentity
from guardian.store.memory import MemoryStore
from guardian.store.schema import Upcaster
from tests.generations import NEW, NONE, OLD, Model, aim_at, build_read, build_record, embed, read_all, write


async def open_store(identity: StoreIdentity) -> MemoryStore:
    """Open an empty in-memory store."""
    store = MemoryStore(identity)
    await store.open()
    return store


async def copy(source: MemoryStore, target: MemoryStore, aim: Aim, *, page_points: int = 3) -> MigrationReport:
    """Take one pass."""
    report = MigrationReport()
    await Copy(source, target, aim, page_points=page_points).run(report, lambda *_: None)
    return report


def build_bank(size: int) -> list[Any]:
    """Build ten records and three points of another kind."""
    return [*(build_record(f"m{number}", size=size) for number in range(10)), *(build_read(f"m{number}") for number in range(3))]


async def test_another_model_makes_every_vector_anew_and_changes_nothing_else() -> None:
    """Payloads and terms are equal, vectors are the new model's, each text was asked for once."""
    source, target, model = await open_store(OLD), await open_store(NEW), Model()
    await write(source, *build_bank(OLD.vector_size))
    report = await copy(source, target, aim_at(NEW, model))
    assert await read_all(target) == await read_all(source)
    assert sorted(model.asked) == sorted(f"text of m{number}" for number in range(10))
    assert (report.written, report.replaced, report.removed, report.embedded, report.unembedded) == (13, 0, 0, 10, 0)
    twin = await open_store(NEW)
    texts = {upsert.id: upsert.payload.get("text") for upsert in build_bank(0)}
    await write(twin, *(replace(one, dense=embed(texts[one.id], 4) if texts[one.id] else None) for one in build_bank(0)))
    assert await target.fetch_vectors(list(texts)) == await twin.fetch_vectors(list(texts))


async def test_the_same_model_keeps_vectors_and_asks_no_model() -> None:
    """A copy for the same identity needs no embedder; what has no vector stays marked."""
    source, target = await open_store(OLD), await open_store(OLD)
    await write(source, *build_bank(OLD.vector_size), build_record("bare", pending="dense"))
    await copy(source, target, Aim(identity=OLD))
    assert await read_all(target) == await read_all(source)
    ids = list(await read_all(source))
    there, kept = await target.fetch_vectors(ids), await source.fetch_vectors(ids)
    assert {key: value.sparse for key, value in there.items()} == {key: value.sparse for key, value in kept.items()}
    for key, value in kept.items():
        assert there[key].dense == (None if value.dense is None else pytest.approx(value.dense))


async def test_a_second_pass_writes_and_embeds_nothing() -> None:
    """Also where some texts cannot be embedded: those are tried again and stay marked."""
    source, target, model = await open_store(OLD), await open_store(NEW), Model()
    await write(source, *build_bank(OLD.vector_size), build_record("odd", text="unembeddable", size=OLD.vector_size))
    first = await copy(source, target, aim_at(NEW, model))
    assert (first.embedded, first.unembedded) == (10, 1)
    before, asked = await read_all(target), len(model.asked)
    second = await copy(source, target, aim_at(NEW, model))
    assert (second.written, second.replaced, second.removed, second.embedded, second.unembedded) == (0, 0, 0, 0, 1)
    assert (await read_all(target), len(model.asked)) == (before, asked)
    assert [payload["memory_id"] for payload in before.values() if "pending" in payload] == ["odd"]


async def test_what_was_written_and_removed_meanwhile_is_carried_over() -> None:
    """A second pass brings changes, new points, erasures and deletions, and embeds only what is new."""
    source, target, model = await open_store(OLD), await open_store(NEW), Model()
    bank = build_bank(OLD.vector_size)
    await write(source, *bank)
    await copy(source, target, aim_at(NEW, model))
    tombstone = replace(bank[1], payload={"point": "tombstone", "space": "s", "memory_id": "m1"}, dense=None, sparse=None)
    changed = replace(bank[0], payload={**bank[0].payload, "status": "superseded"})
    await write(source, changed, tombstone, build_record("fresh", size=OLD.vector_size), deletes=(bank[2].id, bank[12].id))
    model.asked.clear()
    report = await copy(source, target, aim_at(NEW, model))
    assert await read_all(target) == await read_all(source)
    assert model.asked == ["text of fresh"]
    assert (report.written, report.replaced, report.removed) == (1, 2, 2)
    assert (await target.fetch_vectors([tombstone.id]))[tombstone.id].dense is None


async def test_a_given_vector_that_changed_is_carried_over() -> None:
    """With the same identity vectors are compared, too."""
    source, target = await open_store(OLD), await open_store(OLD)
    await write(source, build_record("m", size=3), build_record("n", size=3))
    await copy(source, target, Aim(identity=OLD))
    await write(source, replace(build_record("m"), dense=(0.0, 0.0, 5.0)))
    assert (await copy(source, target, Aim(identity=OLD))).replaced == 1
    assert (await target.fetch_vectors([build_record("m").id])).popitem()[1].dense == pytest.approx((0, 0, 1))


async def test_a_model_that_goes_away_costs_one_page() -> None:
    """What was made before is not made again."""
    source, target, model = await open_store(OLD), await open_store(NEW), Model(fails_after=7)
    await write(source, *build_bank(OLD.vector_size))
    with pytest.raises(DependencyError, match="away"):
        await copy(source, target, aim_at(NEW, model))
    done = list(model.asked)
    assert 0 < len(done) < 10
    model.fails_after = None
    await copy(source, target, aim_at(NEW, model))
    assert sorted(model.asked) == sorted(f"text of m{number}" for number in range(10))
    assert await read_all(target) == await read_all(source)


async def test_without_vectors_the_mark_goes_and_from_none_it_comes_only_where_it_fails() -> None:
    """To none: no vector, nothing pending. From none: all have one."""
    source, bare = await open_store(OLD), await open_store(NONE)
    await write(source, build_record("m", size=3), build_record("n", pending="dense"))
    await copy(source, bare, aim_at(NONE, drops_vectors=True))
    assert [payload.get("pending") for payload in (await read_all(bare)).values()] == [None, None]
    target = await open_store(NEW)
    await copy(bare, target, aim_at(NEW))
    assert await target.count_without_vector() == 0
    assert [payload.get("pending") for payload in (await read_all(target)).values()] == [None, None]


async def test_another_bm25_makes_every_term_vector_anew() -> None:
    """And keeps the dense ones."""
    older = replace(OLD, bm25="bm25:older")
    source, target = await open_store(older), await open_store(OLD)
    await write(source, replace(build_record("m", size=3), sparse=((5,), (9.0,))))
    await copy(source, target, Aim(identity=OLD))
    (vectors,) = (await target.fetch_vectors([build_record("m").id])).values()
    assert vectors.sparse == bm25_document("text of m")
    assert vectors.dense is not None


async def test_an_older_layout_is_taken_through_its_steps() -> None:
    """Every point, of kinds that are gone too; vectors stay, and a second pass finds nothing to do."""
    steps = {
        0: Upcaster(
            change=lambda payload: {
                **{name: value for name, value in payload.items() if name != "body"},
                "text": payload.get("body", ""),
                "point": {"note": "read"}.get(payload["point"], payload["point"]),
            },
            old_kinds=frozenset({"note"}),
        )
    }
    older = replace(OLD, schema_version=0)
    source, target = await open_store(older), await open_store(OLD)
    new = build_record("m", size=3)
    body = {**{name: value for name, value in new.payload.items() if name != "text"}, "body": "text of m"}
    await write(source, replace(new, payload=body))
    note = build_read("n")
    source._upsert(replace(note, payload={**note.payload, "point": "note"}))  # past the check, as the older version wrote it
    aim = Aim(identity=OLD, upcasters=steps)
    await copy(source, target, aim)
    assert (await read_all(target))[new.id] == new.payload
    assert (await read_all(target))[note.id]["point"] == "read"
    assert (await target.fetch_vectors([new.id]))[new.id].dense == pytest.approx(
        (await source.fetch_vectors([new.id]))[new.id].dense
    )
    again = await copy(source, target, aim)
    assert (again.written, again.replaced, again.removed) == (0, 0, 0)


def test_what_cannot_be_done_is_refused_before_anything_is_touched() -> None:
    """Vectors lost unasked, vectors that nothing can make, a layout without a step; and what can be done passes."""
    with pytest.raises(ConfigError, match="--drop-vectors"):
        check_aim(OLD, aim_at(NONE))
    check_aim(OLD, aim_at(NONE, drops_vectors=True))
    with pytest.raises(ConfigError, match="come with the events"):
        check_aim(OLD, Aim(identity=replace(NEW, embedding="given"), embedder=Model(embeds=False)))
    check_aim(OLD, Aim(identity=OLD, embedder=Model(embeds=False)))
    with pytest.raises(ConfigError, match="no step from layout 0"):
        check_aim(replace(OLD, schema_version=0), aim_at(NEW))
    check_aim(OLD, aim_at(NEW))


def test_changes_are_named_one_by_one() -> None:
    """With both values, and what the store lacks."""
    changes = list_changes(OLD, NEW, ("no index on 'x'",))
    assert changes == ("embedding: model:old becomes model:new", "vector size: 3 becomes 4", "no index on 'x'")
    assert list_changes(OLD, OLD) == ()


async def test_the_source_is_only_read() -> None:
    """After a copy it holds what it held, to the vector."""
    source, target = await open_store(OLD), await open_store(NEW)
    await write(source, *build_bank(3), build_record("bare", pending="dense"))
    before = (await read_all(source), dict(source.shelf.dense), dict(source.shelf.sparse))
    await source.apply([Phase()], fence=Fence())
    await copy(source, target, aim_at(NEW))
    assert (await read_all(source), source.shelf.dense, source.shelf.sparse) == before
