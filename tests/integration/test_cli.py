"""The command line as its users call it: processes, files, exit codes, bytes."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from pathlib import Path

import pytest

from guardian.replay import Checkpoint
from tests.git_repository import TestRepository
from tests.integration.command import MEM0, STORY, Run, event, write


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
