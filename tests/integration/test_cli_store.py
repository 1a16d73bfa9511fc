"""The commands as processes: what becomes of an embedded store and of what lies beside it on the disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.integration.command import EXAMPLES, STORY, Run, event, write


def test_two_processes_on_one_embedded_store_are_refused(run: Run, tmp_path: Path) -> None:
    """The second opener is told who owns it, with code 2."""
    assert run("replay", STORY, "--store", "bank").returncode == 0
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom guardian.store.edge.store import EdgeStore\n"
        "async def hold():\n    store = EdgeStore(Path('bank'), None)\n    await store.open()\n    print('open', flush=True)\n    sys.stdin.read()\n"
        "asyncio.run(hold())\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"open\n"
        refused = run("export", "--store", "bank")
        assert refused.returncode == 2
        assert str(owner.pid).encode() in refused.stderr
    finally:
        owner.kill()
        owner.communicate()


def test_a_checkpoint_does_not_outlive_its_store(run: Run, tmp_path: Path) -> None:
    """A replay was cut, its store removed: the next one begins at the first row."""
    path = write(tmp_path / "few.jsonl", *(event(f"e{n}", memory_id=f"m{n}", text=f"shelf {n}") for n in range(5)))
    assert run("replay", path, "--store", "bank").returncode == 0
    checkpoints = tmp_path / "bank" / "replays"
    checkpoints.mkdir(exist_ok=True)
    script = (
        "from pathlib import Path\nfrom guardian.replay import Checkpoint, ReplaySummary\nfrom guardian.sources.port import SourceOptions\n"
        f"Checkpoint(Path('bank'), [Path({str(path)!r})], 'cloudevents', repr(SourceOptions()), 'embedded').write("
        "ReplaySummary(items=3, rows=3, events=3, event_rows=3, dispositions={'applied': 3}))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    assert json.loads(run("replay", path, "--store", "bank", "--json").stdout)["resumed_at"] == 3
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    kept = {found.name: found.read_bytes() for found in checkpoints.glob("*.json")}
    shutil.rmtree(tmp_path / "bank")
    checkpoints.mkdir(parents=True)
    for name, content in kept.items():
        (checkpoints / name).write_bytes(content)
    done = json.loads(run("replay", path, "--store", "bank", "--json").stdout)
    assert (done["resumed_at"], done["records"]) == (0, 5)


def test_dead_letters_belong_to_their_store_and_survive_a_torn_line(run: Run, tmp_path: Path) -> None:
    """Each store has its own; a torn last line costs itself; a re-drive takes what is right now."""
    long = write(tmp_path / "long.jsonl", event("e1", memory_id="a", text="x" * 100))
    other = write(tmp_path / "other.jsonl", event("e2", memory_id="b", text="y" * 100))
    tight = {"GUARDIAN_LIMITS__MAX_TEXT_BYTES": "50"}
    assert run("replay", long, "--store", "one", env=tight).returncode == 1
    assert run("replay", other, "--store", "two", env=tight).returncode == 1
    letters = tmp_path / "one" / "dead-letters.jsonl"
    with letters.open("ab") as file:
        file.write(b'{"specversion":"1.0","id":"to')
    assert run("replay", other, "--store", "one", env=tight).returncode == 1
    listed = run("dead-letters", "list", "--file", "--store", "one", "--json")
    assert [row["memory_id"] for row in json.loads(listed.stdout)] == ["a", "b"]
    assert b"2" in listed.stderr
    assert run("dead-letters", "redrive", "--file", "--store", "one").returncode == 0
    assert json.loads(run("dead-letters", "list", "--file", "--store", "one", "--json").stdout) == []
    assert len(run("export", "--store", "one").stdout.splitlines()) == 2
    assert len(json.loads(run("dead-letters", "list", "--file", "--store", "two", "--json").stdout)) == 1
    assert run("dead-letters", "redrive", "--file", "--store", "nowhere").returncode == 0
    assert not (tmp_path / "nowhere").exists()


def find_bytes(folder: Path, token: bytes) -> list[Path]:
    """Give the files that hold some bytes."""
    return [file for file in folder.rglob("*") if file.is_file() and token in file.read_bytes()]


def test_compacting_takes_erased_and_overwritten_text_from_the_disk(run: Run, tmp_path: Path) -> None:
    """Erased through the pipeline a text is still in the folder's files; after `compact` it is in none, and nothing else changed."""
    token = "qx7zk" * 5
    path = write(
        tmp_path / "first.jsonl",
        event("e1", memory_id="a", text=f"{token} lives in Elm Street"),
        *(event(f"k{number}", memory_id=f"kept{number}", text=f"shelf {number} holds boxes") for number in range(20)),
    )
    erasure = event("e2", "memory.erased", time="2026-03-02T00:00:00Z", memory_id="a", authority={"kind": "user"})
    assert run("replay", path, "--store", "bank").returncode == 0
    assert run("replay", write(tmp_path / "second.jsonl", erasure), "--store", "bank").returncode == 0
    before = run("export", "--store", "bank").stdout
    assert token.encode() not in before
    assert find_bytes(tmp_path / "bank", token.encode())
    done = run("compact", "--store", "bank", "--json")
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads(done.stdout)
    assert report["is_switched"]
    assert report["bytes_before"] > 0 < report["bytes_after"]
    assert find_bytes(tmp_path / "bank", token.encode()) == []
    assert run("export", "--store", "bank").stdout == before
    assert run("compact", "--store", "nowhere").returncode == 2


def test_a_store_is_migrated_to_the_settings(run: Run, tmp_path: Path) -> None:
    """Another vector size is refused at start with the command; what would lose vectors is refused; a dry run changes nothing."""
    path = write(
        tmp_path / "vectors.jsonl", *(event(f"e{n}", memory_id=f"m{n}", text=f"shelf {n}", vector=[1, n]) for n in range(5))
    )
    given = {"GUARDIAN_EMBEDDING__PROVIDER": "given", "GUARDIAN_EMBEDDING__SIZE": "2"}
    other = {**given, "GUARDIAN_EMBEDDING__SIZE": "3"}
    assert run("replay", path, "--store", "bank", env=given).returncode == 0
    before = run("export", "--store", "bank").stdout
    for env in (other, {}):
        refused = run("replay", path, "--store", "bank", env=env)
        assert refused.returncode == 2
        assert b"guardian migrate" in refused.stderr
    assert b"come with the events" in run("migrate", "--store", "bank", env=other).stderr
    assert b"--drop-vectors" in run("migrate", "--store", "bank").stderr
    dry = run("migrate", "--store", "bank", "--drop-vectors", "--dry-run", "--json")
    assert json.loads(dry.stdout)["changes"] == ["embedding: given becomes none", "vector size: 2 becomes 0"]
    assert run("replay", path, "--store", "bank", env=given).returncode == 0
    done = run("migrate", "--store", "bank", "--drop-vectors")
    assert done.returncode == 0, done.stderr.decode()
    assert b"new store is in use" in done.stderr
    assert run("export", "--store", "bank").stdout == before
    assert run("replay", path, "--store", "bank").returncode == 0
    again = json.loads(run("migrate", "--store", "bank", "--json").stdout)
    assert (again["changes"], again["is_switched"]) == ([], False)
