"""Documents and records: one object over many lines, lines, arrays, and texts encoded twice."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from guardian.errors import RecordError
from guardian.sources.reading import json_record
from guardian.sources.reading.framing import Row
from guardian.sources.reading.json_record import iter_records, read_document, scan_document, sniff_records


def write(folder: Path, content: bytes) -> Path:
    """Write a file."""
    path = folder / "x"
    path.write_bytes(content)
    return path


def test_a_document_is_read_plain_packed_and_encoded_twice(tmp_path: Path) -> None:
    """Open what some exporters wrap."""
    value = {"a": [1, "ü"]}
    for content in (json.dumps(value), json.dumps(value, indent=1), json.dumps(json.dumps(value)), "\ufeff" + json.dumps(value)):
        assert read_document(write(tmp_path, content.encode())) == value
        assert read_document(write(tmp_path, gzip.compress(content.encode()))) == value


def test_a_document_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    """Hold a bounded part of a file only."""
    monkeypatch.setattr(json_record, "MAX_DOCUMENT_BYTES", 10)
    with pytest.raises(RecordError, match="more than 10 bytes"):
        read_document(write(tmp_path, b'{"a": "0123456789"}'))
    assert not scan_document(tmp_path / "x", b"a")


@pytest.mark.parametrize("content", [b"", b"{", b'"no json"', b"\xff", b"\x1f\x8bcut"])
def test_what_is_no_document_is_a_record_error(tmp_path: Path, content: bytes) -> None:
    """Never let the parser's own error out."""
    with pytest.raises(RecordError):
        read_document(write(tmp_path, content))


def test_records_are_lines_elements_or_one_object(tmp_path: Path) -> None:
    """Cut by what the file is."""
    one = {"a": 1}
    for content, count in (
        (json.dumps(one), 1),
        (json.dumps(one, indent=1), 1),
        (json.dumps([one, one], indent=1), 2),
        (f"{json.dumps(one)}\n{json.dumps(one)}", 2),
    ):
        rows = list(iter_records(write(tmp_path, content.encode())))
        assert [json.loads(row.raw) for row in rows if isinstance(row, Row)] == [one] * count
        assert sniff_records(tmp_path / "x") == [one] * count


def test_a_broken_first_line_is_no_document(tmp_path: Path) -> None:
    """Keep the lines apart."""
    rows = list(iter_records(write(tmp_path, b'{"cut\n{"a": 1}')))
    assert [row.raw for row in rows] == [b'{"cut', b'{"a": 1}']
