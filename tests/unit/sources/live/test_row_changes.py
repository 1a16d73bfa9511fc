"""Laws of change logs for the formats of tables: what a log leaves out, half a row before, numbers for times, and one event by every route."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.mapping import EventMap
from guardian.sources.formats.langgraph.store import LanggraphSource
from guardian.sources.formats.letta.table_row import LettaTableSource
from guardian.sources.live.arrival import Arrival
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.live.translator import Binding, Translation, Translator
from guardian.sources.port import RowSource, Source, SourceEvent, SourceOptions
from guardian.sources.registry import load_row_sources

AT = datetime(2026, 6, 1, tzinfo=UTC)
AT_MS = 1_777_622_400_000
UNAVAILABLE = "__debezium_unavailable_value"
PASSAGE: dict[str, Any] = {
    "id": "passage-1",
    "text": "The lab is in Kyiv",
    "embedding": [0.5] * 4,
    "metadata_": {"page": 3},
    "tags": ["lab"],
    "archive_id": "archive-1",
    "organization_id": "org-1",
    "created_at": "2026-05-01T08:00:00.000000Z",
    "updated_at": "2026-05-02T08:00:00.250000Z",
    "is_deleted": False,
}
ITEM: dict[str, Any] = {
    "prefix": "users.ann",
    "key": "k1",
    "value": {"kind": "Memory", "content": {"content": "Desk 3"}},
    "created_at": "2026-05-01T08:00:00.000000Z",
    "updated_at": "2026-05-02T08:00:00.250000Z",
    "expires_at": None,
    "ttl_minutes": 60,
}
POINT: dict[str, Any] = {
    "id": "6f1c",
    "vector": [0.5, 0.5],
    "payload": json.dumps({"data": "Desk 3", "user_id": "ann", "hash": "h", "created_at": "2026-05-01T08:00:00-07:00"}),
}
MAPPED = {
    "id": "id",
    "data": {"memory_id": "id", "text": "body", "parents": "refs", "metadata": {"note": "note"}},
}


def translate(change: dict[str, Any], *, declared: dict[str, Any] | None = None) -> Translation:
    """Translate a change as it comes on a topic, by a map if one is declared."""
    mapped = None if declared is None else CompiledMap("m", EventMap.model_validate(declared))
    translator = Translator({"*": Binding(map=mapped, options=SourceOptions(space="s"))}, row_sources=load_row_sources())
    document = {"before": None, "after": None, "source": {"lsn": 1, "ts_ms": AT_MS}, "op": "u", **change}
    return translator.translate(Arrival(topic="db.public.t", position="t/0/1", time=AT, key=None, value=orjson.dumps(document)))


def events_of(translation: Translation) -> list[dict[str, Any]]:
    """Give the events."""
    assert translation.error is None, translation.error
    return [orjson.loads(value or b"null") for value, _ in translation.events]


def read(source: Source, path: Path) -> list[dict[str, Any]]:
    """Give the events of a file, in the space that a topic is given here."""
    items = source.iter_items([path], SourceOptions(space="s"))
    return [dict(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None]


def write_csv(path: Path, row: dict[str, Any], *, times: tuple[str, ...]) -> Path:
    """Write a row as `COPY … CSV HEADER` does: JSON as text, nothing as nothing, and times in Postgres' own form."""
    shown = {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()}
    shown |= {
        name: row[name].replace("T", " ").replace(".000000", "").removesuffix("Z").removesuffix("0000") + "+00" for name in times
    }
    shown |= {name: "f" for name, value in row.items() if value is False}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(shown)
    return path


@pytest.mark.parametrize(
    ("source", "row"), [(LettaTableSource(), PASSAGE), (LanggraphSource(), ITEM)], ids=["letta", "langgraph"]
)
def test_a_row_is_one_event_by_csv_by_json_and_by_a_change_log(source: RowSource, row: dict[str, Any], tmp_path: Path) -> None:
    """The spelling of an instant, of numbers and of JSON in a row is its route's own, and changes neither id nor data."""
    assert isinstance(source, LettaTableSource | LanggraphSource)
    given = events_of(translate({"after": row, "op": "c"}))
    text = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
    assert events_of(translate({"after": text, "op": "r"})) == given
    assert read(source, write_csv(tmp_path / "t.csv", row, times=("created_at", "updated_at"))) == given
    lines = tmp_path / "t.jsonl"
    lines.write_text(json.dumps({**row, "updated_at": "2026-05-02T10:00:00.250+02:00"}))
    assert read(source, lines) == given


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000], ids=["s", "ms", "us"])
def test_a_timestamp_without_a_schema_is_read_by_its_magnitude(unit: int) -> None:
    """Debezium writes times without a zone as numbers, in the unit of the column's precision."""
    numbers = dict.fromkeys(("created_at", "updated_at"), AT_MS // 1000 * unit)
    for row in ({**PASSAGE, **numbers}, {"id": "block-1", "label": "human", "value": "Desk 3", **numbers}):
        (event,) = events_of(translate({"after": row, "op": "c"}))
        assert event["time"] == "2026-05-01T08:00:00Z"
        assert event["data"]["metadata"]["time_raw"] == "2026-05-01T08:00:00Z"


@pytest.mark.parametrize(
    "row",
    [
        {**PASSAGE, "text": UNAVAILABLE},
        {"id": "block-1", "label": "human", "value": UNAVAILABLE, "created_at": PASSAGE["created_at"]},
        {**ITEM, "value": UNAVAILABLE},
        {**POINT, "payload": UNAVAILABLE},
    ],
    ids=["passage", "block", "item", "point"],
)
def test_a_text_that_the_log_leaves_out_is_no_revision(row: dict[str, Any]) -> None:
    """It did not change, so nothing new is stated: the update is skipped, with its reason, and is no dead letter."""
    translation = translate({"after": row})
    assert (translation.events, translation.error) == ([], None)
    assert set(translation.skipped) <= {"text_unavailable", "metadata_only"}
    assert translation.skipped.total() == 1


def test_the_row_before_tells_what_the_log_leaves_out() -> None:
    """With the whole row before, nothing is unknown."""
    (event,) = events_of(translate({"before": PASSAGE, "after": {**PASSAGE, "text": UNAVAILABLE, "tags": ["x"]}, "op": "c"}))
    assert event["data"]["text"] == PASSAGE["text"]


@pytest.mark.parametrize(
    "row", [{**PASSAGE, "embedding": UNAVAILABLE}, {**POINT, "vector": UNAVAILABLE}], ids=["passage", "point"]
)
def test_an_embedding_that_the_log_leaves_out_is_not_missed(row: dict[str, Any]) -> None:
    """The text is there, so the revision is; and the same as of a whole row."""
    whole = PASSAGE if "text" in row else POINT
    assert events_of(translate({"after": row})) == events_of(translate({"after": whole})) != []


def test_a_passage_that_is_marked_as_deleted_is_deleted_though_its_text_is_left_out() -> None:
    """The mark is a change by itself."""
    (event,) = events_of(translate({"after": {**PASSAGE, "text": UNAVAILABLE, "is_deleted": True}}))
    assert (event["type"], event["data"]["memory_id"], event["time"]) == (
        "memory.deleted",
        "passage-1",
        "2026-05-02T08:00:00.250000Z",
    )


@pytest.mark.parametrize(
    ("before", "memory_id"),
    [
        ({"id": "passage-1"}, "passage-1"),
        ({**dict.fromkeys(PASSAGE), "id": "passage-1"}, "passage-1"),
        ({**dict.fromkeys(ITEM), "prefix": "users.ann", "key": "k1"}, "users.ann/k1"),
    ],
    ids=["key", "nulls", "item"],
)
def test_a_deletion_needs_only_the_key_of_the_row_before(before: dict[str, Any], memory_id: str) -> None:
    """With Postgres' default replica identity the rest is absent, or null."""
    (event,) = events_of(translate({"before": before, "op": "d"}))
    assert (event["type"], event["data"]["memory_id"]) == ("memory.deleted", memory_id)


def test_a_row_before_of_which_only_the_key_is_known_says_nothing_of_the_text() -> None:
    """Nulls of the row before are no empty text: the update is taken for what it says now."""
    before = {**dict.fromkeys(PASSAGE), "id": "passage-1"}
    assert events_of(translate({"before": before, "after": PASSAGE})) == events_of(translate({"after": PASSAGE})) != []


def test_a_map_without_the_text_skips_and_without_another_column_refuses() -> None:
    """A text that did not change states nothing new; any other column that the map reads would be lost."""
    row = {"id": "m1", "body": "Desk 3", "refs": ["m0"], "note": "n", "vector": "v"}
    assert len(events_of(translate({"after": {**row, "vector": UNAVAILABLE}}, declared=MAPPED))) == 1
    untold = translate({"after": {**row, "body": UNAVAILABLE, "note": UNAVAILABLE}}, declared=MAPPED)
    assert (dict(untold.skipped), untold.error) == ({"text_unavailable": 1}, None)
    refused = translate({"after": {**row, "refs": UNAVAILABLE}}, declared=MAPPED)
    assert refused.error is not None
    assert (refused.error.reason, refused.events) == ("column_unavailable", [])
    assert "data.parents: refs did not change" in str(refused.error)
    by_whole = translate(
        {"after": {**row, "vector": UNAVAILABLE}}, declared={"data": {"memory_id": "id", "text": "to_string(@)"}}
    )
    assert dict(by_whole.skipped) == {"text_unavailable": 1}


def test_a_row_of_no_format_says_what_the_log_left_out() -> None:
    """The refusal names the columns that were there, and those that were not."""
    error = translate({"after": {"id": "1", "body": UNAVAILABLE}}).error
    assert error is not None
    assert error.reason == "format_unknown"
    assert "(and body, which the change log leaves out)" in str(error)
