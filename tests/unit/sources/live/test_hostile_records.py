"""Laws of records that mean harm, or that a program with a fault writes: each is refused for itself, and the worker goes on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from guardian.contracts.codec import DecodePolicy, decode
from guardian.mapping import EventMap
from guardian.sources.formats.rows import RowsSource
from guardian.sources.live.arrival import Arrival, Headers
from guardian.sources.live.mapping import CompiledMap
from guardian.sources.live.translator import Binding, Translation, Translator
from guardian.sources.port import SourceEvent, SourceOptions
from guardian.sources.registry import load_row_sources
from tests.builders import envelope, written_data
from tests.kcat import dump_kcat

AT = datetime(2026, 6, 1, tzinfo=UTC)
# Deeper than a JSON writer goes, and not than the reader does.
DEEP = b"[" * 300 + b"]" * 300


def translate(value: bytes, *, rows: str | None = None, headers: Headers = (), is_mapped: bool = False) -> Translation:
    """Translate one record, by a map where `rows` or `is_mapped` asks for it."""
    declared = {"rows": rows, "data": {"memory_id": "id", "text": "text", "metadata": {"all": "rest"}}}
    mapped = CompiledMap("m", EventMap.model_validate(declared)) if is_mapped or rows is not None else None
    translator = Translator({"*": Binding(map=mapped, options=SourceOptions(space="s"))}, row_sources=load_row_sources())
    return translator.translate(Arrival(topic="t", position="t/0/1", time=AT, key=None, value=value, headers=headers))


@pytest.mark.parametrize(
    "value",
    [
        b'{"id":"passage-1","text":"x","created_at":"2026-05-01T08:00:00Z","rest":%s}',
        b'{"before":null,"after":{"id":"1","rest":%s},"op":"c","source":{}}',
        b'[{"specversion":"1.0","type":"memory.written","rest":%s}]',
        b'{"specversion":"1.0","type":"row.changed","id":"1","source":"/a","data":{"rest":%s}}',
    ],
    ids=["row", "change", "event", "envelope"],
)
@pytest.mark.parametrize("is_mapped", [False, True])
def test_what_is_too_deep_to_be_written_again_is_refused(value: bytes, *, is_mapped: bool) -> None:
    """JSON can be read deeper than it can be written; the record is refused, whatever it lies in."""
    translation = translate(value % DEEP, is_mapped=is_mapped)
    assert translation.events == []
    assert translation.error is not None
    assert translation.error.reason == "nested_too_deep"


def test_a_deep_value_in_a_mapped_event_is_refused() -> None:
    """What a map takes over is written again, too."""
    error = translate(b'{"id":"1","text":"x","rest":%s}' % DEEP, is_mapped=True).error
    assert error is not None
    assert error.reason == "nested_too_deep"


@pytest.mark.parametrize("rows", ["sort_by(items, &at)", "join(', ', items)", "max_by(items, &at)"])
def test_rows_that_cannot_be_found_are_a_misfit(rows: str) -> None:
    """A function of the map's path that does not take what stands there refuses the record by the map's place."""
    error = translate(b'{"items":[{"at":1},{"at":"x"},7]}', rows=rows).error
    assert error is not None
    assert (error.reason, error.path) == ("map_misfit", "rows")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "struct", "fields": [{"field": ["a"], "type": "string"}]},
        {"type": "struct", "fields": 7},
        {"type": "struct", "fields": [{"field": "text", "name": "org.apache.kafka.connect.data.Decimal"}]},
        {
            "type": "struct",
            "fields": [{"field": "text", "name": "org.apache.kafka.connect.data.Decimal", "parameters": ["scale"]}],
        },
    ],
)
def test_a_schema_that_is_none_leaves_the_value_as_it_came(schema: Any) -> None:
    """Whoever reads the field judges it."""
    payload = {"id": "passage-1", "text": "AZA=", "created_at": "2026-05-01T08:00:00Z"}
    (event,) = translate(orjson.dumps({"schema": schema, "payload": payload})).events
    assert orjson.loads(event[0] or b"")["data"]["text"] == "AZA="


@pytest.mark.parametrize(
    "value", [{"op": "x" * 50_000, "after": {}, "source": {}}, {"y" * 50_000: 1}, {"op": [[]] * 50_000, "after": {}}]
)
def test_a_refusal_does_not_repeat_its_record(value: dict[str, Any]) -> None:
    """A message names what is wrong and stays short."""
    error = translate(orjson.dumps(value)).error
    assert error is not None
    assert len(str(error)) < 1_000


def test_a_misfit_of_a_map_does_not_repeat_its_record() -> None:
    """What a library says of a value may hold all of it."""
    error = translate(orjson.dumps({"items": "z" * 50_000}), rows="sort_by(items, &at)").error
    assert error is not None
    assert len(str(error)) < 1_000


def test_a_row_that_is_broken_and_too_deep_is_a_dead_letter() -> None:
    """Its rendering ends where no writer goes; with a map as with a format."""
    for value in (b'{"id":"passage-1","text":7,"created_at":"x","rest":%s}', b'{"question":7,"plan":%s,"reward":1}'):
        error = translate(value % DEEP, headers=(("id", b"1"),)).error
        assert error is not None


@pytest.mark.parametrize("prefix", ["ce_", "ce-"])
def test_a_file_of_a_topic_keeps_events_whose_attributes_are_headers(tmp_path: Path, prefix: str) -> None:
    """Binary mode, as kcat writes it, gives the event that the topic gives."""
    event = envelope("memory.written", written_data("m1", "Desk 3"))
    headers = [(f"{prefix}{name}", str(value).encode()) for name, value in event.items() if name != "data"]
    value = orjson.dumps(event["data"])
    line = dump_kcat(topic="t", partition=0, offset=1, timestamp_ms=0, key=None, value=value, headers=headers)
    (tmp_path / "x").write_bytes(line)
    (item,) = RowsSource(lambda _: Translator()).iter_items([tmp_path / "x"], SourceOptions())
    assert isinstance(item, SourceEvent)
    policy = DecodePolicy()
    assert decode(item.raw, policy=policy, received_at=AT).event == decode(value, headers, policy=policy, received_at=AT).event


def test_a_timestamp_beyond_the_calendar_is_its_end(tmp_path: Path) -> None:
    """A record's timestamp is any 64-bit number."""
    row = b'{"id":"passage-1","text":"x","created_at":"2026-05-01T08:00:00Z"}'
    line = dump_kcat(topic="t", partition=0, offset=1, timestamp_ms=2**62, key=None, value=row)
    (tmp_path / "x").write_bytes(line)
    (item,) = RowsSource(lambda _: Translator(row_sources=load_row_sources())).iter_items([tmp_path / "x"], SourceOptions())
    assert isinstance(item, SourceEvent)
