"""Points of a mem0 collection: versions, absences that prove nothing, entities that are no memories."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from guardian.sources.formats.mem0.points import Mem0PointsSource
from guardian.sources.port import Broken, Item, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions

T = 1_780_000_000


def point(name: str, text: str, day: int = 1, **payload: Any) -> dict[str, Any]:
    """Make a point."""
    return {"id": name, "payload": {"data": text, "hash": "h", "created_at": f"2026-05-0{day}T00:00:00+00:00", **payload}}


def read(folder: Path, *versions: Any) -> list[Item]:
    """Write one file a version and give the items of all."""
    paths = [folder / f"v{number}" for number in range(len(versions))]
    for number, (path, version) in enumerate(zip(paths, versions, strict=True)):
        rows = version if isinstance(version, list) else [version]
        path.write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
        os.utime(path, (T + number, T + number))
    return list(Mem0PointsSource().iter_items(paths, SourceOptions()))


def shape(items: list[Item]) -> list[str]:
    """Give types of events and reasons of the rest."""
    return [str(item.event["type"]) if isinstance(item, SourceEvent) and item.event else item.reason for item in items]  # type: ignore[union-attr]


def test_versions_of_a_collection_become_writes_and_deletions(tmp_path: Path) -> None:
    """Say nothing twice; a changed payload is a new revision at its own time."""
    changed = point("a", "Desk 3", updated_at="2026-05-02T00:00:00+00:00")
    items = read(tmp_path, [point("a", "Desk 2"), point("b", "Tea")], [changed, point("b", "Tea")], [changed])
    assert shape(items) == ["memory.written", "memory.written", "memory.written", "unchanged", "unchanged", "memory.deleted"]
    assert sum(item.rows for item in items) == 5
    assert items[2].event["time"] == "2026-05-02T00:00:00Z"  # type: ignore[union-attr, index]


def test_a_page_and_another_collection_prove_no_deletion(tmp_path: Path) -> None:
    """Withhold deletions where the version is a page, or has no memory in common."""
    page = {"result": {"points": [point("a", "x")], "next_page_offset": "b"}, "status": "ok"}
    assert shape(read(tmp_path, [point("a", "x"), point("b", "y")], page)) == [
        "memory.written",
        "memory.written",
        "unchanged",
        "absence_in_damaged_version",
    ]
    (tmp_path / "other").mkdir()
    assert shape(read(tmp_path / "other", [point("a", "x")], [point("c", "y")])) == [
        "memory.written",
        "memory.written",
        "absence_in_damaged_version",
    ]


def test_a_last_page_is_whole(tmp_path: Path) -> None:
    """Take an answer after which nothing follows for the collection."""
    page = {"result": {"points": [point("a", "x")], "next_page_offset": None}}
    assert shape(read(tmp_path, [point("a", "x"), point("b", "y")], page))[-1] == "memory.deleted"


def test_a_broken_point_costs_itself_and_every_deletion_of_its_version(tmp_path: Path) -> None:
    """Name what is wrong, and take no absence from a damaged version."""
    items = read(tmp_path, [point("a", "x"), point("b", "y")], [point("a", "x"), {"id": "b", "payload": {"data": None}}, 7])
    assert shape(items)[2:] == ["unchanged", "text_missing", "shape_unknown", "absence_in_damaged_version"]
    assert isinstance(items[3], Broken)
    assert items[3].raw == b'{"id":"b","payload":{"data":null}}'


def test_custom_metadata_is_kept_and_cannot_become_fields(tmp_path: Path) -> None:
    """Keep keys of the caller's beside mem0's own, whatever they are called."""
    [item] = read(tmp_path, [point("a", "x", space="other", parents=["z"], verified=True, memory_type="procedural_memory")])
    data = item.event["data"]  # type: ignore[union-attr, index]
    assert data["metadata"]["fields"] == {
        "space": "other",
        "parents": ["z"],
        "verified": True,
        "memory_type": "procedural_memory",
    }
    assert item.event["space"] == "mem0"  # type: ignore[union-attr, index]
    assert data.keys() == {"memory_id", "text", "source", "metadata"}


def test_entities_are_no_memories(tmp_path: Path) -> None:
    """Skip the reverse index, from a file and from a topic."""
    entity = {"id": "e", "payload": {"data": "Ann", "entity_type": "person", "linked_memory_ids": ["a"]}}
    assert shape(read(tmp_path, [entity])) == ["not_a_memory"]
    change = RowChange(
        position="p",
        identity="i",
        operation=RowOperation.UPDATE,
        time=datetime(2026, 6, 1, tzinfo=UTC),
        before=None,
        after=entity,
    )
    [item] = Mem0PointsSource().iter_row(change, SourceOptions())
    assert isinstance(item, Skipped)


def test_a_point_that_arrives_gives_the_event_of_the_file(tmp_path: Path) -> None:
    """Share ids between replay and stream; delete by id."""
    row = point("a", "x", user_id="u")
    change = RowChange(
        position="p", identity="i", operation=RowOperation.CREATE, time=datetime(2026, 6, 1, tzinfo=UTC), after=row
    )
    source = Mem0PointsSource()
    assert source.matches_row(change)
    [arrived], [read_item] = list(source.iter_row(change, SourceOptions())), read(tmp_path, [row])
    assert arrived.event == read_item.event  # type: ignore[union-attr]
    gone = RowChange(position="p", identity="i", operation=RowOperation.DELETE, time=datetime(2026, 6, 1, tzinfo=UTC), before=row)
    [deleted] = source.iter_row(gone, SourceOptions())
    assert deleted.event["data"]["memory_id"] == "a"  # type: ignore[union-attr, index]


def test_a_row_of_pgvector_is_the_same_point(tmp_path: Path) -> None:
    """Read a payload that a table holds as JSON text, and names of the TypeScript SDK."""
    row = point("a", "x", user_id="u")
    [plain], [table] = (
        read(tmp_path, [row]),
        read(tmp_path, [{**row, "payload": orjson.dumps(row["payload"]).decode(), "vector": "[1]"}]),
    )
    assert plain == table
    named = {"data": "x", "createdAt": "2026-05-01T00:00:00+00:00", "textLemmatized": "x", "user_id": "u"}
    [renamed] = read(tmp_path, [{"id": "a", "payload": named}])
    assert renamed == plain
