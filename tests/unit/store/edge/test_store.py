"""What only the embedded store promises: one owner, nothing lost to a killed process, no surprise of the engine gets out."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qdrant_edge import EdgeShard, PayloadSchemaType, SparseVector, UpdateOperation
from qdrant_edge import Point as EdgePoint

from guardian.core.needs import Needs
from guardian.core.point import Patch, Phase, Upsert, build_point_id
from guardian.errors import ConfigError, DependencyError, InvariantError
from guardian.ports import Fence, StoreIdentity
from guardian.store.edge.store import EdgeStore

IDENTITY = StoreIdentity(schema_version=1, embedding="test-4", vector_size=4, bm25="english")
ROOT = Path(__file__).parents[3]

# Writes batches of 20 records and a patch of every second one, and says the number of each batch when `apply` returned.
WRITER = """
    import asyncio, sys
    from pathlib import Path
    from guardian.core.point import Patch, Phase, Upsert, build_point_id
    from guardian.ports import Fence, StoreIdentity
    from guardian.store.edge.store import EdgeStore

    async def main():
        identity = StoreIdentity(schema_version=1, embedding="test-4", vector_size=4, bm25="english")
        store = EdgeStore(Path(sys.argv[1]), identity, min_free_bytes=0)
        await store.open()
        print("open", flush=True)
        for batch in range(int(sys.argv[2]), 10_000):
            ids = [build_point_id("s", f"{batch}-{number}") for number in range(20)]
            upserts = tuple(
                Upsert(
                    id=point_id,
                    payload={"point": "record", "space": "s", "memory_id": f"m{batch}", "status": "active", "text": "x" * 2000},
                    dense=(1.0, 0.0, 0.0, 1.0),
                    sparse=((1, 2), (1.0, 1.0)),
                )
                for point_id in ids
            )
            patches = tuple(Patch(id=point_id, payload={"status": "superseded", "text": None}) for point_id in ids[::2])
            await store.apply([Phase(upserts=upserts), Phase(patches=patches)], fence=Fence())
            print(batch, flush=True)

    asyncio.run(main())
"""


def start_writer(path: Path, first_batch: int) -> subprocess.Popen[str]:
    """Start a process that owns the store at `path` and writes batch after batch."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(first_batch)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def build_record(name: str, **fields: Any) -> Upsert:
    """Build a record of space `s`."""
    payload = {"point": "record", "space": "s", "memory_id": name, "status": "active", **fields}
    return Upsert(id=build_point_id("s", name), payload=payload)


async def write(store: EdgeStore, *upserts: Upsert) -> None:
    """Write one phase."""
    await store.apply([Phase(upserts=upserts)], fence=Fence())


def build_store(path: Path, **settings: Any) -> EdgeStore:
    """Build a store that does not mind a small disk."""
    return EdgeStore(path, IDENTITY, **{"min_free_bytes": 0, **settings})


async def test_a_killed_process_loses_nothing_that_was_applied(tmp_path: Path) -> None:
    """Over three kills in one store, every batch whose `apply` returned is there whole, patches too, and found by index."""
    applied: list[int] = []
    for number_of_batches in (3, 7, 12):
        with start_writer(tmp_path, first_batch=len(applied)) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            applied += [int(process.stdout.readline()) for _ in range(number_of_batches)]
            process.send_signal(signal.SIGKILL)
            applied += [int(line) for line in process.stdout]
        assert process.returncode == -signal.SIGKILL
    store = build_store(tmp_path)
    await store.open()
    for batch in applied:
        points = {point.id: point.payload for point in await store.fetch(Needs(memories={("s", f"m{batch}")}))}
        for number in range(20):
            payload = points[build_point_id("s", f"{batch}-{number}")]
            assert payload["status"] == ("active" if number % 2 else "superseded")
            assert ("text" in payload) is bool(number % 2)
    at_least = 10 * len(applied)
    assert await store.count(where={"status": "superseded"}) >= at_least
    assert len(applied) >= 22
    await store.close()


async def test_a_second_process_is_refused_with_the_owners_pid(tmp_path: Path) -> None:
    """While one process lives the other gets a clear error; after its death the store opens."""
    with start_writer(tmp_path, first_batch=0) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(ConfigError, match=rf"another process owns the store at .* \(pid {process.pid}\).*Mend"):
            await build_store(tmp_path).open()
        process.kill()
        process.stdout.read()
    store = build_store(tmp_path)
    await store.open()
    await store.close()


async def test_a_second_store_in_the_same_process_is_refused(tmp_path: Path) -> None:
    """And the first goes on working; opening one store twice is a bug."""
    store = build_store(tmp_path)
    await store.open()
    with pytest.raises(ConfigError, match=f"pid {os.getpid()}"):
        await build_store(tmp_path).open()
    with pytest.raises(InvariantError, match="open already"):
        await store.open()
    await write(store, build_record("m"))
    await store.close()


async def test_an_engine_that_was_opened_past_the_lock_is_recognised(tmp_path: Path) -> None:
    """The engine's own lock is translated too."""
    store = build_store(tmp_path)
    await store.open()
    await store.close()
    shard = EdgeShard.load(str(tmp_path / "shard-1"))
    with pytest.raises(ConfigError, match="another process owns"):
        await build_store(tmp_path).open()
    shard.close()
    await store.open()
    await store.close()


async def test_a_nearly_full_disk_refuses_writes_and_answers_reads(tmp_path: Path) -> None:
    """The error names the setting and the mend; nothing is written."""
    store = build_store(tmp_path, min_free_bytes=10**18)
    await store.open()
    with pytest.raises(DependencyError, match=r"min_free_bytes.*Mend"):
        await write(store, build_record("m"))
    with pytest.raises(DependencyError, match="min_free_bytes"):
        await store.set_vectors({build_point_id("s", "m"): (1.0, 0.0, 0.0, 0.0)})
    assert await store.count() == 0
    await store.close()


async def test_a_panic_of_the_engine_is_an_error_and_leaves_no_poison(tmp_path: Path) -> None:
    """After an operation that panics, the next batch is written at its first try, and the store opens again."""
    store = build_store(tmp_path)
    await store.open()
    await write(store, replace(build_record("before"), sparse=((1,), (1.0,))))
    poison = EdgePoint(build_point_id("s", "poison"), {"bm25": SparseVector([1, 2], [1.0])}, {})
    with pytest.raises(DependencyError, match="unknown"):
        await store._run(lambda: store._open_shard.update(UpdateOperation.upsert_points([poison])))
    await write(store, replace(build_record("after"), sparse=((1,), (1.0,))))
    assert await store.count() == 2
    await store.close()
    await store.open()
    assert {point.payload["memory_id"] async for point in store.iter_points()} == {"before", "after"}
    await store.close()


async def test_any_error_of_the_engine_is_a_dependency_error(tmp_path: Path) -> None:
    """The engine throws bare exceptions; none gets out as such."""
    store = build_store(tmp_path)
    await store.open()
    wrong_size = EdgePoint(build_point_id("s", "m"), {"dense": [1.0]}, {})
    with pytest.raises(DependencyError, match="dimension") as caught:
        await store._run(lambda: store._open_shard.update(UpdateOperation.upsert_points([wrong_size])))
    assert caught.value.dependency == "store"
    await store.close()


async def test_a_cancelled_write_is_done_whole_or_not_at_all_before_the_next_call(tmp_path: Path) -> None:
    """The next call waits for what was begun."""
    store = build_store(tmp_path)
    await store.open()
    upserts = tuple(build_record(f"m{number}") for number in range(3_000))
    task = asyncio.create_task(store.apply([Phase(upserts=upserts)], fence=Fence()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.count() in (0, 3_000)
    await store.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Closing twice does nothing; using it is a bug, not an empty answer."""
    store = build_store(tmp_path)
    await store.open()
    await store.close()
    await store.close()
    with pytest.raises(InvariantError, match="not open"):
        await store.count()


@pytest.mark.parametrize("change", ["missing", "other type"])
async def test_a_missing_index_is_named_with_the_mend(tmp_path: Path, change: str) -> None:
    """So is one of another type; and the store is released for whoever mends it."""
    store = build_store(tmp_path)
    await store.open()
    await store.close()
    shard = EdgeShard.load(str(tmp_path / "shard-1"))
    shard.update(UpdateOperation.delete_field_index("roots"))
    if change == "other type":
        shard.update(UpdateOperation.create_field_index("roots", PayloadSchemaType.Integer))
    shard.close()
    with pytest.raises(ConfigError, match=r"'roots'.*guardian migrate"):
        await store.open()
    shard = EdgeShard.load(str(tmp_path / "shard-1"))
    shard.update(UpdateOperation.create_field_index("roots", PayloadSchemaType.Keyword))
    shard.close()
    await store.open()
    await store.close()


async def test_a_creation_that_was_interrupted_is_begun_again(tmp_path: Path) -> None:
    """What lies in `creating` never held a point; a shard without a pointer is complete and adopted."""
    (tmp_path / "creating").mkdir(parents=True)
    (tmp_path / "creating" / "junk").write_text("x")
    store = build_store(tmp_path)
    await store.open()
    await write(store, build_record("m"))
    await store.close()
    assert not (tmp_path / "creating").exists()
    (tmp_path / "CURRENT").unlink()
    await store.open()
    assert await store.count() == 1
    await store.close()
    assert (tmp_path / "CURRENT").read_text() == "shard-1\n"


async def test_the_pointer_chooses_the_shard(tmp_path: Path) -> None:
    """A shard built beside the old one is opened once the pointer names it."""
    for place in (tmp_path / "a", tmp_path / "b"):
        store = build_store(place)
        await store.open()
        await write(store, build_record(place.name))
        await store.close()
    (tmp_path / "b" / "shard-1").rename(tmp_path / "a" / "shard-2")
    (tmp_path / "a" / "CURRENT").write_text("shard-2\n")
    store = build_store(tmp_path / "a")
    await store.open()
    assert [point.payload["memory_id"] async for point in store.iter_points()] == ["b"]
    await store.close()


async def test_a_patch_after_an_upsert_of_another_phase_survives_without_a_close(tmp_path: Path) -> None:
    """A copy of the directory made after `apply` returned holds both phases: they were on disk, not in memory."""
    import shutil

    store = build_store(tmp_path / "store")
    await store.open()
    record = build_record("m")
    patch = Patch(id=record.id, payload={"status": "superseded"})
    await store.apply([Phase(upserts=(record,)), Phase(patches=(patch,))], fence=Fence())
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    await store.close()
    copy = build_store(tmp_path / "copy")
    await copy.open()
    assert [point.payload["status"] async for point in copy.iter_points()] == ["superseded"]
    await copy.close()
