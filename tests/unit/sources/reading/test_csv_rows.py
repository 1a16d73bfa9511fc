"""CSV as databases write it: quoted line ends, long fields, and rows that cost themselves."""

from pathlib import Path

from guardian.sources.port import Broken
from guardian.sources.reading.csv_rows import iter_csv_rows, sniff_header


def test_rows_are_read_by_their_header(tmp_path: Path) -> None:
    """Join a value over several lines; break on other widths and on bytes that are no UTF-8."""
    path = tmp_path / "x"
    long = b"0" * 200_000
    path.write_bytes(b'\xef\xbb\xbfid,text\r\n1,"a\nb, ""c"""\r\n2\r\n3,\xff\r\n\r\n4,' + long)
    rows = dict(iter_csv_rows(path))
    assert rows[1] == {"id": "1", "text": 'a\nb, "c"'}
    assert isinstance(rows[2], Broken)
    assert isinstance(rows[3], Broken)
    assert (rows[2].reason, rows[3].reason) == ("shape_unknown", "not_utf8")
    assert rows[4] == {"id": "4", "text": long.decode()}
    assert sniff_header(path) == {"id", "text"}


def test_what_is_no_table_has_no_header(tmp_path: Path) -> None:
    """Answer a folder, bytes, JSON and one column alike."""
    path = tmp_path / "x"
    for content in (b"", b"\xff,\xfe", b"one", b"," * 1_000):
        path.write_bytes(content)
        assert sniff_header(path) == frozenset()
    assert sniff_header(tmp_path) == frozenset()
