"""Laws of the payload layout: what is asked of an engine, and in how many calls."""

from __future__ import annotations

import dataclasses

import pytest

from guardian.core.needs import Needs
from guardian.core.point import Point, PointKind
from guardian.errors import InvariantError
from guardian.store.layout import (
    INDEXES,
    KEY_SETS,
    NAMES_PER_CLAUSE,
    SERVER_INDEXES,
    IndexType,
    build_lookups,
    build_scan_clause,
    merge_points,
)


def test_every_set_of_needs_but_ids_has_a_meaning() -> None:
    """A new set in `Needs` cannot be forgotten here."""
    assert {key_set.name for key_set in KEY_SETS} == {field.name for field in dataclasses.fields(Needs)} - {"ids"}


def test_every_field_that_is_looked_up_has_a_keyword_index() -> None:
    """No lookup scans payloads."""
    for key_set in KEY_SETS:
        assert INDEXES[key_set.field] is IndexType.KEYWORD
    assert INDEXES["point"] is INDEXES["space"] is IndexType.KEYWORD


def test_the_embedded_store_has_no_index_on_what_writes_are_conditioned_on() -> None:
    """The version is indexed on a server alone."""
    assert set(SERVER_INDEXES) - set(INDEXES) == {"version"}


def test_empty_needs_cost_no_call() -> None:
    """Nor do ids, which are read by id."""
    assert build_lookups(Needs(), clauses_per_lookup=16) == []
    assert build_lookups(Needs(ids={"x"}), clauses_per_lookup=16) == []


def test_a_batch_in_one_space_costs_one_call_for_whole_and_one_for_lineage_reads() -> None:
    """All sets of one kind of read share a call."""
    names = {("s", f"m{number}") for number in range(500)}
    lookups = build_lookups(Needs(**{key_set.name: names for key_set in KEY_SETS}), clauses_per_lookup=16)
    whole = sum(key_set.whole for key_set in KEY_SETS)
    assert [(len(lookup.clauses), lookup.whole) for lookup in lookups] == [(whole, True), (len(KEY_SETS) - whole, False)]
    assert all(len(clause.matches[0][1]) == 500 for lookup in lookups for clause in lookup.clauses)


def test_lookups_hold_every_key_once() -> None:
    """Many spaces and more names than a clause takes are split, not lost."""
    asked = {(f"s{number}", "m") for number in range(40)} | {("big", f"m{number}") for number in range(NAMES_PER_CLAUSE + 1)}
    lookups = build_lookups(Needs(memories=asked), clauses_per_lookup=16)
    assert all(len(lookup.clauses) <= 16 for lookup in lookups)
    found = [
        (space, name)
        for lookup in lookups
        for clause in lookup.clauses
        for space in dict(clause.matches)["space"]
        for name in dict(clause.matches)["memory_id"]
    ]
    assert len(found) == len(asked)
    assert set(found) == asked
    assert all(len(clause.matches[0][1]) <= NAMES_PER_CLAUSE for lookup in lookups for clause in lookup.clauses)


def test_a_whole_read_wins_over_a_lineage_read_in_any_order() -> None:
    """Each point is given once, sorted by id."""
    whole, part, other = Point("b", {"text": "t"}), Point("b", {}, whole=False), Point("a", {}, whole=False)
    for found in ([whole, part, other], [other, part, whole], [part, whole, part, other]):
        assert merge_points(found) == [other, whole]


def test_a_scan_of_everything_names_all_kinds_so_the_stores_own_point_is_out() -> None:
    """Without conditions the kinds are still named."""
    assert build_scan_clause(None, None, None).matches == (("point", tuple(sorted(PointKind))),)


def test_a_scan_of_no_kind_can_match_nothing() -> None:
    """An empty collection of kinds is not `all`."""
    assert build_scan_clause(None, [], None).is_empty
    assert not build_scan_clause(None, None, None).is_empty


@pytest.mark.parametrize("field", ["text", "utility", "valid_until", "version"])
def test_a_scan_by_an_unindexed_field_names_it(field: str) -> None:
    """The message says which fields can be asked for."""
    with pytest.raises(InvariantError, match=f"'{field}'.*memory_id"):
        build_scan_clause(None, None, {field: "x"})
