"""`guardian sources` and `guardian settings --explain` as their users call them: what a file is, what would become of it, what is set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from guardian.sources.registry import BUILT_IN, load_row_sources
from tests.contract.test_source_contract import SAMPLES

ROOT = Path(__file__).parents[2]
TOML = """
[maps.notes]
id = "uuid"
type = { path = "op", values = { add = "memory.written", remove = "memory.deleted" } }
time = { path = "ts", convert = "unix_ms" }

[maps.notes.data]
memory_id = "note"
text = "body.text"
self_grade = { path = "stars", convert = "grade_1_5" }

[ingress."agent.*"]
map = "notes"
space = "depot"
source_kind = "agent"
"""
AT_MS = 1_777_622_400_000
GOOD = {"uuid": "u1", "note": "n1", "op": "add", "ts": AT_MS, "body": {"text": "Depot A owns 7 trailers"}, "stars": 5}
BAD = {"uuid": "u2", "note": "n2", "op": "add", "ts": AT_MS, "body": {"text": "Gate 4 is shut"}, "stars": 7}

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `guardian …` in a folder of its own with a map, with no settings from outside."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}
    (tmp_path / "guardian.toml").write_text(TOML)

    def call(*arguments: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "guardian", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
            capture_output=True,
            timeout=120,
            check=False,
        )

    return call


def write(path: Path, *rows: object) -> Path:
    """Write rows as lines of JSON."""
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_every_format_is_listed_with_whether_it_comes_on_topics(run: Run) -> None:
    """The list is that of the registry."""
    listed = json.loads(run("sources", "list", "--json").stdout)
    live = {source.name for source in load_row_sources()}
    told = {row["format"]: (row["reads"], row["also_on_topics"]) for row in listed}
    assert told == {source.name: (source.title, source.name in live) for source in BUILT_IN}
    table = run("sources", "list").stdout.decode()
    assert all(source.name in table for source in BUILT_IN)


@pytest.mark.parametrize("name", ["mem0", "rows", "openmemory", "letta-memfs", "letta-tables", "cloudevents"])
def test_a_file_of_each_kind_is_told_by_its_content(run: Run, tmp_path: Path, name: str) -> None:
    """A database, lines, an archive, a folder, CSV, and a gzip: the format by its name and in words."""
    folder = tmp_path / "sample"
    folder.mkdir()
    path = SAMPLES[name](folder)[0][-1]
    done = run("sources", "detect", path)
    assert (done.returncode, done.stdout.decode().partition(":")[0]) == (0, name), done.stderr
    assert json.loads(run("sources", "detect", path, "--json").stdout)["format"] == name


def test_what_cannot_be_told_is_code_2_with_the_mend(run: Run, tmp_path: Path) -> None:
    """A path that is not there, an empty file, plain JSON of nobody's format, and maps and formats that do not exist."""
    plain, empty = write(tmp_path / "plain.jsonl", GOOD), tmp_path / "empty"
    empty.write_bytes(b"")
    calls: list[tuple[tuple[object, ...], str]] = [
        (("detect", "plian.jsonl"), "'plian.jsonl' does not exist"),
        (("try", "plian.jsonl", "--map", "notes"), "'plian.jsonl' does not exist"),
        (("detect", empty), "is empty"),
        (("detect", plain), "Map them as docs/live.md shows (--map NAME)"),
        (("try", plain), "those of no known format"),
        (("try", plain, "--map", "note"), "there is no map 'note'. Mend: declare [maps.note] in guardian.toml; known: notes"),
        (("try", plain, "--format", "rowz"), "There is no memory format 'rowz'"),
        (("try", plain, "--format", "rows", "--map", "notes"), "leave one of them out"),
    ]
    for arguments, words in calls:
        done = run("sources", *arguments)
        told = " ".join(done.stderr.decode().split())
        assert (done.returncode, words in told) == (2, True), (arguments, told)
        assert "Traceback" not in told


def test_a_map_is_tried_before_it_is_used(run: Run, tmp_path: Path) -> None:
    """The first events as they would be, what would be refused and why, exit code 1; and 0 when all is well. Nothing is written."""
    rows = write(tmp_path / "rows.jsonl", GOOD, BAD)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run("sources", "try", rows, "--map", "notes", "--space", "s")
    told = done.stdout.decode()
    assert done.returncode == 1
    assert '"text": "Depot A owns 7 trailers"' in told
    assert "read as rows: 2 rows, 1 events" in told
    assert "refused 1 map_misfit; first rows.jsonl line 2: data.self_grade: '7' cannot be read as grade_1_5" in told
    trial = json.loads(run("sources", "try", rows, "--map", "notes", "--space", "s", "--json").stdout)
    assert (trial["rows"], trial["events"], trial["refused"], trial["skipped"]) == (2, 1, {"map_misfit": 1}, {})
    assert trial["first"][0]["data"]["self_grade"] == 1.0
    assert (trial["first"][0]["id"], trial["first"][0]["source"]) == ("u1", "map:notes")
    assert run("sources", "try", write(tmp_path / "rows.jsonl", GOOD), "--map", "notes", "--space", "s").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_records_of_a_topic_are_tried_as_their_topic_is_bound(run: Run, tmp_path: Path) -> None:
    """A file of kcat names the topic, so that map, space and kind come from the settings; what is skipped is told with its reason."""
    lines = [
        {"topic": "agent.notes", "partition": 0, "offset": n, "ts": AT_MS, "key": "n1", "payload": payload}
        for n, payload in enumerate((json.dumps(GOOD), None))
    ]
    done = run("sources", "try", write(tmp_path / "topic.jsonl", *lines), "--json")
    trial = json.loads(done.stdout)
    assert (done.returncode, trial["format"], trial["events"], trial["skipped"]) == (0, "rows", 1, {"tombstone": 1})
    assert (trial["first"][0]["space"], trial["first"][0]["data"]["source"]["kind"]) == ("depot", "agent")


def test_only_so_many_events_are_shown_and_rows_looked_at(run: Run, tmp_path: Path) -> None:
    """`--limit` bounds what is shown, `--rows` what is read."""
    rows = write(tmp_path / "rows.jsonl", *({**GOOD, "uuid": f"u{number}"} for number in range(8)))
    trial = json.loads(run("sources", "try", rows, "--map", "notes", "--space", "s", "--limit", 2, "--rows", 6, "--json").stdout)
    assert (len(trial["first"]), trial["events"], trial["rows"]) == (2, 6, 6)


def test_settings_explain_maps_and_topics_line_by_line(run: Run, tmp_path: Path) -> None:
    """Each entry under its heading in the file, a rule as it was written, with the meaning; without entries the table itself."""
    told = run("settings", "--explain").stdout.decode()
    lines = {line.split("  ")[0].strip(): " ".join(line.split()) for line in told.splitlines()}
    assert lines["[maps.notes] id"] == "[maps.notes] id uuid Event id, unique within the source; default: a digest of the row."
    assert "{'path': 'ts', 'convert': 'unix_ms'}" in lines["[maps.notes] time"]
    assert "'memory_id': 'note', 'text': 'body.text'" in lines["[maps.notes] data"]
    assert '[ingress."agent.*"] space depot Space of rows that name none.' in lines['[ingress."agent.*"] space']
    (tmp_path / "guardian.toml").unlink()
    bare = run("settings", "--explain").stdout.decode()
    assert "GUARDIAN_INGRESS " in bare
    assert "Ingress topic pattern -> what its records are" in " ".join(bare.split())
