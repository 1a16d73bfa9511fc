"""mem0's other programs: the TypeScript SDK's table, the editor plugin's export, and OpenMemory."""

import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from guardian.sources.formats.langgraph.store import LanggraphSource
from guardian.sources.formats.mem0.openmemory import OpenMemorySource
from guardian.sources.formats.mem0.plugin import Mem0PluginSource
from guardian.sources.formats.mem0.ts_history import Mem0TypeScriptSource
from guardian.sources.formats.mem0_history import Mem0HistorySource
from guardian.sources.port import Broken, Item, SourceEvent, SourceOptions
from tests.contract.samples.mem0 import EXPORT, write_openmemory, write_plugin, write_typescript

MEMORY = "00000000-0000-4000-8000-000000000001"


def events_of(items: list[Item]) -> list[dict[str, Any]]:
    """Give the events."""
    return [dict(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None]


def shape(items: list[Item]) -> list[tuple[str, str, str]]:
    """Give type, time and text of the events."""
    return [(event["type"], event["time"], event["data"].get("text", "")) for event in events_of(items)]


def test_the_typescript_table_gives_its_golden_events(tmp_path: Path) -> None:
    """Read in the order of ids; date a deletion by its memory; make ids of memory and row."""
    paths, _ = write_typescript(tmp_path)
    items = list(Mem0TypeScriptSource().iter_items(paths, SourceOptions()))
    assert shape(items) == [
        ("memory.written", "2026-05-01T08:00:00Z", "Desk 2"),
        ("memory.written", "2026-05-02T08:00:00Z", "Desk 3"),
        ("memory.deleted", "2026-05-02T08:00:00Z", ""),
    ]
    assert [event["id"] for event in events_of(items)] == ["m1:1", "m1:2", "m1:3"]
    assert events_of(items)[2]["data"]["metadata"]["time_inferred"] is True
    assert events_of(items)[0]["data"]["source"] == {"kind": "unknown", "ref": "mem0:ts-history:m1"}


def test_a_line_of_three_hyphens_stays_in_its_text(tmp_path: Path) -> None:
    """Begin a block only at a header, so that no text shifts those that follow."""
    paths, _ = write_plugin(tmp_path)
    first, second = events_of(list(Mem0PluginSource().iter_items(paths, SourceOptions())))
    assert first["data"]["text"] == "Use make.\n---\nNever call pip."
    assert first["data"]["metadata"]["fields"] == {
        "type": "decision",
        "confidence": "0.9",
        "branch": "main",
        "files": ["a.py", "b.py"],
        "categories": ["build"],
    }
    assert (second["data"]["memory_id"], second["data"]["text"]) == ("m2", "The host is host-7.")
    assert "self_grade" not in first["data"]


def test_an_export_without_blocks_or_not_in_utf8_is_accounted_for(tmp_path: Path) -> None:
    """Say what stands before the first memory; refuse other encodings whole."""
    path = tmp_path / "x.md"
    path.write_text("# Notes\n")
    [note] = Mem0PluginSource().iter_items([path], SourceOptions())
    assert note.reason == "not_a_memory"  # type: ignore[union-attr]
    path.write_bytes(b"---\nid: a\ncreated_at: 2026-01-01\n---\n\xff\n")
    assert Mem0PluginSource().detect(path)
    [broken] = Mem0PluginSource().iter_items([path], SourceOptions())
    assert isinstance(broken, Broken)
    assert broken.reason == "not_utf8"


def test_states_of_openmemory_are_events_in_the_order_of_their_times(tmp_path: Path) -> None:
    """Bar what is archived or deleted, write again what comes back, and say nothing where nothing changes."""
    paths, rows = write_openmemory(tmp_path)
    items = list(OpenMemorySource().iter_items(paths, SourceOptions()))
    text = "The weekly build runs on Tuesday"
    assert shape(items) == [
        ("memory.written", "2026-05-01T08:00:00Z", text),
        ("memory.deleted", "2026-05-02T08:00:00Z", ""),
        ("memory.written", "2026-05-03T08:00:00Z", text),
        ("memory.deleted", "2026-05-04T08:00:00Z", ""),
        ("memory.written", "2026-05-02T08:00:00Z", "The staging host is host-7"),
    ]
    assert sum(item.rows for item in items) == rows
    first, archived, *_ = events_of(items)
    assert first["data"]["scope"] == {"user_id": "ann"}
    assert first["data"]["source"]["actor"] == "cursor"
    assert first["data"]["metadata"]["tz_assumed"] is True
    assert first["data"]["metadata"]["categories"] == ["work"]
    assert (archived["id"], archived["data"]["metadata"]["openmemory_state"]) == ("status:s2", "archived")


def test_a_deleted_memory_is_not_written_after_its_deletion(tmp_path: Path) -> None:
    """Date its text by its creation, for `updated_at` moved with the deletion; delete it without a log, too."""
    path = tmp_path / "memories.json"
    path.write_bytes(orjson.dumps({**EXPORT, "status_history": []}))
    items = list(OpenMemorySource().iter_items([path], SourceOptions()))
    assert [(kind, time) for kind, time, _ in shape(items)][:2] == [
        ("memory.written", "2026-05-01T08:00:00Z"),
        ("memory.deleted", "2026-05-04T08:00:00Z"),
    ]
    assert sum(item.rows for item in items) == 2


def test_lines_without_the_log_are_read_alone(tmp_path: Path) -> None:
    """Read memories.jsonl.gz where it stands by itself."""
    row = {"id": MEMORY, "content": "x", "metadata": {}, "created_at": "2026-05-01T00:00:00+00:00", "state": "paused"}
    path = tmp_path / "x"
    path.write_bytes(orjson.dumps({**row, "app": "cursor", "categories": ["work"]}) + b"\n7\n{\n")
    assert OpenMemorySource().detect(path)
    items = list(OpenMemorySource().iter_items([path], SourceOptions()))
    assert [kind for kind, _, _ in shape(items)] == ["memory.written", "memory.deleted"]
    assert [item.reason for item in items if isinstance(item, Broken)] == ["shape_unknown", "not_json"]


def test_the_database_gives_the_ids_of_the_export(tmp_path: Path) -> None:
    """Write UUIDs with their hyphens, which SQLite's form lacks, and naive times as assumed UTC."""
    path = tmp_path / "openmemory.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE users (id TEXT, user_id TEXT)")
        database.execute("CREATE TABLE apps (id TEXT, name TEXT)")
        database.execute(
            "CREATE TABLE memories (id CHAR(32), user_id TEXT, app_id TEXT, content TEXT, vector TEXT, metadata TEXT, "
            "state TEXT, created_at DATETIME, updated_at DATETIME, archived_at DATETIME, deleted_at DATETIME)"
        )
        database.execute(
            "CREATE TABLE memory_status_history (id TEXT, memory_id TEXT, changed_by TEXT, old_state TEXT, new_state TEXT, "
            "changed_at DATETIME)"
        )
        database.execute("CREATE TABLE memory_access_logs (id TEXT, memory_id TEXT)")
        database.execute("INSERT INTO users VALUES ('u', 'ann')")
        plain = MEMORY.replace("-", "")
        database.execute(
            "INSERT INTO memories VALUES (?, 'u', NULL, 'x', NULL, '{\"k\": 1}', 'deleted', '2026-05-01 08:00:00.5', NULL, NULL, NULL)",
            (plain,),
        )
        database.execute(
            "INSERT INTO memory_status_history VALUES ('s1', ?, 'u', 'active', 'deleted', '2026-05-02 08:00:00')", (plain,)
        )
        database.execute("INSERT INTO memory_status_history VALUES ('s2', 'gone', 'u', 'active', 'deleted', '2026-05-02')")
        database.execute("INSERT INTO memory_access_logs VALUES ('l', 'm')")
    assert OpenMemorySource().detect(path)
    items = list(OpenMemorySource().iter_items([path], SourceOptions()))
    written, deleted = events_of(items)
    assert written["data"]["memory_id"] == MEMORY
    assert written["data"]["scope"] == {"user_id": "ann"}
    assert written["data"]["metadata"]["fields"] == {"k": 1}
    assert deleted["id"] == "status:s1"
    assert [item.reason for item in items if not isinstance(item, SourceEvent)] == ["id_missing", "not_a_memory"]
    assert sum(item.rows for item in items) == 4


def test_a_damaged_zip_is_one_fault(tmp_path: Path) -> None:
    """Answer with a dead letter for what stands in a zip but cannot be read."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("memories.json", b'{"memories": [')
        archive.writestr("memories.jsonl.gz", b"")
    assert OpenMemorySource().detect(path)
    [broken] = OpenMemorySource().iter_items([path], SourceOptions())
    assert isinstance(broken, Broken)
    assert broken.reason == "not_json"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", b"")
    assert not OpenMemorySource().detect(path)
    os.utime(path, (1, 1))
    [missing] = OpenMemorySource().iter_items([path], SourceOptions())
    assert isinstance(missing, Broken)
    assert missing.reason == "shape_unknown"


def test_lists_of_an_export_may_be_anything(tmp_path: Path) -> None:
    """Take what is no list for none, and a memory that is no object for broken."""
    path = tmp_path / "x"
    path.write_bytes(orjson.dumps({**EXPORT, "apps": True, "categories": 7, "memories": [7], "status_history": [None]}))
    items = list(OpenMemorySource().iter_items([path], SourceOptions()))
    assert [item.reason for item in items if isinstance(item, Broken)] == ["id_missing", "time_unreadable"]


def test_a_schema_that_is_not_utf8_is_no_crash(tmp_path: Path) -> None:
    """Answer for a database whose schema the driver cannot even complain about."""
    [path], _ = write_typescript(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE memory_history", b"CREATE TABLE \xc3\x28mory_history"))
    for source in (Mem0TypeScriptSource(), OpenMemorySource(), Mem0HistorySource(), LanggraphSource()):
        assert not source.detect(path)
    [broken] = Mem0TypeScriptSource().iter_items([path], SourceOptions())
    assert isinstance(broken, Broken)
    assert broken.reason == "file_damaged"
