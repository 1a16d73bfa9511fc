"""Graphiti's graphs: four times, episodes as parents, and no correction without evidence."""

import os
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.sources.formats.graphiti.dump import GraphitiSource
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from tests.contract.samples.graphiti import DUMP, TIME, write_dump, write_graph

T = datetime(2026, 6, 1, tzinfo=UTC)
EPISODE, EDGE, NODE = DUMP["episodes"][0], DUMP["edges"][1], DUMP["nodes"][0]
EXPIRED = DUMP["edges"][0]


def read(*paths: Path, **options: Any) -> list[Item]:
    """Give the items of files."""
    return list(GraphitiSource().iter_items(paths, SourceOptions(**options)))


def lines(path: Path, *rows: Any, time: int = TIME) -> Path:
    """Write rows as JSON lines."""
    path.write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
    os.utime(path, (time, time))
    return path


def event_of(item: Item) -> dict[str, Any]:
    """Give the event of an item that must be one."""
    assert isinstance(item, SourceEvent), item
    assert item.event is not None
    return dict(item.event)


def events_of(items: list[Item]) -> list[dict[str, Any]]:
    """Give the events."""
    return [event_of(item) for item in items if isinstance(item, SourceEvent)]


def shape(items: list[Item]) -> list[str]:
    """Give ids of written and deleted memories, and reasons of the rest."""
    marks = {"memory.written": "+", "memory.deleted": "-", "memory.corrected": "!"}
    return [
        marks[event["type"]] + (event["data"].get("memory_id") or event["data"]["targets"][0])
        if (event := item.event if isinstance(item, SourceEvent) else None)
        else item.reason  # type: ignore[union-attr]
        for item in items
    ]


def live(row: Any, operation: RowOperation = RowOperation.STATE, *, before: Any = None, known: bool = True) -> list[Item]:
    """Give the items of a record that arrives at time T."""
    change = RowChange(position="t/0/1", identity="t/0/1", operation=operation, time=T, before=before, after=row)
    assert GraphitiSource().matches_row(change) is known
    return list(GraphitiSource().iter_row(change, SourceOptions()))


def test_an_edge_gives_its_golden_event(tmp_path: Path) -> None:
    """Make episodes parents, world times validity, and the system's time the time."""
    [event] = events_of(read(lines(tmp_path / "x", EDGE)))
    assert event == {
        "specversion": "1.0",
        "id": event["id"],
        "source": "graphiti",
        "type": "memory.written",
        "time": "2026-05-09T10:00:02Z",
        "space": "graphiti",
        "data": {
            "memory_id": "e2",
            "text": "Ann sits at desk 3",
            "source": {"kind": "unknown", "ref": "graphiti:edge:e2"},
            "parents": ["ep2"],
            "kind": "fact",
            "valid_from": "2026-05-08T00:00:00Z",
            "confidence": "inferred",
            "metadata": {
                "format": "graphiti.edge",
                "name": "SITS_AT",
                "source_node_uuid": "n1",
                "target_node_uuid": "n2",
                "valid_at": "2026-05-08T00:00:00Z",
                "time_from": "created_at",
                "time_raw": "2026-05-09T10:00:02Z",
                "tz_assumed": False,
            },
        },
    }


def test_a_superseded_edge_is_two_states_and_no_correction(tmp_path: Path) -> None:
    """Write it as it was, then with its end when the system changed its mind; believe no correction that nobody states."""
    before, after = events_of(read(lines(tmp_path / "x", EXPIRED)))
    assert [before["time"], after["time"]] == ["2026-05-01T08:00:02Z", "2026-05-09T10:00:02Z"]
    assert "valid_until" not in before["data"]
    assert after["data"]["valid_until"] == "2026-05-08T00:00:00Z"
    assert before["data"]["text"] == after["data"]["text"]
    assert after["data"]["metadata"]["expired_at"] == "2026-05-09T10:00:02Z"
    assert "supersedes" not in after["data"]


def test_expired_is_not_invalid(tmp_path: Path) -> None:
    """Keep the system's end apart from the world's: without invalid_at nothing says when it stopped being true."""
    [*_, last] = events_of(read(lines(tmp_path / "x", {**EXPIRED, "invalid_at": None})))
    assert "valid_until" not in last["data"]
    assert last["data"]["metadata"]["expired_at"] == EXPIRED["expired_at"]


def test_a_fact_that_is_born_expired_is_one_event(tmp_path: Path) -> None:
    """Give it its end at once."""
    row = {**EXPIRED, "expired_at": EXPIRED["created_at"]}
    [event] = events_of(read(lines(tmp_path / "x", row)))
    assert event["data"]["valid_until"] == "2026-05-08T00:00:00Z"


@pytest.mark.parametrize(
    ("fields", "kind", "actor"),
    [
        ({"source": "message", "content": "user: a"}, "user", None),
        ({"source": "message", "content": "assistant: a\nassistant: b"}, "agent", None),
        ({"source": "message", "content": "user: a\nassistant: b"}, "unknown", None),
        ({"source": "message", "content": "Ann: a"}, "unknown", None),
        ({"source": "text"}, "document", None),
        ({"source": "json"}, "system_import", None),
        ({"source": "fact_triple"}, "unknown", None),
        ({"source": "message", "role_type": "assistant", "role": "Bot", "content": "user: a"}, "agent", "Bot"),
        ({"source": "message", "role": "user", "role_name": "Ann", "content": "a"}, "user", "Ann"),
        ({"source": "message", "role": "system", "content": "user: a"}, "unknown", None),
    ],
)
def test_the_source_of_an_episode(fields: dict[str, Any], kind: str, actor: str | None) -> None:
    """Take Zep's role, the actors of a message if all are of one kind, or the kind of episode."""
    [item] = live({**EPISODE, **fields})
    source = event_of(item)["data"]["source"]
    assert (source["kind"], source.get("actor")) == (kind, actor)


def test_an_episode_was_observed_at_its_reference_time() -> None:
    """Date what was said by when it was said, unless that lies after its writing."""
    [said] = live(EPISODE)
    assert event_of(said)["data"]["observed_at"] == "2026-05-01T07:00:00Z"
    [planned] = live({**EPISODE, "valid_at": "2027-01-01T00:00:00Z"})
    assert "observed_at" not in event_of(planned)["data"]


def test_a_summary_has_no_parents_and_no_embedding() -> None:
    """Name no parents that the graph does not name."""
    [item] = live(NODE)
    data = event_of(item)["data"]
    assert data["text"] == "Ann: An engineer who sits at desk 3"
    assert (data["kind"], data["confidence"]) == ("summary", "inferred")
    assert "parents" not in data
    assert data["metadata"]["fields_dropped"] == ["name_embedding"]
    assert data["metadata"]["fields"]["attributes"] == {"team": "build"}


def test_records_without_text_are_skipped_with_their_reason(tmp_path: Path) -> None:
    """Tell raw text that was not kept from what never states anything."""
    items = read(write_dump(tmp_path / "x", DUMP))
    assert shape(items) == ["+ep1", "+ep2", "text_not_kept", "+n1", "not_a_memory", "+e1", "+e1", "+e2", "not_a_memory"]
    assert sum(item.rows for item in items) == 8


def test_a_group_is_a_space_that_no_option_overwrites(tmp_path: Path) -> None:
    """Put a named group in its own space; the names that stand for none leave it to the caller."""
    rows = [{**EDGE, "group_id": group} for group in ("g1", "", "_")]
    rows = [{**row, "uuid": f"e{number}"} for number, row in enumerate(rows)]
    assert [event["space"] for event in events_of(read(lines(tmp_path / "x", *rows), space="given"))] == ["g1", "given", "given"]


def test_names_of_zep_cloud_mean_the_same() -> None:
    """Read episode_uuids, graph_uuid and user_uuid."""
    row = {name: value for name, value in EDGE.items() if name not in {"episodes", "group_id"}}
    [item] = live({**row, "episode_uuids": ["ep2"], "graph_uuid": "g1", "user_uuid": "ann"})
    event = event_of(item)
    assert (event["space"], event["data"]["parents"], event["data"]["scope"]) == ("g1", ["ep2"], {"user_id": "ann"})


def test_a_page_of_zep_is_read_and_proves_no_deletion(tmp_path: Path) -> None:
    """Read `items`; take the source episodes that Zep names for a node's parents, and its reference time."""
    node = {**{k: v for k, v in NODE.items() if k != "group_id"}, "graph_uuid": "g1", "episode_uuids": ["ep1", "ep2"]}
    episode = {"uuid": "ep1", "graph_uuid": "g1", "content": "x", "role": "user", "reference_time": "2026-05-01T07:00:00Z",
               "created_at": "2026-05-01T08:00:00Z"}  # fmt: skip
    first = write_dump(tmp_path / "a", {"items": [node, episode, {**node, "uuid": "n9"}]})
    items = read(first, write_dump(tmp_path / "b", {"items": [node], "next_cursor": "c"}, time=TIME + 1))
    assert shape(items) == ["+n1", "+ep1", "+n9", "unchanged", "absence_in_damaged_version"]
    assert event_of(items[0])["data"]["parents"] == ["ep1", "ep2"]
    assert event_of(items[1])["data"]["observed_at"] == "2026-05-01T07:00:00Z"
    assert GraphitiSource().detect(first)


def test_a_fact_of_many_nodes_is_stated_by_its_member_edges() -> None:
    """Count no fact twice."""
    [item] = live({"uuid": "h", "fact": "a", "edges": [{"uuid": "e"}], "graph_uuid": "g"}, known=False)
    assert isinstance(item, Skipped)
    assert item.reason == "not_a_memory"


def test_a_step_of_ingestion_holds_invalidations() -> None:
    """Find them in its output, at its time; a step without any is no memory."""
    invalidation = {"invalidated_edge_uuid": "e1", "invalidating_edges": [{"uuid": "e2", "explanation": "moved"}]}
    step = {"uuid": "t", "step": "resolve_edges", "status": "recorded", "created_at": "2026-05-09T10:00:02Z", "input": {}}
    [item] = live({**step, "output": {"edge_invalidations": [invalidation], "edges": [EDGE]}})
    assert event_of(item)["data"]["targets"] == ["e1"]
    assert (event_of(item)["time"], event_of(item)["space"]) == ("2026-05-09T10:00:02Z", "graphiti")
    [none] = live({**step, "output": {}})
    assert isinstance(none, Skipped)


def test_evidence_of_an_invalidation_is_a_correction_on_an_agents_word(tmp_path: Path) -> None:
    """Take Zep's traces and named edges, one correction each, never as verified."""
    trace = {
        "invalidated_edge_uuid": "e1",
        "graph_uuid": "g1",
        "invalidating_edges": [{"uuid": "e2", "explanation": "Ann moved"}, {"uuid": "e1"}],
        "created_at": "2026-05-09T10:00:02Z",
    }
    [item] = live(trace)
    event = event_of(item)
    assert (event["type"], event["space"], event["time"]) == ("memory.corrected", "g1", "2026-05-09T10:00:02Z")
    assert event["data"] == {
        "targets": ["e1"],
        "replacement": "e2",
        "authority": {"kind": "agent", "ref": "graphiti:invalidation:e1"},
        "reason": "Ann moved",
    }
    items = read(lines(tmp_path / "x", {**EXPIRED, "invalidating_edges": ["e2"]}, {**trace, "invalidating_edges": []}))
    assert shape(items) == ["+e1", "+e1", "!e1", "not_a_memory"]
    assert sum(item.rows for item in items) == 2


def test_versions_become_updates_and_deletions(tmp_path: Path) -> None:
    """Date a summary that was written anew by its version, and delete what is gone."""
    paths, rows = write_graph(tmp_path)
    items = read(*paths)
    assert shape(items)[9:] == [
        "unchanged",
        "unchanged",
        "text_not_kept",
        "+n1",
        "not_a_memory",
        "unchanged",
        "not_a_memory",
        "-e2",
    ]
    assert sum(item.rows for item in items) == rows
    anew = events_of(items)[-2]
    assert anew["data"]["metadata"]["time_from"] == "mtime"
    assert anew["time"] > "2026-05-28"


def test_an_episode_that_is_added_to_an_edge_is_a_new_revision(tmp_path: Path) -> None:
    """Notice what the graph does in place and without an event."""
    paths = [lines(tmp_path / "a", EDGE), lines(tmp_path / "b", {**EDGE, "episodes": ["ep2", "ep9"]}, time=TIME + 1)]
    first, second = events_of(read(*paths))
    assert first["data"]["parents"] == ["ep2"]
    assert second["data"]["parents"] == ["ep2", "ep9"]
    assert second["time"] > first["time"]


def test_absence_is_judged_by_kind_and_group(tmp_path: Path) -> None:
    """Delete nothing because a file holds another kind, another group, a search, or a broken row."""
    other = {**EDGE, "uuid": "x1", "group_id": "g2"}
    base = lines(tmp_path / "0", EDGE, {**EDGE, "uuid": "e9"}, EPISODE)
    for number, rows in enumerate(
        [
            [EPISODE],
            [other],
            [{**EDGE, "score": 0.5}],
            [EDGE, {"uuid": "e7", "fact": None, "group_id": ""}],
            [{**EDGE, "uuid": "new"}],
        ]
    ):
        path = lines(tmp_path / f"a{number}", *rows, time=TIME + 1)
        assert not [mark for mark in shape(read(base, path)) if mark.startswith("-")], rows
    assert "-e9" in shape(read(base, lines(tmp_path / "z", EDGE, time=TIME + 1)))


def test_dumps_of_every_form_give_equal_events(tmp_path: Path) -> None:
    """Read an object of lists under either name, lines, Neo4j's export, and rows of one column."""
    wrapped = [
        {"type": "node", "id": "1", "labels": ["Entity"], "properties": {k: v for k, v in NODE.items() if k != "labels"}},
        {"type": "relationship", "id": "2", "label": "RELATES_TO", "properties": EDGE},
    ]
    paths = [
        write_dump(tmp_path / "a", {"nodes": [NODE], "edges": [EDGE]}),
        write_dump(tmp_path / "b", {"facts": [EDGE], "entities": [NODE]}),
        write_dump(tmp_path / "c", [NODE, EDGE]),
        lines(tmp_path / "d", NODE, EDGE),
        lines(tmp_path / "e", *wrapped),
        lines(tmp_path / "f", {"n": NODE}, {"e": EDGE}),
    ]
    found = [events_of(read(path)) for path in paths]
    assert all(events == found[0] for events in found)
    assert len(found[0]) == 2
    assert all(GraphitiSource().detect(path) for path in paths)


def test_a_record_that_arrives_gives_the_events_of_the_file(tmp_path: Path) -> None:
    """Share ids between stream and replay; an update gives only what is new."""
    for row in (EPISODE, NODE, EDGE, EXPIRED):
        assert events_of(live(row, RowOperation.CREATE)) == events_of(read(lines(tmp_path / "x", row)))
    before = {**EXPIRED, "invalid_at": None, "expired_at": None}
    [updated] = live(EXPIRED, RowOperation.UPDATE, before=before)
    assert event_of(updated) == events_of(read(lines(tmp_path / "x", EXPIRED)))[1]
    [same] = live({**EDGE, "attributes": {"a": 1}}, RowOperation.UPDATE, before=EDGE)
    assert isinstance(same, Skipped)
    assert same.reason == "metadata_only"
    [gone] = live(None, RowOperation.DELETE, before=EDGE)
    assert shape([gone]) == ["-e2"]


@pytest.mark.parametrize(
    "row",
    [
        {"uuid": "c", "name": "Chat", "summary": "", "chat_messages": []},
        {"uuid": "l", "sessionId": "s", "type": "user", "message": {"content": "x"}, "content": "x"},
        {"source_node_uuid": "a", "target_node_uuid": "b"},
        {"id": "m", "memory": "x"},
    ],
)
def test_rows_of_others_are_not_claimed(row: dict[str, Any], tmp_path: Path) -> None:
    """Leave what other programs write as well."""
    assert not GraphitiSource().detect(lines(tmp_path / "x", row))


def test_broken_records_are_answered(tmp_path: Path) -> None:
    """Name what is wrong, and cost only the record."""
    items = read(lines(tmp_path / "x", {**EDGE, "uuid": None}, {**EDGE, "fact": 7}, {"odd": 1}, 7, EDGE))
    assert shape(items) == ["id_missing", "text_missing", "shape_unknown", "shape_unknown", "+e2"]
    assert all(isinstance(item, Broken) for item in items[:4])


def test_an_undated_record_is_of_its_version(tmp_path: Path) -> None:
    """Say where the time comes from."""
    row = deepcopy(NODE) | {"created_at": None}
    [event] = events_of(read(lines(tmp_path / "x", row)))
    assert event["time"] == "2026-05-28T20:26:40Z"
    assert event["data"]["metadata"]["time_from"] == "mtime"
