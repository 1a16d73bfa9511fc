"""Rows of Letta's tables: the same events from JSON, from CSV, and from change data capture."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guardian.sources.formats.letta.table_row import LettaTableSource
from guardian.sources.port import Item, RowChange, RowOperation, SourceOptions
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = LettaTableSource()
NOON = datetime(2026, 5, 9, 12, tzinfo=UTC)
PASSAGE = {
    "id": "passage-1",
    "text": "The lab is in Kyiv",
    "embedding": [0.0] * 4,
    "metadata_": {"page": 3},
    "tags": ["lab"],
    "archive_id": "archive-1",
    "created_at": "2026-05-01T08:00:00+00:00",
    "updated_at": "2026-05-02T08:00:00+00:00",
    "is_deleted": False,
    "_created_by_id": "user-1",
}
BLOCK = {
    "id": "block-1",
    "label": "human",
    "value": "Desk 3",
    "version": 2,
    "created_at": "2026-05-01 08:00:00",
    "updated_at": None,
}
HISTORY = {
    "id": "block_hist-1",
    "block_id": "block-1",
    "sequence_number": 1,
    "value": "Desk 2",
    "label": "human",
    "actor_type": "letta_agent",
    "actor_id": "agent-7",
    "created_at": "2026-04-30T08:00:00+00:00",
}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    """Write JSON lines."""
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def arrive(operation: RowOperation, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None) -> list[Item]:
    """Give the items of one row that arrives."""
    change = RowChange(position="t/0/1", identity="1", operation=operation, time=NOON, table="x", before=before, after=after)
    assert SOURCE.matches_row(change)
    return list(SOURCE.iter_row(change, SourceOptions()))


def test_a_passage_gives_its_golden_event(tmp_path: Path) -> None:
    """Date it by its update, keep tags and metadata, drop the embedding, and take no account for an author."""
    event = events_of(read(SOURCE, write(tmp_path / "a", PASSAGE)))[0]
    assert event == {
        "specversion": "1.0",
        "id": event["id"],
        "source": "letta:tables",
        "type": "memory.written",
        "time": "2026-05-02T08:00:00Z",
        "space": "letta",
        "data": {
            "memory_id": "passage-1",
            "text": "The lab is in Kyiv",
            "source": {"kind": "unknown", "ref": "letta:tables:passage-1"},
            "metadata": {
                "format": "letta.tables",
                "time_raw": "2026-05-02T08:00:00Z",
                "tz_assumed": False,
                "tags": ["lab"],
                "archive_id": "archive-1",
                "_created_by_id": "user-1",
                "fields": {"page": 3},
            },
        },
    }


def test_a_soft_delete_is_a_write_and_a_deletion(tmp_path: Path) -> None:
    """Date the one by creation and the other by the update, as one row."""
    items = read(SOURCE, write(tmp_path / "a", {**PASSAGE, "is_deleted": True}))
    assert [(event["type"], event["time"]) for event in events_of(items)] == [
        ("memory.written", "2026-05-01T08:00:00Z"),
        ("memory.deleted", "2026-05-02T08:00:00Z"),
    ]
    assert [item.rows for item in items] == [1, 0]


def test_history_rows_are_revisions_of_their_block(tmp_path: Path) -> None:
    """Name the block, and the agent where the row does."""
    items = read(SOURCE, write(tmp_path / "a", HISTORY, BLOCK))
    assert shape(items) == [("written", "block-1", "Desk 2"), ("written", "block-1", "Desk 3")]
    first, second = events_of(items)
    assert first["data"]["source"] == {"kind": "agent", "ref": "letta:tables:block_hist-1", "actor": "agent-7"}
    assert first["data"]["metadata"]["sequence_number"] == 1
    assert second["data"]["source"]["kind"] == "unknown"
    assert second["data"]["metadata"]["tz_assumed"] is True


def test_csv_and_arriving_rows_give_the_same_events(tmp_path: Path) -> None:
    """Read one fact alike by every route."""
    for row in (HISTORY, {**PASSAGE, "read_only": True}):
        path = tmp_path / "a.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerow({key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()})
        assert SOURCE.detect(path)
        (arrived,) = events_of(arrive(RowOperation.CREATE, after=row))
        assert events_of(read(SOURCE, path)) == [arrived]
        assert events_of(read(SOURCE, write(tmp_path / "b", row))) == [arrived]


def test_a_removed_row_deletes_its_memory() -> None:
    """Delete by the id alone; an entry of history deletes nothing."""
    assert shape(arrive(RowOperation.DELETE, before={"id": "passage-1"})) == [("deleted", "passage-1", None)]
    assert reasons(arrive(RowOperation.DELETE, before={"id": "block_hist-1"})) == [("unchanged", 1)]


def test_an_update_that_repeats_the_text_is_skipped() -> None:
    """Count only what changes a memory, and a soft delete does."""
    assert reasons(arrive(RowOperation.UPDATE, before=PASSAGE, after={**PASSAGE, "tags": []})) == [("metadata_only", 1)]
    deleted = arrive(RowOperation.UPDATE, before=PASSAGE, after={**PASSAGE, "is_deleted": "t"})
    assert [kind for kind, _, _ in shape(deleted)] == ["written", "deleted"]


def test_rows_that_are_none_cost_themselves(tmp_path: Path) -> None:
    """Break on a missing text or time, skip an empty block."""
    rows = [{**PASSAGE, "text": None}, {"id": "block-2", "label": "x", "value": "y"}, {**BLOCK, "value": ""}, {"id": "other"}]
    assert reasons(read(SOURCE, write(tmp_path / "a", *rows))) == [
        ("text_missing", 1),
        ("time_missing", 1),
        ("empty", 1),
        ("shape_unknown", 1),
    ]


def test_rows_of_other_tables_are_not_matched() -> None:
    """Look at the id's prefix."""
    change = RowChange(position="p", identity="1", operation=RowOperation.CREATE, time=NOON, after={"id": "1", "text": "x"})
    assert not SOURCE.matches_row(change)
