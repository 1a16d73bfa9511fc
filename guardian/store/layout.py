"""How points lie in a store: fields, indexes, and what each set of keys means. Pure; no engine's types.

Payloads are flat (see `guardian.core.point`). Every field that anything is filtered by has an index, made at creation
and checked at every open, so that a server's strict mode can be on. In the embedded engine no write is conditioned on
an index: after an unclean stop it replays its log against indexes that may be ahead of the payloads, and only writes
addressed by id come out right.

A lookup is a list of clauses, joined by *or*; a clause is a list of (field, values), joined by *and*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

from guardian.core.needs import Key, Needs
from guardian.core.point import NODES, Point, PointKind
from guardian.errors import InvariantError
from guardian.ports import SearchQuery, Vectors

Item = TypeVar("Item")

# Of the payload layout. A rise makes every open of an older store fail until it was migrated.
SCHEMA_VERSION = 1

DENSE = "dense"
SPARSE = "bm25"
TENANT = "space"
# Written by a server store alone, and taken out of what is read: exports of two stores are equal byte for byte.
VERSION = "version"
# Holds `dense` while the dense vector of a record is still to be filled in.
PENDING = "pending"

# Names in one clause, points in one page or one slice of writes: 60 to 100 ms in the embedded engine, which stops its
# process for as long.
NAMES_PER_CLAUSE = 1_000
# Distinct values that one count gives; families of one space, above all.
MAX_VALUES = 1_000_000
PAGE_POINTS = 1_000


class IndexType(StrEnum):
    """What an index holds."""

    KEYWORD = "keyword"
    FLOAT = "float"
    DATETIME = "datetime"
    INTEGER = "integer"


KEYWORDS = (
    "space", "point", "memory_id", "roots", "parents", "status", "slots", "kind", "subject", "source_ref", "session_id",
    "mentions", "chain", "events", "pending",
)  # fmt: skip

INDEXES: Mapping[str, IndexType] = MappingProxyType(
    {
        **dict.fromkeys(KEYWORDS, IndexType.KEYWORD),
        "utility": IndexType.FLOAT,
        "valid_from": IndexType.DATETIME,
        "valid_until": IndexType.DATETIME,
    }
)

SERVER_INDEXES: Mapping[str, IndexType] = MappingProxyType({**INDEXES, VERSION: IndexType.INTEGER})


@dataclass(frozen=True, slots=True)
class KeySet:
    """What one set of `Needs` asks for: points of some kinds with the name in a field.

    Attributes:
        name: Attribute of `Needs`.
        whole: False leaves `HEAVY_FIELDS` out.
    """

    name: str
    kinds: frozenset[PointKind]
    field: str
    whole: bool = True


# `ids` is the only set of `Needs` that is not here: those are looked up by point id.
KEY_SETS = (
    KeySet("memories", NODES | {PointKind.DELETION, PointKind.LINK, PointKind.ERASURE}, "memory_id"),
    KeySet("verdicts", frozenset({PointKind.VERDICT, PointKind.INDUCTION}), "memory_id"),
    KeySet("mentions", frozenset({PointKind.CORRECTION}), "mentions"),
    KeySet("corrected_subjects", frozenset({PointKind.CORRECTION}), "subject"),
    KeySet("subjects", frozenset({PointKind.RECORD, PointKind.TOMBSTONE}), "subject"),
    KeySet("sessions", frozenset({PointKind.READ, PointKind.RECORD}), "session_id"),
    KeySet("refs", frozenset({PointKind.RECORD}), "source_ref"),
    KeySet("retrieved", frozenset({PointKind.READ}), "mentions"),
    KeySet("chains", frozenset({PointKind.CORRECTION}), "chain"),
    KeySet("events", frozenset({PointKind.CORRECTION, PointKind.VERDICT, PointKind.CALIBRATION, *NODES}), "events"),
    # All of a space: their kind is their name, and is indexed already.
    KeySet("calibrations", frozenset({PointKind.CALIBRATION}), "point"),
    KeySet("children", NODES, "parents", whole=False),
    KeySet("families", NODES, "roots", whole=False),
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Points that have, in every named field, at least one of its values. A field without values matches nothing.

    Attributes:
        without: Points that have, in any of these fields, one of its values are left out.
    """

    matches: tuple[tuple[str, tuple[str, ...]], ...]
    without: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no point can match."""
        return any(not values for _, values in self.matches)


@dataclass(frozen=True, slots=True)
class Lookup:
    """One call to an engine: all points that match any of the clauses."""

    clauses: tuple[Clause, ...]
    whole: bool


def build_lookups(needs: Needs, *, clauses_per_lookup: int) -> list[Lookup]:
    """Build the fewest calls that look up every key but `needs.ids`; empty sets cost nothing.

    Args:
        needs: Keys of one round.
        clauses_per_lookup: One clause holds all names of one set in one space, so this many spaces or sets share a
            call. An engine checks each found point against the clauses of its call one after the other, hence not
            simply all.
    """
    lookups = []
    for whole in (True, False):
        clauses = [clause for key_set in KEY_SETS if key_set.whole is whole for clause in _iter_clauses(needs, key_set)]
        lookups += [Lookup(tuple(part), whole) for part in iter_slices(clauses, clauses_per_lookup)]
    return lookups


def _iter_clauses(needs: Needs, key_set: KeySet) -> Iterator[Clause]:
    keys: set[Key] = getattr(needs, key_set.name)
    names_by_space: defaultdict[str, list[str]] = defaultdict(list)
    for space, name in keys:
        names_by_space[space].append(name)
    kinds = tuple(sorted(key_set.kinds))
    for space, names in sorted(names_by_space.items()):
        for part in iter_slices(sorted(names), NAMES_PER_CLAUSE):
            yield Clause(((key_set.field, tuple(part)), (TENANT, (space,)), ("point", kinds)))


def build_scan_clause(space: str | None, kinds: Collection[PointKind] | None, where: Mapping[str, str] | None) -> Clause:
    """Build the clause of an iteration or a count; the store's own point, of no kind, never matches.

    Raises:
        InvariantError: A field of `where` has no keyword index.
    """
    matches: list[tuple[str, tuple[str, ...]]] = [("point", tuple(sorted(PointKind if kinds is None else kinds)))]
    if space is not None:
        matches.append((TENANT, (space,)))
    for field, value in (where or {}).items():
        if INDEXES.get(field) is not IndexType.KEYWORD:
            raise InvariantError(f"cannot look up by '{field}': it has no keyword index; indexed are {', '.join(KEYWORDS)}")
        matches.append((field, (value,)))
    return Clause(tuple(matches))


def build_value_clause(field: str, space: str | None, kinds: Collection[PointKind] | None) -> Clause:
    """Build the clause of a count by value.

    Raises:
        InvariantError: The field has no keyword index.
    """
    if INDEXES.get(field) is not IndexType.KEYWORD:
        raise InvariantError(f"cannot count by '{field}': it has no keyword index; indexed are {', '.join(KEYWORDS)}")
    return build_scan_clause(space, kinds, None)


def build_search_clause(query: SearchQuery) -> Clause:
    """Build the clause of a search; its time (`at`) is a range, which each engine adds in its own words."""
    matches: list[tuple[str, tuple[str, ...]]] = [
        (TENANT, (query.space,)),
        ("point", (PointKind.RECORD,)),
        ("status", tuple(sorted(query.statuses))),
    ]
    if query.slots is not None:
        matches.append(("slots", tuple(sorted(query.slots))))
    barred = (("roots", query.without_roots), ("kind", query.without_kinds))
    return Clause(tuple(matches), without=tuple((field, tuple(sorted(values))) for field, values in barred if values))


def build_further_clause(query: SearchQuery) -> Clause:
    """Build the clause of what a search reads beside the best."""
    barred = query.further_without_kinds
    return Clause((("slots", tuple(sorted(query.further_slots))),), without=(("kind", tuple(sorted(barred))),) if barred else ())


def merge_points(found: Iterable[Point]) -> list[Point]:
    """Give each point once, sorted by id; a whole read wins over one of lineage alone."""
    points: dict[str, Point] = {}
    for point in found:
        if point.whole or point.id not in points:
            points[point.id] = point
    return [points[point_id] for point_id in sorted(points)]


def build_vectors(read: object) -> Vectors:
    """Build the vectors of a point from what an engine read, a mapping by name; terms by ascending id, as they are written."""
    named: Any = read or {}
    dense, sparse = named.get(DENSE), named.get(SPARSE)
    terms = None if sparse is None else sorted(zip(sparse.indices, sparse.values, strict=True))
    return Vectors(
        dense=None if dense is None else tuple(dense),
        sparse=None if terms is None else (tuple(index for index, _ in terms), tuple(value for _, value in terms)),
    )


def iter_slices(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Give `items` in runs of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
