"""Framing: rows are cut by structure, a fault costs its row, and nothing depends on names."""

import gzip
import hashlib
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from guardian.sources.reading import framing
from guardian.sources.reading.framing import Fault, Row, iter_rows, sniff_objects

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def write(path: Path, content: bytes) -> Path:
    """Write and give the path."""
    path.write_bytes(content)
    return path


def test_lines_keep_their_numbers_across_blank_lines_and_any_line_end(tmp_path: Path) -> None:
    """Number rows as an editor would, and strip line ends, blanks and a byte order mark."""
    path = write(tmp_path / "a", b'\xef\xbb\xbf{"a":1}\r\n\n  \n{"b":2}')
    assert list(iter_rows(path)) == [Row(1, b'{"a":1}'), Row(4, b'{"b":2}')]


def test_gzip_is_told_by_its_bytes(tmp_path: Path) -> None:
    """Read a compressed file whatever it is called."""
    path = write(tmp_path / "plain.jsonl", gzip.compress(b'{"a":1}\n{"b":2}\n'))
    assert [row.raw for row in iter_rows(path)] == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize("damage", [lambda packed: packed[:-12], lambda packed: packed[:20] + b"\0" * 40])
def test_a_damaged_gzip_ends_in_one_fault(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    """Give what could be read, then say that the file is damaged."""
    lines = b"".join(json.dumps({"n": n, "x": str(n) * 20}).encode() + b"\n" for n in range(2000))
    rows = list(iter_rows(write(tmp_path / "a", damage(gzip.compress(lines)))))
    assert isinstance(rows[-1], Fault)
    assert rows[-1].reason == "file_damaged"
    assert all(isinstance(row, Row) for row in rows[:-1])


def test_an_overlong_line_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the long row by its head and go on with the next."""
    monkeypatch.setattr(framing, "MAX_ROW_BYTES", 20)
    rows = list(iter_rows(write(tmp_path / "a", b'{"a":1}\n{"b":"' + b"x" * 200_000 + b'"}\n{"c":3}\n')))
    assert [type(row) for row in rows] == [Row, Fault, Row]
    assert rows[1].reason == "row_too_long"  # type: ignore[union-attr] # the test knows that it is there
    assert rows[2] == Row(3, b'{"c":3}')


def test_an_overlong_element_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the same bound for arrays."""
    monkeypatch.setattr(framing, "MAX_ROW_BYTES", 20)
    rows = list(iter_rows(write(tmp_path / "a", b'[{"a":1},{"b":"' + b"x" * 200_000 + b'"},{"c":3}]')))
    assert [type(row) for row in rows] == [Row, Fault, Row]


@given(st.lists(JSON_VALUES, max_size=6), st.sampled_from([None, 2]), st.integers(1, 9))
def test_an_array_gives_back_its_elements(tmp_path_factory, values, indent, chunk_bytes) -> None:  # type: ignore[no-untyped-def]
    """Cut any array into its elements, wherever the chunks of reading end."""
    path = write(tmp_path_factory.mktemp("f") / "a", b" " + json.dumps(values, indent=indent).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "_CHUNK_BYTES", chunk_bytes)
        # The first look for `[` must see past the blank.
        patch.setattr(framing, "_is_array", lambda stream: True)
        rows = list(iter_rows(path))
    assert [json.loads(row.raw) for row in rows] == values


def test_a_bad_element_of_an_array_costs_itself(tmp_path: Path) -> None:
    """Frame by brackets only: what stands inside is judged elsewhere."""
    rows = list(iter_rows(write(tmp_path / "a", b'[{"a":nope}, {"b":"]}\\""}]')))
    assert rows == [Row(1, b'{"a":nope}'), Row(2, b'{"b":"]}\\""}')]


def test_an_array_that_is_cut_off_ends_in_one_fault(tmp_path: Path) -> None:
    """Give the whole elements, then the rest as it stands."""
    rows = list(iter_rows(write(tmp_path / "a", b'[{"a":1},{"b":')))
    assert rows[0] == Row(1, b'{"a":1}')
    assert isinstance(rows[1], Fault)
    assert (rows[1].reason, rows[1].raw) == ("array_cut", b'{"b":')


def test_what_follows_an_array_is_a_fault_not_silence(tmp_path: Path) -> None:
    """Report what stands behind the closing bracket."""
    rows = list(iter_rows(write(tmp_path / "a", b'[{"a":1}]\n{"b":2}\n')))
    assert rows[0] == Row(1, b'{"a":1}')
    assert isinstance(rows[1], Fault)
    assert (rows[1].reason, rows[1].raw.strip()) == ("array_followed", b'{"b":2}')


def test_a_first_line_that_only_looks_like_an_array_is_a_line(tmp_path: Path) -> None:
    """Cost only itself."""
    assert list(iter_rows(write(tmp_path / "a", b'[1]x\n{"b":2}'))) == [Row(1, b"[1]x"), Row(2, b'{"b":2}')]
    assert list(iter_rows(write(tmp_path / "a", b" [ ]\n"))) == []


def test_the_memory_held_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Read 12 MB of rows in less than 1 MB, as lines and as an array."""
    row = json.dumps({"text": "x" * 1000}).encode()
    lines = write(tmp_path / "lines", (row + b"\n") * 12_000)
    array = write(tmp_path / "array", b"[" + b",".join([row] * 12_000) + b"]")
    for path in (lines, array):
        tracemalloc.start()
        assert sum(1 for _ in iter_rows(path)) == 12_000
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1_000_000


def test_sniffing_reads_past_broken_first_rows_and_never_raises(tmp_path: Path) -> None:
    """Give the objects among the first rows; nothing for a folder or a missing file."""
    path = write(tmp_path / "a", b'{"cut": \n[1]\n7\n{"a":1}\n')
    assert list(sniff_objects(path)) == [{"a": 1}]
    assert list(sniff_objects(tmp_path)) == []
    assert list(sniff_objects(tmp_path / "missing")) == []


@pytest.mark.parametrize(
    "pack", [gzip.compress, zstandard.compress, lambda raw: zstandard.compress(raw[:9]) + zstandard.compress(raw[9:])]
)
def test_a_compressed_file_is_read_like_a_plain_one(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Gzip and zstd, in one frame or several, told by the first bytes."""
    raw = b"\n".join(b'{"n":%d}' % number for number in range(3_000))
    path = tmp_path / "packed"
    path.write_bytes(pack(raw))
    rows = list(iter_rows(path))
    assert all(isinstance(row, Row) for row in rows)
    assert [row.raw for row in rows] == raw.split(b"\n")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("spoil", [lambda raw: raw[:-5], lambda raw: raw[:40] + b"\xff" * 40 + raw[80:]])
def test_a_damaged_compressed_file_is_told(
    tmp_path: Path, pack: Callable[[bytes], bytes], spoil: Callable[[bytes], bytes]
) -> None:
    """What stood before the fault is kept; the fault is one item at the end."""
    raw = b"\n".join(
        b'{"n":%d,"x":"%s"}' % (number, hashlib.sha256(b"%d" % number).hexdigest().encode()) for number in range(3_000)
    )
    path = tmp_path / "packed"
    path.write_bytes(spoil(pack(raw)))
    last = list(iter_rows(path))[-1]
    assert isinstance(last, Fault)
    assert last.reason == "file_damaged"
