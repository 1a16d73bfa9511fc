"""Samples of a Graphiti graph. The writer gives the files in order and their number of rows."""

import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson

TIME = 1_780_000_000

DUMP: dict[str, list[dict[str, Any]]] = {
    "episodes": [
        {
            "uuid": "ep1",
            "name": "chat 1",
            "group_id": "",
            "source": "message",
            "source_description": "chat",
            "content": "user: Ann sits at desk 2 now",
            "valid_at": "2026-05-01T07:00:00Z",
            "created_at": "2026-05-01T08:00:00Z",
            "entity_edges": ["e1"],
        },
        {
            "uuid": "ep2",
            "name": "memo",
            "group_id": "",
            "source": "text",
            "source_description": "office memo",
            "content": "Ann moves to desk 3 on 8 May.",
            "valid_at": "2026-05-08T00:00:00Z",
            "created_at": "2026-05-09T10:00:00Z",
            "entity_edges": ["e2"],
        },
        {"uuid": "ep3", "name": "n", "group_id": "", "source": "json", "source_description": "", "content": ""},
    ],
    "nodes": [
        {
            "uuid": "n1",
            "name": "Ann",
            "group_id": "",
            "labels": ["Entity"],
            "summary": "An engineer who sits at desk 3",
            "attributes": {"team": "build"},
            "name_embedding": [0.1] * 32,
            "created_at": "2026-05-01T08:00:01Z",
        },
        {
            "uuid": "n2",
            "name": "desk 3",
            "group_id": "",
            "labels": ["Entity"],
            "summary": "",
            "created_at": "2026-05-09T10:00:01Z",
        },
    ],
    "edges": [
        {
            "uuid": "e1",
            "group_id": "",
            "source_node_uuid": "n1",
            "target_node_uuid": "n3",
            "name": "SITS_AT",
            "fact": "Ann sits at desk 2",
            "episodes": ["ep1"],
            "created_at": "2026-05-01T08:00:02Z",
            "valid_at": "2026-05-01T07:00:00Z",
            "invalid_at": "2026-05-08T00:00:00Z",
            "expired_at": "2026-05-09T10:00:02Z",
            "fact_embedding": [0.1] * 32,
        },
        {
            "uuid": "e2",
            "group_id": "",
            "source_node_uuid": "n1",
            "target_node_uuid": "n2",
            "name": "SITS_AT",
            "fact": "Ann sits at desk 3",
            "episodes": ["ep2"],
            "created_at": "2026-05-09T10:00:02Z",
            "valid_at": "2026-05-08T00:00:00Z",
            "invalid_at": None,
            "expired_at": None,
        },
        {"uuid": "l1", "group_id": "", "source_node_uuid": "ep1", "target_node_uuid": "n1", "created_at": "2026-05-01T08:00:02Z"},
    ],
}


def write_dump(path: Path, content: Any, *, time: int = TIME) -> Path:
    """Write a dump of a fixed modification time."""
    path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    os.utime(path, (time, time))
    return path


def write_graph(folder: Path) -> tuple[list[Path], int]:
    """Write two versions: in the second an edge is gone, and a summary has grown."""
    later = deepcopy(DUMP)
    del later["edges"][1]
    later["nodes"][0]["summary"] = "An engineer"
    return [write_dump(folder / "v1", DUMP), write_dump(folder / "v2", later, time=TIME + 1)], 15
