"""Files that are one object: read whole, below a bound, and told by their beginning."""

import gzip
from pathlib import Path

import pytest

from guardian.errors import RecordError
from guardian.sources.reading import object_file
from guardian.sources.reading.object_file import head_of, load_document, sniff_document


def test_an_object_is_read_plain_or_packed_with_or_without_a_mark(tmp_path: Path) -> None:
    """Read what programs write: several lines, a byte order mark, gzip."""
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(b'\xef\xbb\xbf{\n "a": 1\n}\n')
    packed.write_bytes(gzip.compress(b'{"a": 1}', mtime=0))
    assert load_document(plain) == load_document(packed) == {"a": 1}
    assert sniff_document(plain, b'"a"') == sniff_document(packed) == {"a": 1}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"{", "not_json"), (b"[]", "shape_unknown"), (gzip.compress(b'{"a": 1}', mtime=0)[:-6], "file_damaged")],
)
def test_what_is_no_object_is_an_error_with_its_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    """Refuse what cannot be parsed, is another value, or is damaged; telling the format gives nothing then."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(RecordError) as caught:
        load_document(path)
    assert caught.value.reason == reason
    assert sniff_document(path) == {}


def test_a_file_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the bound itself and nothing more."""
    path = tmp_path / "file"
    path.write_bytes(b'{"a": 12}')
    monkeypatch.setattr(object_file, "MAX_DOCUMENT_BYTES", 9)
    assert load_document(path) == {"a": 12}
    path.write_bytes(b'{"a": 123}')
    with pytest.raises(RecordError, match="more than 9 bytes") as caught:
        load_document(path)
    assert caught.value.reason == "document_too_large"


def test_a_file_without_the_marks_is_not_parsed(tmp_path: Path) -> None:
    """Give nothing for an object of another format, and for no file."""
    path = tmp_path / "file"
    path.write_bytes(b'{"a": 1}')
    assert sniff_document(path, b'"nodes"') == {}
    assert sniff_document(tmp_path / "none") == {}
    assert head_of(path) == b'{"a": 1}'
    assert head_of(tmp_path / "none") == b""
