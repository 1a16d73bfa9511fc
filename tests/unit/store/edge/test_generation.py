"""What a migration of an embedded store promises: the old or the new one after any death, no work done twice, no byte left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qdrant_edge import EdgeShard, UpdateOperation

from guardian.errors import ConfigError, DependencyError
from guardian.migration import Aim, MigrationReport, examine, migrate
from guardian.ports import StoreIdentity
from guardian.store.edge.generation import EdgeGenerations
from guardian.store.edge.store import EdgeStore
from guardian.store.schema import Upcaster
from tests.generations import NEW, NONE, OLD, Model, aim_at, build_read, build_record, observe, read_all, write

ROOT = Path(__file__).parents[4]
RECORDS = 1_200

# Migrates to the new model; writes down each text before it is embedded, and dies when told to.
MIGRATOR = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from guardian.migration import migrate
    from guardian.store.edge import generation
    from tests.generations import NEW, Model, aim_at

    path, log, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    class Logged(Model):
        async def embed(self, texts):
            with log.open("a") as file:
                file.writelines(f"{text}\\n" for text in texts)
            return await super().embed(texts)

    def observe(step, done, total):
        if moment in (f"{step.name}:{done}", step.name):
            die()

    if moment == "between rename and pointer":
        generation.write_pointer = lambda *_: die()
    if moment == "before cleaning":
        generation._clear = lambda *_: die()

    async def main():
        generations = generation.EdgeGenerations(path, min_free_bytes=0)
        await migrate(generations, aim_at(NEW, Logged()), observe=observe)
        await generations.close()

    asyncio.run(main())
"""


async def fill(path: Path, identity: StoreIdentity, *upserts: Any) -> None:
    """Make a store and write to it."""
    store = EdgeStore(path, identity, min_free_bytes=0)
    await store.open()
    await write(store, *upserts)
    await store.close()


async def read(path: Path, identity: StoreIdentity | None) -> dict[str, Any]:
    """Read the payloads of a store as an ordinary process does."""
    store = EdgeStore(path, identity, min_free_bytes=0)
    await store.open()
    try:
        return await read_all(store)
    finally:
        await store.close()


async def run(path: Path, aim: Aim | None, *, min_free_bytes: int = 0, **options: Any) -> MigrationReport:
    """Migrate to the end."""
    generations = EdgeGenerations(path, min_free_bytes=min_free_bytes)
    try:
        return await migrate(generations, aim, observe=observe, **options)
    finally:
        await generations.close()


def find_bytes(folder: Path, token: bytes) -> list[str]:
    """Give the files that hold some bytes."""
    return [str(file) for file in folder.rglob("*") if file.is_file() and token in file.read_bytes()]


def list_names(path: Path) -> set[str]:
    """Give the names in a store's directory."""
    return {item.name for item in path.iterdir()}


def build_bank(number: int = RECORDS) -> list[Any]:
    """Build records of the old model and a point without vectors."""
    return [*(build_record(f"m{place}", size=OLD.vector_size) for place in range(number)), build_read("m1")]


def die_migrating(path: Path, log: Path, moment: str) -> None:
    """Migrate in a process that is killed at a moment."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MIGRATOR), str(path), str(log), moment],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


async def test_a_migration_leaves_the_new_store_alone_in_the_directory(fast_path: Path) -> None:
    """It opens with the new identity and no more with the old one; payloads are equal; nothing else is left."""
    await fill(fast_path, OLD, *build_bank(20))
    before = await read(fast_path, OLD)
    report = await run(fast_path, aim_at(NEW))
    assert report.is_switched
    assert (report.points, report.embedded) == (21, 20)
    assert await read(fast_path, NEW) == before
    with pytest.raises(ConfigError, match="guardian migrate"):
        await read(fast_path, OLD)
    assert list_names(fast_path) == {"LOCK", "CURRENT", "shard-2"}
    again = await run(fast_path, aim_at(NEW))
    assert (again.is_switched, again.changes) == (False, ())


@pytest.mark.parametrize(
    ("moment", "is_switched"),
    [
        ("FILLING:0", False),
        ("FILLING:500", False),
        (f"FILLING:{RECORDS + 1}", False),
        ("SWITCHING", False),
        ("between rename and pointer", False),
        ("before cleaning", True),
        ("SWITCHED", True),
    ],
)
async def test_killed_at_any_point_it_leaves_one_whole_store_and_goes_on(fast_path: Path, moment: str, is_switched: bool) -> None:
    """The old one serves until the switch, the new one after it; the next run ends it, and embeds what was done no more."""
    path, log = fast_path / "store", fast_path / "log"
    await fill(path, OLD, *build_bank())
    before = await read(path, OLD)
    die_migrating(path, log, moment)
    assert await read(path, NEW if is_switched else OLD) == before
    model = Model()
    report = await run(path, aim_at(NEW, model))
    assert report.is_switched is not is_switched
    assert await read(path, NEW) == before
    assert list_names(path) == {"LOCK", "CURRENT", "shard-2"}
    done = log.read_text().splitlines() if log.exists() else []
    assert sorted([*done, *model.asked]) == sorted(f"text of m{number}" for number in range(RECORDS))


async def test_what_the_old_store_took_between_two_attempts_is_not_lost(fast_path: Path) -> None:
    """A worker goes on after the death, even with the new shard complete: its writes are in the new store."""
    path = fast_path / "store"
    await fill(path, OLD, *build_bank())
    die_migrating(path, fast_path / "log", "between rename and pointer")
    changed = replace(build_record("m3", size=OLD.vector_size), payload={**build_record("m3").payload, "status": "superseded"})
    await fill(path, OLD, changed, build_record("late", size=OLD.vector_size))
    model = Model()
    await run(path, aim_at(NEW, model))
    assert model.asked == ["text of late"]
    found = await read(path, NEW)
    assert found[changed.id]["status"] == "superseded"
    assert len(found) == RECORDS + 2


async def test_an_attempt_for_another_aim_is_not_gone_on_with(fast_path: Path) -> None:
    """Another model begins anew; and asked for what the store is already, it removes what was begun."""
    await fill(fast_path, OLD, *build_bank(10))
    await run(fast_path, aim_at(NEW), stops_before_switch=True)
    assert "next" in list_names(fast_path)
    other = replace(NEW, embedding="model:other")
    model = Model(identity=other.embedding)
    await run(fast_path, aim_at(other, model), stops_before_switch=True)
    assert len(model.asked) == 10
    report = await run(fast_path, aim_at(OLD))
    assert (report.discarded, report.is_switched) == (True, False)
    assert list_names(fast_path) == {"LOCK", "CURRENT", "shard-1"}
    assert len(await read(fast_path, OLD)) == 11


async def test_examining_changes_nothing(fast_path: Path) -> None:
    """It says what differs, and refuses what a migration would refuse."""
    await fill(fast_path, OLD, *build_bank(5))
    generations = EdgeGenerations(fast_path, min_free_bytes=0)
    report = await examine(generations, aim_at(NEW))
    await generations.close()
    assert report.changes == ("embedding: model:old becomes model:new", "vector size: 3 becomes 4")
    assert report.points == 6
    generations = EdgeGenerations(fast_path, min_free_bytes=0)
    with pytest.raises(ConfigError, match="--drop-vectors"):
        await examine(generations, aim_at(NONE))
    await generations.close()
    assert list_names(fast_path) == {"LOCK", "CURRENT", "shard-1"}


async def test_an_older_layout_and_a_missing_index_are_brought_up(fast_path: Path) -> None:
    """Both are refused at an ordinary start, with this command as the mend."""
    older = replace(OLD, schema_version=0)
    record = build_record("m", size=3)
    await fill(fast_path, older, replace(record, payload={**record.payload, "old_status": "active"}))
    shard = EdgeShard.load(str(fast_path / "shard-1"))
    shard.update(UpdateOperation.delete_field_index("roots"))
    shard.close()
    with pytest.raises(ConfigError, match="guardian migrate"):
        await read(fast_path, OLD)
    step = Upcaster(change=lambda payload: {name: value for name, value in payload.items() if name != "old_status"})
    report = await run(fast_path, Aim(identity=OLD, upcasters={0: step}))
    assert report.changes == ("schema version: 0 becomes 1", "no index on 'roots' (keyword)")
    assert await read(fast_path, OLD) == {record.id: record.payload}


async def test_a_missing_index_alone_is_reason_enough(fast_path: Path) -> None:
    """Afterwards the store opens."""
    await fill(fast_path, OLD, *build_bank(5))
    shard = EdgeShard.load(str(fast_path / "shard-1"))
    shard.update(UpdateOperation.delete_field_index("roots"))
    shard.close()
    with pytest.raises(ConfigError, match="guardian migrate"):
        await read(fast_path, OLD)
    assert (await run(fast_path, Aim(identity=OLD))).is_switched
    assert len(await read(fast_path, OLD)) == 6


async def test_a_disk_that_is_too_small_is_told_before_anything_is_made(fast_path: Path) -> None:
    """With the bytes that are missing."""
    await fill(fast_path, OLD, *build_bank(5))
    with pytest.raises(DependencyError, match=r"bytes beside it.*min_free_bytes.*Mend"):
        await run(fast_path, aim_at(NEW), min_free_bytes=10**18)
    assert list_names(fast_path) == {"LOCK", "CURRENT", "shard-1"}
    assert len(await read(fast_path, OLD)) == 6


async def test_a_store_in_use_is_refused(fast_path: Path) -> None:
    """A worker owns it; the message says so, and nothing is begun."""
    store = EdgeStore(fast_path, OLD, min_free_bytes=0)
    await store.open()
    with pytest.raises(ConfigError, match="another process owns"):
        await run(fast_path, aim_at(NEW))
    await store.close()
    assert list_names(fast_path) == {"LOCK", "CURRENT", "shard-1"}
    with pytest.raises(ConfigError, match="no store"):
        await run(fast_path / "nowhere", aim_at(NEW))


async def test_compacting_leaves_no_byte_of_what_is_gone(fast_path: Path) -> None:
    """Deleted, replaced and overwritten texts are on disk before it and not after it, log included; the rest is as it was."""
    token = "zq7vx" * 6
    bank = build_bank(50)
    gone = [build_record(f"gone{place}", text=f"{token}{place} was here", size=3) for place in range(3)]
    await fill(fast_path, OLD, *bank, *gone)
    tombstone = replace(gone[1], payload={"point": "tombstone", "space": "s", "memory_id": "gone1"}, dense=None, sparse=None)
    rewritten = build_record("gone2", text="another text", size=3)
    store = EdgeStore(fast_path, OLD, min_free_bytes=0)
    await store.open()
    await write(store, tombstone, rewritten, deletes=(gone[0].id,))
    vectors = await store.fetch_vectors([record.id for record in bank])
    await store.close()
    before = await read(fast_path, OLD)
    assert find_bytes(fast_path, token.encode())
    report = await run(fast_path, None)
    assert find_bytes(fast_path, token.encode()) == []
    assert await read(fast_path, OLD) == before
    assert report.is_switched
    assert report.bytes_before
    assert report.bytes_after
    store = EdgeStore(fast_path, OLD, min_free_bytes=0)
    await store.open()
    kept = await store.fetch_vectors([record.id for record in bank])
    await store.close()
    assert {key: value.sparse for key, value in kept.items()} == {key: value.sparse for key, value in vectors.items()}
    assert all(kept[key].dense == (None if value.dense is None else pytest.approx(value.dense)) for key, value in vectors.items())


async def test_a_compaction_that_was_cut_off_copies_nothing_that_went_since(fast_path: Path) -> None:
    """What an earlier attempt had copied and the store then lost is not on disk after the next."""
    token = "wk3jy" * 6
    secret = build_record("secret", text=f"{token} was here", size=3)
    await fill(fast_path, OLD, *build_bank(10), secret)
    await run(fast_path, None, stops_before_switch=True)
    assert any("next" in name for name in find_bytes(fast_path, token.encode()))
    store = EdgeStore(fast_path, OLD, min_free_bytes=0)
    await store.open()
    await write(store, deletes=(secret.id,))
    await store.close()
    await run(fast_path, None)
    assert find_bytes(fast_path, token.encode()) == []
    assert len(await read(fast_path, OLD)) == 11


async def test_compacting_removes_what_deaths_left_over(fast_path: Path) -> None:
    """Old shards, makings that were cut off, torn files; not the checkpoints of replays that are still to go on."""
    await fill(fast_path, OLD, *build_bank(3))
    for name in ("shard-0", "creating", "replays"):
        (fast_path / name).mkdir()
        (fast_path / name / "junk").write_text("x")
    (fast_path / "CURRENT.new").write_text("x")
    (fast_path / "replays" / "a.new").write_text("x")
    (fast_path / "replays" / "a.json").write_text("{}")
    await run(fast_path, None)
    assert list_names(fast_path) == {"LOCK", "CURRENT", "shard-2", "replays"}
    assert list_names(fast_path / "replays") == {"junk", "a.json"}
