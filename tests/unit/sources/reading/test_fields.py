"""Fields of foreign rows: what is kept, what is left out and named, and times and texts of any form."""

from typing import Any

import orjson
import pytest

from guardian.errors import RecordError
from guardian.sources.reading.fields import MAX_KEPT_BYTES, find_text, find_time, keep_rest, parse_object, read_any_time, render
from guardian.sources.reading.framing import Fault, Row


def test_unread_fields_are_kept_as_they_stand() -> None:
    """Leave out what is read and what is empty, and nothing else."""
    row = {"id": "m", "tags": ["a"], "depth": {"b": [1, None]}, "none": None, "blank": "", "zero": 0}
    assert keep_rest(row, ["id"]) == {"fields": {"tags": ["a"], "depth": {"b": [1, None]}, "zero": 0}}
    assert keep_rest({"id": "m"}, ["id"]) == {}


def test_embeddings_and_what_does_not_fit_are_named_and_left_out() -> None:
    """Bound what an event carries; a short list of numbers is no embedding."""
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    row = {"embedding": [0.5] * 16, "sizes": [1, 2], "text": "x" * MAX_KEPT_BYTES, "deep": deep}
    assert keep_rest(row) == {"fields": {"sizes": [1, 2]}, "fields_dropped": ["embedding", "text", "deep"]}


def test_what_is_kept_stays_within_its_bound() -> None:
    """Hold the bound over many fields together."""
    kept = keep_rest({f"field {number}": "x" * 1000 for number in range(40)})
    assert len(orjson.dumps(kept["fields"])) <= MAX_KEPT_BYTES
    assert len(kept["fields_dropped"]) == 20


@pytest.mark.parametrize("value", [None, 0, -1, True, "", "yesterday", [], 1e300, "2026-13-01"])
def test_what_is_no_time_gives_none(value: Any) -> None:
    """Take no truth value, zero or word for a time."""
    assert read_any_time(value) is None


def test_the_first_readable_time_counts() -> None:
    """Fall back from a time that cannot be read, and say which it was."""
    stamp, key = find_time({"a": "soon", "b": "2026-05-01", "c": 1}, "a", "b", "c")
    assert (stamp.raw if stamp else None, key) == ("2026-05-01", "b")
    assert find_time({}, "a") == (None, None)


def test_a_text_is_a_string_or_a_whole_number() -> None:
    """Read ids that some write as numbers; take no truth value."""
    assert find_text({"a": "", "b": True, "c": 7, "d": "x"}, "a", "b", "c", "d") == "7"
    assert find_text({"a": 1.5, "b": {}}, "a", "b") is None


@pytest.mark.parametrize("row", [Row(1, b"{"), Row(1, b"[1]"), Row(1, b'"x"'), Fault(1, "row_too_long", "too long", b"")])
def test_what_is_no_object_is_refused(row: Row | Fault) -> None:
    """Hand on a fault with its own reason."""
    with pytest.raises(RecordError) as error:
        parse_object(row)
    assert error.value.reason in {"not_json", "shape_unknown", "row_too_long"}


def test_any_row_can_be_shown() -> None:
    """Render bytes, what JSON has not, and what is too deep."""
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    assert render({"a": b"\xff", "b": {1}}) == b'{"a":"\\\\xff","b":"{1}"}'
    assert render(deep).startswith(b"[[[")
