"""Managed memory stores: versions as an audit log, lists as states, redactions as erasures."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from guardian.contracts.codec import DecodePolicy, decode
from guardian.sources.formats.anthropic.memory_store import AnthropicMemoryStoreSource
from guardian.sources.port import RowChange, RowOperation, SourceOptions
from tests.contract.samples.anthropic import version, write_store
from tests.unit.sources.formats.reading import events_of, read, reasons, shape

SOURCE = AnthropicMemoryStoreSource()


def write(path: Path, *rows: dict[str, Any]) -> Path:
    """Write JSON lines."""
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_a_version_gives_its_golden_event(tmp_path: Path) -> None:
    """Take the version's id as the event's, and its session as the agent that wrote it."""
    assert events_of(read(SOURCE, write(tmp_path / "x", version(1, "created", "Desk 2")))) == [
        {
            "specversion": "1.0",
            "id": "memver_1",
            "source": "anthropic:memory-store",
            "type": "memory.written",
            "time": "2026-05-01T08:00:00Z",
            "space": "anthropic-memory",
            "data": {
                "memory_id": "mem_1",
                "text": "Desk 2",
                "source": {"kind": "agent", "ref": "anthropic:memory-store:memver_1", "actor": "sesn_1"},
                "metadata": {
                    "operation": "created",
                    "format": "anthropic.memory-store",
                    "time_raw": "2026-05-01T08:00:00Z",
                    "tz_assumed": False,
                    "path": "/desk.md",
                    "memory_store_id": "memstore_1",
                    "content_sha256": "ab" * 32,
                },
            },
        }
    ]


def test_pages_lists_and_lines_are_read(tmp_path: Path) -> None:
    """Read the rows of a page like rows of a file."""
    items = read(SOURCE, *write_store(tmp_path)[0])
    assert shape(items) == [
        ("deleted", "mem_1", None),
        ("written", "mem_1", "Desk 3"),
        ("written", "mem_1", "Desk 2"),
        ("written", "mem_2", "The lab is in Kyiv"),
    ]
    assert reasons(items) == [("shape_unknown", 1)]


def test_a_rename_is_a_revision_with_the_new_path(tmp_path: Path) -> None:
    """Keep the memory's identity and say where it stands."""
    rows = [version(1, "created", "Desk 2"), version(2, "modified", "Desk 2", path="/seat.md")]
    events = events_of(read(SOURCE, write(tmp_path / "x", *rows)))
    assert [(event["data"]["memory_id"], event["data"]["metadata"]["path"]) for event in events] == [
        ("mem_1", "/desk.md"),
        ("mem_1", "/seat.md"),
    ]


def test_a_redaction_erases_what_was_written_until_then(tmp_path: Path) -> None:
    """Send an erasure up to the version's time, by the authority of who redacted it, that the wire contract accepts."""
    row = version(
        2, "modified", None, redacted_at="2026-05-05T08:00:00Z", redacted_by={"type": "user_actor", "user_id": "user_1"}
    )
    (event,) = events_of(read(SOURCE, write(tmp_path / "x", row)))
    assert event["type"] == "memory.erased"
    assert event["time"] == "2026-05-05T08:00:00Z"
    assert event["data"] == {
        "memory_id": "mem_1",
        "authority": {"kind": "user", "ref": "anthropic:memory-store:memver_2", "actor": "user_1"},
        "observed_at": "2026-05-02T08:00:00Z",
    }
    decode(orjson.dumps(event), policy=DecodePolicy(), received_at=datetime(2027, 1, 1, tzinfo=UTC))


def test_an_agent_that_redacts_is_not_more_than_an_agent(tmp_path: Path) -> None:
    """Give an agent no authority, and a program of the owner that of a tool."""
    kinds = []
    for actor in ("session_actor", "api_actor", "service_account_actor", "new_actor"):
        row = version(2, "modified", None, redacted_at="2026-05-05T08:00:00Z", redacted_by={"type": actor})
        kinds.append(events_of(read(SOURCE, write(tmp_path / "x", row)))[0]["data"]["authority"]["kind"])
    assert kinds == ["agent", "tool", "tool", "unknown"]


def test_a_version_without_content_that_nobody_redacted_erases_nothing(tmp_path: Path) -> None:
    """Tell a short view of the log from a redaction."""
    assert reasons(read(SOURCE, write(tmp_path / "x", version(1, "created", None)))) == [("text_missing", 1)]


def test_who_wrote_is_told_by_the_actor(tmp_path: Path) -> None:
    """Take a person for a user, and a key for nobody known."""
    actors = [{"type": "user_actor", "user_id": "u"}, {"type": "api_actor", "api_key_id": "k"}, None]
    rows = [version(number, "created", "x", created_by=actor) for number, actor in enumerate(actors, start=1)]
    sources = [event["data"]["source"] for event in events_of(read(SOURCE, write(tmp_path / "x", *rows)))]
    assert [(source["kind"], source.get("actor")) for source in sources] == [("user", "u"), ("unknown", "k"), ("unknown", None)]


def test_faults_cost_themselves(tmp_path: Path) -> None:
    """Break on an unknown operation and on a version without a time; skip an empty text."""
    rows = [version(1, "merged", "x"), version(2, "created", "x", created_at=None), version(3, "created", "")]
    assert reasons(read(SOURCE, write(tmp_path / "x", *rows))) == [("operation_unknown", 1), ("time_missing", 1), ("empty", 1)]


def test_arriving_rows_give_the_same_events(tmp_path: Path) -> None:
    """Read one fact alike from a file and from a topic; a row that is removed deletes no memory."""
    row = version(1, "created", "Desk 2")
    now = datetime(2026, 5, 9, tzinfo=UTC)
    change = RowChange(position="t/0/1", identity="1", operation=RowOperation.CREATE, time=now, after=row)
    assert SOURCE.matches_row(change)
    assert events_of(list(SOURCE.iter_row(change, SourceOptions()))) == events_of(read(SOURCE, write(tmp_path / "x", row)))
    gone = RowChange(position="t/0/2", identity="2", operation=RowOperation.DELETE, time=now, before=row)
    assert reasons(list(SOURCE.iter_row(gone, SourceOptions()))) == [("unchanged", 1)]
