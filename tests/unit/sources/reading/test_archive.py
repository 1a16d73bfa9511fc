"""Archives: members as streams, and archives that are none."""

import zipfile
from pathlib import Path

import pytest

from guardian.errors import RecordError
from guardian.sources.reading.archive import is_zip, opened_members
from guardian.sources.reading.framing import Fault, Row, iter_rows


def pack(path: Path, content: bytes) -> Path:
    """Write an archive with one file, packed."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/rows.json", content)
        archive.writestr("other.txt", b"x")
    return path


def test_members_are_read_as_rows(tmp_path: Path) -> None:
    """Stream the rows of a wanted member."""
    path = pack(tmp_path / "x", b'[{"a": 1}, {"a": 2}]')
    assert is_zip(path)
    with opened_members(path, lambda name: name.endswith(".json")) as members:
        assert [member.name for member in members] == ["in/rows.json"]
        assert list(iter_rows(members[0])) == [Row(1, b'{"a": 1}'), Row(2, b'{"a": 2}')]


def test_a_damaged_member_ends_with_a_fault(tmp_path: Path) -> None:
    """Report the damage as that of a file."""
    path = pack(tmp_path / "x", b"\n".join(b'{"a": %d}' % number for number in range(50_000)))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 200] = bytes(200)
    path.write_bytes(raw)
    with opened_members(path, lambda name: name.endswith(".json")) as members:
        last = list(iter_rows(members[0]))[-1]
    assert isinstance(last, Fault)
    assert last.reason == "file_damaged"


def test_what_is_no_archive_is_a_record_error(tmp_path: Path) -> None:
    """Never let the library's own error out."""
    path = tmp_path / "x"
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(RecordError, match="no archive"), opened_members(path, lambda _: True):
        pass
    assert not is_zip(tmp_path)
