"""Native events: framing only, bytes unchanged, the space filled only where it is absent."""

import json
from pathlib import Path

import pytest

from guardian.errors import InvariantError
from guardian.sources.formats.native import NativeSource
from guardian.sources.port import Broken, SourceEvent, SourceOptions

EVENT = {"specversion": "1.0", "id": "e1", "source": "/a", "type": "memory.written", "time": "2026-01-01T00:00:00Z"}


def read(path: Path, content: bytes, **options: str) -> list[object]:
    """Write the content and give the items read from it."""
    path.write_bytes(content)
    return list(NativeSource().iter_items([path], SourceOptions(**options)))  # type: ignore[arg-type]


def test_a_row_goes_on_as_the_bytes_it_is(tmp_path: Path) -> None:
    """Parse nothing twice and change nothing."""
    raw = b'{"specversion":"1.0",  "big": 123456789012345678901234567890, "type":"memory.written"}'
    assert read(tmp_path / "e.jsonl", raw + b"\n") == [SourceEvent(position="e.jsonl line 1", raw=raw)]


def test_a_bad_row_is_broken_with_its_bytes_and_costs_itself(tmp_path: Path) -> None:
    """Name the line of what is no JSON object."""
    good = json.dumps(EVENT).encode()
    items = read(tmp_path / "e.jsonl", good + b'\n{"id": "cut\n\nnull\n' + good)
    assert [type(item) for item in items] == [SourceEvent, Broken, Broken, SourceEvent]
    assert (items[1].position, items[1].reason, items[1].raw) == ("e.jsonl line 2", "not_json", b'{"id": "cut')
    assert items[3].position == "e.jsonl line 5"


def test_an_array_is_read_like_lines(tmp_path: Path) -> None:
    """Give one item an element."""
    items = read(tmp_path / "e.json", json.dumps([EVENT, EVENT]).encode())
    assert [json.loads(item.raw) for item in items] == [EVENT, EVENT]


def test_the_space_option_fills_only_an_absent_space(tmp_path: Path) -> None:
    """Leave a stated space alone, and every other byte too."""
    stated = b'{"space":"own","n":123456789012345678901234567890}'
    absent = b'{"n":123456789012345678901234567890,"data":{"space":"inner"}}'
    broken = b"{nope}"
    items = read(tmp_path / "e", b"\n".join([stated, absent, b"{}", broken]), space='a "b"')
    assert [item.raw for item in items] == [
        stated,
        b'{"space":"a \\"b\\"",' + absent[1:],
        b'{"space":"a \\"b\\""}',
        broken,
    ]


def test_detection_wants_an_envelope(tmp_path: Path) -> None:
    """Tell events by their envelope, not by being JSON."""
    path = tmp_path / "anything.txt"
    path.write_text('{"timestamp": 1, "content": "x"}\n')
    assert not NativeSource().detect(path)
    path.write_text("not json\n" + json.dumps(EVENT))
    assert NativeSource().detect(path)


def test_an_event_is_a_mapping_or_bytes_and_not_both() -> None:
    """Hold the invariant of the port."""
    with pytest.raises(InvariantError):
        SourceEvent(position="x")
    with pytest.raises(InvariantError):
        SourceEvent(position="x", event={}, raw=b"{}")
