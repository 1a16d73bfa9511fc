"""Laws of what may be written."""

from __future__ import annotations

import math
import uuid
from typing import Any

import pytest

from guardian.core.point import Patch, Phase, PointKind, Upsert
from guardian.errors import InvariantError
from guardian.store.check import (
    build_payload,
    validate_id,
    validate_patch,
    validate_phase,
    validate_sparse,
    validate_upsert,
    validate_vector,
)

ID = "6b0f3c1e-6f3e-5c0b-9a53-6d1f0c2a7e11"


def build_upsert(**fields: Any) -> Upsert:
    """Build a record with these fields."""
    return Upsert(id=ID, payload={"point": PointKind.RECORD, "space": "s", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "", "card": "{}", "subject": "靠窗\n座位", "facts": "x" * 100_000},
        {"utility": 0.5}, {"utility": 1}, {"depth": 0}, {"depth": 2**63 - 1},
        {"roots": []}, {"roots": ("a", "b")}, {"parents": ["../x"]}, {"slots": "facts"},
        {"valid_from": "2026-03-14T09:00:00Z"}, {"valid_until": "2026-03-14T09:00:00.123456+02:00"},
    ],
)  # fmt: skip
def test_flat_json_is_accepted(fields: dict[str, Any]) -> None:
    """Text, finite numbers and lists of text."""
    validate_upsert(build_upsert(**fields), vector_size=4)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", None), ("text", b"x"), ("text", "\udcff"), ("verified", True), ("current", False),
        ("utility", math.nan), ("utility", math.inf), ("utility", "0.5"), ("utility", [0.5]), ("depth", 2**63),
        ("card", {"a": 1}), ("roots", ["a", None]), ("roots", [1]), ("roots", {"a"}), ("roots", ["\ud800"]),
        ("memory_id", 7), ("memory_id", 7.0), ("valid_from", "soon"), ("valid_from", "2026-03-14T09:00:00"),
        ("valid_from", ["2026-03-14T09:00:00Z"]), ("valid_from", 1), ("version", 3), ("a.b", "x"), ("", "x"), ("Text", "x"),
        ("space", ""), ("space", None), ("point", "meta"), ("point", "no such"),
    ],
)  # fmt: skip
def test_what_an_engine_would_garble_is_refused_by_name(field: str, value: Any) -> None:
    """The message names the field and the point."""
    with pytest.raises(InvariantError, match=f"{ID}.*{field}"):
        validate_upsert(build_upsert(**{field: value}), vector_size=4)


def test_a_patch_may_remove_a_field_but_never_move_a_point() -> None:
    """None is allowed there alone; kind and space stay."""
    validate_patch(Patch(id=ID, payload={"subject": None, "status": "superseded"}))
    for payload in (
        {"point": "read"},
        {"space": "other"},
        {"space": None},
        {"utility": math.nan},
        {"a.b": None},
        {"version": None},
    ):
        with pytest.raises(InvariantError):
            validate_patch(Patch(id=ID, payload=payload))


@pytest.mark.parametrize("bad", ["", "abc", ID.upper(), ID.replace("-", ""), f"urn:uuid:{ID}", f"{{{ID}}}", 7, None])
def test_ids_have_one_spelling(bad: Any) -> None:
    """Engines take many spellings of one UUID and give one back, so only that one may be written."""
    with pytest.raises(InvariantError):
        validate_id(bad)


@pytest.mark.parametrize(
    "bad",
    [(), (1.0,), (1.0, 2.0, 3.0), (0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0), (1e300, 1.0), (1e-30, 0.0), ("x", 1.0)],
)
def test_vectors_that_engines_store_as_nothing_are_refused(bad: Any) -> None:
    """Another size, zero, NaN, infinite, or a norm that a 32-bit float cannot square."""
    with pytest.raises(InvariantError):
        validate_vector("v", bad, vector_size=2)


@pytest.mark.parametrize(
    "bad",
    [
        ((1,), ()),
        ((), (1.0,)),
        ((2, 1), (1.0, 1.0)),
        ((1, 1), (1.0, 1.0)),
        ((-1,), (1.0,)),
        ((2**32,), (1.0,)),
        ((1,), (math.nan,)),
    ],
)
def test_sparse_vectors_that_poison_the_engines_log_are_refused(bad: Any) -> None:
    """Lengths, order, range and values."""
    with pytest.raises(InvariantError):
        validate_sparse("v", bad)


def test_good_vectors_pass() -> None:
    """Negative and small numbers, the largest index and an empty sparse vector are fine."""
    validate_vector("v", (-1e-6, 0.0), vector_size=2)
    validate_sparse("v", ((0, 2**32 - 1), (-1.0, 0.0)))
    validate_sparse("v", ((), ()))


def test_a_point_named_twice_in_a_phase_is_refused_however() -> None:
    """Upsert, patch and delete of one phase have no order among themselves."""
    upsert, patch = build_upsert(), Patch(id=ID, payload={})
    for phase in (
        Phase(upserts=(upsert, upsert)),
        Phase(upserts=(upsert,), patches=(patch,)),
        Phase(patches=(patch,), deletes=(ID,)),
        Phase(deletes=(ID, ID)),
    ):
        with pytest.raises(InvariantError, match="twice"):
            validate_phase(phase, vector_size=4)
    validate_phase(Phase(upserts=(upsert,), deletes=(str(uuid.UUID(int=1)),)), vector_size=4)


def test_stored_payloads_hold_lists_of_their_own() -> None:
    """A tuple becomes a list, and a list is copied: nobody changes a store from outside."""
    roots = ["a"]
    stored = build_payload({"roots": roots, "slots": ("facts",), "text": "t"})
    roots.append("b")
    assert stored == {"roots": ["a"], "slots": ["facts"], "text": "t"}
