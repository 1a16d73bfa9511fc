"""MemOS: doubly encoded sources become parents, confidences get one scale, retrievals become reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from guardian.sources.formats.memos import MemosSource
from guardian.sources.port import RowOperation
from tests.contract.samples.files import data_of, events_of, read, read_alone, reasons_of, write_json
from tests.contract.samples.memos import TURN, flat, node, tree

SOURCE = MemosSource()


def written(tmp_path: Path, *nodes: Any, edges: Any = ()) -> list[dict[str, Any]]:
    """Give the data of the writes of a tree."""
    return data_of(read(SOURCE, write_json(tmp_path / "tree.json", tree(*nodes, edges=edges))), "written")


def test_two_nodes_of_one_turn_have_one_parent(tmp_path: Path) -> None:
    """Write the turn once, as its speaker's, however often and deep it is encoded."""
    once = node("n2", "Desk 3", sources=[json.dumps(TURN)])
    turn, first, second = written(tmp_path, node("n1", "Desk is on floor 3"), once)
    assert (turn["text"], turn["source"]["kind"]) == (TURN["content"], "user")
    assert first["parents"] == second["parents"] == [turn["memory_id"]]


def test_an_origin_that_quotes_nothing_is_kept_and_is_no_parent(tmp_path: Path) -> None:
    """Never make a parent that is no memory."""
    (memory,) = written(tmp_path, node("n1", "Desk", sources=["doc-7", json.dumps({"type": "file", "doc_path": "a"}), 3]))
    assert "parents" not in memory
    assert memory["metadata"]["sources_unread"] == ["doc-7", '{"type": "file", "doc_path": "a"}', "3"]
    (other,) = written(tmp_path, node("n1", "Desk", sources="[id-1, id-2]"))
    assert other["metadata"]["sources_unread"] == ["[id-1, id-2]"]


@pytest.mark.parametrize(("given", "share"), [(0.99, 0.99), (100.0, 1.0), (90, 0.9), (1, 1), (0, 0), (101, None), ("high", None)])
def test_confidence_has_one_scale_and_is_no_grade(tmp_path: Path, given: Any, share: float | None) -> None:
    """Divide by 100 above 1; what is off both scales is not read as either."""
    (memory,) = written(tmp_path, node("n1", "Desk", sources=[], confidence=given))
    assert memory["metadata"].get("confidence") == share
    assert "self_grade" not in memory


def test_edges_of_derivation_make_parents_and_others_do_not(tmp_path: Path) -> None:
    """Follow what was merged, inferred, gathered and summed up; not what is only related."""
    edges = [
        {"source": "a", "target": "c", "type": "MERGED_TO"},
        {"source": "b", "target": "c", "type": "INFERS"},
        {"source": "c", "target": "d", "type": "AGGREGATE_TO"},
        {"source": "t", "target": "a", "type": "PARENT"},
        {"source": "a", "target": "b", "type": "RELATE_TO"},
        {"source": 1, "target": "a", "type": "INFERS"},
        "odd",
    ]
    nodes = [*(node(name, name, sources=[]) for name in "abcd"), node("t", "Topic", sources=[], type="topic")]
    *memories, topic = written(tmp_path, *nodes, edges=edges)
    assert [memory.get("parents") for memory in memories] == [None, None, ["a", "b", "d"], None]
    assert (topic["kind"], topic["parents"]) == ("summary", ["a"])


def test_what_memos_does_not_retrieve_any_more_is_deleted(tmp_path: Path) -> None:
    """Keep archived and deleted nodes for the audit only."""
    nodes = [
        node("a", "A", sources=[], status="archived"),
        node("b", "B", sources=[], status="deleted"),
        node("c", "C", sources=[]),
    ]
    items = read(SOURCE, write_json(tmp_path / "tree.json", tree(*nodes)))
    assert [data["memory_id"] for data in data_of(items, "deleted")] == ["a", "b"]


def test_retrievals_become_reads_at_their_times(tmp_path: Path) -> None:
    """Read a record of usage with its time and session; keep one without a time."""
    use = json.dumps({"time": "2026-02-01T10:00:00", "info": {"session_id": "s9"}})
    items = read(SOURCE, write_json(tmp_path / "t.json", tree(node("n1", "Desk", sources=[], usage=[use, use, "later"]))))
    (event,) = events_of(items, "read")
    assert (event["time"], event["data"]) == ("2026-02-01T10:00:00Z", {"retrieved": ["n1"], "session_id": "s9"})
    assert data_of(items, "written")[0]["metadata"]["usage_unread"] == ["later"]


def test_embeddings_are_left_out_and_said(tmp_path: Path) -> None:
    """Name the vector of a node and that of a point, and carry neither."""
    (memory,) = data_of(read(SOURCE, write_json(tmp_path / "flat.json", [flat("m1", "Tea")])), "written")
    assert memory["metadata"]["vectors_left_out"] == ["vector"]
    assert "vector" not in memory


def test_an_update_and_a_deletion_between_versions(tmp_path: Path) -> None:
    """Take several dumps as versions of one cube, ordered by their times."""
    first = write_json(tmp_path / "a_20260101T000000Z.json", [flat("m1", "Tea"), flat("m2", "Smith")])
    second = write_json(tmp_path / "b_20260102T000000Z.json", [flat("m1", "Mate", updated_at="2026-01-01T12:00:00")])
    events = events_of(read(SOURCE, second, first))
    assert [(event["type"], event["data"]["memory_id"], event["time"]) for event in events[2:]] == [
        ("memory.written", "m1", "2026-01-01T12:00:00Z"),
        ("memory.deleted", "m2", "2026-01-02T00:00:00Z"),
    ]


def test_a_node_that_arrives_has_the_same_ids(tmp_path: Path) -> None:
    """Give the same events for a file and for a row, and delete only the node itself."""
    from_file = events_of(read(SOURCE, write_json(tmp_path / "tree.json", tree(node("n1", "Desk")))))
    assert events_of(read_alone(SOURCE, node("n1", "Desk"))) == from_file
    assert [data["memory_id"] for data in data_of(read_alone(SOURCE, node("n1", "Desk"), RowOperation.DELETE))] == ["n1"]
    assert data_of(read_alone(SOURCE, flat("m1", "Tea")))[0]["memory_id"] == "m1"


def test_a_broken_node_costs_itself(tmp_path: Path) -> None:
    """Refuse what has no id, no text or no metadata."""
    path = write_json(
        tmp_path / "tree.json", tree(node("a", "A"), {"memory": "x", "metadata": {}}, {"id": "b", "memory": "B"}, 7)
    )
    assert reasons_of(read(SOURCE, path)) == ["id_missing", "shape_unknown", "shape_unknown"]


def test_a_session_limits_only_what_says_so(tmp_path: Path) -> None:
    """Scope by user; by session only what is visible in its session alone."""
    nodes = [node("a", "A", sources=[]), node("b", "B", sources=[], visibility="session")]
    assert [memory["scope"] for memory in written(tmp_path, *nodes)] == [{"user_id": "u1"}, {"user_id": "u1", "session_id": "s1"}]


def test_a_node_made_of_others_names_them_as_parents(tmp_path: Path) -> None:
    """Take a node's id, bare or beside the text of that node, for the node and not for a new memory."""
    other = "c1e2bfb3-4dd7-40f9-a347-a25a72223b2c"
    sources = [other, json.dumps({"type": "chat", "content": "its text", "node_id": "n2"})]
    (memory,) = written(tmp_path, node("n1", "Topic", sources=sources))
    assert memory["parents"] == [other, "n2"]


def test_a_passage_is_a_documents_and_stood_by_the_time_of_its_node(tmp_path: Path) -> None:
    """Give what quotes a file its kind; date what has no time by the node that quotes it."""
    passage = {"type": "file", "content": "Desks are on floor 3.", "doc_path": "/plan.pdf"}
    quoted, memory = written(tmp_path, node("n1", "Desk", sources=[json.dumps(passage)]))
    assert (quoted["source"]["kind"], quoted["metadata"]["time_from"]) == ("document", "node")
    assert memory["parents"] == [quoted["memory_id"]]
