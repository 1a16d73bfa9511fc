"""MCP memory files: three dialects, one memory a statement, history by difference."""

import gzip
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.formats.mcp_memory import McpMemorySource
from guardian.sources.port import Broken, Item, Order, Skipped, SourceEvent, SourceOptions
from tests.git_repository import TestRepository

HOST = {"type": "entity", "name": "host-7", "entityType": "server", "observations": ["runs staging", "has 8 cores"]}
LINK = {"type": "relation", "from": "host-7", "to": "lab", "relationType": "located_in"}
DAY1, DAY2, DAY3 = (f"v0{day}_2026010{day}T000000Z.jsonl" for day in (1, 2, 3))


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    """Write lines as the server does: no line end after the last."""
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines))
    return path


def read(*paths: Path, **options: Any) -> list[Item]:
    """Give the items of files."""
    return list(McpMemorySource().iter_items(paths, SourceOptions(**options)))


def events_of(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Give the events among items."""
    return [dict(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None]


def shape(items: Sequence[Item]) -> list[tuple[str, str, str]]:
    """Give type, text (or what of the id shows) and time of the events."""
    return [
        (event["type"], event["data"].get("text") or event["data"]["memory_id"].split("#")[0], event["time"])
        for event in events_of(items)
    ]


def test_an_official_file_gives_its_golden_events(tmp_path: Path) -> None:
    """Make one memory of the entity, of each observation and of the relation, which may dangle."""
    items = read(write(tmp_path / DAY1, {**HOST, "observations": ["runs staging"]}, LINK))
    common = {"specversion": "1.0", "source": "mcp:memory", "type": "memory.written", "space": "mcp-memory"}
    marks = {"format": "mcp.memory", "time_from": "name"}
    ids = [
        "entity:host-7#76302e7a914bb18c",
        "observation:host-7#a4155662e659f069",
        "relation:host-7 located_in lab#eb026979908b9a2e",
    ]
    assert events_of(items) == [
        {
            **common,
            "id": "3b1836ba6e3aca8a1f3efc5fbd7c00b7",
            "time": "2026-01-01T00:00:00Z",
            "data": {
                "memory_id": ids[0],
                "text": "host-7 (server)",
                "source": {"kind": "unknown", "ref": f"mcp:memory:{ids[0]}"},
                "metadata": {"entity": "host-7", "entity_type": "server", **marks},
            },
        },
        {
            **common,
            "id": "a7709892402665320640ea0cde5f4ee1",
            "time": "2026-01-01T00:00:00Z",
            "data": {
                "memory_id": ids[1],
                "text": "host-7: runs staging",
                "source": {"kind": "unknown", "ref": f"mcp:memory:{ids[1]}"},
                "metadata": {"entity": "host-7", **marks},
            },
        },
        {
            **common,
            "id": "7e7729759a2bb32ceae95bb707e458c0",
            "time": "2026-01-01T00:00:00Z",
            "data": {
                "memory_id": ids[2],
                "text": "host-7 located_in lab",
                "source": {"kind": "unknown", "ref": f"mcp:memory:{ids[2]}"},
                "metadata": {"from": "host-7", "relation_type": "located_in", "to": "lab", **marks},
            },
        },
    ]
    assert [(item.position, item.rows) for item in items] == [
        (f"{DAY1} line 1", 1),
        (f"{DAY1} line 1", 0),
        (f"{DAY1} line 2", 1),
    ]


def test_a_series_becomes_writes_and_deletions_by_difference(tmp_path: Path) -> None:
    """Order versions by the stamp in their names; an edit is a deletion and a create; a new type is an update."""
    third = write(tmp_path / DAY3, {**HOST, "entityType": "vm", "observations": ["runs production", "has 8 cores"]})
    second = write(tmp_path / DAY2, HOST, LINK)
    first = write(tmp_path / DAY1, {**HOST, "observations": ["runs staging"]}, LINK)
    t1, t2, t3 = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))
    items = read(third, first, second)
    assert shape(items) == [
        ("memory.written", "host-7 (server)", t1),
        ("memory.written", "host-7: runs staging", t1),
        ("memory.written", "host-7 located_in lab", t1),
        ("memory.written", "host-7: has 8 cores", t2),
        ("memory.written", "host-7 (vm)", t3),
        ("memory.written", "host-7: runs production", t3),
        ("memory.deleted", "observation:host-7", t3),
        ("memory.deleted", "relation:host-7 located_in lab", t3),
    ]
    entity = [event["data"]["memory_id"] for event in events_of(items) if event["data"].get("text", "").startswith("host-7 (")]
    assert len(set(entity)) == 1
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["unchanged"]
    assert sum(item.rows for item in items) == 5


def test_a_version_with_a_broken_line_imports_the_rest_and_deletes_nothing(tmp_path: Path) -> None:
    """Count withheld deletions; the next whole version decides."""
    paths = [
        write(tmp_path / DAY1, HOST, LINK),
        write(tmp_path / DAY2, '{"type":"entity","name":"host-7","ent', {**HOST, "name": "host-8", "observations": []}),
        write(tmp_path / DAY3, LINK, {**HOST, "name": "host-8", "observations": []}),
    ]
    items = read(*paths)
    second = [item for item in items if item.position.startswith(DAY2)]
    assert isinstance(second[0], Broken)
    assert (second[0].reason, second[0].raw) == ("not_json", b'{"type":"entity","name":"host-7","ent')
    assert shape(second[1:2])[0][1] == "host-8 (server)"
    assert [item.reason for item in second if isinstance(item, Skipped)] == ["absence_in_damaged_version"] * 4
    assert [entry[1] for entry in shape(items) if entry[0] == "memory.deleted"] == ["entity:host-7"] + ["observation:host-7"] * 2
    assert sum(item.rows for item in items) == 6


def test_a_rust_file_is_told_by_keys_and_dated_in_unix_seconds(tmp_path: Path) -> None:
    """Take `updatedAt` for observations, `createdAt` for entity and relations, the version where 0 left them out."""
    entity = {
        "name": "Dự án",
        "entityType": "Project",
        "observations": ["Sử dụng Rust"],
        "createdBy": "Mai",
        "updatedBy": "An",
        "createdAt": 1768354862,
        "updatedAt": 1768354999,
    }
    undated = {"name": "B", "entityType": "P", "observations": ["x"]}
    relation = {
        "from": "Dự án",
        "to": "nowhere",
        "relationType": "affects",
        "createdBy": "Mai",
        "createdAt": 1768354862,
    }
    path = write(tmp_path / "v1_20260201T000000Z.jsonl", entity, undated, relation)
    assert McpMemorySource().detect(path)
    events = events_of(read(path))
    assert [(event["data"]["text"], event["time"], event["data"]["metadata"]["time_from"]) for event in events] == [
        ("Dự án (Project)", "2026-01-14T01:41:02Z", "createdAt"),
        ("Dự án: Sử dụng Rust", "2026-01-14T01:43:19Z", "updatedAt"),
        ("B (P)", "2026-02-01T00:00:00Z", "name"),
        ("B: x", "2026-02-01T00:00:00Z", "name"),
        ("Dự án affects nowhere", "2026-01-14T01:41:02Z", "createdAt"),
    ]
    # Two people are named for the observation: which of them wrote it is not known.
    assert [event["data"]["source"].get("actor") for event in events] == ["Mai", None, None, None, "Mai"]
    assert events[0]["data"]["metadata"]["fields"]["updatedBy"] == "An"
    assert events[1]["data"]["metadata"]["time_raw"] == 1768354999


def test_the_creation_of_an_entity_does_not_date_or_sign_what_was_added_later(tmp_path: Path) -> None:
    """Fall back to the version when only `createdAt` stands on a known entity."""
    old = {"name": "A", "entityType": "P", "observations": ["x"], "createdAt": 1704067200, "createdBy": "Mai"}
    first, second = write(tmp_path / DAY1, old), write(tmp_path / DAY2, {**old, "observations": ["x", "y"]})
    events = events_of(read(first, second))
    assert [(event["data"]["text"], event["time"]) for event in events] == [
        ("A (P)", "2024-01-01T00:00:00Z"),
        ("A: x", "2024-01-01T00:00:00Z"),
        ("A: y", "2026-01-02T00:00:00Z"),
    ]
    assert [event["data"]["source"].get("actor") for event in events] == ["Mai", "Mai", None]


def test_the_validity_of_a_relation_is_kept_and_its_end_is_an_update(tmp_path: Path) -> None:
    """Read `validFrom` and `validTo`."""
    relation = {"from": "A", "to": "B", "relationType": "works_at", "validFrom": 1704067200}
    first = write(tmp_path / DAY1, relation)
    second = write(tmp_path / DAY2, {**relation, "validTo": 1767225600})
    one, two = events_of(read(first, second))
    assert one["data"]["memory_id"] == two["data"]["memory_id"]
    assert one["data"]["valid_from"] == "2024-01-01T00:00:00Z"
    assert "valid_until" not in one["data"]
    assert two["data"]["valid_until"] == "2026-01-01T00:00:00Z"


def test_observation_objects_bring_their_own_time_and_fields(tmp_path: Path) -> None:
    """Read the dialect whose observations are objects, mixed with plain ones."""
    line = {
        "_type": "entity",
        "_savedAt": "2026-01-05T00:00:00.000Z",
        "name": "A",
        "entityType": "P",
        "observations": [{"text": "x", "timestamp": "2026-01-04T10:00:00.000Z", "version": "2"}, "y"],
    }
    events = events_of(read(write(tmp_path / "memory.jsonl", line)))
    assert [(event["data"]["text"], event["time"], event["data"]["metadata"]["time_from"]) for event in events] == [
        ("A (P)", "2026-01-05T00:00:00Z", "_savedAt"),
        ("A: x", "2026-01-04T10:00:00Z", "timestamp"),
        ("A: y", "2026-01-05T00:00:00Z", "_savedAt"),
    ]
    assert events[1]["data"]["metadata"]["fields"] == {"timestamp": "2026-01-04T10:00:00.000Z", "version": "2"}


def test_in_a_file_that_appends_the_last_line_of_an_entity_holds(tmp_path: Path) -> None:
    """Skip replaced lines with their reason: what an entity has lost does not live on."""
    line = {"_type": "entity", "name": "A", "entityType": "P", "observations": ["x"]}
    path = write(tmp_path / DAY1, line, {**line, "observations": ["x", "y"]}, {**line, "observations": ["y"]})
    items = read(path)
    assert [entry[1] for entry in shape(items)] == ["A (P)", "A: y"]
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["replaced_in_file"] * 2
    assert sum(item.rows for item in items) == 3


def test_repeated_entities_of_the_official_dialect_are_united(tmp_path: Path) -> None:
    """Keep the observations of both lines, as the server's own reading does."""
    items = read(write(tmp_path / DAY1, HOST, {**HOST, "observations": ["runs staging", "is old"]}))
    assert [entry[1] for entry in shape(items)] == [
        "host-7 (server)",
        "host-7: runs staging",
        "host-7: has 8 cores",
        "host-7: is old",
    ]


def test_names_that_contain_separators_do_not_run_into_each_other(tmp_path: Path) -> None:
    """Build ids over the parts, not over the text they make."""
    one = {"from": "a b", "relationType": "c", "to": "d"}
    two = {"from": "a", "relationType": "b c", "to": "d"}
    items = read(write(tmp_path / DAY1, one, two))
    ids = [event["data"]["memory_id"] for event in events_of(items)]
    assert len(set(ids)) == 2


def test_names_are_case_sensitive_and_long_ones_are_cut_only_in_the_id(tmp_path: Path) -> None:
    """Tell `A` from `a`, and two long names that differ at the end."""
    names = ["A", "a", "n" * 500 + "1", "n" * 500 + "2"]
    items = read(write(tmp_path / DAY1, *({"name": name, "entityType": "t", "observations": []} for name in names)))
    ids = [event["data"]["memory_id"] for event in events_of(items)]
    assert len(set(ids)) == 4
    assert max(map(len, ids)) < 160
    assert events_of(items)[2]["data"]["text"] == f"{names[2]} (t)"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"timestamp": 1, "content": "x"}', "shape_unknown"),
        ("[1]x", "not_json"),
        ("7", "shape_unknown"),
        ('{"name": 7, "entityType": "t", "observations": []}', "shape_unknown"),
        ('{"name": "A", "entityType": "t", "observations": "x"}', "shape_unknown"),
        ('{"name": "A", "entityType": "t", "observations": [null]}', "shape_unknown"),
        ('{"name": "A", "entityType": "t", "observations": [{"version": "1"}]}', "shape_unknown"),
        ('{"from": ["A"], "relationType": "t", "to": "B", "_type": "relation", "name": ["A"]}', "shape_unknown"),
        ('{"name": "\\ud800", "entityType": "t", "observations": []}', "not_json"),
        ('{"name": "A", "entityType": "t", "observations": [], "x": ' + "[" * 600 + "]" * 600 + "}", "nested_too_deep"),
        ('{"name": "A", "entityType": "t", "observations": [' + "[" * 2000 + "]" * 2000 + "]}", "not_json"),
    ],
)
def test_a_line_of_another_shape_is_broken_with_its_bytes(tmp_path: Path, line: str, reason: str) -> None:
    """Name what is wrong and read on."""
    items = read(write(tmp_path / DAY1, line, LINK))
    assert isinstance(items[0], Broken)
    assert (items[0].reason, items[0].raw) == (reason, line.encode())
    assert isinstance(items[1], SourceEvent)


@pytest.mark.parametrize("time", ["soon", -5, 0, 1e300, True, [], None])
def test_a_time_that_cannot_be_read_gives_way_to_the_version(tmp_path: Path, time: Any) -> None:
    """Date by the version and say so."""
    line = {"name": "A", "entityType": "t", "observations": [], "createdAt": time}
    (event,) = events_of(read(write(tmp_path / DAY1, line)))
    assert (event["time"], event["data"]["metadata"]["time_from"]) == ("2026-01-01T00:00:00Z", "name")


def test_other_files_of_that_name_are_not_this_format(tmp_path: Path) -> None:
    """Detect by keys: `{timestamp, content}` files are called memory.jsonl too."""
    assert not McpMemorySource().detect(write(tmp_path / "memory.jsonl", {"timestamp": "2026-01-01", "content": "x"}))
    assert McpMemorySource().detect(write(tmp_path / "notes.txt", LINK))
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(json.dumps(HOST).encode()))
    assert McpMemorySource().detect(packed)
    assert len(read(packed)) == 3


def test_an_unstamped_file_is_dated_by_its_file_time_or_the_caller(tmp_path: Path) -> None:
    """Mark which it was."""
    path = write(tmp_path / "memory.jsonl", LINK)
    os.utime(path, (1704067200, 1704067200))
    (by_file,) = events_of(read(path))
    (by_caller,) = events_of(read(path, default_time=datetime(2026, 3, 1, tzinfo=UTC)))
    assert (by_file["time"], by_file["data"]["metadata"]["time_from"]) == ("2024-01-01T00:00:00Z", "mtime")
    assert (by_caller["time"], by_caller["data"]["metadata"]["time_from"]) == ("2026-03-01T00:00:00Z", "default")


def test_a_statement_that_comes_back_is_written_after_its_deletion(tmp_path: Path) -> None:
    """Hold the order though the statement repeats an old time of its own, with another event id each time."""
    dated = {**LINK, "createdAt": 1704067200}
    paths = [write(tmp_path / "a", dated), write(tmp_path / "b", HOST), write(tmp_path / "c", dated)]
    items = read(*paths, default_time=datetime(2026, 3, 1, tzinfo=UTC), order=Order.GIVEN)
    relation = [event for event in events_of(items) if event["data"]["memory_id"].startswith("relation")]
    assert [(event["type"], event["time"]) for event in relation] == [
        ("memory.written", "2024-01-01T00:00:00Z"),
        ("memory.deleted", "2026-03-01T00:00:00.000001Z"),
        ("memory.written", "2026-03-01T00:00:00.000002Z"),
    ]
    assert len({event["id"] for event in relation}) == 3


def test_a_blank_observation_stays_blank_to_be_refused_later(tmp_path: Path) -> None:
    """Let no name in front of it hide that it says nothing."""
    line = {"name": "A", "entityType": "t", "observations": [" \u200b"]}
    assert events_of(read(write(tmp_path / DAY1, line)))[1]["data"]["text"] == " \u200b"


def test_the_caller_supplies_space_scope_and_kind(tmp_path: Path) -> None:
    """Put on every write what the file does not say; two spaces never share an event id."""
    path = write(tmp_path / DAY1, LINK)
    options = {"source_kind": SourceKind.AGENT, "scope": {"agent_id": "a1"}}
    (one,), (two,) = (events_of(read(path, space=space, **options)) for space in ("one", "two"))
    assert (one["space"], two["space"]) == ("one", "two")
    assert one["data"]["scope"] == {"agent_id": "a1"}
    assert one["data"]["source"]["kind"] == "agent"
    assert one["id"] != two["id"]


def test_a_git_history_gives_the_events_of_its_exported_versions(tmp_path: Path) -> None:
    """Read the versions of a tracked graph out of git, through a rename, as if they had been exported one by one."""
    lines = [HOST, LINK]
    versions = [[HOST], lines, [LINK], [{**HOST, "observations": ["runs staging", "in the lab"]}, LINK]]
    repository, exported = TestRepository(tmp_path / "repository"), []
    name = "graph.json"
    for number, version in enumerate(versions):
        content = "\n".join(json.dumps(line) for line in version)
        changes: dict[str, str | bytes | None] = {name: content, "README.md": f"{number}"}
        if number == 1:
            changes, name = {name: None, "memory.jsonl": content}, "memory.jsonl"
        repository.commit(changes, time=1_777_622_400 + 60 * number)
        exported.append(write(tmp_path / f"v{number}_20260501T080{number}00Z.jsonl", content))
    assert McpMemorySource().detect(tmp_path / "repository")
    events = events_of(read(tmp_path / "repository"))
    assert events == events_of(read(*exported))
    assert len(events) == 10


def test_a_folder_without_one_tracked_graph_is_refused(tmp_path: Path) -> None:
    """Say what to name instead."""
    repository = TestRepository(tmp_path)
    repository.commit({"a.jsonl": json.dumps(LINK), "b.jsonl": json.dumps(LINK)})
    assert not McpMemorySource().detect(tmp_path)
    with pytest.raises(RecordError, match="one memory graph"):
        read(tmp_path)


REAL = os.environ.get("GUARDIAN_REAL_DATA")


@pytest.mark.skipif(not REAL, reason="GUARDIAN_REAL_DATA names no folder of real files")
@pytest.mark.parametrize(("folder", "written"), [("mcp_memory_graph", 778), ("mcp_memory_mindstrike", 176)])
def test_a_real_graph_is_the_same_out_of_git(tmp_path: Path, folder: str, written: int) -> None:
    """Commit each exported version at its time, and read the repository like the files."""
    repository, paths = TestRepository(tmp_path), sorted((Path(REAL or "") / folder).glob("v*.jsonl"))
    for path in paths:
        time = datetime.strptime(path.name.split("_")[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        repository.commit({"memory.jsonl": path.read_bytes()}, time=int(time.timestamp()))
    events = events_of(read(tmp_path))
    assert len(events) == written
    assert events == events_of(read(*paths))
