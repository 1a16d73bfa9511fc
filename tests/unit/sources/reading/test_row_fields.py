"""Fields of rows: what is demanded, what is kept beside them, and what is not."""

import orjson
import pytest

from guardian.errors import RecordError
from guardian.sources.reading.framing import Fault, Row
from guardian.sources.reading.row_fields import MAX_KEPT_BYTES, keep_fields, parse_row, read_texts, require_id, require_text


def nest(levels: int) -> list[object]:
    """Give a list nested so many levels deep."""
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Row(1, b'{"cut'), "not_json"),
        (Row(1, b"[1]"), "shape_unknown"),
        (Fault(1, "row_too_long", "too long", b""), "row_too_long"),
    ],
)
def test_a_row_that_is_no_object_is_an_error_with_its_reason(row: Row | Fault, reason: str) -> None:
    """Refuse what cannot be parsed, is another value, or could not be cut out."""
    with pytest.raises(RecordError) as caught:
        parse_row(row)
    assert caught.value.reason == reason


def test_an_id_is_the_first_that_holds_one() -> None:
    """Take texts and whole numbers, and neither blanks nor flags."""
    assert require_id({"a": " ", "b": True, "c": 7}, "a", "b", "c") == "7"
    with pytest.raises(RecordError) as caught:
        require_id({"a": None, "b": 1.5}, "a", "b")
    assert caught.value.reason == "id_missing"


def test_a_text_must_be_a_text() -> None:
    """Name the field that is none."""
    assert require_text({"a": ""}, "a") == ""
    with pytest.raises(RecordError, match="`a` is no text"):
        require_text({"a": 1}, "a")
    assert read_texts(["x", " ", 1, "y"]) == ["x", "y"]
    assert read_texts("xy") == []


def test_unread_fields_are_kept_and_empty_ones_are_not() -> None:
    """Keep what says something."""
    assert keep_fields({"a": 1, "b": None, "c": "", "d": [], "e": False, "f": "x"}, {"f"}) == {"fields": {"a": 1, "e": False}}
    assert keep_fields({"a": None}) == {}


def test_vectors_are_left_out_by_name() -> None:
    """Tell a vector by its key or by its form, and say that there was one."""
    assert keep_fields({"embedding": [1.0], "other": [0.5] * 32, "few": [1, 2]}) == {
        "fields": {"few": [1, 2]},
        "vectors_left_out": ["embedding", "other"],
    }


def test_what_is_kept_is_bounded_and_can_be_written_again() -> None:
    """Leave out what is too large or nested too deep, by name."""
    kept = keep_fields({"large": "x" * MAX_KEPT_BYTES, "deep": nest(250), "small": "y"})
    assert kept == {"fields": {"small": "y"}, "fields_left_out": ["large", "deep"]}
    many = keep_fields({str(number): "x" * 1000 for number in range(100)})
    assert len(orjson.dumps(many)) < MAX_KEPT_BYTES * 2
