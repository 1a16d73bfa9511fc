"""Documents: told by their heads, read whole within a bound, and never taken for lines or the other way about."""

import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.sources.reading import document
from guardian.sources.reading.document import Value, iter_values, sniff_value
from guardian.sources.reading.framing import Fault

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=25,
)


def values(path: Path) -> list[Any]:
    """Read a file as a document where it is an object."""
    found = iter_values(path, is_document=lambda head: isinstance(head, dict))
    return [item.value if isinstance(item, Value) else item.reason for item in found]


def is_prefix(head: Any, whole: Any) -> bool:
    """Tell whether one value is the other, cut somewhere at its end."""
    if isinstance(head, list) and isinstance(whole, list):
        return len(head) <= len(whole) and all(map(is_prefix, head, whole))
    if isinstance(head, dict) and isinstance(whole, dict):
        return all(key in whole and is_prefix(value, whole[key]) for key, value in head.items())
    return bool(head == whole)


@given(value=st.dictionaries(st.text(max_size=4), JSON, max_size=4) | st.lists(JSON, max_size=4), size=st.integers(1, 60))
def test_a_head_is_true_of_the_document(tmp_path_factory: pytest.TempPathFactory, value: Any, size: int) -> None:
    """Give of any document, cut anywhere, keys and elements that stand in it, or nothing."""
    path = tmp_path_factory.mktemp("sniff") / "document"
    path.write_bytes(json.dumps(value, ensure_ascii=False).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "_SNIFFED_BYTES", size)
        head = sniff_value(path)
    assert head is None or is_prefix(head, value)


@pytest.mark.parametrize("content", [b"", b"7", b"hello", b"}", b"{]", b'{"a', b"\x1f\x8bno gzip", b"\xff\xfe{"])
def test_what_is_no_document_gives_no_head(tmp_path: Path, content: bytes) -> None:
    """Answer with nothing, never with an error."""
    path = tmp_path / "x"
    path.write_bytes(content)
    assert sniff_value(path) in (None, {})
    assert sniff_value(tmp_path / "missing") is None


def test_a_document_may_span_lines_and_be_compressed(tmp_path: Path) -> None:
    """Read it as one value."""
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"a": [1, 2]}, indent=2).encode())
    assert values(path) == [{"a": [1, 2]}]
    path.write_bytes(b'{"a": [\n{"b": 1}\n]}')
    assert values(path) == [{"a": [{"b": 1}]}]
    path.write_bytes(gzip.compress(orjson.dumps({"a": 1})))
    assert values(path) == [{"a": 1}]


def test_lines_of_documents_are_lines(tmp_path: Path) -> None:
    """Fall back to rows where the first line is whole; one broken line costs itself."""
    path = tmp_path / "x"
    path.write_bytes(b'{"a":1}\n{"b":\n{"c":3}\n')
    assert values(path) == [{"a": 1}, "not_json", {"c": 3}]
    path.write_bytes(b'{"a":\n{"b":2}\n')
    assert values(path) == ["not_json", {"b": 2}]


def test_lines_are_not_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound no file of lines by what a document may have."""
    monkeypatch.setattr(document, "MAX_DOCUMENT_BYTES", 10)
    path = tmp_path / "x"
    path.write_bytes(b'{"a":1}\n' * 50)
    assert values(path) == [{"a": 1}] * 50


def test_a_broken_document_is_one_fault(tmp_path: Path) -> None:
    """Give no dead letter for every line of it."""
    path = tmp_path / "x"
    path.write_bytes(b'{\n  "a": [\n    1,\n    2\n')
    assert values(path) == ["not_json"]
    path.write_bytes(gzip.compress(b'{"a":\n 1, "b": 2}' * 200)[:-20])
    assert values(path) == ["file_damaged"]


def test_a_document_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold no more than the bound."""
    monkeypatch.setattr(document, "MAX_DOCUMENT_BYTES", 10)
    path = tmp_path / "x"
    path.write_bytes(b'{"a":\n "0123456789"}')
    [fault] = iter_values(path, is_document=lambda _: True)
    assert isinstance(fault, Fault)
    assert fault.reason == "document_too_large"
