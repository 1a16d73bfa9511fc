"""Long histories on the disk, in three formats, of any size: a log of events, a database, a series of versions of one file.

The same seed gives the same rows. Nothing is held but what the next row needs.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from benchmarks.bank import START, Bank, batched, draw_text

# Memories of the graph, which is rewritten whole at every change, and how many of them a version changes.
_GRAPH_ENTITIES = 10_000
_GRAPH_CHANGES = 100
_MEM0_TABLE = (
    "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
    "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
)
_NAMES = ["Selkor", "Balmorin", "Dorfen", "Tanwes", "Yorzan", "Grajin"]


def write_native(folder: Path, size_bytes: int) -> list[Path]:
    """Write Guardian's own events as JSON lines."""
    path, written = folder / "events.jsonl", 0
    with path.open("wb") as file:
        for batch in batched(Bank().iter_events(size_bytes), 1_000):  # no event is shorter than a byte
            written += file.write(b"".join(orjson.dumps(event) + b"\n" for event in batch))
            if written >= size_bytes:
                break
    return [path]


def write_mem0(folder: Path, size_bytes: int) -> list[Path]:
    """Write a history of mem0: of ten rows five add a memory, four change one, one deletes one."""
    path = folder / "history.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(_MEM0_TABLE)
        for batch in batched(_iter_mem0_rows(), 20_000):
            database.execute("BEGIN")
            database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)", batch)
            database.execute("COMMIT")
            if path.stat().st_size >= size_bytes:
                break
    return [path]


def _iter_mem0_rows() -> Iterator[tuple[Any, ...]]:
    draw, number = random.Random(3), 0
    living: list[tuple[str, str, str]] = []
    while True:
        number += 1
        row_id, time = f"{draw.getrandbits(128):032x}", (START + timedelta(seconds=number)).isoformat()
        (event,) = draw.choices(("ADD", "UPDATE", "DELETE"), (5, 4, 1))
        if event == "ADD" or not living:
            memory = (f"{draw.getrandbits(128):032x}", draw_text(draw, _NAMES), time)
            living.append(memory)
            yield (row_id, memory[0], None, memory[1], "ADD", time, None, None, draw.choice(("user", "assistant")))
            continue
        at = draw.randrange(len(living))
        memory_id, text, created = living[at]
        if event == "UPDATE":
            living[at] = (memory_id, draw_text(draw, _NAMES), created)
            yield (row_id, memory_id, text, living[at][1], "UPDATE", created, time, None, None)
        else:
            living[at], living[-1] = living[-1], living[at]
            living.pop()
            yield (row_id, memory_id, text, None, "DELETE", created, time, None, None)
        del living[:-5_000]  # the writer's memory; older ones live on untouched


def write_graph(folder: Path, size_bytes: int) -> list[Path]:
    """Write versions of the graph of an MCP memory server, each named by its time."""
    draw, paths, written = random.Random(4), list[Path](), 0
    texts = [draw_text(draw, _NAMES) for _ in range(_GRAPH_ENTITIES)]
    while written < size_bytes:
        time = START + timedelta(minutes=len(paths))
        path = folder / f"memory_{time:%Y%m%dT%H%M%SZ}.jsonl"
        lines = (
            orjson.dumps({"type": "entity", "name": f"thing-{number}", "entityType": "note", "observations": [text]}) + b"\n"
            for number, text in enumerate(texts)
        )
        written += path.write_bytes(b"".join(lines))
        paths.append(path)
        for number in draw.sample(range(_GRAPH_ENTITIES), _GRAPH_CHANGES):
            texts[number] = draw_text(draw, _NAMES)
    return paths


# By the name of the source that reads it.
HISTORIES: dict[str, Callable[[Path, int], list[Path]]] = {
    "cloudevents": write_native,
    "mem0": write_mem0,
    "mcp-memory": write_graph,
}
