"""The command line as its users call it: processes, files, exit codes, bytes."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from guardian.replay import Checkpoint
from tests.git_repository import TestRepository

EXAMPLES = Path(__file__).parents[2] / "examples"
STORY = EXAMPLES / "coffee-shop.jsonl"
MEM0 = Path(__file__).parents[1] / "data" / "mem0"

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `guardian …` in a folder of its own, with no settings from outside."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}

    def call(
        *arguments: object, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "guardian", *map(str, arguments)],
            cwd=cwd or tmp_path,
            env={**environment, "PYTHONPATH": str(EXAMPLES.parent), "COLUMNS": "160", **(env or {})},
            capture_output=True,
            timeout=120,
            check=False,
        )

    return call


def write(path: Path, *events: dict[str, object]) -> Path:
    """Write events as lines of JSON."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def event(
    event_id: str, kind: str = "memory.written", *, time: str = "2026-03-01T00:00:00Z", space: str = "s", **data: object
) -> dict[str, object]:
    """Build an event as a user would."""
    return {"specversion": "1.0", "id": event_id, "source": "/test", "type": kind, "time": time, "space": space, "data": data}


def test_a_replay_is_told_in_numbers_and_can_be_exported(run: Run) -> None:
    """Replay the story; the summary and the export say what became of it."""
    done = run("replay", STORY, "--store", "bank", "--json")
    assert done.returncode == 0, done.stderr.decode()
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["events"], summary["records"]) == (10, 10, 8)
    assert (summary["families"], summary["superseded"]) == (4, 5)
    assert (summary["felled"], summary["born_superseded"], summary["inferred_parents"]) == (5, 2, 1)
    rows = {row["memory_id"]: row for row in map(json.loads, run("export", "--store", "bank").stdout.splitlines())}
    assert {name: row["status"] for name, row in rows.items()} == {
        "m1": "superseded", "m2": "superseded", "m3": "superseded", "m6": "superseded", "ep1": "superseded",
        "m4": "verified", "m5": "active", "m7": "active",
    }  # fmt: skip
    assert rows["m6"]["parents"] == ["m3"]
    assert rows["m6"]["provenance"] == "inferred"
    assert rows["ep1"]["reasons"][0]["mixed"] is True
    assert rows["ep1"]["utility"] == pytest.approx(0.525)


def test_any_order_of_the_lines_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    """Shuffle and double the story: equal exports, and a second replay changes nothing."""
    lines = [line for line in STORY.read_text().splitlines() if line]
    exports = set()
    for seed in range(3):
        shuffled = lines + lines[:4]
        random.Random(seed).shuffle(shuffled)
        path = tmp_path / f"story-{seed}.jsonl"
        path.write_text("\n".join(shuffled))
        assert run("replay", path, "--store", f"bank-{seed}").returncode == 0
        exports.add(run("export", "--store", f"bank-{seed}").stdout)
    assert run("replay", STORY, "--store", "bank-0").returncode == 0
    exports.add(run("export", "--store", "bank-0").stdout)
    assert len(exports) == 1


def test_a_bad_line_costs_itself_and_the_exit_code_says_so(run: Run, tmp_path: Path) -> None:
    """Bytes that are no JSON, an incomplete event, null, and a blank text end as dead letters; the rest lands."""
    path = tmp_path / "mixed.jsonl"
    good = [json.dumps(event("e1", memory_id="a", text="one")), json.dumps(event("e2", memory_id="b", text="two"))]
    blank = json.dumps(event("e3", memory_id="c", text=" \u200b "))
    path.write_bytes(
        b"\n".join([good[0].encode(), b"\xff{", b'{"id":5}', b"null", b"[" * 2000, blank.encode(), good[1].encode()])
    )
    done = run("replay", path, "--store", "bank", "--format", "cloudevents", "--json")
    assert done.returncode == 1
    summary = json.loads(done.stdout)
    assert summary["records"] == 2
    assert sum(summary["dead_letters"].values()) == 5
    assert summary["dead_letters"]["text_blank"] == 1
    listed = run("dead-letters", "list", "--file", "--store", "bank", "--json")
    assert listed.returncode == 0, listed.stderr.decode()
    letters = json.loads(listed.stdout)
    assert len(letters) == 5
    assert run("replay", path, "--store", "bank", "--format", "cloudevents").returncode == 1
    assert len(json.loads(run("dead-letters", "list", "--file", "--store", "bank", "--json").stdout)) == 5


@pytest.mark.parametrize("name", sorted(path.name for path in MEM0.glob("*.db")))
def test_mem0_histories_are_told_by_their_content(run: Run, tmp_path: Path, name: str) -> None:
    """A renamed history of any generation replays; a second replay changes nothing."""
    renamed = tmp_path / "mystery.bin"
    renamed.write_bytes((MEM0 / name).read_bytes())
    first = run("replay", renamed, "--store", "bank", "--space", "mine", "--json")
    assert first.returncode == 0, first.stderr.decode()
    rows = sqlite3.connect(f"file:{renamed}?mode=ro", uri=True).execute("select count(*) from history").fetchone()[0]
    summary = json.loads(first.stdout)
    assert summary["events"] + sum(summary["skipped"].values()) >= rows > 0
    before = run("export", "--store", "bank").stdout
    assert before
    second = json.loads(run("replay", renamed, "--store", "bank", "--space", "mine", "--restart", "--json").stdout)
    assert second["records"] == 0
    assert run("export", "--store", "bank").stdout == before


def test_wrong_use_is_code_2_and_names_the_mend(run: Run, tmp_path: Path) -> None:
    """A missing file, a file of no format, an unknown format, a wrong setting, a store that is not there."""
    unknown = tmp_path / "poem.txt"
    unknown.write_text("roses are red\n")
    calls = [
        (("replay", "nowhere.jsonl"), b"no file"),
        (("replay", unknown), b"no memory format"),
        (("replay", STORY, "--format", "nonsense"), b"mem0"),
        (("export", "--store", "nowhere"), b"no store"),
        (("show", "s", "x", "--store", "nowhere"), b"no store"),
        (("nonsense",), b"nonsense"),
    ]
    for arguments, word in calls:
        done = run(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert word in done.stderr, (arguments, done.stderr)
        assert b"Traceback" not in done.stderr
    wrong = run("settings", env={"GUARDIAN_LIMITS__BATCH_EVENTS": "none"})
    assert wrong.returncode == 2
    assert b"GUARDIAN_LIMITS__BATCH_EVENTS" in wrong.stderr


def test_show_and_search_speak_to_people_and_programs(run: Run) -> None:
    """Superseded memories do not answer; with --history they do, pointing to what holds instead."""
    assert run("replay", STORY, "--store", "bank").returncode == 0
    page = run("show", "coffee-shop", "m6", "--store", "bank").stdout.decode()
    for words in ("superseded", "m4 holds instead", "inferred", "m1"):
        assert words in page
    shown = json.loads(run("show", "coffee-shop", "m4", "--store", "bank", "--json").stdout)
    assert shown["revisions"][0]["card"]["summary"]
    query = ("search", "coffee-shop", "price of Arabica Blend from Southfield", "--store", "bank", "--json")
    assert [row["memory_id"] for row in json.loads(run(*query).stdout)] == ["m4"]
    history = {row["memory_id"]: row for row in json.loads(run(*query, "--history").stdout)}
    assert history["m1"]["replaced_by"] == ["m4"]
    assert run("show", "coffee-shop", "nobody", "--store", "bank").returncode == 2


def test_a_space_option_fills_in_but_never_overwrites(run: Run, tmp_path: Path) -> None:
    """--space is for events that name none."""
    nameless = event("e1", memory_id="a", text="one")
    del nameless["space"]
    path = write(tmp_path / "two.jsonl", nameless, event("e2", memory_id="b", text="two", space="theirs"))
    assert run("replay", path, "--store", "bank", "--space", "mine").returncode == 0
    rows = [json.loads(line) for line in run("export", "--store", "bank").stdout.splitlines()]
    assert [(row["space"], row["memory_id"]) for row in rows] == [("mine", "a"), ("theirs", "b")]
    assert [
        json.loads(line)["memory_id"] for line in run("export", "--store", "bank", "--space", "mine").stdout.splitlines()
    ] == ["a"]


def test_strange_ids_and_texts_pass_unchanged(run: Run, tmp_path: Path) -> None:
    """Ids with quotes, newlines and dots, texts in any script: what goes in comes out."""
    ids = ["mem-1", "7", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "x" * 200, "../x", 'a "quote"\nand a line']
    texts = ["靠窗座位 🪑", "مفتاح الباب رقم 7 in Hall B", "café", "cafe\u0301", "a\tb", "ß"]
    path = write(
        tmp_path / "odd.jsonl", *(event(f"e{n}", memory_id=i, text=t) for n, (i, t) in enumerate(zip(ids, texts, strict=True)))
    )
    assert run("replay", path, "--store", "bank").returncode == 0
    rows = {row["memory_id"]: row["text"] for row in map(json.loads, run("export", "--store", "bank").stdout.splitlines())}
    assert rows == dict(zip(ids, texts, strict=True))


def test_the_process_time_zone_plays_no_part(run: Run, tmp_path: Path) -> None:
    """One instant written three ways, under Tokyo time: equal to the same under UTC."""
    times = ["2026-03-01T00:00:00-05:00", "2026-03-01T05:00:00Z", "2026-03-01T05:00:00"]
    path = write(tmp_path / "times.jsonl", *(event(f"e{n}", memory_id=f"m{n}", text="one", time=t) for n, t in enumerate(times)))
    exports = set()
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        done = run("replay", path, "--store", zone.replace("/", "-"), "--json", env={"TZ": zone})
        assert json.loads(done.stdout)["naive_times"] == 1
        exports.add(run("export", "--store", zone.replace("/", "-"), env={"TZ": zone}).stdout)
    (export,) = exports
    assert {json.loads(line)["observed_at"] for line in export.splitlines()} == {"2026-03-01T05:00:00.000000Z"}


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


def test_settings_are_listed_with_secrets_masked(run: Run) -> None:
    """No secret is printed."""
    done = run("settings", "--json", env={"GUARDIAN_STORE__API_KEY": "sesame"})
    assert done.returncode == 0
    assert b"sesame" not in done.stdout
    assert json.loads(done.stdout)["limits"]["max_text_bytes"] == 32768


def test_memory_text_cannot_steer_the_terminal_or_the_printing(run: Run, tmp_path: Path) -> None:
    """Markup is shown as it stands, control sequences as their codes, and nothing breaks."""
    text = "array [int] of [bold]weights[/b] costs [red]5 \x1b[2J\x1b]0;title\x07 \u202eevil"
    path = write(tmp_path / "odd.jsonl", event("e1", memory_id="a[/x]", text=text))
    assert run("replay", path, "--store", "bank").returncode == 0
    for arguments in (("search", "s", "weights"), ("show", "s", "a[/x]")):
        done = run(*arguments, "--store", "bank")
        assert done.returncode == 0, done.stderr.decode()
        assert b"[bold]weights[/b]" in done.stdout
        assert b"\x1b" not in done.stdout
        assert "\u202e".encode() not in done.stdout


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


def test_settings_that_would_be_passed_over_are_refused(run: Run) -> None:
    """One underscore too few, a list that is no JSON: the message names the variable's right form."""
    single = run("settings", env={"GUARDIAN_STORE_PATH": "x"})
    assert single.returncode == 2
    assert b"GUARDIAN_STORE__PATH" in single.stderr
    plain = run("settings", env={"GUARDIAN_KAFKA__INGRESS_TOPICS": "a.memory"})
    assert plain.returncode == 2
    assert b"JSON" in plain.stderr


def test_what_cannot_be_written_is_said_without_a_traceback(run: Run) -> None:
    """An output that cannot be made ends with 2 and names the path."""
    assert run("replay", STORY, "--store", "bank").returncode == 0
    done = run("export", "--store", "bank", "-o", "no/such/folder/x.jsonl")
    assert done.returncode == 2
    assert b"no/such/folder/x.jsonl" in done.stderr
    assert b"Traceback" not in done.stderr


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


REAL_DATA = os.environ.get("GUARDIAN_REAL_DATA")


@pytest.mark.skipif(not REAL_DATA, reason="GUARDIAN_REAL_DATA names no folder of real exports")
@pytest.mark.parametrize("folder", ["mcp_memory_graph", "mcp_memory_mindstrike"])
def test_real_histories_of_an_mcp_memory_file_replay(run: Run, folder: str) -> None:
    """All versions of a real file replay without a dead letter, every row is accounted for, a second run changes nothing."""
    files = sorted(Path(str(REAL_DATA), folder).glob("v*.jsonl"))
    rows = sum(len(file.read_text().splitlines()) for file in files)
    first = run("replay", *files, "--store", "bank", "--space", "graph", "--json")
    assert first.returncode == 0, first.stderr.decode()
    summary = json.loads(first.stdout)
    assert summary["rows"] == rows
    assert summary["records"] > 0
    before = run("export", "--store", "bank").stdout
    second = json.loads(run("replay", *files, "--store", "bank", "--space", "graph", "--json").stdout)
    assert (second["records"], second["felled"]) == (0, 0)
    assert run("export", "--store", "bank").stdout == before


def test_a_repository_is_replayed_as_a_folder(run: Run, tmp_path: Path) -> None:
    """Name the folder; a second replay changes nothing, and a new commit adds what it says."""
    repository = TestRepository(tmp_path / "memory")
    repository.commit({"system/human.md": "---\ndescription: who\n---\nSits at desk 2"}, time=1_777_622_400)
    first = json.loads(run("replay", "memory", "--store", "bank", "--json").stdout)
    assert (first["rows"], first["records"], first["superseded"]) == (1, 1, 0)
    exported = run("export", "--store", "bank").stdout
    assert json.loads(run("replay", "memory", "--store", "bank", "--json").stdout)["dispositions"] == {"duplicate": 1}
    assert run("export", "--store", "bank").stdout == exported
    repository.commit({"system/human.md": "---\ndescription: who\n---\nSits at desk 3"}, time=1_777_622_460)
    second = json.loads(run("replay", "memory", "--store", "bank", "--json").stdout)
    assert (second["rows"], second["superseded"]) == (2, 1)
    missing = run("replay", "nowhere", "--store", "bank")
    assert missing.returncode == 2
    assert b"no file or folder" in missing.stderr


def test_a_checkpoint_of_a_folder_ends_with_any_change_in_it(tmp_path: Path) -> None:
    """Begin anew where a file below changed, came or went."""
    folder = tmp_path / "memory" / "inner"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("1")
    names = {Checkpoint(tmp_path, [tmp_path / "memory"]).path}
    assert {Checkpoint(tmp_path, [tmp_path / "memory"]).path} == names
    (folder / "a.md").write_text("longer")
    names.add(Checkpoint(tmp_path, [tmp_path / "memory"]).path)
    (folder / "b.md").write_text("1")
    names.add(Checkpoint(tmp_path, [tmp_path / "memory"]).path)
    assert len(names) == 3
