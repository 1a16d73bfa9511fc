"""Inputs to begin from, all invented: one of every event type and header mode, and small files of every format."""

from __future__ import annotations

import gzip
from typing import Any

import orjson

from guardian.contracts.letter import build_dead_letter
from guardian.contracts.outcome import encode_outcome
from guardian.contracts.reason import Reason
from guardian.errors import RecordError
from guardian.stream.plane.origin import Record, to_time
from tests.builders import (
    as_wire,
    audited,
    calibrated,
    card_data,
    corrected,
    deleted,
    envelope,
    erased,
    induced,
    linked,
    rated,
    read,
    retracted,
    trust,
    written,
    written_data,
)
from tests.fuzz.frame import pack_record
from tests.fuzz.mutate import SEPARATOR

STORY: tuple[dict[str, Any], ...] = (
    as_wire(written("m1", "The oat milk is in the second fridge", src="user", actor="ann", kind="fact", subject="milk", t=0)),
    as_wire(written("m2", "Recap: oat milk, second fridge", parents=["m1"], session="s1", grade=0.9, t=2, vector=[3.0, 4.0])),
    as_wire(read(["m1", "m2"], session="s1", used=["m1"], task_id="t1", query="where is the milk", t=1)),
    as_wire(corrected("m1", written_data("m3", "It is in the third fridge", src=None), subject="milk", reason="moved", t=3)),
    as_wire(corrected(["m2", "m9"], "m1", by="human_review", extent="family", effective=1, t=4)),
    as_wire(audited("m2", 0.25, channel="judge", evidence={"votes": [1, 0]}, t=5)),
    as_wire(retracted(corrected("m1", "m3", t=6), t=7)),
    as_wire(linked("m2", add=["m1"], remove=["m3"], reason="wrong parent", t=8)),
    as_wire(deleted("m1", observed=1, t=9)),
    as_wire(erased("m2", cascade=True, t=10)),
    as_wire(induced(written("m1"), card=card_data(), narrowing={"barred_slots": ["facts"], "conflict": "human_review"}, t=11)),
    as_wire(calibrated("cal-1", effective=3, t=11, judge=trust(0.75, 0.125), **{"a+b": trust(0.5, members=["a", "b"])})),
    as_wire(rated(["m2", "m4"], t=12)),
    as_wire(
        written(
            "m4",
            "Order beans on Monday",
            verified=True,
            supersedes=["m1"],
            kind="episode",
            scope={"user_id": "u", "project_id": "p", "domain": "shop", "task_type": "buy"},
            episode={"task": "order", "answer": "done", "language": "en", "retrieved": ["m1"], "outcome": "ok"},
            metadata={"a": {"b": [1, 2.5, None]}},
            confidence="observed",
            valid_from="2026-03-01T00:00:00Z",
            valid_until="2026-04-01T00:00:00+02:00",
            unknown={"kept": True},
        )
    ),
)
ROWS = tuple(orjson.dumps(event) for event in STORY)

_BINARY = Record(
    topic="agent.notes",
    partition=0,
    offset=7,
    timestamp_ms=1_772_323_200_000,
    key=None,
    value=orjson.dumps(STORY[0]["data"]),
    headers=(
        *((f"ce_{name}", str(value).encode()) for name, value in STORY[0].items() if name != "data"),
        ("content-type", b"application/json"),
        ("traceparent", None),
    ),
)
_STRUCTURED = Record(
    topic="guardian.events",
    partition=0,
    offset=8,
    timestamp_ms=1_772_323_200_000,
    key=b"s",
    value=ROWS[3],
    headers=(
        ("Content-Type", b"application/cloudevents+json; charset=utf-8"),
        ("ce_type", b"memory.corrected"),
        ("guardian-ingress-topic", b"agent.notes"),
        ("guardian-ingress-timestamp", b"1772323200000"),
    ),
)
_BASE64 = Record(
    topic="tool.notes",
    partition=1,
    offset=9,
    timestamp_ms=-1,
    key=None,
    value=orjson.dumps({**{key: value for key, value in STORY[0].items() if key != "data"}, "data_base64": "e30="}),
    headers=(("ce-id", b"x"),),
)
RECORDS = (pack_record(_BINARY), pack_record(_STRUCTURED), pack_record(_BASE64), b"topic guardian.events\nheader ce_id: e")
BARE_RECORDS = tuple(b"topic guardian.events\n\n" + row for row in ROWS)
BATCHES = (SEPARATOR.join(RECORDS), SEPARATOR.join(BARE_RECORDS[:4]), *RECORDS)

_LINES = b"\n".join(ROWS)
CLOUDEVENTS = (
    _LINES,
    b"\xef\xbb\xbf" + _LINES.replace(b"\n", b"\r\n\r\n") + b'\n{"cut',
    b"[" + b",\n".join(ROWS[:3]) + b"]",
    gzip.compress(_LINES, mtime=0),
    b'{"specversion":"1.0","type":"memory.written"}',
)

_ENTITY = {"type": "entity", "name": "host-7", "entityType": "server", "observations": ["runs staging", "has 8 cores"]}
_RELATION = {"type": "relation", "from": "host-7", "to": "lab", "relationType": "located_in"}
_DATED = {
    **{key: value for key, value in _ENTITY.items() if key != "type"},
    "createdAt": 1_700_000_000,
    "updatedAt": 1_700_000_100,
    "createdBy": "ann",
    "updatedBy": "bob",
}
_BOUND = {**_RELATION, "validFrom": 1_700_000_000, "validTo": "2026-01-01", "createdAt": 1_700_000_000_000}
_APPENDED = {
    "_type": "entity",
    "_savedAt": "2026-01-02T03:04:05Z",
    "name": "host-7",
    "entityType": "server",
    "observations": [{"text": "runs staging", "timestamp": "2026-01-02T03:04:05Z", "version": "1"}],
}


def _write_lines(*lines: dict[str, Any]) -> bytes:
    return b"\n".join(orjson.dumps(line) for line in lines)


MCP = (
    _write_lines(_ENTITY, _RELATION),
    SEPARATOR.join(
        (
            _write_lines(_ENTITY, _RELATION),
            b"name: v02_20260110T155908Z_a.jsonl\n" + _write_lines({**_ENTITY, "observations": ["has 8 cores", "runs tests"]}),
            _write_lines({**_ENTITY, "entityType": "virtual server"}, {"odd": 1}),
        )
    ),
    SEPARATOR.join((_write_lines(_DATED, _BOUND), _write_lines({**_DATED, "updatedAt": 1_700_000_200, "observations": []}))),
    _write_lines(_APPENDED, {**_APPENDED, "observations": []}),
    b"[" + orjson.dumps(_ENTITY) + b"," + orjson.dumps(_RELATION) + b"]",
)

_NEW = ["id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role"]
_MIDDLE = ["id", "memory_id", "old_memory", "new_memory", "new_value", "event", "created_at", "updated_at", "is_deleted"]
_OLD = ["id", "memory_id", "prev_value", "new_value", "event", "timestamp DATETIME", "is_deleted INTEGER"]
_T1, _T2 = "2026-01-02T03:04:05.678901-08:00", "2026-01-03 03:04:05"


def _describe(name: str, columns: list[str], *rows: list[Any]) -> dict[str, Any]:
    return {"name": name, "columns": ["id TEXT PRIMARY KEY", *columns[1:]], "rows": list(rows)}


_NEWEST = _describe(
    "history",
    _NEW,
    ["a", "m1", None, "Likes tea", "ADD", _T1, None, 0, "ann", "user"],
    ["b", "m1", "Likes tea", "Likes oat milk", "UPDATE", _T1, _T2, 0, "ann", "user"],
    ["c", "m1", "Likes oat milk", "Likes oat milk", "UPDATE", _T1, _T2, 0, None, None],
    ["d", "m1", "Likes oat milk", None, "DELETE", None, None, 1, None, None],
)
DATABASES = tuple(
    orjson.dumps(description)
    for description in (
        {
            "tables": [
                _NEWEST,
                {"name": "messages", "columns": ["id TEXT", "content TEXT"], "rows": [["x", "hello"]]},
                _describe("history_old", _MIDDLE, ["a", "m1", None, None, "Likes tea", "add", _T2, None, 0]),
            ]
        },
        {"tables": [_describe("history", _MIDDLE, ["a", "m1", None, None, "Likes tea", "add", _T2, None, 0])]},
        {
            "tables": [_describe("history", _OLD, ["a", "m1", None, "Likes tea", "ADD", _T2, 0])],
            "sql": [],
            "patches": [],
            "cut": None,
        },
        {"tables": [_describe("old_history", _OLD, ["a", "m1", None, {"text": "ff41"}, "ADD", {"blob": "00ff"}, 0])]},
        {"tables": [], "sql": ["CREATE VIEW history AS SELECT 1 AS id"], "encoding": "UTF-16le"},
    )
)


def _build_letters() -> tuple[bytes, ...]:
    made = []
    for record, reason in ((_BINARY, Reason.TEXT_BLANK), (_STRUCTURED, Reason.TIME_BAD), (_BASE64, Reason.WRONG_TYPE)):
        letter = build_dead_letter(
            RecordError(reason, "data.text: is not right.", path="data.text"),
            record.value,
            record.headers,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp=to_time(max(0, record.timestamp_ms)),
        )
        made.append(encode_outcome(letter, time=letter.timestamp))
    return tuple(made)


LETTERS = _build_letters()
LETTER_FILES = (b"\n".join(LETTERS) + b"\n", LETTERS[0] + b"\n" + LETTERS[1][:50], LETTERS[0] + b"\n\n\xff\n")
CHECKPOINTS = (b'{"items":1}', b'{"items":0}', b'{"items":1000000}')
# A blank memory, which a wider policy would take.
BLANK = orjson.dumps(envelope("memory.written", written_data("m1", " ")))
SETTINGS = (
    b'log_level = "INFO"\nroles = ["guard"]\n\n[kafka]\nbootstrap = "127.0.0.1:9092"\ningress_topics = ["agent.notes"]\n'
    b'ingress_pattern = "agent\\\\..*"\nsession_timeout_s = 10.5\nsecurity_protocol = "SASL_SSL"\nsasl_username = "u"\n'
    b'sasl_password = "p"\n',
    b'[store]\npath = "/tmp/a"\nurl = "http://127.0.0.1:6333"\ntimeout_s = 5\n\n[embedding]\nprovider = "given"\nsize = 4\n\n'
    b"[limits]\nmax_text_bytes = 100\nfuture_tolerance_s = 60.0\nbatch_events = 10\nstop_deadline_s = 2\n\n[web]\nport = 0\n",
    b'[trust]\nverify_kinds = ["tool"]\ncorrect_actors = ["ann"]\n\n[trust.topics]\n"agent.*" = "agent"\n\n[trust.sources]\n'
    b'"/tools/*" = "tool"\n\n[spaces."team-*"]\nverify_kinds = ["human_review"]\n\n[policy]\nrestate_threshold = 0.5\n'
    b"session_window_s = 60\nmax_roots = 3\nalphas = { judge = 0.5 }\n",
)
