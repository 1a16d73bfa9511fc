"""The truth: what the independent reference says of any set of events, and how what lies in the store compares with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

from guardian.core.export import EXPORTED, sort_rows
from guardian.core.model import Calibrated, Event, SourceKind
from guardian.core.point import Point
from guardian.core.policy import VERIFYING_KINDS, Policy
from tests.reference.policy import ReferencePolicy
from tests.reference.state import compute_state
from tests.rows import build_full_row

Row = dict[str, Any]
RowKey = tuple[str, str, str]

# Of a tombstone the reference fixes these alone; what else it shows is the package's own.
_ERASED = ("space", "memory_id", "revision", "observed_at", "status", "roots", "parents", "depth")
_WITH_USER = VERIFYING_KINDS | {SourceKind.USER}

# The same settings in both languages.
POLICIES: tuple[tuple[Policy, ReferencePolicy], ...] = (
    (Policy(), ReferencePolicy()),
    (Policy(max_roots=2, session_reads=2), ReferencePolicy(max_roots=2, session_reads=2)),
    (Policy(verify_kinds=_WITH_USER), ReferencePolicy(verifying_kinds=_WITH_USER)),
    (Policy(verify_actors=frozenset({"kim"})), ReferencePolicy(verifying_actors=frozenset({"kim"}))),
)


class Truth:
    """Answers for sets of events of one space.

    Args:
        policy: Of the reference.
    """

    def __init__(self, policy: ReferencePolicy) -> None:
        self._policy = policy
        self._rows = lru_cache(maxsize=256)(lambda events: self._compute(events, policy))

    def rows(self, events: Iterable[Event]) -> Mapping[RowKey, Row]:
        """Give the rows of a set of events of one space, by (space, memory id, revision)."""
        unique = {(type(event).__name__, event.ref): event for event in events}
        return self._rows(_Set(unique))

    def allow_former(self, events: Iterable[Event], found: Mapping[RowKey, Row]) -> Mapping[RowKey, Row]:
        """Give the rows of a set of events, with utilities by the calibrations that the rows found name: activations rewrite nothing.

        A row must have the utility that is right by the calibration it names, whichever of those ever sent for its space that is.
        """
        listed = list(events)
        rows = dict(self.rows(listed))
        behind = [key for key, row in rows.items() if key in found and _rest(found[key]) != _rest(row)]
        if not behind:
            return rows
        former: list[Calibrated | Literal["settings"]] = ["settings", *(e for e in listed if isinstance(e, Calibrated))]
        for calibration in former:
            others = compute_state(listed, policy=self._policy, calibration=calibration)
            by_key = {key_of(row): normalise(row) for row in others}
            rows |= {key: by_key[key] for key in behind if _rest(by_key[key]) == _rest(found[key])}
        return rows

    @staticmethod
    def _compute(events: _Set, policy: ReferencePolicy) -> Mapping[RowKey, Row]:
        return {key_of(row): normalise(row) for row in compute_state(events.members.values(), policy=policy)}


class _Set:
    """A set of events that knows how to be a key: events themselves hold mappings."""

    def __init__(self, members: Mapping[Any, Event]) -> None:
        self.members = members
        self._key = frozenset(members)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Set) and self._key == other._key


def _rest(row: Row) -> tuple[Any, ...]:
    """Give what a calibration decides of a row."""
    return tuple(row.get(name) for name in ("calibration", "utility", "utility_basis"))


def key_of(row: Row) -> RowKey:
    """Give what a row is known by."""
    return row["space"], row["memory_id"], row["revision"]


def normalise(row: Row) -> Row:
    """Give the fields of a row that are compared, in one spelling."""
    if row["status"] == "erased":
        return {name: row[name] for name in _ERASED}
    utility = row["utility"]
    reasons = sorted(row["reasons"], key=lambda reason: sorted((name, str(value)) for name, value in reason.items()))
    return {**row, "utility": None if utility is None else round(utility, 6), "reasons": reasons}


def read_rows(payloads: Mapping[str, Mapping[str, Any]], space: str) -> dict[RowKey, Row]:
    """Give the rows that lie in the store, by the package's own export, with what models said of them."""
    points = [
        Point(point_id, payload)
        for point_id, payload in payloads.items()
        if payload.get("space") == space and payload.get("point") in EXPORTED
    ]
    return {key_of(row): normalise(row) for row in sort_rows(map(build_full_row, points))}


def describe_difference(expected: Mapping[RowKey, Row], found: Mapping[RowKey, Row], *, is_whole: bool = False) -> str | None:
    """Tell the first differences between what ought to be and what is; None when there are none.

    Args:
        expected: What ought to be.
        found: What is; may show more fields.
        is_whole: It may not.
    """
    told = []
    for key in sorted(expected.keys() | found.keys()):
        should, does = expected.get(key), found.get(key)
        if should is None or does is None:
            told.append(f"{key}: {'is not in the store' if does is None else f'should not exist, is {does}'}")
            continue
        compared = should.keys() | does.keys() if is_whole else should.keys()
        names = sorted(name for name in compared if should.get(name) != does.get(name))
        if names:
            told.append(f"{key}: " + ", ".join(f"{name} is {does.get(name)!r}, not {should.get(name)!r}" for name in names))
    return "; ".join(told[:3]) or None
