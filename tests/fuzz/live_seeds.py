"""Inputs to begin from for records of other programs: every envelope, rows of every format, and maps with records for them."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from guardian.mapping import EventMap
from guardian.sources.port import Source
from guardian.sources.registry import BUILT_IN, load_row_sources
from guardian.stream.plane.origin import Record
from tests.contract.samples.alone import list_rows
from tests.contract.test_source_contract import SAMPLES
from tests.fuzz.frame import pack_record
from tests.fuzz.mutate import SEPARATOR
from tests.fuzz.sample import pack_sample
from tests.fuzz.seeds import RECORDS

LIVE_MAP = EventMap.model_validate(
    {
        "rows": "items || @",
        "id": "uuid",
        "type": {"path": "op", "values": {"remove": "memory.deleted"}, "default": "memory.written"},
        "time": {"path": "ts", "convert": "unix_ms"},
        "data": {
            "memory_id": {"path": "id", "convert": "text"},
            "text": "body.text",
            "self_grade": {"path": "stars", "convert": "grade_1_5"},
            "parents": "refs[].id",
        },
        "deletes_by_tombstone": True,
    }
)
_MAPPED: dict[str, Any] = {
    "items": [
        {"id": "m1", "uuid": "u1", "ts": 1_777_622_400_000, "body": {"text": "Desk 3"}, "stars": 4, "refs": [{"id": "m0"}]},
        {"id": "m1", "uuid": "u2", "op": "remove", "ts": 1_777_622_500_000},
    ]
}
_ROW = {
    "prefix": "users.ann",
    "key": "k1",
    "value": '{"content": "Desk 3"}',
    "created_at": "2026-05-01T08:00:00Z",
    "updated_at": "2026-05-01T08:00:00Z",
    "ttl_minutes": None,
}
_SOURCE = {"connector": "postgresql", "name": "db", "ts_ms": 1_777_622_400_000, "snapshot": "false", "table": "store", "lsn": 42}
_UNKNOWN = {**_ROW, "value": "__debezium_unavailable_value"}
_CONNECT = {
    "schema": {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "string"},
            {"field": "text", "type": "string"},
            {"field": "created_at", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
            {"field": "metadata_", "type": "string", "name": "io.debezium.data.Json"},
            {"field": "cost", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
        ],
    },
    "payload": {"id": "passage-1", "text": "Desk 3", "created_at": 1_777_622_400_000_000, "metadata_": "{}", "cost": "AZA="},
}
_MONGO = {
    "before": None,
    "after": '{"_id": {"$oid": "5f"}, "at": {"$date": 1777622400000}, "n": {"$numberLong": "7"}}',
    "updateDescription": {"updatedFields": '{"text": "Desk 3"}'},
    "source": {**_SOURCE, "connector": "mongodb", "collection": "notes"},
    "op": "u",
}
_CLOUD = {
    "specversion": "1.0",
    "id": "e1",
    "source": "/db",
    "type": "io.debezium.postgresql.datachangeevent",
    "time": "2026-05-01T08:00:00Z",
    "iodebeziumop": "c",
    "iodebeziumtable": "store",
    "iodebeziumtsms": "1777622400000",
    "data": {"before": None, "after": _ROW},
}
_ENVELOPES: tuple[Any, ...] = (
    {"before": None, "after": _ROW, "source": _SOURCE, "op": "c", "ts_ms": 1_777_622_400_200},
    {"before": _ROW, "after": {**_ROW, "value": '{"content": "Desk 4"}'}, "source": {**_SOURCE, "lsn": 43}, "op": "u"},
    {"before": None, "after": _UNKNOWN, "source": {**_SOURCE, "lsn": 44}, "op": "u"},
    {"before": {"prefix": "users.ann", "key": "k1"}, "after": None, "source": {**_SOURCE, "lsn": 45}, "op": "d"},
    {"after": _ROW, "source": {**_SOURCE, "snapshot": "last"}, "op": "r"},
    {"before": None, "after": None, "source": _SOURCE, "op": "t"},
    {**_ROW, "__op": "u", "__deleted": "false", "__table": "store", "__source_ts_ms": 1_777_622_400_000},
    {**_ROW, "__deleted": "true"},
    _CONNECT,
    _MONGO,
    _CLOUD,
    json.dumps(_ROW),
    [_ROW, {"odd": 1}, 7],
)


def _pack(
    value: Any, *, topic: str = "agent.rows", key: bytes | None = None, headers: tuple[tuple[str, bytes], ...] = ()
) -> bytes:
    raw = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return pack_record(
        Record(topic=topic, partition=0, offset=7, timestamp_ms=1_772_323_200_000, key=key, value=raw, headers=headers)
    )


@cache
def build_sample(name: str) -> bytes:
    """Give the sample of a format as one input."""
    with tempfile.TemporaryDirectory() as folder:
        return pack_sample(Path(folder), SAMPLES[name](Path(folder))[0])


def list_formats() -> list[Source]:
    """Give the formats that have a sample: those that are built in."""
    return [source for source in BUILT_IN if source.name in SAMPLES]


def _list_row_records() -> list[bytes]:
    """Give a record of some rows of every format that comes on topics, too."""
    records = []
    for source in load_row_sources():
        with tempfile.TemporaryDirectory() as folder:
            records += [_pack(row) for row in list_rows(SAMPLES[source.name](Path(folder))[0])[:4]]
    return records


def build_live() -> tuple[bytes, ...]:
    """Give records of other programs, one or several to an input."""
    singles = [
        *map(_pack, _ENVELOPES),
        _pack(_MAPPED, topic="mapped.notes"),
        _pack(None, topic="mapped.notes", key=b'"m1"'),
        _pack(None, key=b'{"id": 1}'),
        _pack({"text": "Desk 3"}, headers=(("id", b"outbox-1"),)),
        _pack(_ROW, headers=(("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_source", b"/a"), ("ce_type", b"row.changed"))),
        _pack(b"\x00\x00\x00\x00\x01abc"),
        *RECORDS,
        *_list_row_records(),
    ]
    return (*singles, SEPARATOR.join(singles[:8]))


_MAPS = b"""
[maps.notes]
rows = "items"
space = "owner"
id = "uuid"
source = "/notes"
deletes_by_tombstone = true
type = { path = "op", values = { add = "memory.written", remove = "memory.deleted" }, default = "memory.written" }
time = { path = "ts", convert = "unix_ms" }

[maps.notes.data]
memory_id = { path = "id", convert = "text" }
text = "body.text"
kind = { const = "fact" }
self_grade = { path = "stars", convert = "grade_1_5" }
parents = "refs[?id].id"
source = { kind = { path = "role", values = { human = "user" }, default = "unknown" }, actor = "author" }

[ingress."mapped.*"]
map = "notes"
space = "given"
source_kind = "agent"
scope = { user_id = "ann" }

[ingress."agent.*"]
format = "langgraph"
"""
_OTHER_MAP = b"""
[maps.plain]
time = { path = "at", convert = "unix_s" }
data = { memory_id = "join('-', [a, b])", text = "to_string(@)", episode = { task = "q", outcome = { path = "ok", convert = "lower" } } }

[ingress."mapped.notes"]
map = "plain"
space = "given"
"""
MAPS = tuple(
    SEPARATOR.join((declared, _pack(_MAPPED, topic="mapped.notes"), _pack(None, topic="mapped.notes", key=b"m1"), _pack(_ROW)))
    for declared in (_MAPS, _OTHER_MAP)
)
