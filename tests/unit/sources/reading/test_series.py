"""Series: what rows state becomes events, the same for every format."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from guardian.core.model import SourceKind
from guardian.errors import RecordError
from guardian.sources.port import Broken, Item, Order, RowChange, RowOperation, Skipped, SourceEvent, SourceOptions
from guardian.sources.reading.series import Dialect, Entry, Memory, Retrieval, Verdict, break_row, iter_change, iter_series
from guardian.sources.reading.stamp import Stamp, read_time

STATE = Dialect(event_source="x:states", label="x.states", space="x", absence_deletes=True)
LOG = Dialect(event_source="x:log", label="x.log", space="x")
DAYS = ("v1_20260101T000000Z", "v2_20260102T000000Z", "v3_20260103T000000Z")
NOON = read_time("2026-01-01T12:00:00")


def entry(*statements: Memory | Verdict | Retrieval | Skipped, rows: int = 1) -> Entry:
    """Give a row."""
    return Entry(position="row", statements=list(statements), rows=rows)


def memory(memory_id: str = "m", text: str = "Tea", **parts: Any) -> Memory:
    """Give a memory."""
    return Memory(memory_id=memory_id, text=text, **parts)


def run(dialect: Dialect, *versions: list[Entry | Skipped | Broken], **options: Any) -> list[Item]:
    """Give the items of versions of a file, one a day."""
    files = dict(zip(DAYS, versions, strict=False))

    def read(path: Path) -> Iterator[Entry | Skipped | Broken]:
        return iter(files[path.name])

    return list(iter_series(dialect, [Path(name) for name in files], SourceOptions(**options), read))


def events_of(items: list[Item]) -> list[dict[str, Any]]:
    """Give the events."""
    return [dict(item.event) for item in items if isinstance(item, SourceEvent) and item.event is not None]


def shape(items: list[Item]) -> list[tuple[str, str, str]]:
    """Give type, memory and time of each event."""
    return [(event["type"][7:], event["data"].get("memory_id", ""), event["time"][:19]) for event in events_of(items)]


def test_a_memory_becomes_its_golden_event() -> None:
    """Give every field of the wire, and say where the time came from."""
    stated = memory(stamp=NOON, time_from="at", kind=SourceKind.USER, actor="ann", fields={"kind": "fact"}, metadata={"a": 1})
    assert events_of(run(STATE, [entry(stated)], scope={"user_id": "u"})) == [
        {
            "specversion": "1.0",
            "id": "b276c9d34b2e6775667ae1de6273fde3",
            "source": "x:states",
            "type": "memory.written",
            "time": "2026-01-01T12:00:00Z",
            "space": "x",
            "data": {
                "memory_id": "m",
                "text": "Tea",
                "source": {"kind": "user", "ref": "x:states:m", "actor": "ann"},
                "scope": {"user_id": "u"},
                "kind": "fact",
                "metadata": {
                    "a": 1,
                    "format": "x.states",
                    "time_from": "at",
                    "time_raw": "2026-01-01T12:00:00",
                    "tz_assumed": True,
                },
            },
        }
    ]


def test_versions_of_a_state_become_writes_and_deletions() -> None:
    """Write what is new or other, delete what is absent, and count every row."""
    items = run(STATE, [entry(memory()), entry(memory("n"))], [entry(memory(text="Mate"))], [entry(memory(text="Mate"))])
    assert shape(items) == [
        ("written", "m", "2026-01-01T00:00:00"),
        ("written", "n", "2026-01-01T00:00:00"),
        ("written", "m", "2026-01-02T00:00:00"),
        ("deleted", "n", "2026-01-02T00:00:00"),
    ]
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["unchanged"]
    assert sum(item.rows for item in items) == 4


def test_a_version_with_a_broken_row_deletes_nothing() -> None:
    """Say what is absent, and leave it to the next whole version."""
    broken = break_row(RecordError("not_json", "cut"), "row", b"{")
    items = run(STATE, [entry(memory())], [broken], [])
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["absence_in_damaged_version"]
    assert shape(items)[1:] == [("deleted", "m", "2026-01-03T00:00:00")]


def test_a_log_that_lacks_a_row_deletes_nothing() -> None:
    """Take several files as parts."""
    assert [name for name, *_ in shape(run(LOG, [entry(memory())], []))] == ["written"]


def test_an_ended_memory_is_written_and_deleted() -> None:
    """Keep for the audit what the row says is gone, at the time that it says."""
    items = run(STATE, [entry(memory("m", stamp=NOON, ended=True)), entry(memory("n", ended=read_time("2026-01-05T00:00:00")))])
    assert shape(items) == [
        ("written", "m", "2026-01-01T12:00:00"),
        ("deleted", "m", "2026-01-01T12:00:00"),
        ("written", "n", "2026-01-01T00:00:00"),
        ("deleted", "n", "2026-01-05T00:00:00"),
    ]


def test_a_verdict_counts_once_and_never_precedes_its_write() -> None:
    """Give each memory, channel and value once; another value is another verdict."""
    early = Verdict(memory_id="m", channel="tests", value=1.0, stamp=Stamp("", datetime(2020, 1, 1, tzinfo=UTC)))
    other = Verdict(memory_id="m", channel="tests", value=0.0)
    items = run(LOG, [entry(memory(stamp=NOON), early), entry(memory(stamp=NOON), early), entry(other)])
    audits = [event for event in events_of(items) if event["type"] == "memory.audited"]
    assert [(event["data"]["value"], event["time"]) for event in audits] == [
        (1.0, "2026-01-01T12:00:00Z"),
        (0.0, "2026-01-01T12:00:00Z"),
    ]
    assert sum(item.rows for item in items) == 3


def test_a_reading_counts_once_an_occasion() -> None:
    """Tell retrievals by query, memories and occasion."""
    first = Retrieval(retrieved=("m", "n"), fields={"query": "q"})
    items = run(LOG, [entry(first), entry(first), entry(Retrieval(retrieved=("m", "n"), occasion="2", fields={"query": "q"}))])
    assert [event["data"] for event in events_of(items)] == [{"retrieved": ["m", "n"], "query": "q"}] * 2


def test_notes_never_cost_a_row_twice() -> None:
    """Let the first event answer for the rows, else the first note."""
    note = Skipped(position="row", reason="grade_unknown", detail="none")
    assert [item.rows for item in run(LOG, [entry(memory(), note, rows=3), entry(note, note)])] == [3, 0, 1, 0]


def test_the_callers_space_counts_before_the_rows_before_the_formats() -> None:
    """Put everything of a memory into one space, its deletion too."""
    versions: list[list[Entry | Skipped | Broken]] = [[entry(memory(space="own"))], []]
    assert {event["space"] for event in events_of(run(STATE, *versions))} == {"own"}
    assert {event["space"] for event in events_of(run(STATE, *versions, space="given"))} == {"given"}


def test_files_that_say_their_place_are_ordered_by_it() -> None:
    """Put content before times, and the caller's order before both."""
    texts = {"a_20260103T000000Z": "first", "b_20260101T000000Z": "second"}

    def read(path: Path) -> Iterator[Entry | Skipped | Broken]:
        return iter([entry(memory(text=texts[path.name]))])

    def place(path: Path) -> tuple[int, ...]:
        return (list(texts).index(path.name),)

    paths = [Path(name) for name in reversed(texts)]
    by_place = events_of(list(iter_series(STATE, paths, SourceOptions(), read, sequence=place)))
    assert [event["data"]["text"] for event in by_place] == ["first", "second"]
    assert [event["time"] for event in by_place] == ["2026-01-03T00:00:00Z", "2026-01-03T00:00:00.000001Z"]
    given = events_of(list(iter_series(STATE, paths, SourceOptions(order=Order.GIVEN), read, sequence=place)))
    assert [event["data"]["text"] for event in given] == ["second", "first"]


def change(operation: RowOperation, **parts: Any) -> RowChange:
    """Give a row that arrived by itself."""
    time = datetime(2026, 1, 2, tzinfo=UTC)
    return RowChange(position="t/0/1", identity="1", operation=operation, time=time, **parts)


def read_row(row: dict[str, Any], position: str) -> Entry:
    """Read a row of a made-up format."""
    if "text" not in row:
        raise RecordError("text_missing", "no text")
    stamp = read_time(row["at"]) if "at" in row else None
    quoted = memory("quoted", "words", stamp=stamp)
    return Entry(position=position, statements=[quoted, memory(text=row["text"], stamp=stamp, time_from="at")])


def test_a_row_that_arrives_has_the_ids_that_a_file_gives() -> None:
    """Change nothing when the same fact comes by another route."""
    row = {"text": "Tea", "at": "2026-01-01T12:00:00"}
    live = list(iter_change(STATE, change(RowOperation.CREATE, after=row), SourceOptions(), read_row))
    assert events_of(live) == events_of(run(STATE, [read_row(row, "row")]))
    assert sum(item.rows for item in live) == 1


def test_a_row_without_a_time_has_the_changes() -> None:
    """Say that the time is that of the change."""
    (_, event) = events_of(list(iter_change(STATE, change(RowOperation.STATE, after={"text": "Tea"}), SourceOptions(), read_row)))
    assert event["time"] == "2026-01-02T00:00:00Z"
    assert event["data"]["metadata"]["time_from"] == "change"


def test_a_deleted_row_deletes_its_own_memory_alone() -> None:
    """Leave what the row only quotes; take the row from before."""
    items = list(iter_change(STATE, change(RowOperation.DELETE, before={"text": "Tea"}), SourceOptions(), read_row))
    assert shape(items) == [("deleted", "m", "2026-01-02T00:00:00")]


@pytest.mark.parametrize("row", [{}, {"odd": {1}}])
def test_a_row_that_cannot_be_read_is_a_dead_letter(row: dict[str, Any]) -> None:
    """Render what came as a mapping, also what JSON has no form for."""
    (item,) = iter_change(STATE, change(RowOperation.STATE, after=row), SourceOptions(), read_row)
    assert isinstance(item, Broken)
    assert (item.reason, item.position) == ("text_missing", "t/0/1")
