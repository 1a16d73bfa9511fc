"""A sample of MemOS: a flat list, and a tree whose nodes quote the turns they were drawn from."""

import json
from pathlib import Path
from typing import Any

from tests.contract.samples.files import stamp_files, write_json

TURN = {
    "type": "chat",
    "role": "user",
    "chat_time": "08:51 PM on 13 January, 2026",
    "content": "My desk is on floor 3",
    "lang": "en",
}


def node(node_id: str, text: str, **marks: Any) -> dict[str, Any]:
    """Give a node of the tree."""
    metadata = {
        "status": "activated",
        "type": "fact",
        "memory_type": "UserMemory",
        "sources": [json.dumps(json.dumps(TURN))],
        "confidence": 0.99,
        "usage": [],
        "created_at": "2026-01-13T20:51:42.359643000+00:00",
        "updated_at": "2026-01-13T20:51:42.396309000+00:00",
        "user_id": "u1",
        "session_id": "s1",
        "embedding": [0.5] * 40,
        **marks,
    }
    return {"id": node_id, "memory": text, "metadata": metadata}


def flat(point_id: str, text: str, **marks: Any) -> dict[str, Any]:
    """Give a point of the flat list."""
    metadata = {
        "user_id": "u1",
        "session_id": "s1",
        "status": "activated",
        "type": "opinion",
        "memory_time": "2025-06-03",
        "source": "conversation",
        "confidence": 90.0,
        "updated_at": "2025-06-03T17:14:18",
        **marks,
    }
    payload = {"id": point_id, "memory": text, "metadata": metadata}
    return {"id": point_id, "vector": [0.1] * 40, "payload": payload}


def tree(*nodes: Any, edges: Any = ()) -> dict[str, Any]:
    """Give a tree dump."""
    return {"nodes": list(nodes), "edges": list(edges), "total_nodes": len(nodes), "total_edges": len(edges)}


def write(folder: Path) -> tuple[list[Path], int]:
    """Write a list, then a tree that lacks its memories; one row of each is broken."""
    first = write_json(folder / "flat.json", [flat("m1", "The user likes tea"), flat("m2", "The user is a smith"), {"id": 3}])
    nodes = [node("n1", "Desk is on floor 3"), node("n2", "Works on floor 3", status="archived"), {"id": "n3", "memory": 5}]
    second = write_json(folder / "tree2.json", tree(*nodes, edges=[{"source": "n1", "target": "n2", "type": "MERGED_TO"}]))
    return stamp_files(first, second), 6
