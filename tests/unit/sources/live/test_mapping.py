"""Laws of maps: what stands in `guardian.toml` is what becomes of a row, and what does not fit is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from guardian.contracts.codec import DecodePolicy, decode
from guardian.errors import ConfigError
from guardian.mapping import EventMap
from guardian.sources.live.arrival import Arrival
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.port import Broken, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions

AT = datetime(2026, 5, 1, tzinfo=UTC)
NOTES: dict[str, Any] = {
    "rows": "items",
    "space": "owner.id",
    "id": "uuid",
    "type": {"path": "op", "values": {"add": "memory.written", "remove": "memory.deleted"}},
    "time": {"path": "ts", "convert": "unix_ms"},
    "data": {
        "memory_id": "uuid",
        "text": "body.text",
        "kind": {"const": "fact"},
        "self_grade": {"path": "stars", "convert": "grade_1_5"},
        "parents": "refs[].id",
        "source": {
            "kind": {"path": "author.role", "values": {"human": "user"}, "default": "unknown"},
            "actor": "author.name",
        },
    },
}
ROW = {
    "uuid": "n1",
    "owner": {"id": "team-a"},
    "op": "add",
    "ts": 1_777_622_400_000,
    "body": {"text": "Desk 3"},
    "stars": 4,
    "refs": [{"id": "n0"}],
    "author": {"role": "human", "name": "Ann"},
}


def run(declared: dict[str, Any], record: Any, *, operation: RowOperation = RowOperation.STATE, **options: Any) -> list[Any]:
    """Carry a map out on one record."""
    compiled = CompiledMap("notes", EventMap.model_validate(declared))
    is_deletion = operation is RowOperation.DELETE
    change = RowChange(
        position="t/0/1",
        identity="i",
        operation=operation,
        time=AT,
        before=record if is_deletion else None,
        after=None if is_deletion else record,
    )
    return list(compiled.iter_row(change, SourceOptions(**options)))


def only(declared: dict[str, Any], row: Any, **options: Any) -> dict[str, Any]:
    """Give the event of one row that fits."""
    (item,) = run({**declared, "rows": None}, row, **options)
    assert isinstance(item, SourceEvent), item
    assert item.event is not None
    return dict(item.event)


def test_a_row_becomes_the_event_that_the_map_says() -> None:
    """Golden: every field from its path, constant, converter and words."""
    (item,) = run(NOTES, {"items": [ROW]})
    assert item.event == {
        "specversion": "1.0",
        "id": "n1",
        "source": "map:notes",
        "type": "memory.written",
        "time": "2026-05-01T08:00:00Z",
        "space": "team-a",
        "data": {
            "memory_id": "n1",
            "text": "Desk 3",
            "kind": "fact",
            "self_grade": 0.75,
            "parents": ["n0"],
            "source": {"kind": "user", "actor": "Ann"},
            "metadata": {"time_raw": 1_777_622_400_000, "tz_assumed": False},
        },
    }
    decode(orjson.dumps(item.event), policy=DecodePolicy(), received_at=datetime(2100, 1, 1, tzinfo=UTC))


def test_a_word_that_is_not_known_takes_the_default() -> None:
    """Without a default it stays and is judged where events are decoded."""
    assert only(NOTES, {**ROW, "author": {"role": "bot"}})["data"]["source"] == {"kind": "unknown"}
    assert only(NOTES, {**ROW, "op": "merge"})["type"] == "merge"


def test_a_field_that_is_not_there_is_left_out() -> None:
    """Nothing is invented."""
    bare = {"uuid": "n1", "owner": {"id": "s"}, "op": "add", "body": {"text": "x"}}
    assert only(NOTES, bare)["data"] == {"memory_id": "n1", "text": "x", "kind": "fact", "source": {"kind": "unknown"}}
    assert only(NOTES, bare)["time"] == "2026-05-01T00:00:00Z"


@pytest.mark.parametrize(
    ("convert", "value", "grade"),
    [
        ("grade_0_1", 1, 1.0),
        ("grade_1_5", "1", 0.0),
        ("grade_0_100", 95, 0.95),
        ("grade_word", "POSITIVE", 1.0),
        ("grade_word", False, 0.0),
    ],
)
def test_grades_are_normalised_by_the_declared_rule(convert: str, value: Any, grade: float) -> None:
    """To [0, 1], from the scale that the map names."""
    declared = {**NOTES, "data": {**NOTES["data"], "self_grade": {"path": "stars", "convert": convert}}}
    assert only(declared, {**ROW, "stars": value})["data"]["self_grade"] == grade


@pytest.mark.parametrize(
    ("convert", "right", "wrong"),
    [("grade_1_5", 4, 0), ("grade_0_1", 0.5, "high"), ("grade_word", "success", "meh"), ("number", 3, "nan")],
)
def test_what_does_not_fit_is_refused_with_its_field(convert: str, right: Any, wrong: Any) -> None:
    """The row alone; the message names the field and what stands there."""
    declared = {**NOTES, "data": {**NOTES["data"], "self_grade": {"path": "stars", "convert": convert}}}
    good, bad = run(declared, {"items": [{**ROW, "stars": right}, {**ROW, "stars": wrong}]})
    assert isinstance(good, SourceEvent)
    assert isinstance(bad, Broken)
    assert bad.reason == "map_misfit"
    assert "data.self_grade" in bad.message
    assert (good.rows, bad.rows) == (1, 0)


def test_times_keep_what_was_written_and_whether_a_zone_was_assumed() -> None:
    """A naive time is read as UTC and says so."""
    event = only({**NOTES, "time": "ts"}, {**ROW, "ts": "2026-05-01 10:00:00"})
    assert event["time"] == "2026-05-01T10:00:00Z"
    assert event["data"]["metadata"] == {"time_raw": "2026-05-01 10:00:00", "tz_assumed": True}
    (bad,) = run({**NOTES, "rows": None, "time": "ts"}, ROW)
    assert "unix_ms" in bad.message


def test_a_row_without_an_id_is_told_by_what_it_says() -> None:
    """The same row twice is one event; another text is another."""
    declared = {**NOTES, "id": None}
    assert only(declared, ROW)["id"] == only(declared, dict(reversed(ROW.items())))["id"]
    assert only(declared, ROW)["id"] != only(declared, {**ROW, "stars": 1})["id"]


def test_a_deleted_row_is_a_deletion_of_its_memory() -> None:
    """Change data capture says so; the rest of the row is not needed."""
    event = only(NOTES, {"uuid": "n1", "owner": {"id": "s"}}, operation=RowOperation.DELETE)
    assert (event["type"], event["data"]) == ("memory.deleted", {"memory_id": "n1"})


def test_a_topics_space_fills_in_and_never_overwrites() -> None:
    """A row without any space is refused by name."""
    declared = {**NOTES, "space": "owner.id"}
    assert only(declared, ROW, space="other")["space"] == "team-a"
    assert only(declared, {**ROW, "owner": {}}, space="other")["space"] == "other"
    (bad,) = run({**declared, "rows": None}, {**ROW, "owner": {}})
    assert bad.message.startswith("space:")


@pytest.mark.parametrize(("deletes", "kind"), [(True, SourceEvent), (False, Skipped)])
def test_a_tombstone_means_what_the_map_says(deletes: bool, kind: type) -> None:
    """A deletion of the memory its key names, or nothing."""
    compiled = CompiledMap("notes", EventMap.model_validate({**NOTES, "deletes_by_tombstone": deletes}))
    arrival = Arrival(topic="t", position="t/0/1", time=AT, key=b'"n1"', value=None)
    item = compiled.read_tombstone(arrival, SourceOptions(space="s"))
    assert isinstance(item, kind)
    if isinstance(item, SourceEvent):
        assert item.event is not None
        assert item.event["data"] == {"memory_id": "n1"}


def test_a_path_that_is_none_is_refused_at_the_start() -> None:
    """With the setting's name."""
    with pytest.raises(ConfigError) as caught:
        CompiledMap("notes", EventMap.model_validate({**NOTES, "space": "a..b"}))
    assert "maps.notes.space" in str(caught.value)
    assert caught.value.setting == "maps.notes.space"


@pytest.mark.parametrize(
    "declared",
    [
        {"data": {"text": "t"}},
        {"data": {"memory_id": {"path": "a", "const": "b"}}},
        {"data": {"memory_id": 5}},
        {"data": {"memory_id": "a"}, "tpye": "b"},
        {"data": {"memory_id": {"path": "a", "convert": "roman"}}},
    ],
)
def test_a_map_that_cannot_be_meant_is_refused(declared: dict[str, Any]) -> None:
    """Two origins, no memory, a misspelt field, an unknown converter."""
    with pytest.raises(ValidationError):
        EventMap.model_validate(declared)


@pytest.mark.parametrize("record", [{"items": [5]}, {"items": "x"}, {"items": None}, {}])
def test_rows_that_are_none_are_refused_or_nothing(record: Any) -> None:
    """No row is no event; what is no object is refused."""
    assert all(isinstance(item, Broken) for item in run(NOTES, record))


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"memory_id": "a", "text": "t", "parent": "refs"}, "data.parent"),
        ({"memory_id": "a", "text": "t", "source": {"kidn": "k"}}, "data.source.kidn"),
        ({"memory_id": "a", "text": "t", "self_grad": "g"}, "data.self_grad"),
    ],
)
def test_a_misspelt_field_is_refused_at_the_start(data: dict[str, Any], place: str) -> None:
    """It would be passed over in silence, and nobody would miss the parents."""
    with pytest.raises(ConfigError) as caught:
        CompiledMap("notes", EventMap.model_validate({"data": data}))
    assert caught.value.setting == f"maps.notes.{place}"
