"""Laws of what can be read of a refused record: whose text it holds, and since when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from guardian.contracts.letter import DeadLetter, build_dead_letter, is_erased, read_letter_names
from guardian.contracts.names import Names, read_names
from guardian.errors import RecordError
from tests.builders import envelope

T = "2026-03-01T00:0{}:00Z"
ARRIVED = datetime(2026, 3, 1, 0, 5, tzinfo=UTC)
KEY = ("s", "a")


def at(minute: int) -> datetime:
    """Give an instant."""
    return datetime(2026, 3, 1, 0, minute, tzinfo=UTC)


def letter(wire: dict[str, Any], *, reason: str = "wrong_type", timestamp: datetime = ARRIVED) -> DeadLetter:
    """Build the letter of a refused event."""
    error = RecordError(reason, "bad")
    return build_dead_letter(error, orjson.dumps(wire), topic="in", partition=0, offset=0, timestamp=timestamp)


def bad(data: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Build a write whose vector is bad."""
    return envelope("memory.written", {"memory_id": "a", "text": "x", "vector": ["bad"], **data}, **fields)


def test_the_memory_is_the_one_whose_text_it_holds() -> None:
    """Its own, or that of the text inside a correction, with that text's own time."""
    inside = {"replacement": {"memory_id": "b", "text": "y", "observed_at": T.format(3)}, "targets": ["a"]}
    assert read_names(orjson.dumps(bad({}, t=1))) == Names("s", "a", at(1))
    assert read_names(orjson.dumps(bad({"observed_at": "2026-03-01T00:02:00"}, t=4))) == Names("s", "a", at(2))
    assert read_names(orjson.dumps(envelope("memory.corrected", inside, t=4))) == Names("s", "b", at(3))
    assert read_names(orjson.dumps(envelope("memory.corrected", {"targets": ["a"], "reason": 5}, t=4))) == Names("s", "a", at(4))
    assert read_names(orjson.dumps(envelope("memory.corrected", {"targets": ["a", "b"]}))).memory is None
    assert read_names(b"{}", [("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_space", b"s")]).space == "s"


@pytest.mark.parametrize(
    "value", [None, b"", b"\xff{", b"[]", b'{"data": [1], "space": 5, "time": 7}', b'{"data": {"memory_id": 5}}']
)
def test_what_cannot_be_read_is_none(value: bytes | None) -> None:
    """Nothing is guessed."""
    assert read_names(value).memory is None


@pytest.mark.parametrize(
    ("wire", "reason", "timestamp", "expected"),
    [
        (bad({}, t=1), "wrong_type", ARRIVED, at(1)),
        (bad({}, t="2031-01-01T00:00:00Z"), "time_in_future", ARRIVED, ARRIVED),  # whatever its clock says, it came before
        (bad({}, t="soon"), "time_bad", ARRIVED, None),
        (bad({}, t=7), "wrong_type", datetime.fromtimestamp(0, UTC), at(7)),  # of a file
        (bad({}, t="2031-01-01T00:00:00Z"), "time_in_future", datetime.fromtimestamp(0, UTC), None),
    ],
)
def test_a_letter_is_as_old_as_its_claim_and_its_arrival_allow(
    wire: dict[str, Any], reason: str, timestamp: datetime, expected: datetime | None
) -> None:
    """The earlier of both; unknown where neither can be trusted."""
    assert read_letter_names(letter(wire, reason=reason, timestamp=timestamp)).observed_at == expected


def test_an_erasure_covers_what_is_not_surely_later() -> None:
    """Up to its time and what has none; never another memory, and never what names none."""
    names = [Names(*KEY, at(4)), Names(*KEY, at(5)), Names(*KEY, None), Names(*KEY, at(6)), Names("s", "b", at(1)), Names()]
    assert [is_erased(each, {KEY: at(5)}) for each in names] == [True, True, True, False, False, False]


def test_a_cut_letter_still_has_its_names() -> None:
    """Its value is no JSON any more, its fields say them."""
    whole = letter(bad({}))
    cut = whole.model_copy(update={"raw": (whole.raw or "")[:8]})
    assert read_letter_names(cut) == Names("s", "a", None)
