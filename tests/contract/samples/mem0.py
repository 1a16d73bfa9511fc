"""Samples of mem0's forms beside its history database. Each writer gives the files in order and their number of rows."""

import gzip
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

DATA = Path(__file__).parents[2] / "data" / "mem0"
TIME = 1_780_000_000

EXPORT: dict[str, Any] = {
    "user": {"id": "00000000-0000-4000-8000-0000000000aa", "user_id": "ann", "name": "Ann"},
    "apps": [{"id": "00000000-0000-4000-8000-0000000000bb", "name": "cursor"}],
    "categories": [{"id": "00000000-0000-4000-8000-0000000000cc", "name": "work"}],
    "memories": [
        {
            "id": "00000000-0000-4000-8000-000000000001",
            "user_id": "00000000-0000-4000-8000-0000000000aa",
            "app_id": "00000000-0000-4000-8000-0000000000bb",
            "content": "The weekly build runs on Tuesday",
            "metadata": {"origin": "chat"},
            "state": "deleted",
            "created_at": "2026-05-01T08:00:00+00:00",
            "updated_at": "2026-05-04T08:00:00+00:00",
            "archived_at": None,
            "deleted_at": "2026-05-04T08:00:00+00:00",
            "category_ids": ["00000000-0000-4000-8000-0000000000cc"],
        },
        {
            "id": "00000000-0000-4000-8000-000000000002",
            "user_id": "00000000-0000-4000-8000-0000000000aa",
            "app_id": None,
            "content": "The staging host is host-7",
            "metadata": None,
            "state": "active",
            "created_at": "2026-05-01T08:00:00+00:00",
            "updated_at": "2026-05-02T08:00:00+00:00",
            "archived_at": None,
            "deleted_at": None,
            "category_ids": [],
        },
    ],
    "status_history": [
        {"id": f"s{number}", "memory_id": "00000000-0000-4000-8000-000000000001", "changed_by": "u", **change}
        for number, change in enumerate(
            [
                {"old_state": "active", "new_state": "deleted", "changed_at": "2026-05-04T08:00:00+00:00"},
                {"old_state": "deleted", "new_state": "active", "changed_at": "2026-05-01T08:00:00+00:00"},
                {"old_state": "active", "new_state": "archived", "changed_at": "2026-05-02T08:00:00+00:00"},
                {"old_state": "archived", "new_state": "active", "changed_at": "2026-05-03T08:00:00+00:00"},
            ]
        )
    ],
    "export_meta": {"version": "1"},
}


def write_rows(path: Path, rows: list[Any]) -> Path:
    """Write JSON lines of a fixed modification time."""
    path.write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
    os.utime(path, (TIME, TIME))
    return path


def write_typescript(folder: Path) -> tuple[list[Path], int]:
    """Write the history table of the TypeScript SDK."""
    path = folder / "memory.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE memory_history (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, previous_value TEXT, "
            "new_value TEXT, action TEXT NOT NULL, created_at TEXT, updated_at TEXT, is_deleted INTEGER DEFAULT 0)"
        )
        rows = [
            ("m1", None, "Desk 2", "ADD", "2026-05-01T08:00:00.000Z", None, 0),
            ("m1", "Desk 2", "Desk 3", "UPDATE", "2026-05-01T08:00:00.000Z", "2026-05-02T08:00:00.000Z", 0),
            ("m1", "Desk 3", None, "DELETE", None, None, 1),
        ]
        database.executemany(
            "INSERT INTO memory_history (memory_id, previous_value, new_value, action, created_at, updated_at, is_deleted) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    return [path], 3


def write_points(folder: Path) -> tuple[list[Path], int]:
    """Write dumps of two collections, one of them twice."""
    names = ["qdrant_points_mem0ai_1.0.0.jsonl", "qdrant_points_mem0ai_2.2.1.jsonl"]
    paths = [Path(shutil.copy2(DATA / name, folder)) for name in names]
    last = folder / "last.json"
    last.write_bytes(paths[1].read_bytes().splitlines()[0] + b'\n{"id":"e","payload":{"data":"host-7","entity_type":"x",'
                     b'"linked_memory_ids":["a"]}}\n{"id":"f","payload":{"data":1}}\n')  # fmt: skip
    for number, path in enumerate([*paths, last]):
        os.utime(path, (TIME + number, TIME + number))
    return [*paths, last], 7


def write_api(folder: Path) -> tuple[list[Path], int]:
    """Write answers of both versions, a page of the Platform, and lines of what it sends."""
    names = ["get_all_mem0ai_2.2.1.json", "history_api_mem0ai_1.0.0.json"]
    paths = [Path(shutil.copy2(DATA / name, folder)) for name in names]
    page = {
        "count": 2,
        "next": None,
        "previous": None,
        "results": [
            {
                "id": "p1",
                "memory": "Desk 2",
                "user_id": "u",
                "categories": ["office"],
                "replaced_by": "p2",
                "created_at": "2026-05-01",
            },
            {"id": "p2", "memory": "Desk 3", "user_id": "u", "categories": None, "synthesized": True, "created_at": "2026-05-02"},
        ],
    }
    paths.append(write_rows(folder / "page", [page]))
    lines = [
        {"event_details": {"id": "p3", "data": {"memory": "Desk is on floor 3"}, "event": "ADD"}},
        {"event_details": {"event": "CATEGORIZE", "memory_id": "p3", "categories": ["office"]}},
        {"memory_id": "p3", "feedback": "VERY_NEGATIVE", "feedback_reason": "moved"},
        {"odd": 1},
    ]
    paths.append(write_rows(folder / "lines", lines))
    for number, path in enumerate(paths):
        os.utime(path, (TIME + number, TIME + number))
    return paths, 15


def write_plugin(folder: Path) -> tuple[list[Path], int]:
    """Write an export of the editor plugin with a `---` line in a text."""
    path = folder / "mem0-export.md"
    path.write_text(
        "---\nid: m1\ncreated_at: 2026-05-01T08:00:00Z\ntype: decision\nconfidence: 0.9\nbranch: main\n"
        "files: a.py, b.py\ncategories: build\n---\nUse make.\n---\nNever call pip.\n\n"
        "---\nid: m2\ncreated_at: 2026-05-02T08:00:00Z\ntype: note\nconfidence:\n---\nThe host is host-7.\n"
    )
    os.utime(path, (TIME, TIME))
    return [path], 2


def write_openmemory(folder: Path) -> tuple[list[Path], int]:
    """Write an export as the server zips it."""
    path = folder / "memories_export.zip"
    lines = b"".join(orjson.dumps({"id": memory["id"], "content": memory["content"]}) + b"\n" for memory in EXPORT["memories"])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("memories.json", orjson.dumps(EXPORT, option=orjson.OPT_INDENT_2))
        archive.writestr("memories.jsonl.gz", gzip.compress(lines, mtime=0))
    os.utime(path, (TIME, TIME))
    return [path], 6
